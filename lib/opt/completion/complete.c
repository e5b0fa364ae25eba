/* Complete: reads the words before, then looks into the option rows or the usage. */
#include "opt/completion/complete.h"

#include "base/text/words.h"

#include <ctype.h>
#include <string.h>

/* --- the words before ------------------------------------------------------------------------------------------------- */

/* The row of "--name", "--name=value" or "-n". */
static const struct pk_opt *row_of(const struct pk_complete *c, const char *word)
{
    const bool is_long = strncmp(word, "--", 2) == 0;
    const size_t n = is_long ? strcspn(word + 2, "=") : 0;
    for (size_t t = 0; t < PK_COMPLETE_TABLES; t++)
        for (const struct pk_opt *r = c->tables[t]; r && r->name; r++)
            if (is_long ? strlen(r->name) == n && strncmp(r->name, word + 2, n) == 0
                        : r->letter && word[1] == r->letter && !word[2])
                return r;
    return NULL;
}

/* Whether the word is an option whose value is the next word. */
static bool takes_next(const struct pk_complete *c, const char *word)
{
    const struct pk_opt *r = *word == '-' && !strchr(word, '=') ? row_of(c, word) : NULL;
    return r && r->type != PK_OPT_FLAG;
}

/* False behind "--", where only the words of a command come. */
static bool read_words(struct pk_complete *c)
{
    for (size_t i = 2; i + 1 < c->n; i++) {
        if (strcmp(c->words[i], "--") == 0)
            return false;
        if (takes_next(c, c->words[i]) && i + 2 == c->n)
            c->option = row_of(c, c->words[i]);
        else if (takes_next(c, c->words[i]))
            i++;
        else if (*c->words[i] != '-')
            pk_texts_add(&c->args, c->words[i], c->arena);
    }
    return true;
}

/* --- the last word ---------------------------------------------------------------------------------------------------- */

static void add_options(struct pk_complete *c)
{
    pk_texts_add(&c->texts, "--help", c->arena);
    for (size_t t = 0; t < PK_COMPLETE_TABLES; t++)
        for (const struct pk_opt *r = c->tables[t]; r && r->name; r++) {
            const bool on = r->type == PK_OPT_FLAG && r->def && !strcmp(r->def, "true");
            pk_texts_add(&c->texts, pk_printf(c->arena, "--%s%s", on ? "no-" : "", r->name), c->arena);
        }
}

/* The parts of a list before the last one stay. */
static void skip_parts(struct pk_complete *c)
{
    const char *comma = strrchr(c->begun, ',');
    const size_t n = comma ? (size_t)(comma + 1 - c->begun) : 0;
    c->before = pk_printf(c->arena, "%s%.*s", c->before, (int)n, c->begun);
    c->begun += n;
}

/* Of "AXIS=VALUES" the values, once the axis is there; returns their kind. */
static const char *skip_axis(struct pk_complete *c)
{
    const char *arg = c->option->arg, *kind = arg ? strchr(arg, '=') : NULL;
    const char *equals = kind ? strchr(c->begun, '=') : NULL;
    if (!equals)
        return arg;
    c->axis = pk_strndup(c->arena, c->begun, (size_t)(equals - c->begun));
    c->before = pk_printf(c->arena, "%s%s=", c->before, c->axis);
    c->begun = equals + 1;
    return kind + 1;
}

static void add_value(struct pk_complete *c)
{
    const char *kind = skip_axis(c);
    if (c->option->commas || c->axis)
        skip_parts(c);
    for (const char *const *choice = c->option->choices; choice && *choice; choice++)
        pk_texts_add(&c->texts, *choice, c->arena);
    if (kind)
        pk_texts_add(&c->kinds, kind, c->arena);
}

/* A word of a usage without its brackets and dots; "" for what is no argument. */
static const char *plain(const char *word, struct pk_arena *a)
{
    word += strspn(word, "[");
    size_t n = strcspn(word, "]");
    n -= n > 3 && strncmp(word + n - 3, "...", 3) == 0 ? 3 : 0;
    return strncmp(word, "options", n) == 0 ? "" : pk_strndup(a, word, n);
}

/* One form of a usage, such as "save BASELINE [RUN...]": adds what it has at the place of the last word, if the words before fit. */
static void add_form(struct pk_complete *c, const char *form)
{
    size_t place = 0;
    const char *word;
    for (const char *rest = form; place <= c->args.n && (word = pk_next_part(&rest, ' ', c->arena));) {
        const char *name = plain(word, c->arena);
        if (strcmp(name, "--") == 0)
            return;
        if (*name == '-') { /* and its value */
            if (!strchr(word, ']'))
                pk_next_part(&rest, ' ', c->arena);
            else
                continue;
        }
        if (!*name || *name == '-' || (!place && strcmp(name, c->words[1]) == 0))
            continue;
        const bool literal = islower((unsigned char)*name);
        if (place < c->args.n && literal && strcmp(name, c->args.v[place]) != 0)
            return;
        if (strstr(word, "...") && place < c->args.n)
            place = c->args.n;
        if (place == c->args.n)
            pk_texts_add_new(literal ? &c->texts : &c->kinds, name, c->arena);
        place++;
    }
}

void pk_complete(struct pk_complete *c)
{
    const char *last = c->words[c->n - 1], *form;
    c->before = "";
    c->begun = last;
    if (!read_words(c))
        return;
    const char *equals = !c->option && strncmp(last, "--", 2) == 0 ? strchr(last, '=') : NULL;
    if (equals && (c->option = row_of(c, last))) {
        c->before = pk_strndup(c->arena, last, (size_t)(equals + 1 - last));
        c->begun = equals + 1;
    }
    if (c->option || *last == '-') {
        (c->option ? add_value : add_options)(c);
        return;
    }
    skip_parts(c); /* of runs; other arguments have no comma */
    for (const char *rest = c->usage; (form = pk_next_part(&rest, '|', c->arena));)
        add_form(c, form);
}
