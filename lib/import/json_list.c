/* Json list: reads an object of any size whose one long member is a list, an element at a time.
 *
 * This file finds where values end; jansson then checks and reads each. So memory is bounded by the largest element. */
#include "import/reader.h"

#include "base/index.h"
#include "base/text/buf.h"

#include <ctype.h>
#include <string.h>

enum { DEEPEST = 200 }; /* levels of lists and objects */

/* --- bytes --- */

static int peek(const struct pk_import_reader *r)
{
    const int c = getc_unlocked(r->f);
    if (c != EOF)
        ungetc(c, r->f);
    return c;
}

static int next(struct pk_import_reader *r)
{
    const int c = getc_unlocked(r->f);
    if (c == EOF)
        return c;
    const char byte = (char)c;
    r->hash = pk_fnv1a(r->hash, &byte, 1);
    r->line += c == '\n';
    return c;
}

/* The byte order mark with which some editors begin a file. */
static bool skip_mark(struct pk_import_reader *r)
{
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    size_t i = 0;
    if (ftello(r->f) != 0)
        return false;
    for (; i < sizeof mark && peek(r) == mark[i]; i++)
        next(r);
    return i == sizeof mark;
}

static int after_blanks(struct pk_import_reader *r)
{
    int c;
    while ((c = peek(r)) == ' ' || c == '\n' || c == '\r' || c == '\t' || (c == 0xef && skip_mark(r)))
        if (c != 0xef)
            next(r);
    return c;
}

static bool expect(struct pk_import_reader *r, int wanted, const char *what)
{
    const int c = after_blanks(r);
    if (c == wanted && !r->failed)
        return next(r), true;
    if (c == EOF)
        pk_import_problem(r, "the file ends where %s must follow", what);
    else
        pk_import_problem(r, "there is no %s", what);
    return false;
}

/* --- values --- */

/* Adds to the text, if it is wanted; false when it is too long. */
static bool add(struct pk_import_reader *r, struct pk_buf *b, int c)
{
    if (!b)
        return true;
    if (b->n >= PK_IMPORT_JSON_MAX) {
        pk_import_problem(r, "more than 16 MiB of JSON in one piece");
        return false;
    }
    pk_buf_char(b, (char)c);
    return true;
}

/* Behind the quote with which it begins. */
static bool end_string(struct pk_import_reader *r, struct pk_buf *b)
{
    bool more = true;
    for (bool escaped = false; more;) {
        const int c = next(r);
        if (c == EOF)
            return pk_import_problem(r, "the file ends in a string"), false;
        more = add(r, b, c);
        if (c == '"' && !escaped)
            return more;
        escaped = c == '\\' && !escaped;
    }
    return false;
}

/* A number or a name. What is not a number has no value. */
static bool copy_word(struct pk_import_reader *r, struct pk_buf *b)
{
    static const char *const not_numbers[] = {"NaN", "-NaN", "Infinity", "-Infinity",
                                              "inf", "-inf", "nan",      "-nan"};
    char word[400];
    size_t n = 0;
    for (int c; n < sizeof word - 1 && (c = peek(r)) != EOF && (isalnum(c) || strchr("+-.", c));)
        word[n++] = (char)next(r);
    word[n] = '\0';
    if (!n || n == sizeof word - 1) {
        pk_import_problem(r, n ? "a number of more than 398 digits" : "there is no value");
        return false;
    }
    const char *text = word;
    for (size_t i = 0; i < sizeof not_numbers / sizeof *not_numbers; i++)
        text = strcmp(word, not_numbers[i]) == 0 ? "null" : text;
    bool more = true;
    for (; *text && more; text++)
        more = add(r, b, *text);
    return more;
}

/* Where the next token begins; as many lines are added as were passed, so that errors have the right line. */
static int next_token(struct pk_import_reader *r, struct pk_buf *b)
{
    size_t line = r->line;
    const int c = after_blanks(r);
    for (; line < r->line && add(r, b, '\n'); line++)
        ;
    return c;
}

static bool too_deep(struct pk_import_reader *r, size_t depth)
{
    if (depth > DEEPEST)
        pk_import_problem(r, "lists and objects nested over %d deep", DEEPEST);
    return depth > DEEPEST;
}

/* Copies a value as far as its brackets go; jansson will say whether it is one. b NULL: only passes it. */
static bool copy_value(struct pk_import_reader *r, struct pk_buf *b)
{
    bool good = true;
    for (size_t depth = 0; good && !pk_import_stopped(r);) {
        const int c = next_token(r, depth ? b : NULL);
        const bool opens = c == '{' || c == '[', closes = depth && (c == '}' || c == ']');
        if (c == EOF)
            return pk_import_problem(r, "the file ends too early"), false;
        depth = depth + opens - closes;
        if (too_deep(r, depth))
            return false;
        if (opens || closes || (depth && (c == ',' || c == ':')))
            good = add(r, b, next(r));
        else
            good = c == '"' ? add(r, b, next(r)) && end_string(r, b) : copy_word(r, b);
        if (!depth)
            return good && !r->failed;
    }
    return false;
}

/* line: of the text's beginning. */
static json_t *parse(struct pk_import_reader *r, const struct pk_buf *b, size_t line)
{
    json_error_t why;
    json_t *j = r->failed ? NULL : json_loadb(b->s, b->n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (j || r->failed)
        return j;
    r->line = line + (size_t)(why.line > 0 ? why.line - 1 : 0);
    pk_import_problem(r, "not JSON: %s", why.text);
    return NULL;
}

static json_t *read_value(struct pk_import_reader *r, struct pk_buf *b)
{
    pk_buf_clear(b);
    after_blanks(r);
    const size_t line = r->line;
    return copy_value(r, b) ? parse(r, b, line) : NULL;
}

/* --- the object --- */

static void read_list(struct pk_import_reader *r, const char *name, pk_import_json_fn *element)
{
    struct pk_arena own = {0};
    struct pk_buf b = {.arena = &own};
    r->member = name;
    next(r);
    for (r->at = 0; !r->failed && !(r->at == 0 && after_blanks(r) == ']'); r->at++) {
        after_blanks(r);
        const size_t begin = r->line;
        PK_JSON_CLEANUP json_t *j = read_value(r, &b);
        const size_t end = r->line;
        r->line = begin; /* where the element is */
        if (j)
            element(r, j);
        r->line = end;
        if (after_blanks(r) != ',')
            break;
        next(r);
    }
    if (!r->failed)
        r->member = NULL;
    expect(r, ']', "comma or end of the list");
    pk_arena_free(&own);
}

/* Takes the value behind a name, which is as in the file, with its quotes. */
typedef bool member_fn(struct pk_import_reader *r, const struct pk_buf *name, void *user);

static bool read_object(struct pk_import_reader *r, member_fn *member, void *user)
{
    struct pk_arena own = {0};
    struct pk_buf name = {.arena = &own};
    bool good = expect(r, '{', "object");
    for (bool more = good && after_blanks(r) != '}'; more;) {
        pk_buf_clear(&name);
        good = expect(r, '"', "name of a member");
        pk_buf_char(&name, '"');
        good = good && end_string(r, &name) && expect(r, ':', "colon") && member(r, &name, user);
        more = good && after_blanks(r) == ',';
        if (more)
            next(r);
    }
    good = good && expect(r, '}', "comma or end of the object");
    pk_arena_free(&own);
    return good;
}

struct members {
    const char *list;
    pk_import_json_fn *element;
    json_t *rest;
    struct pk_buf text; /* of a value */
    size_t bytes;
};

static bool take_member(struct pk_import_reader *r, const struct pk_buf *name, void *user)
{
    struct members *m = user;
    PK_JSON_CLEANUP json_t *key = parse(r, name, r->line);
    const char *text = json_string_value(key);
    if (!key)
        return false;
    if (json_object_get(m->rest, text))
        return pk_import_problem(r, "'%.100s' is given twice", text), false;
    if (m->list && strcmp(text, m->list) == 0 && after_blanks(r) == '[') {
        read_list(r, m->list, m->element);
        return json_object_set_new(m->rest, text, json_array()), !r->failed;
    }
    json_t *value = read_value(r, &m->text);
    m->bytes += m->text.n;
    if (value && m->bytes > PK_IMPORT_JSON_MAX)
        pk_import_problem(r, "more than 16 MiB beside the list of results");
    return value && json_object_set_new(m->rest, text, value) == 0 && !r->failed;
}

void pk_import_json(struct pk_import_reader *r, const char *list, pk_import_json_fn *element,
                    pk_import_json_fn *rest)
{
    struct pk_arena own = {0};
    PK_JSON_CLEANUP json_t *object = json_object();
    struct members m = {.list = list, .element = element, .rest = object, .text = {.arena = &own}};
    if (read_object(r, take_member, &m) && after_blanks(r) != EOF)
        pk_import_problem(r, "text after the end of the object");
    if (!r->failed && rest)
        rest(r, object);
    pk_arena_free(&own);
}

void pk_import_json_rows(struct pk_import_reader *r, const char *name, pk_import_json_fn *element)
{
    struct pk_arena own = {0};
    struct pk_buf b = {.arena = &own};
    if (after_blanks(r) == '[') {
        read_list(r, name, element);
        if (after_blanks(r) != EOF)
            pk_import_problem(r, "text after the end of the list");
    } else
        for (; after_blanks(r) != EOF && !pk_import_stopped(r);) {
            PK_JSON_CLEANUP json_t *j = read_value(r, &b);
            if (j)
                element(r, j);
        }
    pk_arena_free(&own);
}

struct keys {
    pk_import_wanted_fn *wanted;
    const char **v;
    size_t n, most;
};

static bool take_key(struct pk_import_reader *r, const struct pk_buf *name, void *user)
{
    struct keys *k = user;
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    const char *text = pk_strndup(&own, name->s + 1, name->n - 2);
    if (k->n < k->most && k->wanted(text))
        k->v[k->n++] = pk_strdup(r->a, text);
    return copy_value(r, NULL);
}

size_t pk_import_json_keys(struct pk_import_reader *r, pk_import_wanted_fn *wanted, const char **keys,
                           size_t n)
{
    struct keys k = {wanted, keys, 0, n};
    (void)read_object(r, take_key, &k);
    return k.n;
}
