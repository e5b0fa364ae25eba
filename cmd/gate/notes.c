/* Gate, notes: what is known of the noise, or how to find out, and what is validated only after the first pairs. */
#include "cmd/gate/gate.h"

#include "base/text/buf.h"

static const char *how_to_calibrate(const struct gate_entry *e)
{
    struct pk_arena *a = e->app->arena;
    struct pk_buf b = {.arena = a};
    const struct pk_run_options *o = &e->o->run;
    const struct pk_gate_side *s = &e->sides->side[PK_NEW];
    pk_buf_str(&b, "perfkit calibrate");
    if (!e->sides->probe) {
        pk_buf_str(&b, " --");
        for (const char *const *w = s->argv; *w; w++)
            pk_buf_printf(&b, " %s", pk_shell_quote(*w, a));
        return pk_buf_text(&b);
    }
    pk_buf_printf(&b, " %s", pk_probe_call(e->sides->probe));
    if (o->preset)
        pk_buf_printf(&b, " --preset %s", o->preset);
    for (size_t i = 0; i < s->run.o->axes.n; i++)
        pk_buf_printf(&b, " -a %s", pk_shell_quote(s->run.o->axes.v[i], a));
    for (size_t i = 0; i < s->run.o->variants.n; i++)
        pk_buf_printf(&b, " -v %s", s->run.o->variants.v[i]);
    return pk_buf_text(&b);
}

void pk_gate_note_noise(const struct gate *g, struct pk_out *out)
{
    struct pk_arena *a = g->app->arena;
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        const char *in = e->of->name ? pk_printf(a, "[%s] ", e->of->name) : "";
        const char *noise = pk_gate_sides_noise_note(e->sides), *few = pk_gate_sides_pairs_note(e->sides);
        if (!noise)
            noise = pk_printf(a, "The noise floor here is unknown: `%s` measures it.", how_to_calibrate(e));
        pk_out_note(out, pk_printf(a, "%s%s", in, noise));
        if (few)
            pk_out_note(out, pk_printf(a, "%s%s", in, few));
    }
}

void pk_gate_note_unknown(const struct gate *g, struct pk_out *out)
{
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        if (pk_gate_sides_rows_known(e->sides) || !(e->o->verdict.thresholds.n + e->o->verdict.metrics.n))
            continue;
        pk_out_note(out, pk_printf(g->app->arena,
                                   "%s%s%s--threshold and --metric are validated after the first two pairs, "
                                   "when metrics are known.",
                                   e->of->name ? "[" : "", e->of->name ? e->of->name : "",
                                   e->of->name ? "] " : ""));
    }
}
