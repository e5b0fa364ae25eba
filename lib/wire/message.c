/* Message: from one line of JSON to struct pk_wire_msg, by a table of the members that each type may have. */
#include "wire/wire.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum kind {
    TEXT,   /* any string */
    NAME,   /* 1 to NAME_MAX bytes, no control characters */
    WORD,   /* one of `words` */
    INT,    /* 0 to max */
    OBJECT, /* {} */
    ARRAY,  /* of numbers and nulls */
    ANY,
};

enum { NAME_BYTES_MAX = 128, QUOTE_MAX = 60 };

struct message_member {
    enum pk_wire_type type;
    const char *key;
    enum kind kind;
    bool required;
    const char *const *words;
    int64_t max;
};

static const char *const directions[] = {"lower", "higher", "none", NULL};
static const char *const classes[] = {"time", "exact", "rate", "memory", NULL};
static const char *const combines[] = {"median", "min", "max", "sum", "mean", NULL};
static const char *const sources[] = {"region",  "mark",     "allocator", "formula",
                                      "counter", "reported", "program",   NULL};

#define ORDINAL_MAX (INT64_MAX / 4)

static const struct message_member members[] = {
    {PK_WIRE_HELLO, "version", INT, true, NULL, 1000000},
    {PK_WIRE_HELLO, "program", TEXT},
    {PK_WIRE_HELLO, "pid", INT, false, NULL, INT64_MAX},
    {PK_WIRE_SETTING, "key", NAME, true},
    {PK_WIRE_SETTING, "value", ANY, true},
    {PK_WIRE_CASE, "experiment", NAME},
    {PK_WIRE_CASE, "variant", NAME},
    {PK_WIRE_CASE, "device", NAME},
    {PK_WIRE_CASE, "axes", OBJECT},
    {PK_WIRE_METRIC, "name", NAME, true},
    {PK_WIRE_METRIC, "unit", NAME, true},
    {PK_WIRE_METRIC, "direction", WORD, false, directions},
    {PK_WIRE_METRIC, "class", WORD, false, classes},
    {PK_WIRE_METRIC, "combine", WORD, false, combines},
    {PK_WIRE_METRIC, "ranks", WORD, false, combines},
    {PK_WIRE_METRIC, "source", WORD, false, sources},
    {PK_WIRE_SAMPLES, "metric", NAME, true},
    {PK_WIRE_SAMPLES, "phase", WORD, false, pk_phase_words},
    {PK_WIRE_SAMPLES, "rank", INT, false, NULL, 1 << 20},
    {PK_WIRE_SAMPLES, "instance", INT, false, NULL, 1 << 30},
    {PK_WIRE_SAMPLES, "ordinal", INT, false, NULL, ORDINAL_MAX},
    {PK_WIRE_SAMPLES, "reps", INT, false, NULL, ORDINAL_MAX},
    {PK_WIRE_SAMPLES, "values", ARRAY, true},
    {PK_WIRE_NOTE, "key", NAME, true},
    {PK_WIRE_NOTE, "value", ANY, true},
    {PK_WIRE_FIT, "name", NAME, true},
    {PK_WIRE_FIT, "metric", NAME, true},
    {PK_WIRE_MARK, "name", NAME, true},
    {PK_WIRE_MARK, "lane", NAME},
    {PK_WIRE_MARK, "rank", INT, false, NULL, 1 << 20},
    {PK_WIRE_MARK, "begin_ns", INT, true, NULL, INT64_MAX},
    {PK_WIRE_MARK, "end_ns", INT, true, NULL, INT64_MAX},
    {PK_WIRE_STATUS, "status", WORD, true, pk_status_words},
    {PK_WIRE_STATUS, "message", TEXT},
    {PK_WIRE_STATUS, "id", INT, false, NULL, INT64_MAX},
    {PK_WIRE_STATUS, "pass", WORD, false, pk_pass_words},
    {PK_WIRE_STATUS, "invocation", INT, false, NULL, 1 << 30},
    {PK_WIRE_STATUS, "started_wall_ns", INT, false, NULL, INT64_MAX},
    {PK_WIRE_STATUS, "elapsed_ns", INT, false, NULL, INT64_MAX},
    {PK_WIRE_MEASURE, "id", INT, true, NULL, INT64_MAX},
    {PK_WIRE_MEASURE, "experiment", NAME, true},
    {PK_WIRE_MEASURE, "variant", NAME, true},
    {PK_WIRE_MEASURE, "device", NAME, true},
    {PK_WIRE_MEASURE, "axes", OBJECT, true},
    {PK_WIRE_MEASURE, "pass", WORD, false, pk_pass_words},
    {PK_WIRE_MEASURE, "invocation", INT, false, NULL, 1 << 30},
    {PK_WIRE_MEASURE, "seed", INT, false, NULL, INT64_MAX},
    {PK_WIRE_MEASURE, "stop", OBJECT},
    {PK_WIRE_MEASURE, "device_options", OBJECT},
    {PK_WIRE_MEASURE, "choices", OBJECT},
};

static const char *const types[] = {
    [PK_WIRE_HELLO] = "hello",   [PK_WIRE_SETTING] = "setting", [PK_WIRE_CASE] = "case",
    [PK_WIRE_METRIC] = "metric", [PK_WIRE_SAMPLES] = "samples", [PK_WIRE_NOTE] = "note",
    [PK_WIRE_FIT] = "fit",       [PK_WIRE_MARK] = "mark",       [PK_WIRE_STATUS] = "status",
    [PK_WIRE_BYE] = "bye",       [PK_WIRE_MEASURE] = "measure", [PK_WIRE_QUIT] = "quit",
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static bool is_name(const json_t *v)
{
    size_t n = json_string_length(v);
    if (!json_is_string(v) || n < 1 || n > NAME_BYTES_MAX)
        return false;
    const unsigned char *s = (const unsigned char *)json_string_value(v);
    for (size_t i = 0; i < n; i++)
        if (s[i] < ' ' || s[i] == 0x7f)
            return false;
    return true;
}

static bool is_numbers(const json_t *v)
{
    if (!json_is_array(v))
        return false;
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *x = json_array_get(v, i);
        if (!json_is_number(x) && !json_is_null(x))
            return false;
    }
    return true;
}

/* NULL when v fits the row, else what it should have been. */
static const char *expected(const struct message_member *m, const json_t *v)
{
    switch (m->kind) {
    case TEXT:
        return json_is_string(v) ? NULL : "is not a string";
    case NAME:
        return is_name(v) ? NULL : "is not a string of 1 to 128 bytes without control characters";
    case WORD:
        for (const char *const *word = m->words; json_is_string(v) && *word; word++)
            if (!strcmp(*word, json_string_value(v)))
                return NULL;
        return "is not a word of the protocol";
    case INT:
        return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= m->max
                   ? NULL
                   : "is not an integer in its range";
    case OBJECT:
        return json_is_object(v) ? NULL : "is not an object";
    case ARRAY:
        return is_numbers(v) ? NULL : "is not an array of numbers and nulls";
    case ANY:
        return NULL;
    }
    return NULL;
}

/* NULL when every member of a message fits its row, else the problem. */
static const char *broken_member(enum pk_wire_type type, const json_t *obj, struct pk_arena *a)
{
    for (size_t i = 0; i < COUNT(members); i++) {
        const struct message_member *m = &members[i];
        if (m->type != type)
            continue;
        const json_t *v = json_object_get(obj, m->key);
        if (!v && m->required)
            return pk_printf(a, "a %s message without \"%s\"", types[type], m->key);
        const char *wrong = v ? expected(m, v) : NULL;
        if (wrong)
            return pk_printf(a, "a %s message whose \"%s\" %s", types[type], m->key, wrong);
    }
    return NULL;
}

/* A metric that does not say its class has that of its unit. */
static void fill_metric(struct pk_wire_msg *msg)
{
    const json_t *j = msg->json;
    struct pk_metric_decl *d = &msg->metric;
    const char *unit = d->unit = pk_json_str(j, "unit", NULL);
    d->name = pk_json_str(j, "name", NULL);
    d->direction = pk_json_str(j, "direction", "none");
    d->class = pk_json_str(j, "class",
                           !strcmp(unit, "ns")      ? "time"
                           : !strcmp(unit, "bytes") ? "memory"
                                                    : "rate");
    d->combine = pk_json_str(j, "combine", "median");
    d->ranks = pk_json_str(j, "ranks", "max");
    d->source = pk_json_str(j, "source", "reported");
}

/* Integers stay integers when every value is one; otherwise all are reals and null is NaN. */
static void fill_values(const json_t *values, struct pk_arena *a, struct pk_series *s)
{
    s->n = json_array_size(values);
    bool integers = true;
    for (size_t i = 0; integers && i < s->n; i++)
        integers = json_is_integer(json_array_get(values, i));
    int64_t *integer = integers ? pk_new_n(a, int64_t, s->n) : NULL;
    double *real = integers ? NULL : pk_new_n(a, double, s->n);
    for (size_t i = 0; i < s->n; i++) {
        const json_t *v = json_array_get(values, i);
        if (integers)
            integer[i] = json_integer_value(v);
        else
            real[i] = json_is_null(v) ? NAN : json_number_value(v);
    }
    s->integer = integer;
    s->real = real;
}

static const char *fill_samples(struct pk_wire_msg *msg, struct pk_arena *a)
{
    const json_t *j = msg->json;
    struct pk_series *s = &msg->series;
    msg->samples_metric = pk_json_str(j, "metric", NULL);
    msg->samples_ordinal = pk_json_int(j, "ordinal", -1);
    s->rank = (int)pk_json_int(j, "rank", 0);
    s->instance = (int)pk_json_int(j, "instance", 0);
    s->reps = pk_json_int(j, "reps", 1);
    if (s->reps < 1)
        return "a samples message whose \"reps\" is 0";
    s->phase = PK_PHASE_STEADY;
    if (!pk_phase_parse(pk_json_str(j, "phase", "steady"), &s->phase))
        return "a samples message of an unknown phase";
    fill_values(json_object_get(j, "values"), a, s);
    return NULL;
}

/* The parts of a well-formed message that callers read from the struct. NULL, or the problem. */
static const char *read_members(struct pk_wire_msg *msg, struct pk_arena *a)
{
    const json_t *j = msg->json, *value = json_object_get(j, "value");
    switch (msg->type) {
    case PK_WIRE_METRIC:
        fill_metric(msg);
        return NULL;
    case PK_WIRE_SAMPLES:
        return fill_samples(msg, a);
    case PK_WIRE_STATUS:
        msg->text = pk_json_str(j, "message", "");
        return pk_status_parse(pk_json_str(j, "status", ""), &msg->status) ? NULL : "an unknown status";
    case PK_WIRE_SETTING:
        msg->key = pk_json_str(j, "key", NULL);
        msg->text =
            json_is_string(value) ? json_string_value(value) : pk_json_text(a, value, PK_JSON_COMPACT);
        return NULL;
    case PK_WIRE_NOTE:
        msg->key = pk_json_str(j, "key", NULL);
        msg->text = pk_json_text(a, value, PK_JSON_COMPACT);
        return NULL;
    case PK_WIRE_FIT:
        msg->key = pk_printf(a, "fit:%s", pk_json_str(j, "name", ""));
        msg->text = pk_json_text(a, j, PK_JSON_COMPACT);
        return NULL;
    default:
        return NULL;
    }
}

/* Python's json writes NaN and Infinity, which are not JSON. Outside strings they are replaced by null. NULL when there are none. */
static char *without_nan(const char *line, size_t n, struct pk_arena *a, size_t *n_out)
{
    char *out = pk_alloc(a, 2 * n + 1);
    size_t k = 0;
    bool in_string = false, escaped = false, changed = false;
    for (size_t i = 0; i < n; i++) {
        size_t left = n - i, word = 0;
        if (!in_string && left >= 3 && !memcmp(line + i, "NaN", 3))
            word = 3;
        else if (!in_string && left >= 8 && !memcmp(line + i, "Infinity", 8))
            word = 8;
        if (word) {
            k -= k && out[k - 1] == '-'; /* -Infinity */
            memcpy(out + k, "null", 4);
            k += 4;
            i += word - 1;
            changed = true;
            continue;
        }
        in_string ^= line[i] == '"' && !escaped;
        escaped = in_string && line[i] == '\\' && !escaped;
        out[k++] = line[i];
    }
    *n_out = k;
    return changed ? out : NULL;
}

/* The start of a line for messages, with everything but printable ASCII as '.'. */
static char *quoted(const char *line, size_t n, struct pk_arena *a)
{
    char *s = pk_strndup(a, line, n < QUOTE_MAX ? n : QUOTE_MAX);
    for (char *p = s; p < s + (n < QUOTE_MAX ? n : QUOTE_MAX); p++)
        if (!isascii(*p) || !isprint(*p))
            *p = '.';
    return s;
}

/* A number that is too large is named: the line may be long. */
static const char *not_json(const char *line, size_t n, const json_error_t *error, struct pk_arena *a)
{
    size_t end = (size_t)error->position < n ? (size_t)error->position : n, begin = end;
    if (json_error_code(error) != json_error_numeric_overflow)
        return "no JSON";
    while (begin && strchr("0123456789+-.eE", line[begin - 1]))
        begin--;
    while (end < n && strchr("0123456789+-.eE", line[end]))
        end++;
    return pk_printf(a, "the number %s%s is out of range", quoted(line + begin, end - begin, a),
                     end - begin > QUOTE_MAX ? "..." : "");
}

void pk_wire_garbage(struct pk_wire_msg *msg, const char *problem)
{
    json_decref(msg->json);
    *msg = (struct pk_wire_msg){.type = PK_WIRE_GARBAGE, .problem = problem};
}

/* More lists and objects than a line may have. Only a long line can: one has a byte at least. */
static bool is_nested(const char *line, size_t n)
{
    size_t nested = 0;
    for (size_t i = 0; n > PK_WIRE_LINE_NESTED_MAX && i < n; i++)
        nested += line[i] == '{' || line[i] == '[';
    return nested > PK_WIRE_LINE_NESTED_MAX;
}

void pk_wire_parse(const char *line, size_t n, struct pk_arena *a, struct pk_wire_msg *msg)
{
    size_t fixed_bytes;
    *msg = (struct pk_wire_msg){0};
    if (is_nested(line, n)) {
        pk_wire_garbage(msg, "a line with more than 262144 lists and objects");
        return;
    }
    json_error_t error;
    *msg = (struct pk_wire_msg){.type = PK_WIRE_UNKNOWN, .json = json_loadb(line, n, 0, &error)};
    const char *fixed = msg->json ? NULL : without_nan(line, n, a, &fixed_bytes);
    if (fixed)
        msg->json = json_loadb(fixed, fixed_bytes, 0, NULL);
    const char *type = pk_json_str(msg->json, "type", NULL);
    if (!msg->json || !type) {
        const char *what = msg->json ? "no JSON object with a \"type\"" : not_json(line, n, &error, a);
        pk_wire_garbage(msg, pk_printf(a, "%s: %s%s", what, quoted(line, n, a), n > QUOTE_MAX ? "..." : ""));
        return;
    }
    for (size_t i = 0; i < COUNT(types); i++)
        if (!strcmp(types[i], type))
            msg->type = (enum pk_wire_type)i;
    const char *problem = broken_member(msg->type, msg->json, a);
    if (!problem)
        problem = read_members(msg, a);
    if (problem)
        pk_wire_garbage(msg,
                        pk_printf(a, "%s: %s%s", problem, quoted(line, n, a), n > QUOTE_MAX ? "..." : ""));
}
