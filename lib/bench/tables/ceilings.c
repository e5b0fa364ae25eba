/* Ceilings: the tables of a device's peak rates: what was reached, the levels of memory, and the rate over size. */
#include "bench/tables/tables.h"

#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/client/ceilings_store.h"

#include <math.h>
#include <string.h>

#define COUNT(v) (sizeof(v) / sizeof *(v))

static const struct pk_column ceiling_columns[] = {
    {.key = "device", .heading = "Device", .left = true},
    {.key = "fp32_flops_per_s", .heading = "fp32", .decimals = 1},
    {.key = "tf32_flops_per_s", .heading = "tf32", .decimals = 1},
    {.key = "bf16_flops_per_s", .heading = "bf16", .decimals = 1},
    {.key = "exp_per_s", .heading = "exp (G/s)", .scale = 1e9, .decimals = 2},
    {.key = "memory_bytes_per_s", .heading = "Memory (GB/s)", .scale = 1e9, .decimals = 1},
    {.key = "copy_bytes_per_s", .heading = "Copy (GB/s)", .scale = 1e9, .decimals = 1},
    {.key = "cache_bytes", .heading = "Last-level cache (MiB)", .scale = 1 << 20, .decimals = 1},
    {.key = "sheet_fp32_flops_per_s", .machine = true},
    {.key = "sheet_tf32_flops_per_s", .machine = true},
    {.key = "sheet_bf16_flops_per_s", .machine = true},
    {.key = "doubtful", .machine = true},
    {.key = "memory_flat", .json = true, .machine = true},
};

static const struct pk_column level_columns[] = {
    {.key = "level", .heading = "Level", .left = true},
    {.key = "above_bytes", .machine = true},
    {.key = "to_bytes", .heading = "Up to (KiB)", .scale = 1 << 10, .decimals = 0},
    {.key = "bytes_per_s", .heading = "Fastest (GB/s)", .scale = 1e9, .decimals = 1},
    {.key = "copy_bytes_per_s", .heading = "Copy (GB/s)", .scale = 1e9, .decimals = 1},
};

/* Those of pk_store_curve. */
static const struct pk_column curve_columns[] = {
    {.key = "lanes", .heading = "Lanes"},
    {.key = "bytes", .heading = "Size (KiB)", .scale = 1 << 10, .decimals = 0},
    {.key = "level", .heading = "Level", .left = true},
    {.key = "bytes_per_s", .heading = "Fastest (GB/s)", .scale = 1e9, .decimals = 1},
    {.key = "update_bytes_per_s", .heading = "In place (GB/s)", .scale = 1e9, .decimals = 1, .optional = 4},
    {.key = "copy_bytes_per_s", .heading = "Copy (GB/s)", .scale = 1e9, .decimals = 1, .optional = 3},
    {.key = "triad_bytes_per_s", .heading = "Triad (GB/s)", .scale = 1e9, .decimals = 1, .optional = 2},
    {.key = "read_bytes_per_s", .heading = "Read (GB/s)", .scale = 1e9, .decimals = 1, .optional = 1},
    {.key = "stop", .machine = true},
};

/* Rates in FLOP/s have one unit. */
static void begin_ceilings(struct pk_out *out, const struct pk_ceilings *top, struct pk_arena *a)
{
    static const char *const rates[] = {"fp32_flops_per_s", "tf32_flops_per_s", "bf16_flops_per_s"};
    const size_t n = COUNT(ceiling_columns);
    const double most = fmax(top->fp32_flops_per_s, fmax(top->tf32_flops_per_s, top->bf16_flops_per_s));
    const struct pk_unit *u = pk_unit_fit("flops_per_s", "GFLOP/s TFLOP/s", most);
    struct pk_column *cols = pk_columns_copy(a, ceiling_columns, n);
    for (size_t i = 0; i < COUNT(rates); i++) {
        struct pk_column *c = pk_column_of(cols, n, rates[i]);
        c->heading = pk_printf(a, "%s (%s)", c->heading, u->shown);
        c->scale = u->scale;
    }
    pk_out_table(out, "ceilings", "Highest rates measured on this machine", cols, n);
}

static void put_positive(struct pk_row *row, const char *key, double rate)
{
    pk_put_real(row, key, rate > 0 ? rate : NAN);
}

static void ceilings_row(struct pk_out *out, const char *key, const struct pk_stored_ceilings *stored)
{
    const struct pk_ceilings *top = &stored->top, *sheet = &stored->sheet;
    struct pk_row *row = pk_row_begin(out);
    pk_put_text(row, "device", key);
    put_positive(row, "fp32_flops_per_s", top->fp32_flops_per_s);
    put_positive(row, "tf32_flops_per_s", top->tf32_flops_per_s);
    put_positive(row, "bf16_flops_per_s", top->bf16_flops_per_s);
    put_positive(row, "exp_per_s", top->exp_per_s);
    put_positive(row, "memory_bytes_per_s", top->memory_bytes_per_s);
    put_positive(row, "copy_bytes_per_s", top->copy_bytes_per_s);
    put_positive(row, "cache_bytes", top->cache_bytes);
    put_positive(row, "sheet_fp32_flops_per_s", sheet->fp32_flops_per_s);
    put_positive(row, "sheet_tf32_flops_per_s", sheet->tf32_flops_per_s);
    put_positive(row, "sheet_bf16_flops_per_s", sheet->bf16_flops_per_s);
    pk_put_nonempty(row, "doubtful", stored->doubtful);
    pk_put_text(row, "memory_flat", stored->evidence == PK_EVIDENCE_FLAT ? "true" : "false");
    pk_row_end(row);
}

/* The vendor's peak rates, with the measured share of each. */
static void note_sheet(struct pk_out *out, const struct pk_stored_ceilings *stored, struct pk_arena *a)
{
    const struct pk_ceilings *top = &stored->top, *sheet = &stored->sheet;
    const struct {
        const char *dtype;
        double reached, stated;
    } rates[] = {{"fp32", top->fp32_flops_per_s, sheet->fp32_flops_per_s},
                 {"tf32", top->tf32_flops_per_s, sheet->tf32_flops_per_s},
                 {"bf16", top->bf16_flops_per_s, sheet->bf16_flops_per_s}};
    for (size_t i = 0; i < COUNT(rates); i++)
        if (rates[i].stated > 0 && rates[i].reached > 0)
            pk_out_note(out, pk_printf(a, "%s: %.1f %% of the data sheet's %.1f TFLOP/s%s.", rates[i].dtype,
                                       100 * rates[i].reached / rates[i].stated, rates[i].stated / 1e12,
                                       rates[i].reached > rates[i].stated ? ", which cannot be" : ""));
}

/* The levels that cases are compared with. */
static void print_levels(struct pk_out *out, const struct pk_stored_ceilings *stored)
{
    const struct pk_ceilings *top = &stored->top;
    double above = 0;
    pk_out_table(out, "levels", "Rates of memory, all lanes", PK_COLUMNS(level_columns));
    for (size_t i = 0; i <= PK_LEVEL_MEMORY; i++) {
        const bool is_memory = i == PK_LEVEL_MEMORY;
        const double rate = is_memory ? top->memory_bytes_per_s : top->level[i].bytes_per_s;
        if (!(rate > 0))
            continue;
        struct pk_row *row = pk_row_begin(out);
        pk_put_text(row, "level", pk_level_names[i]);
        put_positive(row, "above_bytes", above);
        put_positive(row, "to_bytes", is_memory ? 0 : top->level[i].to_bytes);
        pk_put_real(row, "bytes_per_s", rate);
        put_positive(row, "copy_bytes_per_s",
                     is_memory ? top->copy_bytes_per_s : top->level[i].copy_bytes_per_s);
        pk_row_end(row);
        above = is_memory ? 0 : top->level[i].to_bytes;
    }
    if (top->level[PK_LEVEL_BETWEEN].bytes_per_s > 0)
        pk_out_note(out,
                    "between: larger than the caches that this machine reports, and faster than its memory: "
                    "a cache that it does not report, or partly cached.");
}

/* Why the arrays of so many lanes did not grow further; NULL = they grew until the rate was flat. */
static const char *limit_of(const struct pk_rows *rows, int64_t lanes)
{
    const char *limit = NULL;
    for (size_t i = 0; i < rows->n; i++) {
        const char *stop = pk_cell_string(pk_rows_cell(rows, i, "stop"));
        if (pk_rows_cell(rows, i, "lanes")->i != lanes || !*stop)
            continue;
        if (!strcmp(stop, pk_curve_stops[PK_CURVE_FLAT]))
            return NULL;
        limit = !strcmp(stop, pk_curve_stops[PK_CURVE_NO_ROOM])
                    ? "larger arrays have no room (half of the free memory, or of --memory-limit, is used at "
                      "most)"
                    : "larger arrays take too long here";
    }
    return limit;
}

static void print_curve(struct pk_out *out, const struct pk_rows *rows, struct pk_arena *a)
{
    if (!rows->n)
        return;
    pk_out_table(out, "curve", "Rates over size", PK_COLUMNS(curve_columns));
    for (size_t i = 0; i < rows->n; i++)
        pk_out_row(out, rows->cells + i * rows->n_cols);
    for (size_t i = 0; i < rows->n; i++) {
        const int64_t lanes = pk_rows_cell(rows, i, "lanes")->i;
        const bool is_last = i + 1 == rows->n || pk_rows_cell(rows, i + 1, "lanes")->i != lanes;
        const char *limit = is_last ? limit_of(rows, lanes) : NULL;
        if (limit)
            pk_out_note(
                out, pk_printf(a, "The rate of memory with %s is not proved flat, so it may be too high: %s.",
                               pk_plural((size_t)lanes, "lane", a), limit));
    }
    pk_out_note(out, "Fastest: of copy, triad and read. Bytes are read + written by the program, as STREAM "
                     "counts them: the lines that a copy or triad "
                     "of large arrays also reads before it writes them are not counted.");
}

void pk_ceilings_print(struct pk_out *out, const char *key, const struct pk_stored_ceilings *stored,
                       const struct pk_rows *curve, struct pk_arena *a)
{
    begin_ceilings(out, &stored->top, a);
    ceilings_row(out, key, stored);
    note_sheet(out, stored, a);
    if (stored->late)
        pk_out_note(out, "Not measured again: the worker did not end in 2 min. These are stored.");
    if (*stored->doubtful)
        pk_out_note(out, pk_printf(a,
                                   "Measured on a busy host: no second repetition came within 5 %% of the "
                                   "highest %s. Repetitions are kept; the next run adds one.",
                                   stored->doubtful));
    print_levels(out, stored);
    print_curve(out, curve, a);
}
