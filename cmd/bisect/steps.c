/* Bisect, steps: a commit is built and gated, and what that says. */
#include "cmd/bisect/bisect.h"

#include "bench/record/runinfo.h"
#include "judge/report/comparison.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

const char *pk_bisect_text(const struct search *s, const char *key)
{
    return pk_json_str(s->state, key, "");
}

enum pk_code pk_bisect_save(const struct search *s, struct pk_err *err)
{
    const char *path = pk_bisect_path(s, "state.json"), *fresh = pk_bisect_path(s, "state.json.new");
    if (json_dump_file(s->state, fresh, JSON_INDENT(1)) == 0 && rename(fresh, path) == 0)
        return PK_OK;
    pk_fail(err, PK_E_IO, "cannot write %s", path);
    pk_why_errno(err, errno);
    return pk_fix(err, "free space there, then perfkit bisect --resume");
}

const char *pk_bisect_short(const struct search *s, const char *commit)
{
    return pk_strndup(s->a, commit, 12);
}

enum pk_code pk_bisect_interrupted(struct pk_err *err)
{
    pk_fail(err, PK_E_INTERRUPTED, "interrupted");
    pk_why(err, "what was decided is kept");
    return pk_fix(err, "perfkit bisect --resume");
}

int pk_bisect_build(const struct search *s, const char *tree)
{
    const json_t *words = json_object_get(s->state, "build");
    const size_t n = json_array_size(words);
    const char **argv = pk_new_n(s->a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        argv[i] = json_string_value(json_array_get(words, i));
    return pk_bisect_run(s, tree, "build.log", argv);
}

static const char *side_of(const struct search *s, const char *tree)
{
    return pk_printf(s->a, "env -C %s %s", pk_shell_quote(pk_bisect_path(s, tree), s->a),
                     pk_bisect_text(s, "side"));
}

double pk_bisect_ratio(const struct search *s)
{
    PK_JSON_CLEANUP json_t *report = json_load_file(pk_bisect_path(s, "gate.json"), 0, NULL);
    return pk_compare_read_change(report);
}

double pk_bisect_change(double ratio)
{
    return round(1000 * (ratio - 1)) / 10 + 0.0;
}

/* A gate of the tree against the base: its exit status. */
int pk_bisect_gate(const struct search *s, const char *commit, bool dry_run, struct pk_err *err)
{
    const double min_effect = pk_json_num(s->state, "min_effect", 0);
    const char *label = pk_printf(s->a, "bisect-%s", pk_bisect_short(s, commit));
    const char *const own[] = {"/proc/self/exe",
                               "gate",
                               "--a",
                               side_of(s, "base"),
                               "--b",
                               side_of(s, "tree"),
                               "--json",
                               pk_bisect_path(s, "gate.json"),
                               "--label",
                               label};
    const char *const *more = &(const char *){NULL};
    size_t n = sizeof own / sizeof *own, n_more = 0;
    if (*pk_bisect_text(s, "gate") && pk_words_split("gate", pk_bisect_text(s, "gate"), s->a, &more, err))
        return -1;
    while (more[n_more])
        n_more++;
    const char **argv = pk_new_n(s->a, const char *, n + n_more + 5);
    memcpy(argv, own, sizeof own);
    if (s->app->globals->db) {
        argv[n++] = "--db";
        argv[n++] = s->app->globals->db;
    }
    if (min_effect > 0)
        argv[n++] = pk_printf(s->a, "--min-effect=%.4f", min_effect);
    if (dry_run)
        argv[n++] = "--dry-run";
    memcpy(argv + n, more, n_more * sizeof *more);
    unlink(pk_bisect_path(s, "gate.json"));
    return pk_bisect_run(s, NULL, "gate.log", argv);
}

static enum pk_code add_step(const struct search *s, const char *commit, const char *decision,
                             const char *why, double ratio, struct pk_err *err)
{
    json_t *step =
        json_pack("{s:s, s:s, s:s, s:s, s:o}", "commit", commit, "subject", pk_bisect_subject(s, commit),
                  "decision", decision, "why", why, "ratio", pk_json_real(ratio));
    json_array_append_new(json_object_get(s->state, "steps"), step);
    pk_print_note(s->app, "%s %s: %s (%s)", pk_bisect_short(s, commit), pk_json_str(step, "subject", ""),
                  decision, why);
    return pk_bisect_save(s, err);
}

/* Builds and gates the commit that git chose. */
enum pk_code pk_bisect_decide(const struct search *s, const char *commit, struct pk_err *err)
{
    const int built = pk_bisect_build(s, "tree");
    if (pk_stop_flag)
        return pk_bisect_interrupted(err);
    if (built)
        return add_step(
            s, commit, "skip",
            pk_printf(s->a, "the build ended with %d: %s", built, pk_bisect_last_line(s, "build.log")), NAN,
            err);
    const int status = pk_bisect_gate(s, commit, false, err);
    if (status < 0)
        return err->code;
    if (pk_stop_flag || status == 130)
        return pk_bisect_interrupted(err);
    const double ratio = pk_bisect_ratio(s);
    const char *change = isnan(ratio) ? "" : pk_printf(s->a, ", %+.1f %%", pk_bisect_change(ratio));
    if (status == 3)
        return add_step(s, commit, "bad", pk_printf(s->a, "slower%s", change), ratio, err);
    if (status == 0)
        return add_step(s, commit, "good", pk_printf(s->a, "not slower%s", change), ratio, err);
    return add_step(s, commit, "skip",
                    pk_printf(s->a, "the gate ended with %d: %s", status, pk_bisect_gate_error(s)), ratio,
                    err);
}

static const struct pk_column columns[] = {
    {.key = "step", .heading = "Step", .decimals = -1},
    {.key = "commit", .heading = "Commit", .left = true},
    {.key = "subject", .heading = "Subject", .left = true},
    {.key = "decision", .heading = "Decision", .left = true, .state = true},
    {.key = "ratio", .heading = "Commit / base", .decimals = 3},
    {.key = "why", .heading = "Why", .left = true},
};

void pk_bisect_print(const struct search *s)
{
    const json_t *step, *steps = json_object_get(s->state, "steps");
    size_t i;
    pk_out_again(s->app->out, NULL); /* the same command would measure */
    pk_out_table(s->app->out, "bisect", "Commits that were tried", PK_COLUMNS(columns));
    json_array_foreach(steps, i, step)
    {
        struct pk_row *row = pk_row_begin(s->app->out);
        pk_put_int(row, "step", (int64_t)i + 1);
        const char *commit = pk_json_str(step, "commit", "");
        pk_put_text(row, "commit", pk_for_people(s->app) ? pk_bisect_short(s, commit) : commit);
        pk_put_text(row, "subject", pk_json_str(step, "subject", ""));
        pk_put_text(row, "decision", pk_json_str(step, "decision", ""));
        pk_put_real(row, "ratio", pk_json_num(step, "ratio", NAN));
        pk_put_text(row, "why", pk_json_str(step, "why", ""));
        pk_row_end(row);
    }
}
