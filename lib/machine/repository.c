/* Repository: commit and branch of a folder, by asking git. */
#include "base/clock.h"
#include "machine/ask.h"
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t PATIENCE_NS = 2 * PK_NS_PER_S;

/* NULL without one. */
static const char *first_line(const char *said, struct pk_arena *a)
{
    return said && *said && *said != '\n' ? pk_strndup(a, said, strcspn(said, "\n")) : NULL;
}

void pk_machine_repository_of(const char *folder, struct pk_arena *a, const char **commit, int *dirty)
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
    *commit = first_line(pk_ask(rev_parse, PATIENCE_NS, a), a);
    if (!*commit)
        return;
    const char *changed = pk_ask(status, PATIENCE_NS, a);
    if (changed)
        *dirty = *changed != '\0';
}

void pk_machine_repository(struct pk_arena *a, const char **commit, int *dirty)
{
    pk_machine_repository_of(".", a, commit, dirty);
}

const char *pk_machine_commit(const char *name, struct pk_arena *a)
{
    const char *const rev_parse[] = {
        "git", "rev-parse", "--verify", "--quiet", pk_printf(a, "%s^{commit}", name), NULL};
    return *name && *name != '-' ? first_line(pk_ask(rev_parse, PATIENCE_NS, a), a) : NULL;
}

/* Of a pull request the branch that is proposed: the name of the ref is then none of a branch. */
static const char *built_branch(void)
{
    static const char *const names[] = {"GITHUB_HEAD_REF", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
                                        "CI_COMMIT_BRANCH"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *branch = getenv(names[i]);
        if (branch && *branch)
            return branch;
    }
    const char *type = getenv("GITHUB_REF_TYPE"), *ref = getenv("GITHUB_REF_NAME");
    return type && strcmp(type, "branch") == 0 && ref && *ref ? ref : NULL;
}

const char *pk_machine_branch(struct pk_arena *a)
{
    const char *const symbolic[] = {"git", "symbolic-ref", "--quiet", "--short", "HEAD", NULL};
    const char *branch = first_line(pk_ask(symbolic, PATIENCE_NS, a), a);
    return branch ? branch : built_branch();
}
