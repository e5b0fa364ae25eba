/* perfkit's client for C99 and C++11: an experiment of one's own in one program, with this header alone. docs/clients.md is its manual.
 *
 *     #include "perfkit.h"
 *
 *     static void setup(perfkit_case *c) { ... perfkit_int(c, "n") ... perfkit_alloc(c, bytes) ... }
 *     static void plain(perfkit_case *c) { ... what is timed ... }
 *
 *     int main(int argc, char **argv)
 *     {
 *         perfkit_experiment *e = perfkit_new("my-sum", "what a sum of floats costs");
 *         perfkit_axis(e, "n", PERFKIT_INT, "1024,1048576", "elements");
 *         perfkit_variant(e, "plain", plain, "one loop");
 *         e->setup = setup;
 *         return perfkit_main(e, argc, argv);
 *     }
 *
 * `perfkit run ./bench` measures it by the wire protocol (docs/protocol.md); `./bench [AXIS=VALUE,...] [VARIANT ...]` prints a line for each
 * case. Include it first, or compile with -std=gnu99. One file of a program includes it: its functions are static. */
#ifndef PERFKIT_H
#define PERFKIT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if !defined CLOCK_MONOTONIC || !defined CPU_SET
#error "perfkit.h: include it before other headers, or compile with -std=gnu99 instead of -std=c99"
#endif

#define PERFKIT_FN static __attribute__((unused))

enum { PERFKIT_AXES_MAX = 24, PERFKIT_VARIANTS_MAX = 64, PERFKIT_METRICS_MAX = 16 };

enum perfkit_type { PERFKIT_INT, PERFKIT_SIZE, PERFKIT_FLOAT, PERFKIT_CHOICE, PERFKIT_BOOL };

typedef struct perfkit_case perfkit_case;
typedef void (*perfkit_fn)(perfkit_case *c);

/* How a device other than the CPU takes a sample: perfkit_cuda.h. */
typedef struct perfkit_clock {
    const char *name;                                                               /* a setting of the run */
    void (*open)(perfkit_case *c);                                                  /* before setup */
    void (*sample)(perfkit_case *c, perfkit_fn run, int64_t *ns, int64_t *host_ns); /* one call of run */
    void (*close)(perfkit_case *c);                                                 /* after teardown */
} perfkit_clock;

typedef struct perfkit_experiment {
    const char *name, *summary;
    perfkit_fn setup; /* makes the inputs of a case */
    perfkit_fn check; /* compares what the first call left: perfkit_near(), perfkit_fail() */
    perfkit_fn
        work; /* sets c->flops and c->bytes from the axes, or calls perfkit_skip(); called without setup */
    perfkit_fn reset;          /* untimed, before every sample; then each sample is one call */
    perfkit_fn teardown;       /* after the case, however it ended */
    const char *yardstick;     /* the variant that others are compared with */
    double tolerance;          /* of perfkit_near(), relative; 1e-4 */
    const char *more;          /* members of the reply to `describe` as JSON: "\"revision\":2"; NULL = none */
    const perfkit_clock *cuda; /* NULL: this program runs on the CPU */
    struct {
        const char *name;
        enum perfkit_type type;
        const char *values, *unit;
    } axes[PERFKIT_AXES_MAX];
    struct {
        const char *name, *summary;
        perfkit_fn run;
    } variants[PERFKIT_VARIANTS_MAX];
    struct {
        const char *name, *unit, *direction;
    } metrics[PERFKIT_METRICS_MAX];
    int n_axes, n_variants, n_metrics;
} perfkit_experiment;

struct perfkit_case {
    double flops, bytes; /* set by work() */
    void *user;          /* the program's own */
    char device[128];
    uint64_t seed;
    int threads; /* of --threads; 0 = as many as the program likes */
    /* The rest is the client's. */
    const perfkit_experiment *e;
    const char *axes; /* the request's object */
    const char *status;
    char message[512];
    int broken; /* the device is lost for this process */
    int64_t limit_bytes, now_bytes, peak_bytes;
    void *blocks;
    double values[PERFKIT_METRICS_MAX];
    char reported[PERFKIT_METRICS_MAX];
};

/* --- what a program calls --- */

/* The case ends as failed, oom or skipped, with the first reason that is given. Return afterwards. */
PERFKIT_FN void perfkit_end(perfkit_case *c, const char *status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define perfkit_fail(c, ...) perfkit_end(c, "failed", __VA_ARGS__)
#define perfkit_oom(c, ...)  perfkit_end(c, "oom", __VA_ARGS__)
#define perfkit_skip(c, ...) perfkit_end(c, "skipped", __VA_ARGS__)

PERFKIT_FN void perfkit_end(perfkit_case *c, const char *status, const char *fmt, ...)
{
    va_list args;
    if (strcmp(c->status, "ok") != 0)
        return;
    c->status = status;
    va_start(args, fmt);
    vsnprintf(c->message, sizeof c->message, fmt, args);
    va_end(args);
}

/* The compiler must assume that what p points to is used: for results that nothing else reads. */
#define perfkit_keep(p) __asm__ volatile("" : : "g"(p) : "memory")

/* A mistake in the program that uses this header. */
PERFKIT_FN void perfkit_mistake(const char *what, const char *name)
{
    fprintf(stderr, "perfkit.h: %s: %s\n", what, name);
    exit(2);
}

PERFKIT_FN perfkit_experiment *perfkit_new(const char *name, const char *summary)
{
    perfkit_experiment *e = (perfkit_experiment *)calloc(1, sizeof *e);
    if (!e)
        perfkit_mistake("there is no memory for the experiment", name);
    e->name = name;
    e->summary = summary;
    e->tolerance = 1e-4;
    return e;
}

/* values: "1024,4096", "fp32,bf16", "on,off"; sizes in bytes. The first is the default. unit: "" for none. */
PERFKIT_FN void perfkit_axis(perfkit_experiment *e, const char *name, enum perfkit_type type,
                             const char *values, const char *unit)
{
    static const char reserved[] =
        " above_floor case command device high_ns lives_in low_ns message of_floor others peak_bytes "
        "rate_bytes_per_s rate_flops_per_s seed speedup speedup_high speedup_low status uncertainty variant "
        "variants ";
    for (const char *p = reserved; *p && (p = strstr(p, name)) != NULL; p++)
        if (*name && p > reserved && p[-1] == ' ' && p[strlen(name)] == ' ')
            perfkit_mistake("this axis name is reserved: choose another", name);
    if (e->n_axes == PERFKIT_AXES_MAX)
        perfkit_mistake("too many axes", name);
    e->axes[e->n_axes].name = name;
    e->axes[e->n_axes].type = type;
    e->axes[e->n_axes].values = values;
    e->axes[e->n_axes++].unit = unit;
}

PERFKIT_FN void perfkit_variant(perfkit_experiment *e, const char *name, perfkit_fn run, const char *summary)
{
    if (e->n_variants == PERFKIT_VARIANTS_MAX)
        perfkit_mistake("too many variants", name);
    e->variants[e->n_variants].name = name;
    e->variants[e->n_variants].run = run;
    e->variants[e->n_variants++].summary = summary;
}

/* A metric beside time and memory, for perfkit_report(). direction: "lower", "higher" or "none" is better. */
PERFKIT_FN void perfkit_metric(perfkit_experiment *e, const char *name, const char *unit,
                               const char *direction)
{
    if (e->n_metrics == PERFKIT_METRICS_MAX)
        perfkit_mistake("too many metrics", name);
    e->metrics[e->n_metrics].name = name;
    e->metrics[e->n_metrics].unit = unit;
    e->metrics[e->n_metrics++].direction = direction;
}

PERFKIT_FN void perfkit_report(perfkit_case *c, const char *metric, double value)
{
    int i = 0;
    while (i < c->e->n_metrics && strcmp(c->e->metrics[i].name, metric) != 0)
        i++;
    if (i == c->e->n_metrics) {
        fprintf(stderr,
                "perfkit.h: perfkit_report of %s, which no perfkit_metric declares; declared:", metric);
        for (int k = 0; k < i; k++)
            fprintf(stderr, "%s %s", k ? "," : "", c->e->metrics[k].name);
        fputs(i ? "\n" : " none\n", stderr);
        exit(2);
    }
    c->values[i] = value;
    c->reported[i] = 1;
}

/* A result that is not within tolerance x |want| fails the case. */
PERFKIT_FN void perfkit_near(perfkit_case *c, const char *what, double got, double want)
{
    double off = got > want ? got - want : want - got;
    if (!(off <= c->e->tolerance * (want < 0 ? -want : want)))
        perfkit_fail(c, "%s is %.9g; the reference is %.9g", what, got, want);
}

/* --- JSON: a request is at most PERFKIT_LINE_MAX bytes and PERFKIT_DEPTH_MAX deep, and is read where it stands --- */

enum { PERFKIT_LINE_MAX = 8 << 20, PERFKIT_DEPTH_MAX = 64 };

PERFKIT_FN const char *perfkit_space(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    return p;
}

/* Behind the string whose opening quote p is at; NULL when it is none. */
PERFKIT_FN const char *perfkit_string_end(const char *p)
{
    if (*p++ != '"')
        return NULL;
    for (; *p != '"'; p++) {
        if ((unsigned char)*p < 0x20)
            return NULL;
        if (*p != '\\')
            continue;
        if (*++p == 'u') {
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++p))
                    return NULL;
        } else if (!*p || !strchr("\"\\/bfnrt", *p)) {
            return NULL;
        }
    }
    return p + 1;
}

PERFKIT_FN const char *perfkit_number_end(const char *p)
{
    p += *p == '-';
    if (!isdigit((unsigned char)*p))
        return NULL;
    for (p += *p == '0' ? 1 : strspn(p, "0123456789"); *p == '.';)
        if (!isdigit((unsigned char)*++p))
            return NULL;
        else
            p += strspn(p, "0123456789");
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-';
        if (!isdigit((unsigned char)*p))
            return NULL;
        p += strspn(p, "0123456789");
    }
    return p;
}

/* Behind the value that begins at p; NULL when there is none. */
PERFKIT_FN const char *perfkit_value_end(const char *p, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    const char close = *p == '{' ? '}' : ']';
    if (*p == '"')
        return perfkit_string_end(p);
    for (int i = 0; i < 3; i++)
        if (strncmp(p, words[i], strlen(words[i])) == 0)
            return p + strlen(words[i]);
    if (*p != '{' && *p != '[')
        return perfkit_number_end(p);
    if (depth == PERFKIT_DEPTH_MAX)
        return NULL;
    p = perfkit_space(p + 1);
    if (*p == close)
        return p + 1;
    for (;; p = perfkit_space(p + 1)) {
        if (close == '}') {
            p = perfkit_string_end(p);
            p = p ? perfkit_space(p) : NULL;
            if (!p || *p != ':')
                return NULL;
            p = perfkit_space(p + 1);
        }
        p = perfkit_value_end(p, depth + 1);
        if (!p)
            return NULL;
        p = perfkit_space(p);
        if (*p == close)
            return p + 1;
        if (*p != ',')
            return NULL;
    }
}

PERFKIT_FN unsigned perfkit_hex4(const char *p)
{
    char text[5] = {p[0], p[1], p[2], p[3], 0};
    return (unsigned)strtoul(text, NULL, 16);
}

/* Decodes the string at p into out, which has room for size bytes. False when it is no string, too long, or has a NUL. */
PERFKIT_FN int perfkit_string(const char *p, char *out, size_t size)
{
    size_t n = 0;
    if (!p || *p != '"')
        return 0;
    for (p++; *p != '"'; p++) {
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        unsigned u = (unsigned char)*p;
        int raw = 1;
        if (*p == '\\' && *++p == 'u') {
            u = perfkit_hex4(p + 1);
            p += 4;
            if (u >= 0xd800 && u < 0xdc00 && p[1] == '\\' && p[2] == 'u') {
                u = 0x10000 + ((u - 0xd800) << 10) + ((perfkit_hex4(p + 3) - 0xdc00) & 0x3ff);
                p += 6;
            }
            raw = u < 0x80;
        } else if (p[-1] == '\\') {
            const char *at = strchr(from, *p);
            u = at ? (unsigned char)to[at - from] : (unsigned char)*p;
        }
        if (!u || n + 5 > size)
            return 0;
        if (raw) {
            out[n++] = (char)u;
            continue;
        }
        if (u >= 0x10000)
            out[n++] = (char)(0xf0 | u >> 18);
        if (u >= 0x800)
            out[n++] = (char)(u >= 0x10000 ? 0x80 | (u >> 12 & 0x3f) : 0xe0 | u >> 12);
        out[n++] = (char)(u >= 0x800 ? 0x80 | (u >> 6 & 0x3f) : 0xc0 | u >> 6);
        out[n++] = (char)(0x80 | (u & 0x3f));
    }
    out[n] = 0;
    return 1;
}

/* The next member of an object: *p begins behind its brace or the member before. Returns its value, with the key in key; NULL at the end. A
 * key that does not fit becomes "". The object has been checked by perfkit_value_end(). */
PERFKIT_FN const char *perfkit_next_member(const char **p, char *key, size_t size)
{
    const char *at = perfkit_space(*p), *value;
    if (*at == ',')
        at = perfkit_space(at + 1);
    if (*at != '"')
        return NULL;
    if (!perfkit_string(at, key, size))
        *key = 0;
    value = perfkit_space(perfkit_space(perfkit_string_end(at)) + 1);
    *p = perfkit_value_end(value, 0);
    return value;
}

/* The value of a member; NULL without it, or when object is none. Of two of one name the last. */
PERFKIT_FN const char *perfkit_member(const char *object, const char *name)
{
    char key[160];
    const char *found = NULL, *value, *p;
    if (!object || *object != '{')
        return NULL;
    for (p = object + 1; (value = perfkit_next_member(&p, key, sizeof key)) != NULL;)
        if (strcmp(key, name) == 0)
            found = value;
    return found;
}

/* A whole number; false when it is none, has a fraction or does not fit. */
PERFKIT_FN int perfkit_whole(const char *p, int64_t *v)
{
    char *end;
    if (!p || (*p != '-' && !isdigit((unsigned char)*p)))
        return 0;
    errno = 0;
    *v = strtoll(p, &end, 10);
    return !errno && end == perfkit_number_end(p);
}

/* The number of a member, between lo and hi; without the member otherwise. */
PERFKIT_FN double perfkit_number_or(const char *object, const char *name, double otherwise, double lo,
                                    double hi)
{
    const char *p = perfkit_member(object, name);
    double v = p && (*p == '-' || isdigit((unsigned char)*p)) ? strtod(p, NULL) : otherwise;
    return v < lo ? lo : v > hi ? hi : v;
}

PERFKIT_FN int perfkit_true(const char *p)
{
    return p && strncmp(p, "true", 4) == 0;
}

PERFKIT_FN void perfkit_put_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; s && *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            fprintf(f, "\\u%04x", (unsigned)*s);
        else
            fputc(*s, f);
    fputc('"', f);
}

/* --- axes of a case --- */

PERFKIT_FN int perfkit_axis_index(const perfkit_experiment *e, const char *name)
{
    for (int i = 0; i < e->n_axes; i++)
        if (strcmp(e->axes[i].name, name) == 0)
            return i;
    return -1;
}

/* The i-th part of "a,b,c" into out; false when there is none, or it does not fit. */
PERFKIT_FN int perfkit_part(const char *list, int i, char *out, size_t size)
{
    size_t n;
    for (; i > 0; i--, list++)
        if (!(list = strchr(list, ',')))
            return 0;
    n = strcspn(list, ",");
    if (n >= size)
        return 0;
    memcpy(out, list, n);
    out[n] = 0;
    return 1;
}

/* A value as people write it, as JSON. False when it is not of the type. */
PERFKIT_FN int perfkit_json_of(const perfkit_experiment *e, int axis, const char *text, char *out,
                               size_t size)
{
    const enum perfkit_type type = e->axes[axis].type;
    const char *end = perfkit_number_end(text);
    int64_t whole;
    if (type == PERFKIT_CHOICE) {
        char part[128];
        for (int i = 0; perfkit_part(e->axes[axis].values, i, part, sizeof part); i++)
            if (strcmp(part, text) == 0)
                return snprintf(out, size, "\"%s\"", text) < (int)size;
        return 0;
    }
    if (type == PERFKIT_BOOL) {
        int on = strcmp(text, "on") == 0 || strcmp(text, "true") == 0;
        snprintf(out, size, "%s", on ? "true" : "false");
        return on || strcmp(text, "off") == 0 || strcmp(text, "false") == 0;
    }
    snprintf(out, size, "%s", text);
    return end && !*end && strlen(text) < size && (type == PERFKIT_FLOAT || perfkit_whole(text, &whole));
}

/* The least value of an axis of whole numbers: 1, or a smaller one that it lists. */
PERFKIT_FN int64_t perfkit_least(const perfkit_experiment *e, int axis)
{
    char part[128];
    int64_t least = 1, whole;
    for (int i = 0; perfkit_part(e->axes[axis].values, i, part, sizeof part); i++)
        if (perfkit_whole(part, &whole) && whole < least)
            least = whole;
    return least;
}

/* Whether a JSON value of a request fits the axis. */
PERFKIT_FN int perfkit_fits(const perfkit_experiment *e, int axis, const char *value)
{
    const enum perfkit_type type = e->axes[axis].type;
    char text[160], part[128];
    int64_t whole;
    if (type == PERFKIT_BOOL)
        return *value == 't' || *value == 'f';
    if (type == PERFKIT_FLOAT)
        return perfkit_number_end(value) != NULL;
    if (type != PERFKIT_CHOICE)
        return perfkit_whole(value, &whole) && whole >= perfkit_least(e, axis);
    if (!perfkit_string(value, text, sizeof text))
        return 0;
    for (int i = 0; perfkit_part(e->axes[axis].values, i, part, sizeof part); i++)
        if (strcmp(part, text) == 0)
            return 1;
    return 0;
}

/* The value of the case as people write it, or the default. */
PERFKIT_FN void perfkit_axis_text(const perfkit_case *c, const char *name, enum perfkit_type wanted,
                                  char *out, size_t size)
{
    const int axis = perfkit_axis_index(c->e, name);
    const char *value = perfkit_member(c->axes, name);
    if (axis < 0)
        perfkit_mistake("there is no axis of this name", name);
    if (c->e->axes[axis].type != wanted && (wanted != PERFKIT_INT || c->e->axes[axis].type != PERFKIT_SIZE))
        perfkit_mistake("the axis is of another type", name);
    if (!value)
        perfkit_part(c->e->axes[axis].values, 0, out, size);
    else if (!perfkit_string(value, out, size))
        snprintf(out, size, "%.*s", (int)(perfkit_value_end(value, 0) - value), value);
}

/* Of the case; for setup() and work(), not for what is timed. */
PERFKIT_FN int64_t perfkit_int(const perfkit_case *c, const char *axis)
{
    char text[128] = "";
    perfkit_axis_text(c, axis, PERFKIT_INT, text, sizeof text);
    return strtoll(text, NULL, 10);
}

PERFKIT_FN double perfkit_float(const perfkit_case *c, const char *axis)
{
    char text[128] = "";
    perfkit_axis_text(c, axis, PERFKIT_FLOAT, text, sizeof text);
    return strtod(text, NULL);
}

PERFKIT_FN int perfkit_bool(const perfkit_case *c, const char *axis)
{
    char text[128] = "";
    perfkit_axis_text(c, axis, PERFKIT_BOOL, text, sizeof text);
    return strcmp(text, "on") == 0 || strcmp(text, "true") == 0;
}

/* Whether the axis has this choice. */
PERFKIT_FN int perfkit_is(const perfkit_case *c, const char *axis, const char *choice)
{
    char text[160] = "";
    perfkit_axis_text(c, axis, PERFKIT_CHOICE, text, sizeof text);
    return strcmp(text, choice) == 0;
}

/* --- memory --- */

typedef struct perfkit_block {
    struct perfkit_block *next;
    void (*release)(void *p);
    void *p;
} perfkit_block;

/* Counts bytes of the case's memory; false, and the case is out of memory, when they exceed its limit. */
PERFKIT_FN int perfkit_count_bytes(perfkit_case *c, size_t bytes)
{
    if (strcmp(c->status, "ok") != 0)
        return 0;
    if (bytes > (uint64_t)INT64_MAX / 2 ||
        (c->limit_bytes && c->now_bytes + (int64_t)bytes > c->limit_bytes)) {
        perfkit_oom(c, "cannot allocate %zu bytes: %lld bytes are allocated, and the limit is %lld", bytes,
                    (long long)c->now_bytes, (long long)c->limit_bytes);
        return 0;
    }
    c->now_bytes += (int64_t)bytes;
    c->peak_bytes = c->now_bytes > c->peak_bytes ? c->now_bytes : c->peak_bytes;
    return 1;
}

/* What release() gets at the end of the case. Returns p; NULL when p is, or without memory. */
PERFKIT_FN void *perfkit_owned(perfkit_case *c, void *p, void (*release)(void *p))
{
    perfkit_block *b = p ? (perfkit_block *)malloc(sizeof *b) : NULL;
    if (!b) {
        if (p)
            release(p);
        perfkit_oom(c, "there is no memory left");
        return NULL;
    }
    b->next = (perfkit_block *)c->blocks;
    b->release = release;
    b->p = p;
    c->blocks = b;
    return p;
}

/* Memory that is freed at the end of the case, aligned to 64 bytes. NULL when there is too little: the case is then out of memory. */
PERFKIT_FN void *perfkit_alloc(perfkit_case *c, size_t bytes)
{
    void *p = NULL;
    if (!perfkit_count_bytes(c, bytes))
        return NULL;
    if (posix_memalign(&p, 64, bytes ? bytes : 1))
        p = NULL;
    return perfkit_owned(c, p, free);
}

PERFKIT_FN void perfkit_free_blocks(perfkit_case *c)
{
    while (c->blocks) {
        perfkit_block *b = (perfkit_block *)c->blocks;
        c->blocks = b->next;
        b->release(b->p);
        free(b);
    }
}

/* 90 % of the memory that is free now; 0 when that is not known. */
PERFKIT_FN int64_t perfkit_free_memory(void)
{
    char line[128];
    long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024 / 10 * 9;
}

/* --- samples of a case, and when there are enough --- */

typedef struct perfkit_rule {
    int64_t min_samples, max_samples, min_time_ns, max_time_ns, warmup;
    double max_noise;
    int once;
    FILE *counted; /* perfkit counts samples from outside, and is told by this; NULL = it does not */
} perfkit_rule;

typedef struct perfkit_series {
    int64_t *ns, *host_ns; /* the first, `cut` of warm-up, the steady ones */
    size_t n, cap, cut;
    int64_t reps; /* calls of every sample but the first */
    const char *reason;
} perfkit_series;

static const int64_t perfkit_batch_ns = 20000, perfkit_warmup_ns = 10000000, perfkit_counted_ns = 10000000;

PERFKIT_FN int64_t perfkit_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

PERFKIT_FN double perfkit_root(double x)
{
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60; i++)
        r = (r + x / r) / 2;
    return r;
}

PERFKIT_FN int perfkit_ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Half of the 95 % interval of the median, relative to it: its ends are ranks of the binomial distribution, further apart where neighbours
 * are alike. *median is set. Without memory for a copy it is 0. */
PERFKIT_FN double perfkit_noise(const int64_t *v, size_t n, double *median)
{
    double mean = 0, squares = 0, products = 0, alike, ranks, lo, hi;
    int64_t *sorted = (int64_t *)malloc(n * sizeof *sorted);
    *median = 0;
    if (!sorted)
        return 0;
    memcpy(sorted, v, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, perfkit_ascending);
    for (size_t i = 0; i < n; i++)
        mean += (double)v[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += ((double)v[i] - mean) * ((double)v[i] - mean);
        products += i ? ((double)v[i] - mean) * ((double)v[i - 1] - mean) : 0;
    }
    alike = squares > 0 && products > 0 ? products / squares : 0;
    alike = alike > 0.99 ? 0.99 : alike;
    ranks = 0.98 * perfkit_root((double)n * (1 + alike) / (1 - alike));
    lo = (double)(n - 1) / 2 - ranks;
    hi = (double)(n - 1) / 2 + ranks + 1;
    *median = ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2;
    ranks = (double)(sorted[hi < (double)n ? (size_t)hi : n - 1] - sorted[lo > 0 ? (size_t)lo : 0]) / 2;
    free(sorted);
    return *median > 0 ? ranks / *median : 0;
}

PERFKIT_FN perfkit_rule perfkit_rule_of(const char *stop)
{
    perfkit_rule r;
    r.min_samples = (int64_t)perfkit_number_or(stop, "min_samples", 15, 1, 1e6);
    r.max_samples = (int64_t)perfkit_number_or(stop, "max_samples", 10000, 1, 1e6);
    r.min_time_ns = (int64_t)perfkit_number_or(stop, "min_time_ns", 2e8, 0, 1e18);
    r.max_time_ns = (int64_t)perfkit_number_or(stop, "max_time_ns", 1e9, 0, 1e18);
    r.warmup = (int64_t)perfkit_number_or(stop, "warmup", -1, -1, 1e6);
    r.max_noise = perfkit_number_or(stop, "max_noise", 0.005, 0, 1);
    r.once = perfkit_true(perfkit_member(stop, "once"));
    r.counted = NULL;
    return r;
}

/* One sample of s->reps calls. */
PERFKIT_FN void perfkit_sample(perfkit_case *c, perfkit_fn run, perfkit_series *s)
{
    const int on_clock = strcmp(c->device, "cpu") != 0;
    int64_t ns = 0, host_ns = 0, began;
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 256;
        s->ns = (int64_t *)realloc(s->ns, s->cap * sizeof *s->ns);
        s->host_ns = (int64_t *)realloc(s->host_ns, s->cap * sizeof *s->host_ns);
        if (!s->ns || !s->host_ns)
            perfkit_mistake("there is no memory for samples", c->e->name);
    }
    if (c->e->reset)
        c->e->reset(c);
    if (on_clock) {
        c->e->cuda->sample(c, run, &ns, &host_ns);
    } else {
        began = perfkit_now();
        for (int64_t i = 0; i < s->reps; i++)
            run(c);
        ns = perfkit_now() - began;
    }
    s->ns[s->n] = ns;
    s->host_ns[s->n++] = host_ns;
}

/* Doubles the calls of a sample until the clock is no part of its time. */
PERFKIT_FN void perfkit_repeat(perfkit_case *c, perfkit_fn run, perfkit_series *s)
{
    if (c->e->reset || strcmp(c->device, "cpu") != 0 || s->ns[0] >= 50 * perfkit_batch_ns)
        return;
    for (; s->reps < 1 << 20; s->reps *= 2) {
        perfkit_sample(c, run, s);
        if (s->ns[--s->n] >= perfkit_batch_ns)
            return;
    }
}

/* Warm-up is as many samples as the rule says; without a number, two and all that begin in the first 10 ms. Noise is looked at when there are
 * a quarter more samples than last time. */
PERFKIT_FN void perfkit_samples(perfkit_case *c, perfkit_fn run, const perfkit_rule *r, perfkit_series *s)
{
    int64_t began = perfkit_now(), look = r->min_samples < 3 ? 3 : r->min_samples;
    while (strcmp(c->status, "ok") == 0 &&
           ((int64_t)s->n <= r->warmup ||
            (r->warmup < 0 && (s->n <= 2 || perfkit_now() - began < perfkit_warmup_ns))))
        perfkit_sample(c, run, s);
    s->cut = s->n - 1;
    began = perfkit_now();
    while (strcmp(c->status, "ok") == 0 && !s->reason) {
        perfkit_sample(c, run, s);
        const int64_t n = (int64_t)(s->n - 1 - s->cut), spent = perfkit_now() - began;
        double median;
        if (n >= look && spent >= r->min_time_ns) {
            if (perfkit_noise(s->ns + 1 + s->cut, (size_t)n, &median) <= r->max_noise)
                s->reason = "noise";
            look = n + n / 4 + 1;
        }
        if (!s->reason && n >= r->max_samples)
            s->reason = "max-samples";
        if (!s->reason && n >= 3 && spent >= r->max_time_ns)
            s->reason = "max-time";
    }
}

/* What perfkit writes to. What is measured reads an empty stdin instead, and so do its children. */
static FILE *perfkit_requests;

/* Asks perfkit to begin or end counting, and waits until it has. */
PERFKIT_FN void perfkit_go(FILE *f, const char *state, int64_t reps)
{
    int ch = 0;
    fprintf(f, "{\"type\":\"count\",\"state\":\"%s\",\"reps\":%lld}\n", state, (long long)reps);
    fflush(f);
    while (ch != '\n' && (ch = getc(perfkit_requests)) != EOF)
        ;
}

/* Samples that perfkit counts: long ones where calls can be repeated, so that waiting for it is no part of them. */
PERFKIT_FN void perfkit_count(perfkit_case *c, perfkit_fn run, const perfkit_rule *r, const perfkit_series *s)
{
    const int64_t ns = s->ns[s->n - 1] / s->reps, most = perfkit_counted_ns / (ns > 0 ? ns : 1),
                  reps = c->e->reset || most < 1 ? 1 : most;
    for (int64_t n = 0; n < r->min_samples && strcmp(c->status, "ok") == 0; n++) {
        if (c->e->reset)
            c->e->reset(c);
        perfkit_go(r->counted, "begin", reps);
        for (int64_t i = 0; i < reps; i++)
            run(c);
        perfkit_go(r->counted, "end", reps);
    }
}

/* The first call, the check, and samples. */
PERFKIT_FN void perfkit_measure(perfkit_case *c, perfkit_fn run, int check, const perfkit_rule *r,
                                perfkit_series *s)
{
    s->reps = 1;
    if (strcmp(c->device, "cpu") != 0)
        c->e->cuda->open(c);
    if (c->e->setup && strcmp(c->status, "ok") == 0)
        c->e->setup(c);
    if (strcmp(c->status, "ok") == 0)
        perfkit_sample(c, run, s);
    if (check && c->e->check && strcmp(c->status, "ok") == 0)
        c->e->check(c);
    if (strcmp(c->status, "ok") == 0 && r->once)
        s->reason = "once";
    if (strcmp(c->status, "ok") == 0 && !r->once) {
        perfkit_repeat(c, run, s);
        perfkit_samples(c, run, r, s);
        if (r->counted && strcmp(c->device, "cpu") == 0)
            perfkit_count(c, run, r, s);
    }
    if (c->e->teardown)
        c->e->teardown(c);
    perfkit_free_blocks(c);
    if (strcmp(c->device, "cpu") != 0)
        c->e->cuda->close(c);
}

/* --- the wire --- */

PERFKIT_FN void perfkit_put_values(FILE *f, const char *metric, const char *phase, size_t ordinal,
                                   const int64_t *v, size_t n, int64_t reps)
{
    for (size_t at = 0; at < n; at++) {
        if (at % 65536 == 0)
            fprintf(f,
                    "%s{\"type\":\"samples\",\"metric\":\"%s\",\"phase\":\"%s\",\"ordinal\":%zu,\"reps\":%"
                    "lld,\"values\":[",
                    at ? "]}\n" : "", metric, phase, ordinal + at, (long long)reps);
        fprintf(f, "%s%lld", at % 65536 ? "," : "", (long long)v[at]);
    }
    fputs(n ? "]}\n" : "", f);
}

PERFKIT_FN void perfkit_put_times(FILE *f, const char *name, const int64_t *v, const perfkit_series *s)
{
    fprintf(f,
            "{\"type\":\"metric\",\"name\":\"%s\",\"unit\":\"ns\",\"direction\":\"lower\",\"class\":\"time\","
            "\"source\":\"region\"}\n",
            name);
    perfkit_put_values(f, name, "first", 0, v, 1, 1);
    perfkit_put_values(f, name, "warmup", 1, v + 1, s->cut, s->reps);
    perfkit_put_values(f, name, "steady", 1 + s->cut, v + 1 + s->cut, s->n - 1 - s->cut, s->reps);
}

/* Name, unit and direction of a metric that the program declared. */
PERFKIT_FN void perfkit_put_metric(FILE *f, const perfkit_experiment *e, int i)
{
    fputs("\"name\":", f);
    perfkit_put_string(f, e->metrics[i].name);
    fputs(",\"unit\":", f);
    perfkit_put_string(f, e->metrics[i].unit);
    fputs(",\"direction\":", f);
    perfkit_put_string(f, e->metrics[i].direction);
    fputc('}', f);
}

PERFKIT_FN void perfkit_put_slice(FILE *f, const perfkit_case *c, const perfkit_series *s, const char *check)
{
    perfkit_put_times(f, "time_ns", s->ns, s);
    if (strcmp(c->device, "cpu") != 0)
        perfkit_put_times(f, "time_host_ns", s->host_ns, s);
    fprintf(f, "{\"type\":\"setting\",\"key\":\"clock\",\"value\":\"%s\"}\n",
            strcmp(c->device, "cpu") != 0 ? c->e->cuda->name : "CLOCK_MONOTONIC");
    if (c->peak_bytes) {
        fprintf(f, "{\"type\":\"metric\",\"name\":\"peak_bytes\",\"unit\":\"bytes\",\"direction\":\"lower\","
                   "\"class\":\"memory\",\"combine\":\"max\",\"source\":\"allocator\"}\n");
        perfkit_put_values(f, "peak_bytes", "steady", 0, &c->peak_bytes, 1, 1);
    }
    for (int i = 0; i < c->e->n_metrics; i++)
        if (c->reported[i]) {
            fputs("{\"type\":\"metric\",", f);
            perfkit_put_metric(f, c->e, i);
            fprintf(f, "\n{\"type\":\"samples\",\"metric\":\"%s\",\"ordinal\":0,\"values\":[%.17g]}\n",
                    c->e->metrics[i].name, c->values[i]);
        }
    fprintf(f,
            "{\"type\":\"note\",\"key\":\"stop\",\"value\":\"%s\"}\n{\"type\":\"note\",\"key\":\"warmup_"
            "cut\",\"value\":%zu}\n",
            s->reason, s->cut);
    fprintf(f,
            "{\"type\":\"note\",\"key\":\"warmup_rule\",\"value\":\"fixed\"}\n{\"type\":\"note\",\"key\":"
            "\"check\",\"value\":\"%s\"}\n",
            check);
}

PERFKIT_FN void perfkit_put_axes(FILE *f, const perfkit_experiment *e)
{
    static const char *const types[] = {"int", "size", "float", "choice", "bool"};
    for (int i = 0; i < e->n_axes; i++) {
        char part[128], value[160];
        fprintf(f, "%s{\"name\":\"%s\",\"type\":\"%s\"", i ? "," : "", e->axes[i].name,
                types[e->axes[i].type]);
        if (e->axes[i].unit && *e->axes[i].unit) {
            fputs(",\"unit\":", f);
            perfkit_put_string(f, e->axes[i].unit);
        }
        for (int list = 0; list < (e->axes[i].type == PERFKIT_CHOICE ? 2 : 1); list++) {
            fprintf(f, ",\"%s\":[", list ? "choices" : "default");
            for (int at = 0; perfkit_part(e->axes[i].values, at, part, sizeof part); at++) {
                if (!perfkit_json_of(e, i, part, value, sizeof value))
                    perfkit_mistake("a value is not of the axis' type", e->axes[i].name);
                fprintf(f, "%s%s", at ? "," : "", value);
            }
            fputc(']', f);
        }
        if (e->axes[i].type <= PERFKIT_SIZE && perfkit_least(e, i) < 1)
            fprintf(f, ",\"min\":%lld", (long long)perfkit_least(e, i));
        fputc('}', f);
    }
}

PERFKIT_FN void perfkit_describe(FILE *f, const perfkit_experiment *e)
{
    fprintf(f, "{\"type\":\"experiment\",\"name\":\"%s\",\"summary\":", e->name);
    perfkit_put_string(f, e->summary ? e->summary : "");
    fputs(",\"axes\":[", f);
    perfkit_put_axes(f, e);
    fputs("],\"variants\":[", f);
    for (int i = 0; i < e->n_variants; i++) {
        fprintf(f, "%s{\"name\":\"%s\",\"summary\":", i ? "," : "", e->variants[i].name);
        perfkit_put_string(f, e->variants[i].summary);
        fputc('}', f);
    }
    fputs("],\"metrics\":[{\"name\":\"time_ns\",\"summary\":\"one call of the variant\"}", f);
    for (int i = 0; i < e->n_metrics; i++) {
        fputs(",{", f);
        perfkit_put_metric(f, e, i);
    }
    fprintf(f, "],\"devices\":[%s],\"plan\":%s", e->cuda ? "\"cuda\"" : "\"cpu\"",
            e->work ? "true" : "false");
    if (e->yardstick)
        fprintf(f, ",\"yardstick\":\"%s\"", e->yardstick);
    fprintf(f, "%s%s}\n", e->more ? "," : "", e->more ? e->more : "");
}

PERFKIT_FN int perfkit_variant_index(const perfkit_experiment *e, const char *name)
{
    for (int i = 0; i < e->n_variants; i++)
        if (strcmp(e->variants[i].name, name) == 0)
            return i;
    return -1;
}

/* The case of a request, checked; its variant is returned. A request that is none of this program's fails the case. */
PERFKIT_FN int perfkit_case_of(const perfkit_experiment *e, const char *request, perfkit_case *c)
{
    const char *options = perfkit_member(request, "device_options"), *value, *p;
    char name[160], key[160];
    int variant = 0;
    memset(c, 0, sizeof *c);
    c->e = e;
    c->status = "ok";
    c->axes = perfkit_member(request, "axes");
    c->seed = (uint64_t)perfkit_number_or(request, "seed", 1, 0, 9e15);
    c->threads = (int)perfkit_number_or(options, "threads", 0, 0, 1e6);
    c->limit_bytes = (int64_t)perfkit_number_or(options, "limit_bytes", 0, 0, 9e18);
    if (!perfkit_string(perfkit_member(request, "experiment"), name, sizeof name) ||
        strcmp(name, e->name) != 0)
        perfkit_fail(c, "this program measures %s, not another experiment", e->name);
    if (!perfkit_string(perfkit_member(request, "variant"), name, sizeof name) ||
        (variant = perfkit_variant_index(e, name)) < 0)
        perfkit_fail(c, "this program has no such variant");
    if (!perfkit_string(perfkit_member(request, "device"), c->device, sizeof c->device))
        perfkit_fail(c, "the request names no device");
    if (strcmp(c->device, "cpu") != 0 && (!e->cuda || strncmp(c->device, "cuda", 4) != 0))
        perfkit_skip(c, "this program does not run on %s", c->device);
    if (strcmp(c->device, "cpu") == 0 && e->cuda)
        perfkit_skip(c, "this program runs on a GPU: --device cuda");
    if (!c->axes || *c->axes != '{')
        perfkit_fail(c, "the request has no axes");
    for (p = c->axes ? c->axes + 1 : NULL;
         strcmp(c->status, "ok") == 0 && (value = perfkit_next_member(&p, key, sizeof key)) != NULL;) {
        const int axis = perfkit_axis_index(e, key);
        if (axis < 0 || !perfkit_fits(e, axis, value))
            perfkit_fail(
                c, axis < 0 ? "this program has no axis %s" : "axis %s: a value that it does not have", key);
    }
    if (strcmp(c->device, "cpu") == 0 && !c->limit_bytes)
        c->limit_bytes = perfkit_free_memory();
    return variant;
}

/* Binds the process to CPUs such as "0-3,8". */
PERFKIT_FN void perfkit_bind(const char *options)
{
    char list[1024];
    cpu_set_t set;
    if (!perfkit_string(perfkit_member(options, "cpus"), list, sizeof list))
        return;
    CPU_ZERO(&set);
    for (char *p = list; isdigit((unsigned char)*p);) {
        long first = strtol(p, &p, 10), last = *p == '-' ? strtol(p + 1, &p, 10) : first;
        for (; first <= last && first < CPU_SETSIZE; first++)
            CPU_SET((size_t)first, &set);
        p += *p == ',';
    }
    if (sched_setaffinity(0, sizeof set, &set))
        fprintf(stderr, "perfkit.h: this process cannot be bound to CPUs %s\n", list);
}

PERFKIT_FN void perfkit_reply_measure(FILE *f, const perfkit_experiment *e, const char *request,
                                      perfkit_case *c)
{
    const int variant = perfkit_case_of(e, request, c),
              check = perfkit_true(perfkit_member(request, "check"));
    perfkit_rule rule = perfkit_rule_of(perfkit_member(request, "stop"));
    perfkit_series s;
    memset(&s, 0, sizeof s);
    rule.counted = perfkit_member(request, "counters") ? f : NULL;
    perfkit_bind(perfkit_member(request, "device_options"));
    if (strcmp(c->status, "ok") == 0)
        perfkit_measure(c, e->variants[variant].run, check, &rule, &s);
    if (strcmp(c->status, "ok") == 0)
        perfkit_put_slice(f, c, &s,
                          !check     ? "not in this invocation"
                          : e->check ? "passed"
                                     : "there is no reference");
    free(s.ns);
    free(s.host_ns);
}

/* What work() declares of the case, which fails when it is not a number from 0. */
PERFKIT_FN void perfkit_work(const perfkit_experiment *e, perfkit_case *c)
{
    if (!e->work || strcmp(c->status, "ok") != 0)
        return;
    e->work(c);
    if (!(c->flops >= 0 && c->flops < 1e300))
        perfkit_fail(c, "work() set flops to %g, which is not a number from 0; 0 = not known", c->flops);
    if (!(c->bytes >= 0 && c->bytes < 1e300))
        perfkit_fail(c, "work() set bytes to %g, which is not a number from 0; 0 = not known", c->bytes);
}

PERFKIT_FN void perfkit_reply_plan(FILE *f, const perfkit_experiment *e, const char *request, perfkit_case *c)
{
    perfkit_case_of(e, request, c);
    perfkit_work(e, c);
    if (strcmp(c->status, "ok") != 0 || !(c->flops > 0 || c->bytes > 0))
        return;
    fprintf(f, "{\"type\":\"work\",\"metric\":\"time_ns\"");
    if (c->flops > 0)
        fprintf(f, ",\"flops\":%.17g", c->flops);
    if (c->bytes > 0)
        fprintf(f, ",\"bytes\":%.17g", c->bytes);
    fputs("}\n", f);
}

/* Answers one request. False when this process cannot go on. */
PERFKIT_FN int perfkit_reply(FILE *f, const perfkit_experiment *e, const char *request, const char *type,
                             int64_t id)
{
    perfkit_case c;
    memset(&c, 0, sizeof c);
    c.status = "ok";
    if (strcmp(type, "describe") == 0)
        perfkit_describe(f, e);
    else if (strcmp(type, "plan") == 0)
        perfkit_reply_plan(f, e, request, &c);
    else if (strcmp(type, "measure") == 0)
        perfkit_reply_measure(f, e, request, &c);
    else
        perfkit_fail(&c, "this program does not know requests of type %.100s", type);
    if (c.broken)
        fputs("{\"type\":\"bye\"}\n", f);
    fprintf(f, "{\"type\":\"status\",\"id\":%lld,\"status\":\"%s\",\"message\":", (long long)id, c.status);
    perfkit_put_string(f, c.message);
    fputs("}\n", f);
    fflush(f);
    return !c.broken;
}

/* A request without the end of its line, in *line; false when there is none. A line that is too long ends the program. */
PERFKIT_FN int perfkit_read_line(char **line, size_t *cap)
{
    size_t n = 0;
    int ch;
    while ((ch = getc(perfkit_requests)) != EOF && ch != '\n') {
        if (n + 1 >= *cap) {
            *cap = *cap ? 2 * *cap : 4096;
            if (*cap > 2 * (size_t)PERFKIT_LINE_MAX || !(*line = (char *)realloc(*line, *cap)))
                perfkit_mistake("a request is too long", "docs/protocol.md");
        }
        (*line)[n++] = ch ? (char)ch : '?';
    }
    if (!n)
        return ch != EOF && (!*line || (**line = 0, 1));
    (*line)[n] = 0;
    return ch != EOF;
}

PERFKIT_FN int perfkit_serve(const perfkit_experiment *e, const char *wire_fd)
{
    char *line = NULL, *end, type[64];
    size_t cap = 0;
    int64_t id;
    const long fd = strtol(wire_fd, &end, 10);
    FILE *f = *wire_fd && !*end && fd >= 0 && fd < INT32_MAX ? fdopen((int)fd, "w") : NULL;
    if (!f || fcntl((int)fd, F_SETFD, FD_CLOEXEC))
        perfkit_mistake("PERFKIT_WIRE_FD is not a file descriptor: perfkit starts this program", wire_fd);
    perfkit_requests = fdopen(fcntl(0, F_DUPFD_CLOEXEC, 3), "r");
    if (!perfkit_requests || !freopen("/dev/null", "r", stdin))
        perfkit_mistake("stdin is not open: perfkit starts this program", "docs/protocol.md");
    fprintf(f, "{\"type\":\"hello\",\"version\":1,\"program\":\"%s\",\"pid\":%ld,\"describes\":true}\n",
            e->name, (long)getpid());
    for (fflush(f); perfkit_read_line(&line, &cap);) {
        const char *p = line ? perfkit_space(line) : "", *behind = *p == '{' ? perfkit_value_end(p, 0) : NULL;
        if (!*p)
            continue;
        if (!behind || *perfkit_space(behind) ||
            !perfkit_string(perfkit_member(p, "type"), type, sizeof type)) {
            fprintf(stderr, "perfkit.h: not a request of docs/protocol.md: %.100s\n", p);
            free(line);
            return 1;
        }
        if (strcmp(type, "quit") == 0)
            break;
        if (perfkit_whole(perfkit_member(p, "id"), &id) && !perfkit_reply(f, e, p, type, id))
            return free(line), 1;
    }
    fputs("{\"type\":\"bye\"}\n", f);
    fclose(f);
    free(line);
    return 0;
}

/* --- by hand --- */

PERFKIT_FN void perfkit_put_scaled(double v, const char *const *units, int n)
{
    int i = 0;
    for (; i < n - 1 && v >= 1000; i++)
        v /= 1000;
    printf("  %.4g %s", v, units[i]);
}

/* A line for one case; false when it failed. */
PERFKIT_FN int perfkit_line(const perfkit_experiment *e, int variant, const char *request, const char *axes)
{
    static const char *const times[] = {"ns", "us", "ms", "s"};
    static const char *const flops[] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"};
    static const char *const bytes[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    const perfkit_rule rule = perfkit_rule_of(NULL);
    perfkit_series s;
    perfkit_case c;
    double median, noise;
    memset(&s, 0, sizeof s);
    perfkit_case_of(e, request, &c);
    perfkit_work(e, &c);
    if (strcmp(c.status, "ok") == 0)
        perfkit_measure(&c, e->variants[variant].run, 1, &rule, &s);
    printf("%-16s %-31s", e->variants[variant].name, axes);
    if (strcmp(c.status, "ok") == 0) {
        noise = perfkit_noise(s.ns + 1 + s.cut, s.n - 1 - s.cut, &median);
        median /= (double)s.reps;
        perfkit_put_scaled(median, times, 4);
        printf("  +-%4.1f %%  %zu samples", 100 * noise, s.n - 1 - s.cut);
        if (c.flops > 0)
            perfkit_put_scaled(c.flops / median * 1e9, flops, 5);
        if (c.bytes > 0)
            perfkit_put_scaled(c.bytes / median * 1e9, bytes, 5);
    } else {
        printf("  %s: %s", c.status, c.message);
    }
    printf("\n");
    fflush(stdout);
    free(s.ns);
    free(s.host_ns);
    return strcmp(c.status, "failed") != 0;
}

/* The request of the i-th combination of the values, and its axes as text. False behind the last. */
PERFKIT_FN int perfkit_combination(const perfkit_experiment *e, const char *const *values, long i,
                                   const char *head, char *request, char *axes)
{
    size_t at = (size_t)sprintf(request, "%s", head), text = 0;
    *axes = 0;
    for (int axis = 0; axis < e->n_axes; axis++) {
        char part[128], json[160];
        long n = 0;
        while (perfkit_part(values[axis], (int)n, part, sizeof part))
            n++;
        if (!n || !perfkit_part(values[axis], (int)(i % n), part, sizeof part) ||
            !perfkit_json_of(e, axis, part, json, sizeof json))
            perfkit_mistake("a value is not one of the axis", e->axes[axis].name);
        i /= n;
        at +=
            (size_t)snprintf(request + at, 400, "%s\"%.100s\":%s", axis ? "," : "", e->axes[axis].name, json);
        text += (size_t)snprintf(axes + text, 300, "%s%.100s=%s", axis ? " " : "", e->axes[axis].name, part);
    }
    strcpy(request + at, "}}");
    return i == 0;
}

PERFKIT_FN void perfkit_usage(FILE *f, const perfkit_experiment *e, const char *program)
{
    fprintf(f, "usage: %s [AXIS=VALUE,VALUE] [device=NAME] [VARIANT]\naxes:", program);
    for (int i = 0; i < e->n_axes; i++)
        fprintf(f, "%s %s=%s", i ? "," : "", e->axes[i].name, e->axes[i].values);
    fputs(e->n_axes ? "\nvariants:" : " none\nvariants:", f);
    for (int i = 0; i < e->n_variants; i++)
        fprintf(f, "%s %s", i ? "," : "", e->variants[i].name);
    fputc('\n', f);
}

PERFKIT_FN int perfkit_by_hand(const perfkit_experiment *e, int argc, char **argv)
{
    const char *values[PERFKIT_AXES_MAX], *device = e->cuda ? "cuda:0" : "cpu";
    char only[PERFKIT_VARIANTS_MAX] = {0}, any = 0, head[512], request[PERFKIT_AXES_MAX * 400 + 512],
         axes[PERFKIT_AXES_MAX * 300 + 1];
    int good = 1;
    for (int i = 0; i < e->n_axes; i++)
        values[i] = e->axes[i].values;
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        int axis = -1, variant = perfkit_variant_index(e, argv[i]);
        for (int k = 0; equals && k < e->n_axes; k++)
            if (strlen(e->axes[k].name) == (size_t)(equals - argv[i]) &&
                strncmp(e->axes[k].name, argv[i], (size_t)(equals - argv[i])) == 0)
                axis = k;
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            perfkit_usage(stdout, e, argv[0]);
            return 0;
        }
        if (axis < 0 && variant < 0 && strncmp(argv[i], "device=", 7) != 0) {
            fprintf(stderr, "%s: neither an axis nor a variant\n", argv[i]);
            perfkit_usage(stderr, e, argv[0]);
            exit(2);
        }
        if (axis >= 0)
            values[axis] = equals + 1;
        else if (variant >= 0)
            only[variant] = any = 1;
        else
            device = equals + 1;
    }
    for (long i = 0;; i++) {
        int more = 1;
        for (int v = 0; v < e->n_variants; v++) {
            snprintf(head, sizeof head,
                     "{\"experiment\":\"%.100s\",\"variant\":\"%.100s\",\"device\":\"%.100s\",\"axes\":{",
                     e->name, e->variants[v].name, device);
            more = perfkit_combination(e, values, i, head, request, axes);
            if (more && (!any || only[v]))
                good &= perfkit_line(e, v, request, axes);
        }
        if (!more)
            return !good;
    }
}

/* Answers perfkit, or prints a line for each case when a person starts the program. Frees e. Returns the exit status. */
PERFKIT_FN int perfkit_main(perfkit_experiment *e, int argc, char **argv)
{
    const char *fd = getenv("PERFKIT_WIRE_FD");
    int status;
    if (!e->n_variants || (e->yardstick && perfkit_variant_index(e, e->yardstick) < 0))
        perfkit_mistake("it has no variants, or its yardstick is none of them", e->name);
    status = fd ? perfkit_serve(e, fd) : perfkit_by_hand(e, argc, argv);
    free(e);
    return status;
}

#endif
