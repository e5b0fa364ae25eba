/* Run tables: what `run` and `show` print: on a screen what a run shows, what is doubtful, and a list of the other tables; else all tables. */
#include "bench/tables/tables.h"

#include "bench/own/descriptor_setting.h"
#include "out/out.h"
#include "plot/plot.h"
#include "store/table/table.h"

#include <string.h>

/* The tables that are not among those shown. */
static void print_rows(struct pk_out *every, const struct pk_texts *shown, struct pk_out *out)
{
    static const struct pk_column columns[] = {
        {.key = "table", .heading = "Further tables", .left = true},
        {.key = "about", .heading = "Contents", .left = true},
    };
    size_t n;
    bool begun = false;
    const char *const *names = pk_out_names(every, &n);
    for (size_t i = 0; i < n; i++) {
        if (pk_texts_has(shown, names[i]))
            continue;
        if (!begun)
            pk_out_table(out, "tables", NULL, PK_COLUMNS(columns));
        begun = true;
        struct pk_row *row = pk_row_begin(out);
        pk_put_text(row, "table", names[i]);
        pk_put_text(row, "about", pk_out_title(every, i));
        pk_row_end(row);
    }
}

/* What was not printed, from a printing of everything into nothing: tables without rows are in neither. */
static enum pk_code print_list(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_out_options programs = {.format = PK_FMT_CSV, .list = true};
    struct pk_out *every = pk_out_open(NULL, &programs);
    struct pk_texts shown = {0};
    size_t before, n;
    const char *const *names = pk_out_names(out, &before);
    for (size_t i = 0; i < before; i++)
        pk_texts_add(&shown, names[i], &a);
    const enum pk_code rc = pk_run_all_tables(s, run_id, every, err);
    if (!rc)
        print_rows(every, &shown, out);
    const char *show = pk_run_show_command(s, run_id, " ", &a);
    if (!rc && (pk_out_names(out, &n), n > before))
        pk_out_note(out, pk_printf(&a, "To see them: %s--tables NAME,... or --tables all", show ? show : ""));
    pk_out_abort_table(every);
    pk_out_cancel(every);
    return rc;
}

/* At most three lines, under the headline table. */
static enum pk_code print_doubts(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    enum { MOST = 3, NOISE = 1 };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param run = pk_param_int(":run", run_id);
    if (pk_run_noise(s, run_id, " --tables doubts", out, err) ||
        pk_query(s, "doubt_lines", &run, 1, &a, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n && i < MOST - NOISE; i++)
        pk_out_note(out, pk_cell_string(&rows.cells[i * rows.n_cols]));
    return PK_OK;
}

static enum pk_code print_overview(struct pk_store *s, int64_t run_id, const struct pk_probe *p,
                                   struct pk_out *out, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    if (pk_tables_print(s, pk_probe_sql(p), &run, 1, out, err) || print_doubts(s, run_id, out, err))
        return err->code;
    pk_out_most(out, PK_HEADLINE_ROWS);
    const enum pk_code rc = pk_run_requested_tables(s, p->name, run_id, out, err);
    pk_out_most(out, 0);
    if (rc)
        return rc;
    return print_list(s, run_id, out, err);
}

/* The one experiment of a run; NULL where there are several, or it has no tables of its own. */
static const struct pk_probe *only_probe(struct pk_store *s, int64_t run_id,
                                         const struct pk_rows *experiments, struct pk_arena *a)
{
    const struct pk_probe *p =
        experiments->n == 1 ? pk_run_probe(s, run_id, experiments->cells[0].s, a) : NULL;
    return p && *pk_probe_sql(p) ? p : NULL;
}

/* The tables of an experiment without text of its own, or all; of commands what fits a few lines. */
static enum pk_code print_others(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    const int64_t commands = pk_out_headline_first(out) ? pk_run_count_commands(s, run_id) : 0;
    if (pk_run_noise(s, run_id, " --details", out, err))
        return err->code;
    return commands ? pk_run_commands(s, run_id, commands, out, err) : pk_run_all_tables(s, run_id, out, err);
}

static enum pk_code print_run(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param run = pk_param_int(":run", run_id);
    if (pk_query(s, "experiments", &run, 1, &a, &rows, err) ||
        pk_run_notes(s, "run_title", NULL, run_id, out, err))
        return err->code;
    pk_out_again(out, pk_run_show_command(s, run_id, "", &a));
    const struct pk_probe *probe = only_probe(s, run_id, &rows, &a);
    const bool first = probe && pk_out_headline_first(out);
    if (first ? print_overview(s, run_id, probe, out, err) : print_others(s, run_id, out, err))
        return err->code;
    const char *text = probe ? pk_probe_sql(probe) : "";
    return pk_out_plots(out) ? pk_plot_first(s, text, &run, 1, out, err) : PK_OK;
}

enum pk_code pk_run_tables(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    pk_store_narrow(s, run_id);
    const enum pk_code printed = print_run(s, run_id, out, err);
    pk_store_widen(s);
    return printed;
}
