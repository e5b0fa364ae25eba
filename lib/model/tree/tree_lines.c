/* Tree lines: a path's names are looked up one below the other; what is new becomes a position. */
#include "model/tree/tree_lines.h"

#include "base/split.h"
#include "base/units.h"

#include <ctype.h>
#include <string.h>

enum { PARTS_MAX = PK_TREE_DEPTH_MAX - 1 }; /* of a path: a parameter's leaf is one below it */

#define ELEMENTS_MAX (INT64_MAX / 8) /* over all leaves: their bytes are still a number */

/* For every line that is not as it should be. */
static enum pk_code print_it_again(struct pk_err *err)
{
    return pk_fix(err, "print the file with: for n, p in model.named_parameters(): print(n, tuple(p.shape))");
}

/* ---- shapes ------------------------------------------------------------------------------------------- */

/* The text between the brackets of "(2, 3)", "[2, 3]" or "torch.Size([2, 3])"; NULL without them. */
static const char *dimensions(const char *text, struct pk_arena *a)
{
    static const char *const brackets[][2] = {{"torch.Size([", "])"}, {"(", ")"}, {"[", "]"}};
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof brackets / sizeof *brackets; i++) {
        size_t open = strlen(brackets[i][0]), close = strlen(brackets[i][1]);
        if (n >= open + close && !strncmp(text, brackets[i][0], open) &&
            !strcmp(text + n - close, brackets[i][1]))
            return pk_strndup(a, text + open, n - open - close);
    }
    return NULL;
}

/* Dimensions separated by commas, perhaps with one behind the last. */
static bool read_dimensions(const char *rest, struct pk_shape *s, struct pk_arena *a)
{
    struct pk_err unused;
    while (rest) {
        const char *part = pk_next_part(&rest, ',', a);
        if (!*part && !rest)
            return true;
        if (s->rank == PK_TREE_RANK_MAX || pk_parse_int(part, &s->dim[s->rank], &unused) ||
            s->dim[s->rank] < 1)
            return false;
        s->rank++;
    }
    return true;
}

static enum pk_code read_shape(struct pk_tree_lines *r, const char *text, struct pk_shape *s)
{
    const char *inside = dimensions(text, r->a);
    *s = (struct pk_shape){0};
    if (inside && *inside != ',' && read_dimensions(inside, s, r->a))
        return PK_OK;
    if (*text)
        pk_fail(r->err, PK_E_USAGE, "'%s' is not a shape", text);
    else
        pk_fail(r->err, PK_E_USAGE, "there is no shape");
    pk_why(r->err,
           "a line is a path and a shape of at most %d dimensions, each at least 1: (768, 768), or () for "
           "one number",
           PK_TREE_RANK_MAX);
    return print_it_again(r->err);
}

static enum pk_code add_elements(struct pk_tree_lines *r, const struct pk_shape *s)
{
    int64_t n = 1;
    bool fits = true;
    for (int i = 0; i < s->rank && fits; i++)
        fits = !__builtin_mul_overflow(n, s->dim[i], &n);
    if (fits && n <= ELEMENTS_MAX - r->elements) {
        r->elements += n;
        return PK_OK;
    }
    pk_fail(r->err, PK_E_USAGE, "the model is too large with this leaf");
    pk_why(r->err, "all leaves together can have %lld elements", (long long)ELEMENTS_MAX);
    return print_it_again(r->err);
}

/* ---- positions ---------------------------------------------------------------------------------------- */

static bool same_position(const void *wanted, uint32_t row)
{
    const struct pk_tree_lines *r = wanted;
    const struct pk_line_position *p = &r->at[row], *fresh = &r->at[r->n];
    return p->parent == fresh->parent && p->name == fresh->name;
}

/* The child of this name; new when it was not there. */
static uint32_t child_of(struct pk_tree_lines *r, uint32_t parent, const char *name)
{
    r->at = pk_grow(r->a, r->at, sizeof *r->at, r->n, &r->cap);
    struct pk_line_position *fresh = &r->at[r->n], *p = &r->at[parent];
    *fresh = (struct pk_line_position){.parent = parent, .name = pk_name(r->names, name), .line = r->line};
    uint64_t hash = pk_hash(pk_hash(0, parent), fresh->name);
    uint32_t row = pk_index_row(&r->index, hash, same_position, r, (uint32_t)r->n);
    if (row < r->n)
        return row;
    if (p->n_children++)
        r->at[p->last].next = row;
    else
        p->first = row;
    p->last = row;
    r->n++;
    return row;
}

const char *pk_tree_lines_path(const struct pk_tree_lines *r, uint32_t at)
{
    const struct pk_line_position *p = &r->at[at];
    const char *name = at == PK_LINES_ROOT ? "the model" : r->names->text[p->name];
    return at == PK_LINES_ROOT || p->parent == PK_LINES_ROOT
               ? name
               : pk_printf(r->a, "%s.%s", pk_tree_lines_path(r, p->parent), name);
}

static enum pk_code taken(struct pk_tree_lines *r, uint32_t at, const char *as)
{
    pk_fail(r->err, PK_E_USAGE, "%s is here %s", pk_tree_lines_path(r, at), as);
    pk_why(r->err, "line %d has it first", r->at[at].line);
    return pk_fix(r->err, "a path names one leaf, and no other path goes on behind it");
}

static enum pk_code bad_path(struct pk_tree_lines *r, const char *path, const char *why)
{
    pk_fail(r->err, PK_E_USAGE, "'%s' is not a path", path);
    pk_why(r->err, "%s", why);
    return print_it_again(r->err);
}

static enum pk_code add_leaf(struct pk_tree_lines *r, const char *path, const struct pk_shape *shape)
{
    uint32_t at = PK_LINES_ROOT, parts = 0;
    if (strlen(path) >= PK_TREE_PATH_MAX)
        return bad_path(r, pk_strndup(r->a, path, 64),
                        pk_printf(r->a, "it goes on to %zu bytes, and a path has at most %d", strlen(path),
                                  PK_TREE_PATH_MAX - 1));
    for (const char *rest = path, *part; (part = pk_next_part(&rest, '.', r->a)); parts++) {
        if (!*part)
            return bad_path(r, path, "a name between its dots is empty");
        if (parts == PARTS_MAX)
            return bad_path(r, path, pk_printf(r->a, "it has more than %d names", PARTS_MAX));
        if (r->at[at].leaf)
            return taken(r, at, "as a module, and is a leaf");
        at = child_of(r, at, part);
    }
    struct pk_line_position *p = &r->at[at];
    if (p->leaf)
        return taken(r, at, "a second time");
    if (p->n_children)
        return taken(r, at, "as a leaf, and is a module");
    p->leaf = true;
    p->shape = *shape;
    return add_elements(r, shape);
}

/* ---- lines -------------------------------------------------------------------------------------------- */

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static enum pk_code read_line(struct pk_tree_lines *r, const char *text, size_t n)
{
    for (; n && blank(text[n - 1]); n--)
        ;
    for (; n && blank(*text); text++, n--)
        ;
    if (!n || *text == '#')
        return PK_OK;
    for (size_t i = 0; i < n; i++)
        if (iscntrl((unsigned char)text[i]) && !blank(text[i]))
            return bad_path(r, pk_strndup(r->a, text, i),
                            "a character that cannot be printed comes behind it");
    size_t end = 0;
    while (end < n && !blank(text[end]))
        end++;
    const char *path = pk_strndup(r->a, text, end);
    while (end < n && blank(text[end]))
        end++;
    struct pk_shape shape;
    if (read_shape(r, pk_strndup(r->a, text + end, n - end), &shape))
        return r->err->code;
    return add_leaf(r, path, &shape);
}

static enum pk_code read_lines(struct pk_tree_lines *r, const char *text, size_t n)
{
    for (const char *end = text + n, *next; text < end; text = next) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        next = nl ? nl + 1 : end;
        r->line++;
        if (read_line(r, text, (size_t)((nl ? nl : end) - text)))
            return pk_within(r->err, "%s:%d", r->name, r->line);
    }
    if (r->n > 1)
        return PK_OK;
    pk_fail(r->err, PK_E_USAGE, "%s has no leaf", r->name);
    pk_why(r->err, "every line of it is blank or begins with #");
    return print_it_again(r->err);
}

enum pk_code pk_tree_lines_read(const char *name, const char *text, size_t n, struct pk_arena *a,
                                struct pk_tree_lines *out, struct pk_err *err)
{
    *out = (struct pk_tree_lines){
        .name = name, .a = a, .err = err, .names = pk_names_new(a), .index = {.arena = a}};
    out->at = pk_grow(a, NULL, sizeof *out->at, 0, &out->cap);
    out->n = 1; /* the root, which has no name */
    return read_lines(out, text, n);
}
