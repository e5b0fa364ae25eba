/* Repository: commit and branch of a folder, and where the branch left another, by asking git. */
#include "base/clock.h"
#include "base/program/output.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "machine/software/software.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t TIMEOUT_NS = 2 * PK_NS_PER_S;

/* NULL without one. */
static const char *first_line(const char *output, struct pk_arena *a)
{
    return output && *output && *output != '\n' ? pk_strndup(a, output, strcspn(output, "\n")) : NULL;
}

/* --- asking git ---------------------------------------------------------------------------------------------------------
 *
 * A repository's own files can name programs: filters, a file system monitor, hooks, a pager, a diff, transports for objects that are
 * fetched when they are missed. A folder may belong to anyone, so none of them is run. */

struct git_call {
    const char **v;
    size_t n, cap;
    struct pk_arena *a;
};

static void add(struct git_call *c, const char *word)
{
    c->v = pk_grow(c->a, c->v, sizeof *c->v, c->n, &c->cap);
    c->v[c->n++] = word;
}

static void add_all(struct git_call *c, const char *const *words)
{
    while (*words)
        add(c, *words++);
}

/* Sets a key of git's configuration, in which any name is allowed, by number `i` in the environment. */
static void add_key(struct git_call *c, int64_t i, const char *key, const char *value)
{
    add(c, pk_printf(c->a, "GIT_CONFIG_KEY_%lld=%s", (long long)i, key));
    add(c, pk_printf(c->a, "GIT_CONFIG_VALUE_%lld=%s", (long long)i, value));
}

/* What git prints for the arguments; NULL when it fails. keys: names of its configuration, with a newline between them, that are set to
 * nothing ("false" where they end in .required). No locks are taken in a repository that others may be using. */
static const char *git(const char *folder, const char *keys, const char *const *args, uint64_t timeout_ns,
                       struct pk_arena *a)
{
    static const char *const safe[] = {
        "--no-pager", "--no-optional-locks",      "-c", "core.fsmonitor=false",
        "-c",         "core.hooksPath=/dev/null", "-c", "core.sshCommand=false",
        "-c",         "core.gitProxy=false",      "-c", "core.alternateRefsCommand=false",
        "-c",         "core.askPass=false",       "-c", "diff.external=",
        NULL};
    static const char required[] = ".required";
    struct git_call c = {.a = a};
    struct pk_err ignored;
    const char *count = getenv("GIT_CONFIG_COUNT"); /* the user's, which stay */
    int64_t n = 0;
    if (count && (pk_parse_int(count, &n, &ignored) || n < 0))
        n = 0;
    add(&c, "env");
    add(&c, "GIT_ALLOW_PROTOCOL="); /* no objects are fetched */
    for (const char *rest = keys, *key; (key = pk_next_part(&rest, '\n', a)); n += *key != '\0') {
        const size_t length = strlen(key), tail = strlen(required);
        const bool is_required = length > tail && !strcmp(key + length - tail, required);
        if (*key)
            add_key(&c, n, key, is_required ? "false" : "");
    }
    if (n)
        add(&c, pk_printf(a, "GIT_CONFIG_COUNT=%lld", (long long)n));
    add(&c, "git");
    add_all(&c, safe);
    if (folder) {
        add(&c, "-C");
        add(&c, folder);
    }
    add_all(&c, args);
    add(&c, NULL);
    return pk_program_output(c.v, timeout_ns, a);
}

/* git status reads a file whose times changed through its filters: programs that the repository's configuration names. */
static int is_dirty(const char *folder, struct pk_arena *a)
{
    static const char *const filters[] = {
        "-c",     "filter.none.clean=", /* so that there is an output, unless git could not read all */
        "config", "--name-only",        "--get-regexp", "^filter\\..*\\.(clean|process|required)$", NULL};
    static const char *const status[] = {
        "status", "--porcelain", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty", NULL};
    const char *names = git(folder, "", filters, TIMEOUT_NS, a);
    if (!names || strlen(names) >= PK_PROGRAM_OUTPUT_BYTES)
        return -1;
    const char *changed = git(folder, names, status, TIMEOUT_NS, a);
    return changed ? *changed != '\0' : -1;
}

static const char *commit_of(const char *folder, const char *name, struct pk_arena *a)
{
    const char *const rev_parse[] = {"rev-parse", "--verify", "--quiet", pk_printf(a, "%s^{commit}", name),
                                     NULL};
    return *name && *name != '-' ? first_line(git(folder, "", rev_parse, TIMEOUT_NS, a), a) : NULL;
}

void pk_machine_repository(const char *folder, struct pk_arena *a, const char **commit, int *dirty)
{
    *commit = commit_of(folder, "HEAD", a);
    *dirty = *commit ? is_dirty(folder, a) : -1;
}

const char *pk_machine_commit(const char *name, struct pk_arena *a)
{
    return commit_of(NULL, name, a);
}

const char *pk_machine_git_directory(struct pk_arena *a)
{
    static const char *const rev_parse[] = {"rev-parse", "--absolute-git-dir", NULL};
    return first_line(git(NULL, "", rev_parse, TIMEOUT_NS, a), a);
}

const char *pk_machine_branch(struct pk_arena *a)
{
    static const char *const symbolic[] = {"symbolic-ref", "--quiet", "--short", "HEAD", NULL};
    const char *branch = first_line(git(NULL, "", symbolic, TIMEOUT_NS, a), a);
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

static const uint64_t HISTORY_TIMEOUT_NS = 5 * PK_NS_PER_S; /* a large history is walked */

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
    const char *const merge_base[] = {"merge-base", head, tip, NULL};
    const char *base = git(NULL, "", merge_base, HISTORY_TIMEOUT_NS, a);
    if (!base || !*base) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "HEAD and '%.100s' have no commit in common", branch);
        pk_why(err,
               "their histories are unrelated, or incomplete: a shallow clone has only the newest commits");
        return pk_fix(err, "run git fetch --unshallow (actions/checkout: fetch-depth: 0)");
    }
    *commit = pk_strndup(a, base, strcspn(base, "\n"));
    return PK_OK;
}
