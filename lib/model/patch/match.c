/* Match: two walks of a tree.
 *
 * A state of the compiled matcher is a set of positions of the patterns (glob.h) after a part of a path; a name leads from one state to
 * the next. Only states for paths of the tree are made, because all possible ones would be exponentially many. If they are still too
 * many, none are kept, and the walk reads each name itself. */
#include "model/patch/match.h"

#include <fnmatch.h>
#include <locale.h>
#include <string.h>

/* To every module below a node that is `depth` steps from the root. */
static size_t steps_below(const struct pk_node *n, uint32_t depth)
{
    size_t steps = 0;
    for (uint32_t i = 0; i < n->arity; i++) {
        const struct pk_node *child = n->child[i];
        steps += child->type->kind == PK_NODE_MODULE ? depth + 1 : 0;
        steps += steps_below(child, depth + 1);
    }
    return steps;
}

void pk_targets_init(struct pk_targets *m, const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_tree_count count;
    pk_tree_count(t, &count);
    *m = (struct pk_targets){.cap = count.modules,
                             .v = pk_new_n(a, struct pk_target, count.modules),
                             .steps = pk_new_n(a, uint32_t, steps_below(t->root, 0))};
}

/* Forgets what an earlier match found. */
static void begin_match(struct pk_targets *m)
{
    m->n = m->n_steps = 0;
}

static void add_target(struct pk_targets *m, const struct pk_node *node, uint32_t rule, const uint32_t *step,
                       uint32_t depth)
{
    pk_assert(m->n < m->cap);
    struct pk_target *t = &m->v[m->n++];
    t->node = node;
    t->rule = rule;
    t->depth = depth;
    t->step = m->steps + m->n_steps;
    for (uint32_t i = 0; i < depth; i++)
        m->steps[m->n_steps++] = step[i];
}

struct path_walk {
    const struct pk_patch_plan *plan;
    struct pk_names *names;
    struct pk_targets *out;
    uint32_t step[PK_TREE_DEPTH_MAX];
    char path[PK_TREE_PATH_MAX];
};

/* `end` is the length of the path of `n`. */
static void visit_paths(struct path_walk *w, const struct pk_node *n, uint32_t depth, size_t end)
{
    for (uint32_t i = 0; i < n->arity; i++) {
        const struct pk_node *child = n->child[i];
        if (child->type->kind > PK_NODE_SEQUENCE)
            continue;
        pk_assert(depth < PK_TREE_DEPTH_MAX);
        w->step[depth] = i;
        const char *name = w->names->text[n->type->fields[i]];
        const size_t bytes = strlen(name), begin = end ? end + 1 : 0;
        pk_assert(begin + bytes + 1 <= sizeof w->path);
        if (end)
            w->path[end] = '.';
        memcpy(w->path + begin, name, bytes);
        visit_paths(w, child, depth + 1, begin + bytes);
        w->path[begin + bytes] = '\0';
        if (child->type->kind != PK_NODE_MODULE)
            continue;
        uint32_t rule = 0;
        while (rule < w->plan->n && fnmatch(w->plan->rules[rule].pattern, w->path, FNM_NOESCAPE))
            rule++;
        if (rule < w->plan->n)
            add_target(w->out, child, rule, w->step, depth + 1);
    }
}

void pk_match_fnmatch(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_targets *out)
{
    struct path_walk w = {.plan = p, .names = t->names, .out = out};
    begin_match(out);
    /* A byte is a character in every locale: the result is the same everywhere, and fnmatch is faster. */
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL), before = uselocale(c);
    visit_paths(&w, t->root, 0, 0);
    uselocale(before);
    freelocale(c);
}

enum {
    START = 0,           /* the state of the root */
    UNSEEN = UINT16_MAX, /* no path of the tree goes this way */
    STATES_MAX = 4096,   /* by default */
    CELLS_MAX = 1 << 21  /* of one table */
};

struct pk_matcher {
    const struct pk_globs *globs;
    const struct pk_names *names;
    size_t n_names, n_states;
    const uint16_t *next; /* [states][n_names]; NULL: too many states */
    const uint32_t *rule; /* [states] that has matched, or PK_NO_RULE */
    uint64_t *sets;       /* without states: [PK_TREE_DEPTH_MAX + 1][words] of the nodes from the root down */
};

/* The set after a name. Names below the root's children have a dot before them. */
static void read_name(const struct pk_globs *g, uint64_t *set, bool dot, const char *name)
{
    bool left = !dot || pk_globs_read(g, set, '.');
    for (; left && *name; name++)
        left = pk_globs_read(g, set, (unsigned char)*name);
}

/* ---- states ------------------------------------------------------------------------------------------- */

struct states {
    const struct pk_globs *globs;
    const struct pk_names *names;
    struct pk_arena *a;
    uint64_t *set;  /* [n][words], then the current one */
    uint16_t *next; /* [n][names] */
    size_t n, max, cap_set, cap_next;
    struct pk_index index; /* of states but START, by set */
};

static uint64_t *set_of(const struct states *s, size_t state)
{
    return s->set + state * s->globs->words;
}

/* The set in hand, a copy of this state's. */
static uint64_t *copy_state(struct states *s, const uint64_t *from)
{
    size_t bytes = s->globs->words * sizeof *s->set;
    s->set = pk_grow(s->a, s->set, bytes, s->n, &s->cap_set);
    return memcpy(set_of(s, s->n), from, bytes);
}

static bool same_set(const void *wanted, uint32_t state)
{
    const struct states *s = wanted;
    return !memcmp(set_of(s, state), set_of(s, s->n), s->globs->words * sizeof *s->set);
}

/* Makes the set in hand a state, from which nothing is known to lead on. */
static void keep(struct states *s)
{
    size_t n = s->names->n;
    s->next = pk_grow(s->a, s->next, n * sizeof *s->next, s->n, &s->cap_next);
    memset(s->next + s->n++ * n, 0xff, n * sizeof *s->next);
}

/* The state after a name; UNSEEN when there would be too many. */
static uint32_t follow_name(struct states *s, uint32_t from, uint32_t name)
{
    size_t words = s->globs->words;
    uint64_t hash = 0, *set = copy_state(s, set_of(s, from));
    read_name(s->globs, set, from != START, s->names->text[name]);
    for (size_t w = 0; w < words; w++)
        hash = pk_hash(hash, set[w]);
    uint32_t to = pk_index_row(&s->index, hash, same_set, s, (uint32_t)s->n);
    if (to < s->n)
        return to;
    if (s->n == s->max)
        return UNSEEN;
    keep(s);
    return to;
}

static bool find_states(struct states *s, const struct pk_node *n, uint32_t from)
{
    for (uint32_t i = 0; i < n->arity; i++) {
        const struct pk_node *child = n->child[i];
        if (child->type->kind > PK_NODE_SEQUENCE)
            continue;
        size_t cell = from * s->names->n + n->type->fields[i];
        uint32_t to = s->next[cell];
        if (to == UNSEEN)
            to = follow_name(s, from, n->type->fields[i]);
        s->next[cell] = (uint16_t)to;
        if (to == UNSEEN || !find_states(s, child, to))
            return false;
    }
    return true;
}

const struct pk_matcher *pk_matcher_compile_within(const struct pk_patch_plan *p, const struct pk_tree *t,
                                                   size_t most, struct pk_arena *a)
{
    PK_ARENA_CLEANUP struct pk_arena scratch = {0};
    const struct pk_globs *globs = pk_patch_plan_globs(p, a);
    struct states s = {.globs = globs, .names = t->names, .a = &scratch, .index = {.arena = &scratch}};
    struct pk_matcher *m = pk_new(a, struct pk_matcher);
    *m = (struct pk_matcher){.globs = globs, .names = t->names, .n_names = t->names->n};
    pk_assert(most < UNSEEN);
    const size_t cells = globs->words > t->names->n ? globs->words : t->names->n,
                 room = CELLS_MAX / (cells + 1);
    s.max = most < room ? most : room;
    if (s.max) {
        copy_state(&s, globs->start);
        keep(&s);
    }
    if (!s.max || !find_states(&s, t->root, START)) {
        m->sets = pk_new_n(a, uint64_t, (PK_TREE_DEPTH_MAX + 1) * globs->words);
        memcpy(m->sets, globs->start, globs->words * sizeof *m->sets);
        return m;
    }
    uint32_t *rule = pk_new_n(a, uint32_t, s.n);
    for (size_t i = 0; i < s.n; i++)
        rule[i] = pk_globs_matched(globs, set_of(&s, i));
    m->n_states = s.n;
    m->rule = rule;
    m->next = memcpy(pk_new_n(a, uint16_t, s.n * m->n_names), s.next, s.n * m->n_names * sizeof *s.next);
    return m;
}

const struct pk_matcher *pk_matcher_compile(const struct pk_patch_plan *p, const struct pk_tree *t,
                                            struct pk_arena *a)
{
    return pk_matcher_compile_within(p, t, STATES_MAX, a);
}

size_t pk_matcher_states(const struct pk_matcher *m)
{
    return m->n_states;
}

/* ---- the state_walk ----------------------------------------------------------------------------------------- */

struct state_walk {
    const struct pk_matcher *matcher;
    struct pk_targets *out;
    uint32_t step[PK_TREE_DEPTH_MAX];
};

/* Without states, a node's is its depth: the row of its set. */
static uint32_t follow_set(const struct pk_matcher *m, uint32_t from, uint32_t name)
{
    size_t words = m->globs->words;
    uint64_t *set = m->sets + (from + 1) * words;
    memcpy(set, set - words, words * sizeof *set);
    read_name(m->globs, set, from != START, m->names->text[name]);
    return from + 1;
}

static void visit_states(struct state_walk *w, const struct pk_node *n, uint32_t depth, uint32_t state)
{
    const struct pk_matcher *m = w->matcher;
    const uint16_t *next = m->next ? m->next + state * m->n_names : NULL;
    for (uint32_t i = 0; i < n->arity; i++) {
        const struct pk_node *child = n->child[i];
        if (child->type->kind > PK_NODE_SEQUENCE)
            continue;
        pk_assert(depth < PK_TREE_DEPTH_MAX);
        w->step[depth] = i;
        uint32_t name = n->type->fields[i], to = next ? next[name] : follow_set(m, state, name);
        pk_assert(to != UNSEEN);
        if (child->arity)
            visit_states(w, child, depth + 1, to);
        if (child->type->kind != PK_NODE_MODULE)
            continue;
        uint32_t rule = m->rule ? m->rule[to] : pk_globs_matched(m->globs, m->sets + to * m->globs->words);
        if (rule != PK_NO_RULE)
            add_target(w->out, child, rule, w->step, depth + 1);
    }
}

void pk_match_compiled(const struct pk_matcher *m, const struct pk_tree *t, struct pk_targets *out)
{
    pk_assert(t->names == m->names && t->names->n == m->n_names);
    struct state_walk w = {.matcher = m, .out = out};
    begin_match(out);
    visit_states(&w, t->root, 0, START);
}

struct pk_targets pk_matched(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_targets m;
    pk_targets_init(&m, t, a);
    pk_match_compiled(pk_matcher_compile(p, t, a), t, &m);
    return m;
}
