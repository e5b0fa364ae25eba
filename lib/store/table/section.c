/* Section: from lines of a .sql text to tables, views, queries and statements; those of lib by their names. */
#include "store/table/table.h"

#include "base/text/buf.h"
#include "store/db.h"

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

/* The first are those of enum pk_section_kind. */
static const char *const words[] = {"view",   "table", "query", "statement", "finding", "title", "each",
                                    "column", "note",  "empty", "headline",  "about",   NULL};

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

static bool take_directive(struct parse *p, size_t word, const char *text)
{
    struct pk_section *s = p->n ? &p->v[p->n - 1] : NULL;
    const char *w = words[word];
    if (word <= PK_SECTION_FINDING) {
        end_section(p);
        p->v = pk_grow(p->a, p->v, sizeof *p->v, p->n, &p->cap);
        p->v[p->n++] = (struct pk_section){.kind = (enum pk_section_kind)word, .name = text};
        return true;
    }
    if (!s || s->kind != PK_SECTION_TABLE)
        return false;
    if (strcmp(w, "title") == 0)
        *(p->directive = &s->title) = text;
    else if (strcmp(w, "each") == 0)
        *(p->directive = &s->each) = text;
    else if (strcmp(w, "column") == 0)
        append(p, &s->columns, &s->n_columns, &s->columns_cap, text);
    else if (strcmp(w, "note") == 0)
        append(p, &s->notes, &s->n_notes, &s->notes_cap, text);
    else if (strcmp(w, "headline") == 0)
        s->headline = strtoul(text, NULL, 10);
    else if (strcmp(w, "about") == 0)
        s->about = text;
    else
        s->keep_empty = strcmp(text, "keep") == 0;
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
            return pk_why(err, "title, each, column, note, empty, headline and about belong to a table");
        }
        line += bytes;
    }
    end_section(&p);
    *sections = p.v;
    *n = p.n;
    return PK_OK;
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
