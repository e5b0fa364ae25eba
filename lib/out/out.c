/* Out: the formats, the state that they share, and the order in which a format's hooks are called. */
#include "out/out.h"

#include "base/err.h"
#include "base/text/words.h"
#include "out/writer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define WRITER(constant, name) [PK_FMT_##constant] = &pk_writer_##name,
static const struct pk_writer *const writers[PK_FORMATS_N] = {PK_FORMATS(WRITER)};

#define NAME(constant, name) [PK_FMT_##constant] = #name,
const char *const pk_format_names[PK_FORMATS_N + 1] = {PK_FORMATS(NAME)};

enum pk_code pk_format_parse(const char *name, enum pk_format *f, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (*f = 0; *f < PK_FORMATS_N; ++*f)
        if (!strcmp(name, pk_format_names[*f]))
            return PK_OK;
    pk_fail(err, PK_E_USAGE, "format '%s' is unknown", name);
    pk_why(err, "formats are %s", pk_list(pk_format_names, PK_FORMATS_N, ", ", &a));
    return pk_fix(err, "%s", pk_suggest_text(&a, name, pk_format_names, PK_FORMATS_N));
}

bool pk_format_for_people(enum pk_format f)
{
    return writers[f]->people;
}

double pk_cell_number(const struct pk_cell *c)
{
    return c->type == PK_CELL_REAL ? c->f : c->type == PK_CELL_INT ? (double)c->i : NAN;
}

struct pk_out *pk_out_open(FILE *f, const struct pk_out_options *opt)
{
    struct pk_arena a = {0};
    struct pk_out *o = pk_new(&a, struct pk_out);
    o->arena = a;
    o->opt = *opt;
    o->writer = opt->writer ? opt->writer : writers[opt->format];
    o->sink.f = f;
    o->sink.grace.stop_flag = opt->stop_flag;
    o->buf.arena = &o->arena;
    o->locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    if (!o->locale)
        o->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    pk_assert(o->locale);
    locale_t user = uselocale(o->locale);
    if (o->writer->begin)
        o->writer->begin(o);
    uselocale(user);
    return o;
}

/* A name that no table of this output has had: two tables "scaling" are members "scaling" and "scaling_2" in
 * JSON. */
static const char *unique_name(struct pk_out *o, const char *name, const char *title)
{
    const char *unique = name;
    for (unsigned n = 2;; n++) {
        size_t i = 0;
        while (i < o->n_names && strcmp(o->names[i], unique) != 0)
            i++;
        if (i == o->n_names)
            break;
        unique = pk_printf(&o->arena, "%s_%u", name, n);
    }
    o->names = pk_grow(&o->arena, o->names, sizeof *o->names, o->n_names, &o->names_cap);
    o->titles = pk_grow(&o->arena, o->titles, sizeof *o->titles, o->n_names, &o->titles_cap);
    o->titles[o->n_names] = pk_strdup(&o->arena, title ? title : "");
    return o->names[o->n_names++] = pk_strdup(&o->arena, unique);
}

static void end_table(struct pk_out *o)
{
    if (!o->in_table)
        return;
    if (o->writer->table_end && !o->omitted)
        o->writer->table_end(o);
    o->in_table = false;
    o->n_notes = 0;
}

/* Notes before the first table belong to no table. */
static void put_preface(struct pk_out *o)
{
    if (o->in_table || !o->n_notes)
        return;
    if (o->writer->preface) {
        o->writer->preface(o);
    } else {
        o->first = o->notes;
        o->n_first = o->n_notes;
    }
    o->notes = NULL;
    o->n_notes = o->notes_cap = 0;
}

static const char *printed_key(const struct pk_column *c, struct pk_arena *a)
{
    return c->tail ? pk_printf(a, "%s%s", c->key, c->tail) : pk_strdup(a, c->key);
}

static const char *const *texts_copy(struct pk_arena *a, const char *const *texts)
{
    size_t n = 0;
    while (texts[n])
        n++;
    const char **copy = pk_new_n(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = pk_strdup(a, texts[i]);
    return copy;
}

static void copy_columns(struct pk_out *o, const struct pk_column *cols, size_t n)
{
    struct pk_arena *a = &o->arena;
    struct pk_column *copy = pk_columns_copy(a, cols, n);
    o->row = (struct pk_row){.out = o,
                             .keys = pk_new_n(a, const char *, n),
                             .cells = pk_new_n(a, struct pk_cell, n),
                             .put = pk_new_n(a, bool, n)};
    for (size_t i = 0; i < n; i++) {
        o->row.keys[i] = pk_strdup(a, cols[i].key);
        copy[i].key = printed_key(&cols[i], a);
        copy[i].heading = cols[i].heading ? pk_strdup(a, cols[i].heading) : NULL;
        copy[i].members = cols[i].members ? texts_copy(a, cols[i].members) : NULL;
        pk_assert(!cols[i].interval || i + 1 < n);
        if (cols[i].interval)
            copy[i + 1].machine = true;
    }
    o->cols = copy;
    o->n_cols = n;
}

/* Machine formats go on with the table they are in when the next one is the same again: one table per variant for people is one
 * table for programs. */
static bool goes_on(struct pk_out *o, const char *name, const struct pk_column *cols, size_t n)
{
    if (o->writer->people || !o->in_table || strcmp(o->given_name, name) != 0 || o->n_cols != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(o->cols[i].key, printed_key(&cols[i], &o->arena)) != 0)
            return false;
    return true;
}

static bool chose_all(const struct pk_out *o)
{
    return o->n_only == 1 && strcmp(o->only[0], "all") == 0;
}

/* A table is known by its name in this output; by several of one name, which people see, by that. */
static bool is_omitted(const struct pk_out *o)
{
    bool chosen = !o->n_only || chose_all(o);
    for (size_t i = 0; i < o->n_only && !chosen; i++)
        chosen =
            strcmp(o->only[i], o->name) == 0 || (o->writer->people && strcmp(o->only[i], o->given_name) == 0);
    return o->opt.list || !chosen;
}

static void begin_table(struct pk_out *o)
{
    o->printed++;
    if (o->opt.next_file) {
        pk_sink_flush(&o->sink);
        FILE *f = o->opt.next_file(o->opt.files, o->name);
        if (f)
            o->sink.f = f;
        else
            o->sink.error = EIO;
    }
    if (o->writer->table)
        o->writer->table(o);
}

void pk_out_table(struct pk_out *o, const char *name, const char *title, const struct pk_column *cols,
                  size_t n)
{
    pk_assert(n > 0 && !o->row.open);
    name = name ? name : "table";
    if (goes_on(o, name, cols, n))
        return;
    o->skipped = o->detail || o->most == 1;
    o->shortened |= o->detail;
    if (o->skipped) { /* notes that are no detail belong to the table before */
        copy_columns(o, cols, n);
        return;
    }
    locale_t user = uselocale(o->locale);
    put_preface(o);
    end_table(o);
    o->in_table = true;
    o->fit = false;
    o->given_name = pk_strdup(&o->arena, name);
    o->name = unique_name(o, name, title);
    o->title = title ? pk_strdup(&o->arena, title) : NULL;
    copy_columns(o, cols, n);
    o->rows = 0;
    o->omitted = is_omitted(o);
    if (!o->omitted)
        begin_table(o);
    uselocale(user);
}

void pk_out_row(struct pk_out *o, const struct pk_cell *cells)
{
    pk_assert(o->in_table || o->skipped);
    o->beyond += o->most == 1;
    if (o->omitted || o->skipped || o->most == 1)
        return;
    o->most -= o->most > 1;
    locale_t user = uselocale(o->locale);
    o->writer->row(o, cells);
    o->rows++;
    uselocale(user);
}

void pk_out_only(struct pk_out *o, const char *const *tables, size_t n)
{
    o->only = tables;
    o->n_only = n;
}

bool pk_out_wants(struct pk_out *o, const char *table)
{
    bool wanted = !o->n_only || chose_all(o);
    for (size_t i = 0; i < o->n_only && !wanted; i++)
        wanted = strncmp(o->only[i], table, strlen(table)) ==
                 0; /* of several of one name, each has more of its title */
    if (wanted)
        return true;
    locale_t user = uselocale(o->locale);
    put_preface(o);
    end_table(o);
    o->in_table = o->omitted = true;
    o->given_name = o->name = "";
    o->rows = 0;
    uselocale(user);
    return false;
}

bool pk_out_headline_first(const struct pk_out *o)
{
    return pk_out_without_details(o) && !o->n_only;
}

void pk_out_most(struct pk_out *o, size_t n)
{
    if (!o->most && !n)
        return;
    const bool left_out = o->beyond > 0;
    o->skipped = false;
    o->most = 0;
    if (left_out)
        pk_out_note(o,
                    pk_printf(&o->arena, "%s more: %s%s--tables %s", pk_plural(o->beyond, "row", &o->arena),
                              o->again ? o->again : "", o->again ? " " : "", o->given_name));
    o->most = n ? n + 1 : 0;
    o->beyond = 0;
}

bool pk_out_is_flat(const struct pk_out *o)
{
    return o->opt.format == PK_FMT_CSV;
}

bool pk_out_is_one_table(const struct pk_out *o)
{
    return pk_out_is_flat(o) && !o->opt.next_file;
}

const char *const *pk_out_names(const struct pk_out *o, size_t *n)
{
    *n = o->n_names;
    return o->names;
}

const char *pk_out_title(const struct pk_out *o, size_t table)
{
    return o->titles[table];
}

bool pk_out_lists(const struct pk_out *o)
{
    return o->opt.list;
}

const struct pk_out_options *pk_out_options(const struct pk_out *o)
{
    return &o->opt;
}

bool pk_out_plots(const struct pk_out *o)
{
    return o->opt.plot && pk_out_on_screen(o);
}

void pk_out_bytes(struct pk_out *o, const char *bytes, size_t n)
{
    pk_sink_put(&o->sink, bytes, n);
}

void pk_out_drawing(struct pk_out *o, const char *title, const char *const *lines, size_t n)
{
    locale_t user = uselocale(o->locale);
    put_preface(o);
    end_table(o);
    if (o->writer->drawing && n)
        o->writer->drawing(o, title, lines, n);
    uselocale(user);
}

struct pk_row *pk_row_begin(struct pk_out *o)
{
    struct pk_row *row = &o->row;
    pk_assert((o->in_table || o->skipped) && !row->open);
    memset(row->cells, 0, o->n_cols * sizeof *row->cells);
    memset(row->put, 0, o->n_cols * sizeof *row->put);
    row->next = 0;
    row->open = true;
    return row;
}

void pk_put(struct pk_row *row, const char *key, struct pk_cell cell)
{
    const size_t n = row->out->n_cols;
    size_t tried = 0, at = row->next;
    for (; tried < n && strcmp(row->keys[at % n], key) != 0; tried++)
        at++;
    at %= n;
    pk_assert(row->open && tried < n && !row->put[at]);
    row->cells[at] = cell;
    row->put[at] = true;
    row->next = at + 1;
}

void pk_row_end(struct pk_row *row)
{
    pk_assert(row->open);
    row->open = false;
    pk_out_row(row->out, row->cells);
}

struct pk_column *pk_columns_copy(struct pk_arena *a, const struct pk_column *cols, size_t n)
{
    struct pk_column *copy = pk_new_n(a, struct pk_column, n);
    memcpy(copy, cols, n * sizeof *cols);
    return copy;
}

struct pk_column *pk_column_of(struct pk_column *cols, size_t n, const char *key)
{
    size_t i = 0;
    while (i < n && strcmp(cols[i].key, key) != 0)
        i++;
    pk_assert(i < n);
    return &cols[i];
}

void pk_out_again(struct pk_out *o, const char *command)
{
    o->again = command ? pk_strdup(&o->arena, command) : NULL;
}

bool pk_out_on_screen(const struct pk_out *o)
{
    return o->opt.format == PK_FMT_TABLE;
}

bool pk_out_without_details(const struct pk_out *o)
{
    return pk_out_on_screen(o) && !o->opt.details;
}

bool pk_out_is_shortened(const struct pk_out *o)
{
    return pk_out_without_details(o) && o->opt.height;
}

void pk_out_detail(struct pk_out *o, bool detail)
{
    o->detail = detail && pk_out_is_shortened(o);
}

void pk_out_fit(struct pk_out *o)
{
    o->fit = pk_out_is_shortened(o);
    o->shortened |= o->fit;
}

void pk_out_reserve(struct pk_out *o, size_t lines)
{
    o->reserved += lines;
}

bool pk_out_note_is_repeated(struct pk_out *o, const char *text)
{
    if (!pk_out_on_screen(o))
        return false;
    for (size_t i = 0; i < o->n_printed_notes; i++)
        if (strcmp(o->printed_notes[i], text) == 0)
            return true;
    o->printed_notes = pk_grow(&o->arena, o->printed_notes, sizeof *o->printed_notes, o->n_printed_notes,
                               &o->printed_notes_cap);
    o->printed_notes[o->n_printed_notes++] = pk_strdup(&o->arena, text);
    return false;
}

void pk_out_note(struct pk_out *o, const char *text)
{
    o->shortened |= o->detail;
    if (o->opt.list || o->detail || (o->skipped && o->most == 1) || pk_out_note_is_repeated(o, text))
        return;
    o->notes = pk_grow(&o->arena, o->notes, sizeof *o->notes, o->n_notes, &o->notes_cap);
    o->notes[o->n_notes++] = pk_strdup(&o->arena, text);
}

size_t pk_out_rows(const struct pk_out *o)
{
    return o->in_table ? o->rows : 0;
}

bool pk_out_broken(const struct pk_out *o)
{
    return o->sink.error != 0;
}

static void release(struct pk_out *o)
{
    freelocale(o->locale);
    struct pk_arena a = o->arena;
    pk_arena_free(&a);
}

void pk_out_abort_table(struct pk_out *o)
{
    o->torn = true;
}

bool pk_out_cancel(struct pk_out *o)
{
    if ((o->n_names || o->n_notes) && !o->torn)
        return false;
    release(o);
    return true;
}

enum pk_code pk_out_close(struct pk_out *o, struct pk_err *err)
{
    locale_t user = uselocale(o->locale);
    end_table(o);
    if (o->n_first) {
        o->notes = o->first;
        o->n_notes = o->n_first;
    }
    if (o->writer->end)
        o->writer->end(o);
    pk_sink_flush(&o->sink);
    uselocale(user);
    int error = o->sink.error;
    release(o);
    if (!error || error == EPIPE)
        return PK_OK;
    if (error == EINTR) {
        pk_fail(err, PK_E_INTERRUPTED, "the output is not complete");
        pk_why(err, "a signal ended it");
        return pk_fix(err, "run the command again");
    }
    pk_fail(err, PK_E_IO, "the output could not be written");
    pk_why_errno(err, error);
    return pk_fix(err, error == ENOSPC ? "free some disk space, or write elsewhere with -o FILE"
                                       : "write elsewhere with -o FILE");
}
