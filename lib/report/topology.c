/* Topology: the machine of a run as boxes within boxes: packages, shared caches, cores with their CPUs, and GPUs.
 *
 * The XML is hwloc's, but of any file. It is not given to hwloc, whose reader of XML is for files that one trusts: of its tags only known types and
 * numbers are taken, so no text of it reaches the page. */
#include "report/parts.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32, CORES_MOST = 1024, CACHES_MOST = 8 };

enum kind { OTHER, MACHINE, PACKAGE, DIE, NUMA, CACHE, CORE, CPU };

static const struct {
    const char *attribute;
    enum kind kind;
    const char *shown;
} types[] = {
    {" type=\"Machine\"", MACHINE, "Machine"},
    {" type=\"Package\"", PACKAGE, "Package"},
    {" type=\"Die\"", DIE, "Die"},
    {" type=\"NUMANode\"", NUMA, "NUMA node"},
    {" type=\"L4Cache\"", CACHE, "L4"},
    {" type=\"L3Cache\"", CACHE, "L3"},
    {" type=\"L2Cache\"", CACHE, "L2"},
    {" type=\"L1Cache\"", CACHE, "L1d"},
    {" type=\"Core\"", CORE, "Core"},
    {" type=\"PU\"", CPU, "CPU"},
};

struct object {
    enum kind kind;
    const char *shown;
    long long index, bytes; /* -1 = none */
    size_t cores;           /* within it */
    struct object *child, *next, *last;
};

/* The number in an attribute of a tag; -1 = none. */
static long long number_of(const char *tag, const char *attribute)
{
    const char *at = strstr(tag, attribute);
    return at ? strtoll(at + strlen(attribute), NULL, 10) : -1;
}

static struct object *object_of(const char *tag, struct pk_arena *a)
{
    struct object *o = pk_new(a, struct object);
    *o = (struct object){.index = number_of(tag, " os_index=\""), .bytes = number_of(tag, " cache_size=\"")};
    o->bytes = o->bytes < 0 ? number_of(tag, " local_memory=\"") : o->bytes;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strstr(tag, types[i].attribute)) {
            o->kind = types[i].kind;
            o->shown = types[i].shown;
        }
    o->cores = o->kind == CORE;
    return o;
}

static void add_child(struct object *parent, struct object *o)
{
    if (parent->last)
        parent->last->next = o;
    else
        parent->child = o;
    parent->last = o;
}

/* The objects of a text, below one that is none; false where it is cut, or too deep. */
static bool read_objects(const char *xml, struct object *root, struct pk_arena *a)
{
    struct object *open[DEEPEST] = {root};
    size_t depth = 0;
    for (const char *tag; (tag = strchr(xml, '<'));) {
        const size_t n = strcspn(tag, ">");
        if (!tag[n])
            return false;
        xml = tag + n + 1;
        if (strncmp(tag, "</object", strlen("</object")) == 0 && depth) {
            open[depth - 1]->cores += open[depth]->cores;
            depth--;
        }
        if (strncmp(tag, "<object ", strlen("<object ")) != 0)
            continue;
        struct object *o = object_of(pk_strndup(a, tag, n), a);
        add_child(open[depth], o);
        if (tag[n - 1] == '/')
            open[depth]->cores += o->cores;
        else if (depth + 1 < DEEPEST)
            open[++depth] = o;
        else
            return false;
    }
    return depth == 0;
}

static const char *size_text(long long bytes, struct pk_arena *a)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double v = (double)bytes;
    size_t i = 0;
    while (v >= 1024 && i + 1 < sizeof units / sizeof *units) {
        v /= 1024;
        i++;
    }
    return pk_printf(a, "%.*f %s", v < 10 && v != (double)(long long)v, v, units[i]);
}

static const char *label_of(const struct object *o, struct pk_arena *a)
{
    const bool numbered = o->kind != CACHE && o->kind != MACHINE && o->index >= 0;
    const char *name = numbered ? pk_printf(a, "%s %lld", o->shown, o->index) : o->shown;
    return o->bytes > 0 ? pk_printf(a, "%s%s %s", name, numbered ? "," : "", size_text(o->bytes, a)) : name;
}

struct drawing {
    struct pk_page *p;
    size_t cores;                    /* drawn so far */
    const char *caches[CACHES_MOST]; /* those that a core has for itself, each size once */
    size_t n_caches;
};

static void keep_cache(struct drawing *d, const char *label)
{
    size_t i = 0;
    while (i < d->n_caches && strcmp(d->caches[i], label) != 0)
        i++;
    if (i == d->n_caches && i < CACHES_MOST)
        d->caches[d->n_caches++] = label;
}

/* The CPUs within an object. */
static void list_cpus(const struct object *o, struct pk_buf *b)
{
    if (o->kind == CPU && o->index >= 0)
        pk_buf_printf(b, "%s%lld", b->n ? " " : "", o->index);
    for (const struct object *c = o->child; c; c = c->next)
        list_cpus(c, b);
}

static void draw_core(struct drawing *d, const struct object *o)
{
    struct pk_buf b = {.arena = d->p->a};
    list_cpus(o, &b);
    if (d->cores++ < CORES_MOST)
        pk_html(d->p->f, "<span>%</span>\n", pk_buf_text(&b));
}

/* A box for what has several cores, or a name of its own; no box for what only one core has. */
static void draw(struct drawing *d, const struct object *o)
{
    const bool box = o->kind == PACKAGE || o->kind == DIE || (o->kind == CACHE && o->cores > 1);
    if (o->kind == CORE || o->kind == CPU) {
        draw_core(d, o);
        if (o->kind == CPU)
            return;
    }
    if (o->kind == CACHE && !box)
        keep_cache(d, label_of(o, d->p->a));
    if (box)
        pk_html(d->p->f, "<div><p>%</p>\n", label_of(o, d->p->a));
    if (o->kind == NUMA || o->kind == MACHINE)
        pk_html(d->p->f, "<p>%</p>\n", label_of(o, d->p->a));
    for (const struct object *c = o->child; c; c = c->next)
        if (o->kind != CORE)
            draw(d, c);
    if (box)
        pk_html(d->p->f, "</div>\n");
}

enum pk_code pk_page_topology(struct pk_page *p, const struct pk_page_run *run, struct pk_err *err)
{
    struct drawing d = {.p = p};
    struct object root = {0};
    struct pk_rows xml, gpus;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (pk_page_query(run, "report_topology", &a, &xml, err) ||
        pk_page_query(run, "report_gpus", &a, &gpus, err))
        return err->code;
    if (!xml.n || !read_objects(pk_cell_string(&xml.cells[0]), &root, &a) || !root.cores)
        return PK_OK;
    pk_html(p->f, "<div class=\"topology\" role=\"group\" aria-label=\"Topology of the machine\">\n");
    draw(&d, &root);
    for (size_t i = 0; i < gpus.n; i++)
        pk_html(p->f, "<div><p>GPU %</p></div>\n", pk_cell_string(&gpus.cells[i * gpus.n_cols]));
    pk_html(p->f, "<p class=\"note\">A frame is a core with the numbers of its CPUs%%%.%</p>\n</div>\n",
            d.n_caches ? "; each has " : "", pk_list(d.caches, d.n_caches, ", ", &a),
            d.n_caches ? " of its own" : "",
            d.cores > CORES_MOST ? pk_printf(&a, " The first %d cores are drawn.", CORES_MOST) : "");
    return PK_OK;
}
