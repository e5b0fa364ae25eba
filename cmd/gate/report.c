/* Gate, report: JUnit, summary, annotations and other files of a gate, also when it ended with an error. */
#include "cmd/gate/gate.h"

#include "base/clock.h"
#include "base/file.h"
#include "cmd/compare/compare.h"
#include "cmd/frame/frame.h"
#include "judge/report/outcome.h"
#include "json/json.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- the files ------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct pk_report_files, member)

const struct pk_opt pk_report_rows[] = {
    {"junit", .type = PK_OPT_TEXT, .offset = AT(junit), .arg = "FILE", .cli_only = true,
     .group = "Report files", .help = "also write the verdicts as JUnit XML"},
    {"summary", .type = PK_OPT_TEXT, .offset = AT(summary), .arg = "FILE", .cli_only = true,
     .help = "also write the tables as markdown"},
    {"json", .type = PK_OPT_TEXT, .offset = AT(json), .arg = "FILE", .cli_only = true,
     .help = "also write the tables as JSON"},
    {"gab", .type = PK_OPT_TEXT, .offset = AT(gab), .arg = "FILE", .cli_only = true,
     .help = "also write the judged metrics for github-action-benchmark (customSmallerIsBetter)"},
    {"gab-bigger", .type = PK_OPT_TEXT, .offset = AT(gab_bigger), .arg = "FILE", .cli_only = true,
     .help = "the same for metrics of which more is better (customBiggerIsBetter)"},
    {0},
};

enum { STEP_SUMMARY_BYTES = 1000000 }; /* GitHub takes 1 MiB */

static const char *gab_smaller(const struct pk_report *r, struct pk_arena *a)
{
    return pk_report_gab(r, false, a);
}

static const char *gab_bigger(const struct pk_report *r, struct pk_arena *a)
{
    return pk_report_gab(r, true, a);
}

/* A text, or the tables in a format. */
static const struct report_file {
    const char *option;
    size_t at; /* of its path in struct pk_report_files */
    const char *(*text)(const struct pk_report *r, struct pk_arena *a);
    enum pk_format format;
} report_files[] = {
    {"junit", offsetof(struct pk_report_files, junit), pk_report_junit, 0},
    {"summary", offsetof(struct pk_report_files, summary), NULL, PK_FMT_MARKDOWN},
    {"json", offsetof(struct pk_report_files, json), NULL, PK_FMT_JSON},
    {"gab", offsetof(struct pk_report_files, gab), gab_smaller, 0},
    {"gab-bigger", offsetof(struct pk_report_files, gab_bigger), gab_bigger, 0},
};
enum { REPORT_FILES = sizeof report_files / sizeof *report_files };

static const char *path_of(const struct pk_report_files *f, const struct report_file *row)
{
    return *(const char *const *)((const char *)f + row->at);
}

/* A path that is the same for the same file, whether it is there yet or not. */
static const char *canonical(const char *path, struct pk_arena *a)
{
    char real[4096]; /* PATH_MAX */
    const char *slash = strrchr(path, '/');
    if (realpath(path, real))
        return pk_strdup(a, real);
    if (!realpath(slash ? pk_strndup(a, path, (size_t)(slash - path) + 1) : ".", real))
        return path;
    return pk_printf(a, "%s/%s", real, slash ? slash + 1 : path);
}

/* The option before the i-th that names this file, too; NULL = none. A device or a pipe takes several. */
static const char *same_file(const struct pk_app *app, const struct pk_report_files *f, size_t i)
{
    struct stat st;
    const char *path = path_of(f, &report_files[i]), *of = app->globals->output;
    const char *real = canonical(path, app->arena);
    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        return NULL;
    if (of && strcmp(canonical(of, app->arena), real) == 0)
        return "-o";
    for (size_t k = 0; k < i; k++) {
        const char *earlier = path_of(f, &report_files[k]);
        if (earlier && strcmp(canonical(earlier, app->arena), real) == 0)
            return pk_printf(app->arena, "--%s", report_files[k].option);
    }
    return NULL;
}

static enum pk_code check(const struct pk_app *app, const struct pk_report_files *f, size_t i,
                          struct pk_err *err)
{
    struct pk_output o = {0};
    const char *path = path_of(f, &report_files[i]), *other = path ? same_file(app, f, i) : NULL;
    if (!path)
        return PK_OK;
    if (other) {
        pk_fail(err, PK_E_USAGE, "%s and --%s name the same file '%.300s'", other, report_files[i].option,
                path);
        pk_why(err, "each writes a whole file");
        return pk_fix(err, "give each a file of its own");
    }
    if (pk_output_open(path, app->arena, &o, err))
        return pk_within(err, "--%s", report_files[i].option);
    pk_output_discard(&o);
    return PK_OK;
}

enum pk_code pk_reports_check(const struct pk_app *app, struct pk_report_files *f, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    struct pk_err next;
    for (size_t i = 0; i < REPORT_FILES; i++)
        if (check(app, f, i, &next)) {
            *(const char **)((char *)f + report_files[i].at) = NULL;
            rc = pk_another_error(rc, &next, err);
        }
    return rc;
}

/* What is written, and where. */
struct reporting {
    const struct pk_app *app;
    const struct pk_report_files *files;
    const struct pk_report *r;
    const struct pk_report_content *content; /* prints the tables */
};

static enum pk_code print_into(const struct reporting *w, FILE *f, enum pk_format format, struct pk_err *err)
{
    const struct pk_out_options options = {.format = format, .stop_flag = &pk_stop_flag};
    struct pk_err ignored;
    struct pk_out *out = pk_out_open(f, &options);
    enum pk_code rc = w->content->print(w->content->user, out, err);
    enum pk_code closed = pk_out_close(out, rc ? &ignored : err);
    return rc ? rc : closed;
}

static enum pk_code write_file(const struct reporting *w, const struct report_file *row, struct pk_err *err)
{
    struct pk_output o = {0};
    const char *path = path_of(w->files, row),
               *text = path && row->text ? row->text(w->r, w->app->arena) : NULL;
    if (path && row->text && !text)
        pk_print_note(w->app,
                      "--%s: no compared metric has the direction of this format: '%s' is not written",
                      row->option, path);
    if (!path || (row->text && !text))
        return PK_OK;
    if (pk_output_open(path, w->app->arena, &o, err))
        return err->code;
    enum pk_code rc = text ? PK_OK : print_into(w, o.f, row->format, err);
    /* Of a write; the error of another kind has none, and says it itself. */
    errno = text ? pk_out_plain(o.f, text, &pk_stop_flag) : rc ? err->number : 0;
    if (!rc && !errno)
        return pk_output_keep(&o, err);
    if (errno)
        rc = pk_output_cannot(path, err);
    pk_output_discard(&o);
    return rc;
}

/* Appends, since other steps' commands write there too; cut where GitHub would refuse all of it. */
static enum pk_code write_step_summary(const struct reporting *w, const char *path, struct pk_err *err)
{
    static const char cut[] = "\n\nThe rest is omitted: GitHub limits the length.\n";
    PK_CLEANUP_FILE FILE *f = fopen(path, "ae");
    if (!f) {
        pk_fail(err, PK_E_IO, "cannot write the step's summary to '%.300s'", path);
        pk_why_errno(err, errno);
        return pk_fix(err, "set GITHUB_STEP_SUMMARY to a file that can be written, or unset it");
    }
    if (print_into(w, f, PK_FMT_MARKDOWN, err))
        return err->code;
    if (ftell(f) > STEP_SUMMARY_BYTES && !ftruncate(fileno(f), STEP_SUMMARY_BYTES - (long)sizeof cut))
        fputs(cut, f);
    return PK_OK;
}

/* Appends, since the step may have outputs of its own. */
static enum pk_code write_step_outputs(const struct reporting *w, const char *path, struct pk_err *err)
{
    PK_CLEANUP_FILE FILE *f = fopen(path, "ae");
    if (f && fputs(pk_report_outputs(w->r, w->app->arena), f) != EOF && !fflush(f))
        return PK_OK;
    const int why = errno;
    pk_fail(err, PK_E_IO, "cannot write the step's outputs to '%.300s'", path);
    pk_why_errno(err, why);
    return pk_fix(err, "set GITHUB_OUTPUT to a file that can be written, or unset it");
}

/* What a workflow on GitHub shows of the step. */
static enum pk_code write_step(const struct reporting *w, struct pk_err *err)
{
    const char *summary = getenv("GITHUB_STEP_SUMMARY"), *outputs = getenv("GITHUB_OUTPUT"),
               *actions = getenv("GITHUB_ACTIONS");
    if ((summary && *summary && write_step_summary(w, summary, err)) ||
        (outputs && *outputs && write_step_outputs(w, outputs, err)))
        return err->code;
    if (actions && strcmp(actions, "true") == 0)
        fputs(pk_report_annotations(w->r, w->app->arena), stderr);
    return PK_OK;
}

/* The outcome is the command's last word, and its status: what else went wrong is printed before it. A signal is stronger: the reports are
 * not complete. */
static enum pk_code combine_errors(enum pk_code outcome, const struct pk_err *late, struct pk_err *err)
{
    if (late->code == PK_E_INTERRUPTED)
        return pk_another_error(outcome, late, err);
    if (outcome)
        pk_print_error(late);
    else
        *err = *late;
    return err->code;
}

/* --- of a gate ------------------------------------------------------------------------------------------- */

/* "perfkit gate selftest", "perfkit gate perf --against main" */
static const char *name_of(const struct gate *g)
{
    struct pk_arena *a = g->app->arena;
    const char *of = NULL, *against = g->o->against;
    if (g->o->run.suite)
        of = g->list.name ? g->list.name : g->o->run.suite;
    else if (!against && g->app->args.n)
        of = g->app->args.v[0];
    return pk_printf(a, "perfkit gate%s%s%s%s", of ? " " : "", of ? of : "", against ? " --against " : "",
                     against ? against : "");
}

enum pk_code pk_gate_report(struct gate *g, const struct pk_report_content *content, enum pk_code outcome,
                            struct pk_err *err)
{
    struct pk_arena *a = g->app->arena;
    char now[24];
    const time_t t = (time_t)(pk_wall_ns() / PK_NS_PER_S);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    PK_JSON_CLEANUP json_t *machine =
        content->measured ? json_loads(content->measured->machine, 0, NULL) : NULL;
    struct pk_report r = {
        .comparison = content->comparison,
        .failures = content->failures,
        .n_failures = content->n_failures,
        .outcome = content->word ? content->word : pk_outcome_word(outcome),
        .name = name_of(g),
        .host = pk_json_str(machine, "host", ""),
        .started_at = content->measured ? content->measured->started_at : now,
        .seconds = (double)(pk_clock_ns() - g->began_ns) / PK_NS_PER_S,
    };
    const struct reporting w = {g->app, &g->o->files, &r, content};
    struct pk_err late;
    g->reported = true;
    /* of verdicts: what failed or could not be compared at all has none */
    if (g->o->no_fail && content->measured && (outcome == PK_E_REGRESSION || outcome == PK_E_UNDECIDED))
        outcome = PK_OK;
    if (outcome)
        r = pk_report_with_outcome(&r, err, a);
    for (size_t i = 0; i < REPORT_FILES; i++)
        if (write_file(&w, &report_files[i], &late)) {
            pk_within(&late, "--%s", report_files[i].option);
            outcome = combine_errors(outcome, &late, err);
            if (late.code == PK_E_INTERRUPTED)
                return outcome;
        }
    return write_step(&w, &late) ? combine_errors(outcome, &late, err) : outcome;
}

/* --- no outcome ------------------------------------------------------------------------------------------------------- */

static enum pk_code print_failure(void *user, struct pk_out *out, struct pk_err *err)
{
    pk_failures_print(user, 1, out);
    return PK_OK;
}

enum pk_code pk_gate_report_error(struct gate *g, struct pk_err *err)
{
    const struct pk_comparison none = {0};
    struct pk_failure t = {.side = "both",
                           .status = pk_outcome_word(err->code),
                           .message = pk_printf(g->app->arena, "%s: %s", err->what, err->why)};
    const struct pk_report_content content = {.comparison = &none, .print = print_failure, .user = &t};
    return pk_gate_report(g, &content, err->code, err);
}
