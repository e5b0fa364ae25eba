/* Reports: writing them. */
#include "cmd/reports.h"

#include "base/cleanup.h"
#include "cmd/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP_SUMMARY_BYTES = 1000000 }; /* GitHub takes 1 MiB */

enum pk_code pk_reports_check(const struct pk_report_files *f, struct pk_arena *a, struct pk_err *err)
{
    const char *const paths[] = {f->junit, f->summary, f->json, f->gab, f->gab_bigger};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct pk_output o;
        if (!paths[i])
            continue;
        if (pk_output_open(paths[i], a, &o, err))
            return err->code;
        pk_output_discard(&o);
    }
    return PK_OK;
}

static enum pk_code write_text(const char *path, const char *text, struct pk_arena *a, struct pk_err *err)
{
    struct pk_output o;
    if (!path || !text)
        return PK_OK;
    if (pk_output_open(path, a, &o, err))
        return err->code;
    fputs(text, o.f);
    return pk_output_keep(&o, err);
}

static enum pk_code print_into(FILE *f, enum pk_format format, pk_print_fn *print, void *user,
                               struct pk_err *err)
{
    const struct pk_out_options options = {.format = format};
    struct pk_err ignored;
    struct pk_out *out = pk_out_open(f, &options);
    enum pk_code rc = print(user, out, err);
    enum pk_code closed = pk_out_close(out, rc ? &ignored : err);
    return rc ? rc : closed;
}

static enum pk_code write_tables(const char *path, enum pk_format format, pk_print_fn *print, void *user,
                                 struct pk_arena *a, struct pk_err *err)
{
    struct pk_output o;
    if (!path)
        return PK_OK;
    if (pk_output_open(path, a, &o, err))
        return err->code;
    if (print_into(o.f, format, print, user, err)) {
        pk_output_discard(&o);
        return err->code;
    }
    return pk_output_keep(&o, err);
}

/* Appends, since other steps' commands write there too; cut where GitHub would refuse all of it. */
static enum pk_code write_step_summary(const char *path, pk_print_fn *print, void *user, struct pk_err *err)
{
    static const char cut[] = "\n\nThe rest is left out: it is longer than GitHub shows.\n";
    PK_CLEANUP_FILE FILE *f = fopen(path, "ae");
    if (!f) {
        pk_fail(err, PK_E_IO, "cannot write the step's summary to '%.300s'", path);
        pk_why_errno(err, errno);
        return pk_fix(err, "let GITHUB_STEP_SUMMARY name a file that can be written, or unset it");
    }
    if (print_into(f, PK_FMT_MARKDOWN, print, user, err))
        return err->code;
    if (ftell(f) > STEP_SUMMARY_BYTES && !ftruncate(fileno(f), STEP_SUMMARY_BYTES - (long)sizeof cut))
        fputs(cut, f);
    return PK_OK;
}

/* Appends, since the step may have outputs of its own. */
static enum pk_code write_step_outputs(const char *path, const char *text, struct pk_err *err)
{
    PK_CLEANUP_FILE FILE *f = fopen(path, "ae");
    if (f && fputs(text, f) != EOF && !fflush(f))
        return PK_OK;
    const int why = errno;
    pk_fail(err, PK_E_IO, "cannot write the step's outputs to '%.300s'", path);
    pk_why_errno(err, why);
    return pk_fix(err, "let GITHUB_OUTPUT name a file that can be written, or unset it");
}

static bool on_github(void)
{
    const char *v = getenv("GITHUB_ACTIONS");
    return v && strcmp(v, "true") == 0;
}

enum pk_code pk_reports_write(const struct pk_report_files *f, const struct pk_report *r, pk_print_fn *print,
                              void *user, struct pk_arena *a, struct pk_err *err)
{
    const char *step = getenv("GITHUB_STEP_SUMMARY"), *outputs = getenv("GITHUB_OUTPUT");
    if (write_text(f->junit, f->junit ? pk_report_junit(r, a) : NULL, a, err) ||
        write_text(f->gab, f->gab ? pk_report_gab(r, false, a) : NULL, a, err) ||
        write_text(f->gab_bigger, f->gab_bigger ? pk_report_gab(r, true, a) : NULL, a, err) ||
        write_tables(f->summary, PK_FMT_MARKDOWN, print, user, a, err) ||
        write_tables(f->json, PK_FMT_JSON, print, user, a, err) ||
        (step && *step && write_step_summary(step, print, user, err)) ||
        (outputs && *outputs && write_step_outputs(outputs, pk_report_outputs(r, a), err)))
        return err->code;
    if (on_github())
        fputs(pk_report_annotations(r, a), stderr);
    return PK_OK;
}
