/* Run, axes as options: `--seq-len 256,1024` is `-a seq_len=256,1024`. */
#include "cmd/frame/frame.h"
#include "cmd/list/describe.h"
#include "cmd/run/run.h"

#include <string.h>

/* A switch is also heard with "no-", or without it. */
static bool is_spelling(const char *option, const char *name)
{
    const char *stem = strncmp(option, "no-", 3) ? option : option + 3;
    return !strcmp(stem, strncmp(name, "no-", 3) ? name : name + 3);
}

static bool taken(const char *name, const struct pk_opt *rows)
{
    const struct pk_opt *const tables[] = {rows, pk_global_rows};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct pk_opt *o = tables[t]; o->name; o++)
            if (is_spelling(o->name, name))
                return true;
    return !strcmp(name, "help");
}

static char *with_dashes(const char *name, struct pk_arena *a)
{
    char *s = pk_strdup(a, name);
    for (char *c = s; *c; c++)
        if (*c == '_')
            *c = '-';
    return s;
}

const struct pk_opt *pk_run_axis_rows(const struct pk_probe *p, const struct pk_opt *others,
                                      struct pk_arena *a)
{
    struct pk_opt *rows = pk_new_n(a, struct pk_opt, pk_axes_count(p->axes) + 1);
    size_t n = 0;
    for (const struct pk_axis *x = p->axes; x->name; x++) {
        const char *name = with_dashes(x->name, a);
        if (taken(name, others))
            continue;
        rows[n] = (struct pk_opt){name, .type = PK_OPT_TEXT, .arg = "VALUES", .cli_only = true};
        rows[n].into = "axis";
        rows[n].key = x->name;
        rows[n].also = x->also;
        rows[n].help = pk_printf(a, "%s: %s%s%s", x->help, pk_axis_takes(x, a),
                                 x->implies ? "; implies " : "", x->implies ? x->implies : "");
        rows[n].group = n ? NULL : pk_printf(a, "Axes of %s, the same as -a AXIS=VALUES", p->name);
        n++;
    }
    return rows;
}

enum pk_code pk_run_more_options(const char *experiment, const struct pk_opt **rows, struct pk_arena *a,
                                 struct pk_err *err)
{
    const struct pk_probe *p;
    if (pk_describe_find(experiment, &p, err))
        return err->code;
    *rows = pk_run_axis_rows(p, pk_run_options, a);
    return PK_OK;
}
