/* Bucket report: the tables of a plan of buckets. */
#include "model/bucket/bucket_advice.h"
#include "model/terms/terms.h"

#include <string.h>

static const struct pk_column advice_columns[] = {
    {.key = "ranks", .heading = "Ranks", .decimals = -1},
    {.key = "choice", .heading = "Choice", .left = true},
    {.key = "bucket_bytes", .heading = "Bucket (MB)", .scale = 1e6, .decimals = 3},
    {.key = "buckets", .heading = "Buckets", .decimals = -1},
    {.key = "oversize", .heading = "Oversize", .decimals = -1, .optional = 1},
    {.key = "exposed_ns", .heading = "Exposed (ms)", .scale = 1e6, .decimals = 3},
    {.key = "simulated_ns", .heading = "Simulated (ms)", .scale = 1e6, .decimals = 3},
    {.key = "total_ns", .heading = "Total (ms)", .scale = 1e6, .decimals = 3},
    {.key = "loss_ns", .heading = "Above the least possible (ms)", .scale = 1e6, .decimals = 3},
};

static const struct pk_column term_columns[] = {
    {.key = "ranks", .heading = "Ranks", .decimals = -1},
    {.key = "gradient_bytes", .heading = "s (MB)", .scale = 1e6, .decimals = 3, .optional = 1},
    {.key = "produced_bytes_per_s", .heading = "g (GB/s)", .scale = 1e9, .decimals = 3},
    {.key = "launch_ns", .heading = "o (us)", .scale = 1e3, .decimals = 2, .optional = 3},
    {.key = "link_bytes_per_s", .heading = "w, algbw (GB/s)", .scale = 1e9, .decimals = 3},
    {.key = "balance_bytes", .heading = "sqrt(s o g) (MB)", .scale = 1e6, .decimals = 3},
    {.key = "hidden_bytes", .heading = "o/(1/g-1/w) (MB)", .scale = 1e6, .decimals = 3},
    {.key = "general_bytes", .heading = "least of both (MB)", .scale = 1e6, .decimals = 3, .optional = 2},
    {.key = "report_bytes", .heading = "sqrt(s o w) (MB)", .scale = 1e6, .decimals = 3},
    {.key = "regime", .heading = "Regime", .left = true},
};

static const struct pk_column explain_columns[] = {
    {.key = "ranks", .heading = "Ranks", .decimals = -1},
    {.key = "name", .heading = "Name", .left = true},
    {.key = "value", .heading = "Value", .decimals = -1},
    {.key = "unit", .heading = "Unit", .left = true},
    {.key = "formula", .heading = "Formula", .left = true},
    {.key = "numbers", .heading = "With numbers", .left = true},
    {.key = "meaning", .heading = "What it is, and what is assumed", .left = true},
};

static void print_choices(struct pk_out *out, const struct pk_bucket_inputs *q,
                          const struct pk_bucket_advice *v)
{
    static const char *const names[PK_BUCKET_CHOICES] = {
        [PK_CHOOSE_PLAYED] = "model, these tensors", [PK_CHOOSE_EQUAL] = "model, equal buckets",
        [PK_CHOOSE_REPORT] = "sqrt(s o w)",          [PK_CHOOSE_FLAT] = "one bucket",
        [PK_CHOOSE_OVERLAP] = "per tensor",
    };
    for (int i = 0; i < PK_BUCKET_CHOICES; i++) {
        const struct pk_bucket_choice *c = &v->choice[i];
        struct pk_row *row = pk_row_begin(out);
        pk_put_int(row, "ranks", q->ranks);
        pk_put_text(row, "choice", names[i]);
        if (i != PK_CHOOSE_OVERLAP)
            pk_put_int(row, "bucket_bytes", llround(c->bytes));
        pk_put_int(row, "buckets", (int64_t)c->buckets.n);
        pk_put_int(row, "oversize", (int64_t)c->buckets.oversize);
        pk_put_finite(row, "exposed_ns", c->exposed_ns);
        pk_put_int(row, "simulated_ns", (int64_t)c->simulated_ns);
        pk_put_finite(row, "total_ns", (double)q->backward_ns + c->exposed_ns);
        pk_put_finite(row, "loss_ns", c->exposed_ns - v->ideal_ns);
        pk_row_end(row);
    }
}

static void print_terms(struct pk_out *out, const struct pk_bucket_inputs *q,
                        const struct pk_bucket_advice *v)
{
    struct pk_row *row = pk_row_begin(out);
    pk_put_int(row, "ranks", q->ranks);
    pk_put_finite(row, "gradient_bytes", v->rates.gradient_bytes);
    pk_put_finite(row, "produced_bytes_per_s", v->rates.produced_bytes_per_s);
    pk_put_finite(row, "launch_ns", v->rates.launch_ns);
    pk_put_finite(row, "link_bytes_per_s", v->rates.link_bytes_per_s);
    pk_put_finite(row, "balance_bytes", v->optimum.balance_bytes);
    pk_put_finite(row, "hidden_bytes", v->optimum.hidden_bytes);
    pk_put_finite(row, "general_bytes", v->optimum.bytes);
    pk_put_finite(row, "report_bytes", v->optimum.report_bytes);
    pk_put_text(row, "regime",
                v->optimum.regime == PK_BUCKET_COMPUTE_BOUND ? "compute-bound" : "communication-bound");
    pk_row_end(row);
}

/* --- explained --- */

/* A value, the formula that pk_bucket_optimum and the virtual link compute it by, and what it means. */
struct explained {
    const char *name, *unit, *formula, *meaning;
    double value;
};
enum { EXPLAINED = 11 };

static void explained_rows(const struct pk_bucket_inputs *q, const struct pk_bucket_advice *v,
                           struct explained rows[EXPLAINED])
{
    const struct pk_bucket_rates *r = &v->rates;
    const struct pk_bucket_optimum *b = &v->optimum;
    const struct explained all[EXPLAINED] = {
        {"s", "bytes", "", "of all gradients; every rank has them", r->gradient_bytes},
        {"ranks", "ranks", "", "that average", q->ranks},
        {"backward_ns", "ns", "", "backward pass without communication", (double)q->backward_ns},
        {"busbw", "bytes/s", "", "of a link of the ring", q->link.bytes_per_s},
        {"o", "ns", "", "of an all-reduce of any size, with its hops", r->launch_ns},
        {"g", "bytes/s", "1e9 * s / backward_ns", "at which gradients become ready, evenly",
         r->produced_bytes_per_s},
        {"w", "bytes/s", "busbw * ranks / (2 * (ranks - 1))", "of gradients in a ring all-reduce (algbw)",
         r->link_bytes_per_s},
        {"balance", "bytes", "sqrt(s * o * g / 1e9)",
         "best bucket where every bucket waits for the one before", b->balance_bytes},
        {"hidden", "bytes", "g < w ? o / 1e9 / (1 / g - 1 / w) : 1 / 0",
         "least bucket that hides all but the last; needs g < w", b->hidden_bytes},
        {"best", "bytes", "fmin(fmin(balance, hidden), s)", "best size of equal buckets", b->bytes},
        {"report", "bytes", "fmin(sqrt(s * o * w / 1e9), s)", "balance if g were w", b->report_bytes},
    };
    memcpy(rows, all, sizeof all);
}

static const double *find_explained(const void *values, const char *name, size_t n)
{
    const struct explained *rows = values;
    for (size_t i = 0; i < EXPLAINED; i++)
        if (!strncmp(rows[i].name, name, n) && !rows[i].name[n])
            return &rows[i].value;
    return NULL;
}

static void explain(struct pk_out *out, const struct pk_bucket_inputs *q, const struct pk_bucket_advice *v,
                    struct pk_arena *a)
{
    struct explained rows[EXPLAINED];
    explained_rows(q, v, rows);
    for (size_t i = 0; i < EXPLAINED; i++) {
        struct pk_row *row = pk_row_begin(out);
        pk_put_int(row, "ranks", q->ranks);
        pk_put_text(row, "name", rows[i].name);
        pk_put_finite(row, "value", rows[i].value);
        pk_put_text(row, "unit", rows[i].unit);
        pk_put_nonempty(row, "formula", rows[i].formula);
        pk_put_nonempty(row, "numbers", pk_formula_numbers(rows[i].formula, find_explained, rows, a));
        pk_put_text(row, "meaning", rows[i].meaning);
        pk_row_end(row);
    }
}

void pk_bucket_print(struct pk_out *out, const struct pk_bucket_inputs *q, const struct pk_bucket_advice *v,
                     size_t n, bool explained, struct pk_arena *a)
{
    pk_out_table(out, "bucket", "Best bucket size", PK_COLUMNS(advice_columns));
    for (size_t i = 0; i < n; i++)
        print_choices(out, &q[i], &v[i]);
    pk_out_note(out, "Exposed: communication after the end of backward, computed by the model; simulated: "
                     "the same, sent over a virtual link. Total: backward plus exposed communication.");
    pk_out_note(out, "The least possible: the best division of the tensors into buckets of any sizes.");
    pk_out_table(out, "terms", "Why (docs/ddp-bucket.md)", PK_COLUMNS(term_columns));
    for (size_t i = 0; i < n; i++)
        print_terms(out, &q[i], &v[i]);
    if (!explained)
        return;
    pk_out_table(out, "explain", "Every value, from top to bottom", PK_COLUMNS(explain_columns));
    for (size_t i = 0; i < n; i++)
        explain(out, &q[i], &v[i], a);
}
