/* Repository: commit and branch of a folder, and where the branch left another, by asking git. */
#include "base/clock.h"
#include "machine/software/program_output.h"
#include "machine/software/software.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t PATIENCE_NS = 2 * PK_NS_PER_S;

/* NULL without one. */
static const char *first_line(const char *output, struct pk_arena *a)
{
    return output && *output && *output != '\n' ? pk_strndup(a, output, strcspn(output, "\n")) : NULL;
}

void pk_machine_repository(const char *folder, struct pk_arena *a, const char **commit, int *dirty)
{
    /* No locks are taken in a repository that others may be using, and no file system monitor is started. */
    const char *const rev_parse[] = {"git",      "-C",      folder,          "rev-parse",
                                     "--verify", "--quiet", "HEAD^{commit}", NULL};
    const char *const status[] = {"git",
                                  "-C",
                                  folder,
                                  "--no-optional-locks",
                                  "-c",
                                  "core.fsmonitor=false",
                                  "status",
                                  "--porcelain",
                                  "--untracked-files=no",
                                  NULL};
    *commit = NULL;
    *dirty = -1;
    *commit = first_line(pk_program_output(rev_parse, PATIENCE_NS, a), a);
    if (!*commit)
        return;
    const char *changed = pk_program_output(status, PATIENCE_NS, a);
    if (changed)
        *dirty = *changed != '\0';
}

const char *pk_machine_commit(const char *name, struct pk_arena *a)
{
    const char *const rev_parse[] = {
        "git", "rev-parse", "--verify", "--quiet", pk_printf(a, "%s^{commit}", name), NULL};
    return *name && *name != '-' ? first_line(pk_program_output(rev_parse, PATIENCE_NS, a), a) : NULL;
}

const char *pk_machine_git_directory(struct pk_arena *a)
{
    const char *const rev_parse[] = {"git", "rev-parse", "--absolute-git-dir", NULL};
    return first_line(pk_program_output(rev_parse, PATIENCE_NS, a), a);
}

const char *pk_machine_branch(struct pk_arena *a)
{
    const char *const symbolic[] = {"git", "symbolic-ref", "--quiet", "--short", "HEAD", NULL};
    const char *branch = first_line(pk_program_output(symbolic, PATIENCE_NS, a), a);
    /* Of a pull request the branch that is proposed: the name of the ref is then none of a branch. */
    static const char *const names[] = {"GITHUB_HEAD_REF", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
                                        "CI_COMMIT_BRANCH"};
    for (size_t i = 0; !branch && i < sizeof names / sizeof *names; i++) {
        const char *named = getenv(names[i]);
        branch = named && *named ? named : NULL;
    }
    const char *type = getenv("GITHUB_REF_TYPE"), *ref = getenv("GITHUB_REF_NAME");
    return branch ? branch : type && strcmp(type, "branch") == 0 && ref && *ref ? ref : NULL;
}

/* --- merge base ----------------------------------------------------------------------------------------------------- */

static const uint64_t HISTORY_PATIENCE_NS = 5 * PK_NS_PER_S; /* a large history is walked */

enum pk_code pk_machine_merge_base(const char *branch, struct pk_arena *a, const char **commit,
                                   struct pk_err *err)
{
    if (!*branch) {
        pk_fail(err, PK_E_USAGE, "merge-base: is not followed by a branch");
        pk_why(err, "it is the commit at which HEAD left the branch that is given after the colon");
        return pk_fix(err, "write for example merge-base:origin/main");
    }
    const char *head = pk_machine_commit("HEAD", a);
    if (!head) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "there is no commit to start from");
        pk_why(err, "the working directory is not in a git repository with a commit");
        return pk_fix(err, "run perfkit in the repository, or give a baseline, a label or commit:SHA");
    }
    const char *tip = pk_machine_commit(branch, a);
    if (!tip) {
        pk_fail(err, PK_E_USAGE, "git knows no branch '%.100s'", branch);
        pk_why(err,
               "git rev-parse finds no commit with that name; in CI often only the built branch was fetched");
        return pk_fix(
            err,
            "run git fetch origin, and give the name that `git branch -a` shows, for example origin/main");
    }
    const char *const merge_base[] = {"git", "merge-base", head, tip, NULL};
    const char *base = pk_program_output(merge_base, HISTORY_PATIENCE_NS, a);
    if (!base || !*base) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "HEAD and '%.100s' have no commit in common", branch);
        pk_why(err,
               "their histories are unrelated, or incomplete: a shallow clone has only the newest commits");
        return pk_fix(err, "run git fetch --unshallow (actions/checkout: fetch-depth: 0)");
    }
    *commit = pk_strndup(a, base, strcspn(base, "\n"));
    return PK_OK;
}
