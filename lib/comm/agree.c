/* Agree: a gather to rank 0, and its word back. */
#include "comm/agree.h"

#include <stdlib.h>
#include <string.h>

/* Between the parts of an error, none of which has one. Not JSON: what was cut to fit may be no UTF-8. */
#define SEPARATOR "\x1f"

static const char *as_text(const struct pk_err *e, struct pk_arena *a)
{
    return pk_printf(a, "%d" SEPARATOR "%s" SEPARATOR "%s" SEPARATOR "%s", (int)e->code, e->what, e->why,
                     e->fix);
}

/* What names a rank already is left as it is. */
static void read_text(const char *text, unsigned rank, struct pk_arena *a, struct pk_err *err)
{
    const char *parts[3] = {"it failed", "", ""}, *at = strchr(text, *SEPARATOR);
    const long code = at ? strtol(text, NULL, 10) : PK_E_INTERNAL;
    for (size_t i = 0; at && i < sizeof parts / sizeof *parts; i++, at = strchr(at + 1, *SEPARATOR))
        parts[i] = pk_strndup(a, at + 1, strcspn(at + 1, SEPARATOR));
    pk_fail(err, (enum pk_code)code, "%s", parts[0]);
    if (strncmp(parts[0], "rank ", strlen("rank ")) != 0)
        pk_within(err, "rank %u", rank);
    pk_why(err, "%s", parts[1]);
    pk_fix(err, "%s", parts[2]);
}

enum pk_code pk_agree(struct pk_comm *comm, enum pk_code rc, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err word = {0}, broken;
    if (!comm)
        return rc;
    const char **all = pk_new_n(&a, const char *, comm->processes);
    if (pk_comm_gather(comm, rc ? as_text(err, &a) : "", &a, all, &broken)) {
        *err = rc ? *err : broken;
        return err->code;
    }
    for (unsigned i = 0; comm->rank == 0 && i < comm->processes && !word.code; i++)
        if (*all[i])
            read_text(all[i], i, &a, &word);
    if (pk_comm_bcast(comm, &word, sizeof word, &broken)) {
        *err = rc ? *err : broken;
        return err->code;
    }
    if (word.code)
        *err = word;
    return word.code;
}
