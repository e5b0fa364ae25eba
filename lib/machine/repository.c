/* Repository: the commit of a folder, by asking git. */
#include "base/clock.h"
#include "machine/ask.h"
#include "machine/machine.h"

#include <string.h>

static const uint64_t PATIENCE_NS = 2 * PK_NS_PER_S;

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
    const char *head = pk_ask(rev_parse, PATIENCE_NS, a);
    if (!head || !*head)
        return;
    *commit = pk_strndup(a, head, strcspn(head, "\n"));
    const char *changed = pk_ask(status, PATIENCE_NS, a);
    if (changed)
        *dirty = *changed != '\0';
}

void pk_machine_repository(struct pk_arena *a, const char **commit, int *dirty)
{
    pk_machine_repository_of(".", a, commit, dirty);
}
