/* Section: from lines of a .sql text to tables, views, queries and statements; those of lib by their names. */
#include "store/table/table.h"

#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "store/db.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parse {
    struct pk_arena *a;
    struct pk_section *v;
    size_t n, cap;
    struct pk_buf sql;      /* of the last section */
    const char **directive; /* where a continuation goes; NULL after a line of SQL */
};

/* The first are those of enum pk_section_kind, the last those of a chart alone. */
static const char *const words[] = {"view",   "table", "query",    "statement", "finding",  "chart", "title",
                                    "column", "note",  "each",     "empty",     "headline", "about", "mark",
                                    "x",      "x2",    "y",        "color",     "facet",    "fit",   "label",
                                    "rule",   "band",  "interval", "guide",     NULL};

const char *const pk_mark_names[PK_MARKS + 1] = {"line",  "point", "bar",   "stack", "area",
                                                 "cells", "span",  "range", NULL};
static const char *const scale_names[PK_SCALES] = {"linear", "log", "log2", "ordinal"};

/* A word that stands for a channel. */
static const struct {
    const char *word;
    enum pk_channel channel;
} channels[] = {{"x", PK_CHANNEL_X},         {"x2", PK_CHANNEL_X2},       {"y", PK_CHANNEL_Y},
                {"color", PK_CHANNEL_COLOR}, {"facet", PK_CHANNEL_FACET}, {"fit", PK_CHANNEL_FIT},
                {"label", PK_CHANNEL_LABEL}, {"rule", PK_CHANNEL_RULE},   {"band", PK_CHANNEL_BAND}};

static const char *trimmed(struct pk_arena *a, const char *s, size_t n)
{
    while (n && strchr(" \t", s[0]))
        s++, n--;
    while (n && strchr(" \t\r\n", s[n - 1]))
        n--;
    return pk_strndup(a, s, n);
}

/* "-- word: rest" of a known word -> its text, and the word's index. */
static const char *directive_of(struct parse *p, const char *line, size_t n, size_t *word)
{
    for (*word = 0; words[*word]; ++*word) {
        size_t w = strlen(words[*word]);
        if (n > w + 3 && strncmp(line, "-- ", 3) == 0 && strncmp(line + 3, words[*word], w) == 0 &&
            line[3 + w] == ':')
            return trimmed(p->a, line + w + 4, n - w - 4);
    }
    return NULL;
}

static void end_section(struct parse *p)
{
    if (p->n)
        p->v[p->n - 1].sql = pk_buf_text(&p->sql);
    p->sql = (struct pk_buf){.arena = p->a};
    p->directive = NULL;
}

static void append(struct parse *p, const char ***list, size_t *n, size_t *cap, const char *text)
{
    *list = pk_grow(p->a, *list, sizeof **list, *n, cap);
    (*list)[*n] = text;
    p->directive = &(*list)[(*n)++];
}

/* The place of a word among n, or n. */
static size_t place_of(const char *word, const char *const *list, size_t n)
{
    size_t i = 0;
    while (i < n && strcmp(list[i], word) != 0)
        i++;
    return i;
}

/* "KEY" or "KEY SCALE" */
static bool take_channel(struct parse *p, struct pk_encoding *e, enum pk_channel channel, const char *text)
{
    e->key[channel] = pk_next_part(&text, ' ', p->a);
    e->scale[channel] = text ? (enum pk_chart_scale)place_of(text, scale_names, PK_SCALES) : PK_SCALE_LINEAR;
    return *e->key[channel] && e->scale[channel] < PK_SCALES;
}

static bool take_interval(struct parse *p, struct pk_encoding *e, const char *text)
{
    e->key[PK_CHANNEL_LOW] = pk_next_part(&text, ' ', p->a);
    e->key[PK_CHANNEL_HIGH] = text ? pk_next_part(&text, ' ', p->a) : NULL;
    return e->key[PK_CHANNEL_HIGH] && !text;
}

/* What a chart alone has. */
static bool take_encoding(struct parse *p, struct pk_encoding *e, const char *word, const char *text)
{
    struct pk_err ignored;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        if (strcmp(word, channels[i].word) == 0)
            return take_channel(p, e, channels[i].channel, text);
    if (strcmp(word, "interval") == 0)
        return take_interval(p, e, text);
    if (strcmp(word, "guide") == 0)
        return !pk_parse_real(text, &e->guide, &ignored);
    e->mark = (enum pk_chart_mark)place_of(text, pk_mark_names, PK_MARKS);
    return strcmp(word, "mark") == 0 && e->mark < PK_MARKS;
}

/* What every chart needs. */
static enum pk_code check_encodings(const struct parse *p, struct pk_err *err)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct pk_encoding *e = p->v[i].encoding;
        if (!e || (e->mark < PK_MARKS && e->key[PK_CHANNEL_X] && e->key[PK_CHANNEL_Y] &&
                   ((e->mark != PK_MARK_SPAN && e->mark != PK_MARK_AREA) || e->key[PK_CHANNEL_X2])))
            continue;
        pk_fail(err, PK_E_INTERNAL, "chart %s is not complete", p->v[i].name);
        return pk_why(err, "a chart has mark, x and y, and x2 with the marks span and area");
    }
    return PK_OK;
}

static void begin_section(struct parse *p, enum pk_section_kind kind, const char *name)
{
    end_section(p);
    p->v = pk_grow(p->a, p->v, sizeof *p->v, p->n, &p->cap);
    struct pk_section *s = &p->v[p->n++];
    *s = (struct pk_section){.kind = kind, .name = name};
    if (kind != PK_SECTION_CHART)
        return;
    s->encoding = pk_new(p->a, struct pk_encoding);
    *s->encoding = (struct pk_encoding){.mark = PK_MARKS, .guide = NAN};
}

static bool take_directive(struct parse *p, size_t word, const char *text)
{
    struct pk_section *s = p->n ? &p->v[p->n - 1] : NULL;
    const char *w = words[word];
    if (word <= PK_SECTION_CHART) {
        begin_section(p, (enum pk_section_kind)word, text);
        return true;
    }
    if (!s || (s->kind != PK_SECTION_TABLE && s->kind != PK_SECTION_CHART))
        return false;
    if (strcmp(w, "title") == 0)
        *(p->directive = &s->title) = text;
    else if (strcmp(w, "column") == 0)
        append(p, &s->columns, &s->n_columns, &s->columns_cap, text);
    else if (strcmp(w, "note") == 0)
        append(p, &s->notes, &s->n_notes, &s->notes_cap, text);
    else if (s->encoding)
        return take_encoding(p, s->encoding, w, text);
    else if (strcmp(w, "each") == 0)
        *(p->directive = &s->each) = text;
    else if (strcmp(w, "headline") == 0)
        s->headline = strtoul(text, NULL, 10);
    else if (strcmp(w, "about") == 0)
        s->about = text;
    else if (strcmp(w, "empty") == 0)
        s->keep_empty = strcmp(text, "keep") == 0;
    else
        return false;
    return true;
}

static bool take_line(struct parse *p, const char *line, size_t n)
{
    size_t word;
    const char *text = directive_of(p, line, n, &word);
    if (text)
        return take_directive(p, word, text);
    if (p->directive && n > 4 && strncmp(line, "--  ", 4) == 0) {
        *p->directive = pk_printf(p->a, "%s %s", *p->directive, trimmed(p->a, line + 4, n - 4));
        return true;
    }
    p->directive = NULL;
    if (p->n)
        pk_buf_add(&p->sql, line, n);
    return true;
}

enum pk_code pk_sections(const char *text, struct pk_arena *a, struct pk_section **sections, size_t *n,
                         struct pk_err *err)
{
    struct parse p = {.a = a, .sql = {.arena = a}};
    unsigned number = 1;
    for (const char *line = text; *line; number++) {
        const char *end = strchr(line, '\n');
        size_t bytes = end ? (size_t)(end - line) + 1 : strlen(line);
        if (!take_line(&p, line, bytes)) {
            pk_fail(err, PK_E_INTERNAL, "tables: line %u is misplaced: %.60s", number, line);
            return pk_why(
                err,
                "title, column and note belong to a table or a chart; each, empty, headline and about to "
                "a table; marks (%s), channels, interval and guide to a chart",
                pk_list(pk_mark_names, PK_MARKS, ", ", a));
        }
        line += bytes;
    }
    end_section(&p);
    *sections = p.v;
    *n = p.n;
    return check_encodings(&p, err);
}

const char *pk_db_text(enum pk_section_kind kind, const char *name, const char **whole)
{
    char line[100];
    const int n = snprintf(line, sizeof line, "\n-- %s: %s\n", words[kind], name);
    for (const struct pk_embedded *file = pk_lib_sql; file->name; file++) {
        const char *at = strstr(file->text, line);
        *whole = file->text;
        if (at)
            return at + n;
    }
    return NULL;
}

const char *pk_db_statement(const char *name)
{
    const char *whole, *sql = pk_db_text(PK_SECTION_STATEMENT, name, &whole);
    pk_assert(sql);
    return sql;
}
