/* Group: a section of the file, line by line: a word, and what it is given. */
#include "counter/group.h"

#include "base/build.h"
#include "base/err.h"
#include "base/text/words.h"

#include <ctype.h>
#include <string.h>

extern const struct pk_embedded pk_group_files[]; /* made by schema/embed.py */

const char *const pk_given_names[PK_GIVENS] = {
    [PK_GIVEN_TIME_NS] = "time_ns",
    [PK_GIVEN_PASS_NS] = "pass_ns",
    [PK_GIVEN_FLOPS] = "flops",
    [PK_GIVEN_BYTES] = "bytes",
    [PK_GIVEN_PEAK_FLOPS_PER_S] = "peak_flops_per_s",
    [PK_GIVEN_PEAK_BYTES_PER_S] = "peak_bytes_per_s",
};

struct group_parser {
    struct pk_group *g;
    struct pk_arena *arena;
    struct pk_err *err;
    const char **events;
    struct pk_group_metric *metrics;
    size_t events_cap, metrics_cap;
    int line;
};

static enum pk_code fail_at(const struct group_parser *p, const char *what)
{
    pk_fail(p->err, PK_E_USAGE, "group %s, line %d: %s", p->g->name, p->line, what);
    pk_why(p->err, "a line is: title TEXT, events NAMES, optional NAMES, metric NAME UNIT = FORMULA -- "
                   "SUMMARY, or help");
    return pk_fix(p->err, "docs/counters.md describes the format");
}

static bool has_event(const struct group_parser *p, const char *name)
{
    for (size_t i = 0; i < p->g->n_events; i++)
        if (!strcmp(p->events[i], name))
            return true;
    return false;
}

static enum pk_code title(struct group_parser *p, const char *rest)
{
    p->g->title = rest;
    return *rest ? PK_OK : fail_at(p, "the title is empty");
}

static enum pk_code optional(struct group_parser *p, const char *rest)
{
    for (const char *name; (name = pk_next_part(&rest, ' ', p->arena));) {
        if (!*name)
            continue;
        if (has_event(p, name))
            return fail_at(p, pk_printf(p->arena, "event %s is given twice", name));
        p->events = pk_grow(p->arena, p->events, sizeof *p->events, p->g->n_events, &p->events_cap);
        p->events[p->g->n_events++] = name;
    }
    return PK_OK;
}

static enum pk_code events(struct group_parser *p, const char *rest)
{
    if (p->g->n_required < p->g->n_events)
        return fail_at(p, "the events it needs come before the optional ones");
    if (optional(p, rest))
        return p->err->code;
    p->g->n_required = p->g->n_events;
    return PK_OK;
}

/* NAME UNIT = FORMULA -- SUMMARY */
static enum pk_code metric(struct group_parser *p, const char *rest)
{
    struct pk_group_metric m = {0};
    const char *equals = strstr(rest, " = "), *dashes = strstr(rest, " -- ");
    if (!equals || !dashes || dashes < equals + 3)
        return fail_at(p, "a metric is NAME UNIT = FORMULA -- SUMMARY");
    const char *left = pk_strndup(p->arena, rest, (size_t)(equals - rest));
    m.name = pk_next_part(&left, ' ', p->arena);
    m.unit = left ? pk_next_part(&left, ' ', p->arena) : "";
    m.summary = dashes + 4;
    if (!*m.name || !*m.unit || left || !*m.summary)
        return fail_at(p, "a metric is NAME UNIT = FORMULA -- SUMMARY");
    const char *formula = pk_strndup(p->arena, equals + 3, (size_t)(dashes - equals) - 3);
    if (pk_formula_parse(formula, p->arena, &m.formula, p->err))
        return pk_within(p->err, "group %s, line %d", p->g->name, p->line);
    for (size_t i = 0; i < m.formula->n_names; i++) {
        const char *name = m.formula->names[i];
        size_t g = 0;
        while (g < PK_GIVENS && strcmp(pk_given_names[g], name) != 0)
            g++;
        if (g == PK_GIVENS && !has_event(p, name))
            return fail_at(p, pk_printf(p->arena, "%s is not an event of this group", name));
    }
    p->metrics = pk_grow(p->arena, p->metrics, sizeof *p->metrics, p->g->n_metrics, &p->metrics_cap);
    p->metrics[p->g->n_metrics++] = m;
    return PK_OK;
}

static const struct word {
    const char *name;
    enum pk_code (*take)(struct group_parser *p, const char *rest);
} words[] = {{"title", title}, {"events", events}, {"optional", optional}, {"metric", metric}};

static enum pk_code take_line(struct group_parser *p, const char *line)
{
    const size_t n = strcspn(line, " ");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].name) == n && !strncmp(words[i].name, line, n))
            return words[i].take(p, line + n + strspn(line + n, " "));
    return fail_at(p, pk_printf(p->arena, "'%.40s' cannot begin a line", line));
}

enum pk_code pk_group_parse(const char *name, const char *text, struct pk_arena *a, struct pk_group *out,
                            struct pk_err *err)
{
    struct group_parser p = {.g = out, .arena = a, .err = err};
    *out = (struct pk_group){.name = name, .help = ""};
    while (*text) {
        const char *end = strchrnul(text, '\n'), *next = *end ? end + 1 : end;
        while (end > text && isspace((unsigned char)end[-1]))
            end--;
        p.line++;
        const char *line = pk_strndup(a, text, (size_t)(end - text));
        text = next;
        if (!strcmp(line, "help")) {
            out->help = text;
            break;
        }
        if (*line && *line != '#' && take_line(&p, line))
            return err->code;
    }
    out->events = p.events;
    out->metrics = p.metrics;
    if (!out->title)
        return fail_at(&p, "there is no title");
    return out->n_required ? PK_OK : fail_at(&p, "there are no events");
}

/* The next "[NAME]" at the beginning of a line; the end of the text when there is none. */
static const char *next_section(const char *text)
{
    while (*text && *text != '[') {
        text = strchrnul(text, '\n');
        text += *text != '\0';
    }
    return text;
}

size_t pk_groups(struct pk_arena *a, const struct pk_group **out)
{
    size_t n = 0, cap = 0;
    struct pk_group *groups = NULL;
    for (const char *at = next_section(pk_group_files[0].text), *end; *at; at = end) {
        const char *name = pk_strndup(a, at + 1, strcspn(at + 1, "]\n")), *text = strchrnul(at, '\n');
        struct pk_err err;
        end = next_section(text + (*text != '\0'));
        size_t bytes = (size_t)(end - text);
        while (bytes > 1 && text[bytes - 1] == '\n' &&
               text[bytes - 2] == '\n') /* the line between sections */
            bytes--;
        groups = pk_grow(a, groups, sizeof *groups, n, &cap);
        const enum pk_code rc = pk_group_parse(name, pk_strndup(a, text, bytes), a, &groups[n++], &err);
        pk_assert(!rc); /* a test parses every section */
    }
    *out = groups;
    return n;
}
