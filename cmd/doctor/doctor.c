/* Doctor: what can be measured here, what cannot, why, and how to enable it. --ceilings: the device's peak rates. */
#include "cmd/doctor/doctor.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "counter/source.h"
#include "machine/bind.h"

#include <string.h>

#define COUNT(v)   (sizeof(v) / sizeof *(v))
#define AT(member) offsetof(struct doctor_options, member)

static const struct pk_opt options[] = {
    {"require", .type = PK_OPT_LIST, .offset = AT(require), .arg = "SOURCE",
     .help = "exit with status 6 unless this row or source is ok", .group = "Checks"},
    {"ceilings", .type = PK_OPT_FLAG, .offset = AT(ceilings),
     .help = "measure and store the peak rates and the memory rate over size (5 to 20 s)",
     .group = "Ceilings"},
    {"device", .type = PK_OPT_TEXT, .offset = AT(device), .arg = "DEVICE", .def = "cpu",
     .help = "device whose ceilings are measured"},
    {"threads", .type = PK_OPT_INT, .offset = AT(threads), .arg = "N", .max = 4096,
     .help = "CPU: number of worker threads; 0 is one for each CPU that perfkit may use"},
    {"bind", .type = PK_OPT_TEXT, .offset = AT(bind), .arg = "CPUS", .def = "cores",
     .help = "binding of threads to CPUs: cores, socket:N, numa:N, a list such as 0-3,8, or none"},
    {"memory-limit", .type = PK_OPT_SIZE, .offset = AT(limit_bytes), .arg = "SIZE", .min = 1, .max = 0x1p60,
     .help = "arrays use half of this at most; a low limit may give a memory rate that is too high"},
    {0},
};

static const struct pk_column row_columns[] = {
    {.key = "name", .heading = "What", .left = true},
    {.key = "state", .heading = "State", .left = true, .state = true},
    {.key = "found", .heading = PK_DOCTOR_HEADING, .left = true},
    {.key = "advice", .left = true, .machine = true},
};

/* Of a short output: a line for each row and source that is not ok; what is missing is found where there is room. */
static const struct pk_column short_columns[] = {
    {.key = "name", .heading = "What", .left = true},
    {.key = "state", .heading = "State", .left = true, .state = true},
    {.key = "found", .heading = "Found", .left = true, .clip = true, .optional = 1},
    {.key = "advice", .heading = "What to do", .left = true, .clip = true},
};

static const char *const states[] = {[FOUND_OK] = "ok", [FOUND_WARN] = "warn", [FOUND_NO] = "no"};

static enum pk_code check_required_names(const struct doctor_options *o, struct pk_arena *a,
                                         struct pk_err *err)
{
    struct pk_texts names = {0};
    for (const struct pk_doctor_row *r = pk_doctor_rows; r->name; r++)
        pk_texts_add(&names, r->name, a);
    for (const struct pk_source *const *s = pk_sources; *s; s++)
        pk_texts_add(&names, (*s)->name, a);
    for (size_t i = 0; i < o->require.n; i++) {
        if (pk_texts_has(&names, o->require.v[i]))
            continue;
        pk_fail(err, PK_E_USAGE, "--require %.100s: there is no such row", o->require.v[i]);
        pk_why(err, "%s", pk_suggest_text(a, o->require.v[i], names.v, names.n));
        return pk_fix(err, "perfkit doctor lists them");
    }
    return PK_OK;
}

/* "energy: ...; nvml: ..." of those that are not met, in the order of the options; "" = all are. */
static const char *joined(const struct doctor *d, bool names_alone, bool advice)
{
    const struct doctor_options *o = d->app->options;
    struct pk_buf b = {.arena = d->app->arena};
    for (size_t i = 0; i < o->require.n; i++) {
        const char *text = advice ? d->requirements[i].advice : d->requirements[i].found;
        if (!d->requirements[i].found || !text)
            continue;
        pk_buf_printf(&b, "%s%s", b.n ? names_alone ? ", " : "; " : "", o->require.v[i]);
        if (!names_alone)
            pk_buf_printf(&b, ": %s", text);
    }
    return pk_buf_text(&b);
}

static enum pk_code judge(const struct doctor *d, struct pk_err *err)
{
    const struct doctor_options *o = d->app->options;
    size_t requirements = 0, which = 0;
    for (size_t i = 0; i < o->require.n; i++)
        if (d->requirements[i].found) {
            requirements++;
            which = i;
        }
    if (!requirements)
        return PK_OK;
    const struct pk_requirement *only = requirements == 1 ? &d->requirements[which] : NULL;
    const char *advice = only ? only->advice : joined(d, false, true);
    pk_fail(err, PK_E_UNAVAILABLE, "--require %s: %s not ok on this machine", joined(d, true, false),
            only ? "it is" : "they are");
    pk_why(err, "%s", only ? only->found : joined(d, false, false));
    return pk_fix(err, "%s", advice && *advice ? advice : "run it where it is available, or omit --require");
}

/* Prints every row and source, a screen what is not ok first; required ones that are not ok become the error. */
static enum pk_code print_rows(struct doctor *d, struct pk_err *err)
{
    const struct doctor_options *o = d->app->options;
    struct pk_arena *a = d->app->arena;
    const bool screen = pk_out_on_screen(d->app->out), is_short = pk_out_is_shortened(d->app->out);
    size_t n = 0, of[COUNT(states)] = {0};
    while (pk_doctor_rows[n].name)
        n++;
    struct pk_check_result *f = pk_new_n(a, struct pk_check_result, n);
    for (size_t i = 0; i < n; i++) {
        f[i] = pk_doctor_rows[i].check(d, pk_doctor_rows[i].which);
        of[f[i].state]++;
    }
    _Static_assert(COUNT(row_columns) == COUNT(short_columns), "the same number of columns");
    d->requirements = pk_new_n(a, struct pk_requirement, o->require.n + 1);
    pk_out_table(d->app->out, "doctor",
                 screen ? pk_printf(a, "What can be measured here: %zu ok, %zu warn, %zu no", of[FOUND_OK],
                                    of[FOUND_WARN], of[FOUND_NO])
                        : "What can be measured here",
                 is_short ? short_columns : row_columns, COUNT(row_columns));
    for (int last = 0; last <= screen; last++)
        for (size_t i = 0; i < n; i++)
            if (!screen || (f[i].state == FOUND_OK) == last)
                pk_doctor_put(d, pk_doctor_rows[i].name, states[f[i].state], f[i].found, f[i].advice, 0);
    pk_doctor_end_table(d);
    return pk_doctor_sources(d, err) ? err->code : judge(d, err);
}

/* Options that would change nothing. */
static enum pk_code check_options(const struct pk_app *app, struct pk_err *err)
{
    static const char *const of_ceilings[] = {"device", "threads", "bind", "memory-limit"};
    const struct doctor_options *o = app->options;
    for (size_t i = 0; !o->ceilings && i < COUNT(of_ceilings); i++) {
        if (pk_opt_source_of(&app->tables[1], of_ceilings[i]) != PK_OPT_COMMAND_LINE)
            continue;
        pk_fail(err, PK_E_USAGE, "--%s would change nothing", of_ceilings[i]);
        pk_why(err, "it selects what --ceilings measures, and --ceilings is not given");
        return pk_fix(err, "perfkit doctor --ceilings --%s ...", of_ceilings[i]);
    }
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct doctor_options *o = app->options;
    struct doctor d = {
        .app = app,
        .people = pk_for_people(app),
        .device = o->device,
        .device_options = {.threads = (unsigned)o->threads, .limit_bytes = o->limit_bytes},
    };
    if (check_options(app, err) || check_required_names(o, app->arena, err) ||
        pk_bind_option(o->bind, app->arena, &d.device_options.cpus, &d.device_options.no_bind, err) ||
        pk_machine_read("/", app->arena, &d.machine, err) ||
        ((!o->ceilings || o->require.n) && print_rows(&d, err)))
        return err->code;
    return o->ceilings ? pk_doctor_ceilings(&d, err) : PK_OK;
}

const struct pk_cmd pk_cmd_doctor = {
    .name = "doctor",
    .summary = "what can be measured here, what cannot, and how to enable it",
    .usage = "doctor [--require NAME] [--ceilings [--device NAME]]",
    .examples = "perfkit doctor\n"
                "perfkit doctor --require cpu-events    exit status 6 if they are not ok\n"
                "perfkit doctor --ceilings              measure the peak rates for % of floor\n",
    .options = options,
    .options_bytes = sizeof(struct doctor_options),
    .exact_args = "0",
    .run = run,
};
