/* Completion: a bash script made from the option rows. */
#include "base/text/buf.h"
#include "base/text/words.h"
#include "cmd/frame/frame.h"

#include <string.h>

static void add_options(struct pk_buf *b, const struct pk_opt *rows)
{
    for (const struct pk_opt *r = rows; r && r->name; r++) {
        bool on = r->type == PK_OPT_FLAG && r->def && !strcmp(r->def, "true");
        pk_buf_printf(b, " --%s%s", on ? "no-" : "", r->name);
    }
}

/* After an option with choices come its choices. */
static void add_choices(struct pk_buf *b, const struct pk_opt *rows)
{
    for (const struct pk_opt *r = rows; r && r->name; r++) {
        if (r->type != PK_OPT_CHOICE)
            continue;
        size_t n = 0;
        while (r->choices[n])
            n++;
        pk_buf_printf(b, "    --%s) words='%s' ;;\n", r->name, pk_list(r->choices, n, " ", b->arena));
    }
}

/* What fills the texts. */
typedef void names_fn(struct pk_texts *names, struct pk_arena *a);

static void add_words(struct pk_buf *b, names_fn *names)
{
    struct pk_texts words = {0};
    names(&words, b->arena);
    for (size_t i = 0; i < words.n; i++)
        pk_buf_printf(b, " %s", words.v[i]);
}

/* An export is for programs: every format but the first, table. */
static void add_formats(struct pk_buf *b, const struct pk_cmd *c)
{
    pk_buf_printf(b, "    %s:2) words='%s' ;;\n", c->name,
                  pk_list(&pk_format_names[1], PK_FORMATS_N - 1, " ", b->arena));
}

/* The words that a usage line offers for the first argument: "db info|merge FILE...|check [--keep N]" -> info merge check. */
static void add_alternatives(struct pk_buf *b, const struct pk_cmd *c)
{
    const char *at = c->usage + strlen(c->name);
    const char *end = at + 2 + strcspn(at + (*at ? 2 : 0), "[]"); /* behind " [" or " x" */
    if (!*at || !memchr(at, '|', (size_t)(end - at)))
        return;
    pk_buf_printf(b, "    %s:2) words='", c->name);
    for (at += 1 + (at[1] == '['); at && at < end; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        pk_buf_printf(b, " %.*s", (int)strspn(at, "abcdefghijklmnopqrstuvwxyz"), at);
    pk_buf_str(b, "' ;;\n");
}

/* After an axis with words come its words; files complete by themselves. */
static void add_axis_words(struct pk_buf *b, const struct pk_probe *p, const struct pk_opt *rows)
{
    static const char *const on_off[] = {"on", "off", NULL};
    for (const struct pk_opt *r = rows; r->name; r++) {
        const struct pk_axis *x = &p->axes[pk_axis_index(p->axes, r->key)];
        const char *const *words = x->type == PK_AXIS_BOOL ? on_off : x->choices;
        if (!words)
            continue;
        pk_buf_printf(b, "    %s:--%s) words='", p->name, r->name);
        for (; *words; words++)
            pk_buf_printf(b, " %s", *words);
        pk_buf_str(b, "' ;;\n");
    }
}

/* After --variant and --preset: those of the experiment named after `run`. */
static void add_names(struct pk_buf *b, const struct pk_probe *p, const struct pk_opt *rows)
{
    add_axis_words(b, p, rows);
    pk_buf_printf(b, "    %s:--variant|%s:-v) words='", p->name, p->name);
    for (const struct pk_variant *v = p->variants; v->name; v++)
        pk_buf_printf(b, " %s", v->name);
    pk_buf_printf(b, "' ;;\n    %s:--preset|%s:-p) words='", p->name, p->name);
    for (const struct pk_preset *s = pk_probe_presets(p); s->name; s++)
        pk_buf_printf(b, " %s", s->name);
    pk_buf_str(b, "' ;;\n");
}

static const char *script(const struct pk_opt_program *program, struct pk_arena *a)
{
    const struct pk_opt *of_run = pk_opt_command(program, "run")->rows;
    struct pk_buf b = {.arena = a};
    pk_buf_str(&b, "# bash completion of perfkit: source <(perfkit completion)\n"
                   "_perfkit() {\n"
                   "  local here=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
                   "  case ${COMP_WORDS[1]}:$COMP_CWORD in\n"
                   "    *:1) words='");
    add_words(&b, pk_command_names);
    pk_buf_str(&b, "' ;;\n    help:2) words='");
    add_words(&b, pk_command_names);
    add_words(&b, pk_probe_names);
    pk_buf_str(&b, "' ;;\n    run:2|gate:2) words='");
    add_words(&b, pk_probe_names);
    pk_buf_str(&b, "' ;;\n");
    for (size_t i = 0; pk_commands[i]; i++)
        (pk_commands[i]->format_first ? add_formats : add_alternatives)(&b, pk_commands[i]);
    pk_buf_str(&b, "  esac\n  case ${COMP_WORDS[1]}:${COMP_WORDS[2]}:$COMP_CWORD in "
                   "help:run:3|list:experiments:3) words='");
    add_words(&b, pk_probe_names);
    pk_buf_str(&b, "' ;;\n  esac\n  [[ $here == -* ]] && case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < program->n; i++) {
        pk_buf_printf(&b, "    %s) words='--help", program->sections[i].command);
        add_options(&b, program->sections[i].rows);
        add_options(&b, pk_global_rows);
        pk_buf_str(&b, "' ;;\n");
    }
    pk_buf_str(&b, "  esac\n  [[ $here == -* && ${COMP_WORDS[1]} == run ]] && case ${COMP_WORDS[2]} in\n");
    for (const struct pk_probe *const *probe = pk_probes; *probe; probe++) {
        pk_buf_printf(&b, "    %s) words+='", (*probe)->name);
        add_options(&b, pk_axis_rows(*probe, of_run, a));
        pk_buf_str(&b, "' ;;\n");
    }
    pk_buf_str(&b, "  esac\n  case $before in\n");
    add_choices(&b, pk_global_rows);
    for (size_t i = 0; i < program->n; i++)
        add_choices(&b, program->sections[i].rows);
    pk_buf_str(&b, "  esac\n  [[ ${COMP_WORDS[1]} == run ]] && case ${COMP_WORDS[2]}:$before in\n");
    for (const struct pk_probe *const *probe = pk_probes; *probe; probe++)
        add_names(&b, *probe, pk_axis_rows(*probe, of_run, a));
    pk_buf_str(&b, "  esac\n"
                   "  COMPREPLY=($(compgen -W \"$words\" -- \"$here\"))\n"
                   "}\n"
                   "complete -o default -F _perfkit perfkit\n");
    return pk_buf_text(&b);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    fputs(script(app->input.program, app->arena), app->text);
    return PK_OK;
}

const struct pk_cmd pk_cmd_completion = {
    .name = "completion",
    .summary = "print a completion script for bash",
    .usage = "completion",
    .examples = "source <(perfkit completion)",
    .exact_args = "0",
    .hidden = true,
    .run = run,
};
