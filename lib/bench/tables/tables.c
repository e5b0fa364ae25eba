/* Tables: choosing what a run prints by its experiments. */
#include "bench/tables/tables.h"

#include "base/text/words.h"
#include "bench/own/descriptor_setting.h"
#include "bench/record/runinfo.h"
#include "store/table/table.h"

#include <string.h>

/* Measurements besides times, for all experiments. */
static const char *const beside[] = {
    "roofline",     "breakdown",       "breakdown_regions", "overheads", "kernels",
    "memory_peaks", "memory_timeline", "calibration",       "verdicts",  NULL};

/* Those of them that the command that made the run asks for, besides the counts. */
static const char *const requested[] = {"verdicts", "breakdown", "memory_peaks", "memory_timeline", NULL};

/* Of experiments with tables of their own; the cases of others are commands, one each. */
static const char *const doubts[] = {"doubts", NULL};

static const char *const built_in[] = {"commands",    "counters",      "case_times", "case_memory",
                                       "case_values", "case_problems", NULL};

static enum pk_code print_each(struct pk_store *s, const char *const *tables, const char *experiment,
                               int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_int(":run", run_id), pk_param_text(":experiment", experiment)};
    for (; *tables; tables++)
        if (pk_table_print(s, NULL, *tables, PK_PARAMS(params), out, err))
            return err->code;
    return PK_OK;
}

enum pk_code pk_run_notes(struct pk_store *s, const char *query, const char *experiment, int64_t run_id,
                          struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param params[] = {pk_param_int(":run", run_id), pk_param_text(":experiment", experiment),
                                      pk_param_int(":kept", strcmp(pk_store_file(s), ":memory:") != 0),
                                      pk_param_int(":brief", pk_out_headline_first(out))};
    if (pk_query(s, query, PK_PARAMS(params), &a, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++)
        if (rows.cells[i * rows.n_cols].type == PK_CELL_TEXT)
            pk_out_note(out, rows.cells[i * rows.n_cols].s);
    return PK_OK;
}

/* A command that was counted as usual: the built-in table "counters" has it. */
static bool usual_counters(struct pk_store *s, int64_t run_id, const char *experiment)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    struct pk_err err;
    const struct pk_param run = pk_param_int(":run", run_id);
    return pk_is_exec(experiment) && (pk_query(s, "counters_option", &run, 1, &a, &rows, &err) || !rows.n);
}

const char *pk_run_show_command(struct pk_store *s, int64_t run_id, const char *option, struct pk_arena *a)
{
    const char *usual, *file = pk_store_file(s);
    struct pk_err ignored;
    if (strcmp(file, ":memory:") == 0)
        return NULL;
    const bool elsewhere = pk_store_path(a, NULL, &usual, &ignored) || strcmp(usual, file) != 0;
    return pk_printf(a, "perfkit show %lld%s%s%s", (long long)run_id, elsewhere ? " --db " : "",
                     elsewhere ? pk_shell_quote(file, a) : "", option);
}

enum pk_code pk_run_noise(struct pk_store *s, int64_t run_id, const char *option, struct pk_out *out,
                          struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows n;
    const struct pk_param run = pk_param_int(":run", run_id);
    if (!pk_out_on_screen(out))
        return PK_OK;
    if (pk_query(s, "disturbed", &run, 1, &a, &n, err))
        return err->code;
    const char *why = pk_run_show_command(s, run_id, option, &a);
    if (n.cells[0].i)
        pk_out_note(out, pk_printf(&a, "noisy: %lld of %s disturbed; do not quote these%s%s",
                                   (long long)n.cells[0].i, pk_plural((size_t)n.cells[1].i, "case", &a),
                                   pk_out_without_details(out) ? "; why: " : "",
                                   !pk_out_without_details(out) ? ""
                                   : why                        ? why
                                                                : option + 1));
    return PK_OK;
}

enum pk_code pk_run_requested_tables(struct pk_store *s, const char *experiment, int64_t run_id,
                                     struct pk_out *out, struct pk_err *err)
{
    return pk_counter_table(s, run_id, experiment, out, err)
               ? err->code
               : print_each(s, requested, experiment, run_id, out, err);
}

static enum pk_code print_experiment(struct pk_store *s, const char *experiment, int64_t run_id,
                                     struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_probe *p = pk_run_probe(s, run_id, experiment, &a);
    const char *own = p ? pk_probe_sql(p) : "";
    const struct pk_param run = pk_param_int(":run", run_id);
    if ((*own ? pk_tables_print(s, own, &run, 1, out, err) ||
                    print_each(s, doubts, experiment, run_id, out, err)
              : print_each(s, built_in, experiment, run_id, out, err)) ||
        pk_run_notes(s, "interval_notes", experiment, run_id, out, err) ||
        pk_run_notes(s, "startup_notes", experiment, run_id, out, err) ||
        (!pk_out_without_details(out) && pk_run_notes(s, "doubt_notes", experiment, run_id, out, err)) ||
        (!usual_counters(s, run_id, experiment) && pk_counter_table(s, run_id, experiment, out, err)))
        return err->code;
    return print_each(s, beside, experiment, run_id, out, err);
}

int64_t pk_run_count_commands(struct pk_store *s, int64_t run_id)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    struct pk_err ignored;
    const struct pk_param run = pk_param_int(":run", run_id);
    return !pk_query(s, "commands_alone", &run, 1, &a, &rows, &ignored) && rows.n ? rows.cells[0].i : 0;
}

enum pk_code pk_run_commands(struct pk_store *s, int64_t run_id, int64_t n, struct pk_out *out,
                             struct pk_err *err)
{
    const char *const tables[] = {
        n > 1 ? "commands" : "command", "case_times", "case_memory", "case_values", "case_problems", NULL};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (print_each(s, tables, "exec", run_id, out, err) ||
        (!usual_counters(s, run_id, "exec") && pk_counter_table(s, run_id, "exec", out, err)))
        return err->code;
    const char *more = pk_run_show_command(s, run_id, " --details", &a);
    pk_out_note(out, pk_printf(&a, "CPU events, state of the machine: %s", more ? more : "--details"));
    return print_each(s, beside, "exec", run_id, out, err);
}

enum pk_code pk_run_all_tables(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    struct pk_run_state state;
    const struct pk_param run = pk_param_int(":run", run_id);
    if (pk_query(s, "experiments", &run, 1, &a, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++)
        if (print_experiment(s, rows.cells[i * rows.n_cols].s, run_id, out, err))
            return err->code;
    if (pk_run_state_read(s, run_id, &a, &state, err))
        return err->code;
    pk_run_states_print(out, &state, 1, &a);
    return PK_OK;
}

static void add_names(const struct pk_probe *p, struct pk_texts *names, struct pk_arena *a)
{
    struct pk_section *v;
    struct pk_err ignored;
    size_t n;
    if (pk_sections(pk_probe_sql(p), a, &v, &n, &ignored))
        return;
    for (size_t i = 0; i < n; i++)
        if (v[i].kind == PK_SECTION_TABLE)
            pk_texts_add_new(names, v[i].name, a);
        else if (v[i].kind == PK_SECTION_FINDING)
            pk_texts_add_new(names, "findings", a);
}

void pk_table_names(struct pk_texts *names, const struct pk_probe *own, struct pk_arena *a)
{
    static const char *const others[] = {"counted", "ranking", "states", NULL};
    const char *const *const lists[] = {built_in, beside, doubts, others};
    if (own)
        add_names(own, names, a);
    for (const struct pk_probe *const *p = pk_probes; *p; p++)
        if (!(*p)->hidden)
            add_names(*p, names, a);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const char *const *name = lists[i]; *name; name++)
            pk_texts_add_new(names, *name, a);
}

enum pk_code pk_table_names_check(const struct pk_texts *names, const struct pk_probe *own,
                                  struct pk_arena *a, struct pk_err *err)
{
    struct pk_texts every = {0};
    if (names->n)
        pk_table_names(&every, own, a);
    pk_texts_add(&every, "all", a);
    for (size_t i = 0; i < names->n; i++) {
        if (pk_texts_has(&every, names->v[i]))
            continue;
        pk_fail(err, PK_E_USAGE, "no table is called '%.100s'", names->v[i]);
        pk_why(err, "the experiments have %s", pk_list(every.v, every.n, ", ", a));
        return pk_fix(err, "%s", pk_suggest_text(a, names->v[i], every.v, every.n));
    }
    return PK_OK;
}

const char *pk_failed_text(struct pk_store *s, int64_t run_id, struct pk_arena *a)
{
    enum { MESSAGE, CASES };
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows rows;
    struct pk_err ignored;
    if (pk_query(s, "failure_messages", &run, 1, a, &rows, &ignored) || !rows.n || !*rows.cells[MESSAGE].s)
        return "the notes under the tables give the reason of each";
    if (rows.n == 1)
        return rows.cells[MESSAGE].s;
    return pk_printf(a, "%lld of them: %s; the notes under the tables give the reason of each",
                     (long long)rows.cells[CASES].i, rows.cells[MESSAGE].s);
}
