/* Descriptor setting: the descriptor of a run, written and read. */
#include "bench/own/descriptor_setting.h"

#include "bench/own/descriptor.h"
#include "store/table/table.h"

#include <string.h>

/* A descriptor from a store may be anybody's text: it is read with the same care as one from a program. */
static struct pk_own *read_text(const struct pk_rows *rows, struct pk_arena *a)
{
    struct pk_own *own;
    struct pk_err ignored;
    if (!rows->n || rows->cells[0].type != PK_CELL_TEXT || strlen(rows->cells[0].s) > 2 * PK_OWN_BYTES_MAX)
        return NULL;
    PK_JSON_CLEANUP json_t *j = json_loads(rows->cells[0].s, 0, NULL);
    return j && !pk_descriptor_read(j, "the store", a, &own, &ignored) ? own : NULL;
}

const struct pk_probe *pk_run_probe(struct pk_store *s, int64_t run_id, const char *experiment,
                                    struct pk_arena *a)
{
    const struct pk_probe *built_in = pk_probe_find(experiment);
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows rows;
    struct pk_err ignored;
    if (built_in || pk_query(s, "descriptor_of_run", &run, 1, a, &rows, &ignored))
        return built_in;
    const struct pk_own *own = read_text(&rows, a);
    return own && strcmp(own->probe.name, experiment) == 0 ? &own->probe : NULL;
}

enum pk_code pk_own_record(struct pk_store *s, int64_t run_id, const struct pk_probe *probe,
                           struct pk_err *err)
{
    if (!probe->own)
        return PK_OK;
    const struct pk_setting descriptor = {0, "descriptor", probe->own->json};
    return pk_store_settings(s, run_id, &descriptor, 1, err);
}

enum pk_code pk_own_follow_store(struct pk_store *s, const struct pk_probe *probe, struct pk_arena *a,
                                 struct pk_err *err)
{
    struct pk_rows rows;
    if (!probe->own)
        return PK_OK;
    const struct pk_param experiment = pk_param_text(":experiment", probe->name);
    if (pk_query(s, "descriptor_of_experiment", &experiment, 1, a, &rows, err))
        return err->code;
    const struct pk_own *earlier = read_text(&rows, a);
    return earlier ? pk_descriptor_check_changes(probe->own, earlier,
                                                 pk_printf(a, "run %lld", (long long)rows.cells[1].i), a, err)
                   : PK_OK;
}
