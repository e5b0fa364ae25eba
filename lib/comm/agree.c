/* Agree: a gather to rank 0, and its word back. */
#include "comm/agree.h"

#include "json/json.h"

#include <string.h>

static const char *as_text(const struct pk_err *e, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j =
        json_pack("{s:i, s:s, s:s, s:s}", "code", e->code, "what", e->what, "why", e->why, "fix", e->fix);
    return pk_json_text(a, j, PK_JSON_COMPACT);
}

/* What names a rank already is left as it is. */
static void read_text(const char *text, unsigned rank, struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *j = json_loads(text, 0, NULL);
    const char *what = pk_json_str(j, "what", "it failed");
    pk_fail(err, (enum pk_code)pk_json_int(j, "code", PK_E_INTERNAL), "%s", what);
    if (strncmp(what, "rank ", strlen("rank ")) != 0)
        pk_within(err, "rank %u", rank);
    pk_why(err, "%s", pk_json_str(j, "why", ""));
    pk_fix(err, "%s", pk_json_str(j, "fix", ""));
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
            read_text(all[i], i, &word);
    if (pk_comm_bcast(comm, &word, sizeof word, &broken)) {
        *err = rc ? *err : broken;
        return err->code;
    }
    if (word.code)
        *err = word;
    return word.code;
}
