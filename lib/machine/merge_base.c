/* Merge base: the commit at which the working directory's branch left another, by asking git. */
#include "base/clock.h"
#include "machine/ask.h"
#include "machine/machine.h"

#include <string.h>

static const uint64_t PATIENCE_NS = 5 * PK_NS_PER_S; /* a large history is walked */

static enum pk_code no_repository(struct pk_err *err)
{
    pk_fail(err, PK_E_NOT_COMPARABLE, "there is no commit to start from");
    pk_why(err, "git knows no repository with a commit in the working directory");
    return pk_fix(err, "call perfkit in the repository, or name a baseline, a label or commit:SHA");
}

static enum pk_code no_name(struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "merge-base: names no branch");
    pk_why(err, "it is the commit at which HEAD left a branch, which stands behind the colon");
    return pk_fix(err, "write for example merge-base:origin/main");
}

static enum pk_code no_branch(const char *branch, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "git knows no branch '%.100s'", branch);
    pk_why(
        err,
        "git rev-parse finds no commit of that name; in CI often only the branch that is built was fetched");
    return pk_fix(err, "git fetch origin, and name it as `git branch -a` does, for example origin/main");
}

static enum pk_code nothing_in_common(const char *branch, struct pk_err *err)
{
    pk_fail(err, PK_E_NOT_COMPARABLE, "HEAD and '%.100s' have no commit in common", branch);
    pk_why(err, "their histories are apart, or cut off: a shallow clone has the newest commits only");
    return pk_fix(err, "git fetch --unshallow (actions/checkout: fetch-depth: 0)");
}

enum pk_code pk_machine_merge_base(const char *branch, struct pk_arena *a, const char **commit,
                                   struct pk_err *err)
{
    if (!*branch)
        return no_name(err);
    const char *head = pk_machine_commit("HEAD", a);
    if (!head)
        return no_repository(err);
    const char *tip = pk_machine_commit(branch, a);
    if (!tip)
        return no_branch(branch, err);
    const char *const merge_base[] = {"git", "merge-base", head, tip, NULL};
    const char *base = pk_ask(merge_base, PATIENCE_NS, a);
    if (!base || !*base)
        return nothing_in_common(branch, err);
    *commit = pk_strndup(a, base, strcspn(base, "\n"));
    return PK_OK;
}
