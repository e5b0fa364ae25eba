/* Gate, sides: programs, builds of perfkit, or settings of an experiment. */
#include "cmd/gate/gate.h"

#include "base/text/words.h"
#include "opt/opt.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum pk_code within_side(struct pk_err *err, const struct pk_gate_side *s)
{
    return pk_within(err, "--%s", s->option);
}

/* A perfkit, or the folder of a build that holds one. */
static enum pk_code read_build(struct pk_gate_side *s, struct pk_arena *a, struct pk_err *err)
{
    struct stat st;
    const bool folder = stat(s->text, &st) == 0 && S_ISDIR(st.st_mode);
    const char *program = folder ? pk_printf(a, "%s/perfkit", s->text) : s->text;
    const char **argv = pk_new_n(a, const char *, 3);
    argv[0] = program;
    argv[1] = "worker";
    s->argv = argv;
    const char *const alone[] = {program, NULL};
    if (pk_program_find(alone, err)) {
        within_side(err, s);
        return pk_fix(
            err, "with an experiment, --%s is a build of perfkit (build/perfkit) or settings (dtype=bf16)",
            s->option);
    }
    return PK_OK;
}

/* A program that describes the experiment: a state of its code. The axes of b follow those of a, whichever of them the experiment was named by. */
static enum pk_code read_program(struct gate_entry *e, struct pk_gate_side *s, struct pk_err *err)
{
    const struct pk_probe *p;
    if (pk_experiment_named(e->app, s->text, &p, err))
        return within_side(err, s);
    if (!p->own || strcmp(p->name, e->sides->probe->name) != 0) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "--%s %s describes %s", s->option, s->text, p->name);
        pk_why(err, "%s describes %s, and only results of one experiment are compared",
               pk_probe_call(e->sides->probe), e->sides->probe->name);
        return pk_fix(err, "give another version of this program");
    }
    const struct pk_probe *base = s == &e->sides->side[PK_BASE] ? p : e->sides->side[PK_BASE].run.probe;
    if (p != base &&
        (pk_descriptor_check_changes(p->own, base->own, pk_probe_call(base), e->app->arena, err) ||
         pk_descriptor_align(p->own, base->own, e->app->arena, err)))
        return within_side(err, s);
    s->run.probe = p;
    s->argv = p->own->provider.argv;
    return PK_OK;
}

/* One value for each axis; `variant=NAME` is one more. */
static enum pk_code read_setting(struct gate_entry *e, struct pk_gate_side *s, const char *text,
                                 struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    struct pk_run_options *own = s->run.o;
    struct pk_axis_sweep setting = {.sweep = {.n = 1}};
    bool variant = strncmp(text, "variant=", 8) == 0;
    if (variant)
        own->variants = (struct pk_texts){0};
    if (variant)
        pk_texts_add(&own->variants, text + 8, a);
    else if (pk_axis_assign(e->sides->probe->axes, text, a, &setting, err))
        return within_side(err, s);
    else
        pk_texts_add(&own->axes, text, a);
    if (setting.sweep.n == 1 && !(variant && strchr(text, ',')))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--%s %s has several values", s->option, text);
    pk_why(err, "a side of a gate is one setting");
    return pk_fix(err, "give one value here; use -a for values that both sides sweep");
}

static enum pk_code read_side(struct gate_entry *e, struct pk_gate_side *s, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    s->run = pk_run_of(e->app, pk_new(a, struct pk_run_options), e->sides->probe);
    *s->run.o = e->o->run;
    s->run.o->axes = (struct pk_texts){0}; /* its own list, which settings are added to */
    for (size_t i = 0; i < e->o->run.axes.n; i++)
        pk_texts_add(&s->run.o->axes, e->o->run.axes.v[i], a);
    if (!e->sides->probe)
        return pk_words_split(s->option, s->text, a, &s->argv, err) ? err->code
               : pk_program_find(s->argv, err)                      ? within_side(err, s)
                                                                    : PK_OK;
    if (!strchr(s->text, '=') || access(s->text, F_OK) == 0)
        return e->sides->probe->own ? read_program(e, s, err) : read_build(s, a, err);
    s->is_settings = true;
    s->argv = pk_probe_provider(e->sides->probe)->argv;
    for (const char *rest = s->text, *part; (part = pk_next_part(&rest, ' ', a));)
        if (*part && read_setting(e, s, part, err))
            return err->code;
    return PK_OK;
}

enum pk_code pk_gate_read_sides(struct gate_entry *e, struct pk_err *err)
{
    e->sides->side[PK_BASE].option = "a";
    e->sides->side[PK_BASE].text = e->o->a;
    e->sides->side[PK_NEW].option = "b";
    e->sides->side[PK_NEW].text = e->o->b;
    for (int i = 0; i < PK_SIDES; i++) {
        struct pk_gate_side *s = &e->sides->side[i];
        if (!s->text || !*s->text) {
            pk_fail(err, PK_E_USAGE, "--%s is missing", s->option);
            pk_why(err, "a gate measures two sides: --a is the base, --b is the judged side");
            return pk_fix(err, "perfkit gate --a './old input' --b './new input', or perfkit gate "
                               "attention-scaling --a build-main --b build");
        }
        if (pk_text_check(s->option, s->text, err) || read_side(e, s, err))
            return err->code;
    }
    if (e->sides->side[PK_BASE].is_settings == e->sides->side[PK_NEW].is_settings)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--a %s and --b %s are not of the same kind", e->o->a, e->o->b);
    pk_why(err, "one is a setting of %s, the other a program", e->sides->probe->name);
    return pk_fix(err, "give two %s, or two settings",
                  e->sides->probe->own ? "programs" : "builds of perfkit");
}

/* --- the command of an entry --------------------------------------------------------------------------------------- */

/* "dtype=bf16": a setting of an experiment, where a command has none. */
static enum pk_code refuse_setting(const struct pk_entry *s, const char *option, const char *side,
                                   struct pk_err *err)
{
    if (!side || !strchr(side, '=') || access(side, F_OK) == 0)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "%s is a command, and --%s %s is a setting", s->place, option, side);
    pk_why(err, "settings apply to experiments");
    return pk_fix(err, "give two folders for {side} in its command, or give the entry its own `a` and `b`");
}

/* The line of each side of a command: those of a and b, or one line with a side put into it. */
enum pk_code pk_gate_read_command(const struct pk_entry *s, struct gate_options *o, struct pk_err *err)
{
    const char *a = o->a, *b = o->b;
    if (!o->name)
        o->name = s->name;
    if (!s->command)
        return PK_OK;
    if (!strstr(s->command, "{side}")) {
        pk_fail(err, PK_E_USAGE, "%s is the same command on both sides", s->place);
        pk_why(err, "'%.200s' does not contain {side}", s->command);
        return pk_fix(err, "write {side} where the value of --a or --b belongs: command = {side}/solve");
    }
    if (refuse_setting(s, "a", a, err) || refuse_setting(s, "b", b, err) || !a || !b)
        return a && b ? err->code : PK_OK; /* what is missing is reported with the others' */
    return pk_entry_command(s, a, &o->a, err) || pk_entry_command(s, b, &o->b, err) ? err->code : PK_OK;
}
