/* Match, compiled: a state is what the patterns make of a path so far, and a name leads from one to the next.
 *
 * A state is a set of positions (glob.h); following every name from every state finds them all. There can be exponentially
 * many: past a limit none are kept, and the walk reads each name itself. */
#include "model/tree/glob.h"
#include "model/tree/match_add.h"

enum {
    START = 0, /* the state of the root */
    STATES_MAX = 4096,
    WORK_MAX = 16 << 20 /* words read: some 20 ms */
};

struct pk_matcher {
    const struct pk_globs *globs;
    const struct pk_names *names;
    size_t n_names, n_states;
    const uint16_t *next; /* [states][n_names]; NULL: too many states */
    const uint32_t *rule; /* [states] that has matched, or PK_NO_RULE */
    uint64_t
        *sets; /* [PK_TREE_DEPTH_MAX + 1][words] of the nodes from the root down, when there are no states */
};

/* What a name makes of a set; returns the bytes it took. Names below those of the root's children stand behind a dot. */
static size_t read_name(const struct pk_globs *g, uint64_t *set, bool dot, const char *name)
{
    const char *p = name;
    if (dot && !pk_globs_read(g, set, '.'))
        return 1;
    while (*p && pk_globs_read(g, set, (unsigned char)*p))
        p++;
    return (size_t)(p - name) + 1;
}

/* ---- states ------------------------------------------------------------------------------------------- */

struct states {
    const struct pk_globs *globs;
    const struct pk_names *names;
    struct pk_arena *a;
    uint64_t *set;  /* [n][words], and the one in hand behind them */
    uint16_t *next; /* [n][names] */
    size_t n, cap_set, cap_next;
    struct pk_index index; /* of states but START, by set */
    size_t work;
};

static uint64_t *set_of(const struct states *s, size_t state)
{
    return s->set + state * s->globs->words;
}

static bool same_set(const void *wanted, uint32_t state)
{
    const struct states *s = wanted;
    return !memcmp(set_of(s, state), set_of(s, s->n), s->globs->words * sizeof *s->set);
}

static uint32_t state_in_hand(struct states *s)
{
    uint64_t hash = 0;
    for (size_t w = 0; w < s->globs->words; w++)
        hash = pk_hash(hash, set_of(s, s->n)[w]);
    uint32_t state = pk_index_row(&s->index, hash, same_set, s, (uint32_t)s->n);
    s->n += state == s->n;
    return state;
}

static bool follow_names(struct states *s, uint32_t from)
{
    size_t bytes = s->globs->words * sizeof *s->set, n = s->names->n;
    s->next = pk_grow(s->a, s->next, n * sizeof *s->next, from, &s->cap_next);
    for (size_t i = 0; i < n; i++) {
        s->set = pk_grow(s->a, s->set, bytes, s->n, &s->cap_set);
        uint64_t *set = memcpy(set_of(s, s->n), set_of(s, from), bytes);
        s->work += s->globs->words * read_name(s->globs, set, from != START, s->names->text[i]);
        s->next[from * n + i] = (uint16_t)state_in_hand(s);
        if (s->n > STATES_MAX || s->work > WORK_MAX)
            return false;
    }
    return true;
}

static bool find_states(struct states *s)
{
    size_t bytes = s->globs->words * sizeof *s->set;
    s->set = pk_grow(s->a, NULL, bytes, 0, &s->cap_set);
    memcpy(set_of(s, START), s->globs->start, bytes);
    s->n = START + 1;
    for (uint32_t from = START; from < s->n; from++)
        if (!follow_names(s, from))
            return false;
    return true;
}

const struct pk_matcher *pk_matcher_compile(const struct pk_patch_plan *p, const struct pk_tree *t,
                                            struct pk_arena *a)
{
    PK_ARENA_CLEANUP struct pk_arena scratch = {0};
    const struct pk_globs *globs = pk_globs_new(p, a);
    struct states s = {.globs = globs, .names = t->names, .a = &scratch, .index = {.arena = &scratch}};
    struct pk_matcher *m = pk_new(a, struct pk_matcher);
    *m = (struct pk_matcher){.globs = globs, .names = t->names, .n_names = t->names->n};
    if (!find_states(&s)) {
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

size_t pk_matcher_states(const struct pk_matcher *m)
{
    return m->n_states;
}

/* ---- the walk ----------------------------------------------------------------------------------------- */

struct walk {
    const struct pk_matcher *matcher;
    struct pk_match *out;
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

static uint32_t rule_of(const struct pk_matcher *m, uint32_t state)
{
    return m->rule ? m->rule[state] : pk_globs_matched(m->globs, m->sets + state * m->globs->words);
}

static void visit(struct walk *w, const struct pk_node *n, uint32_t depth, uint32_t state)
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
        if (child->arity)
            visit(w, child, depth + 1, to);
        if (child->type->kind != PK_NODE_MODULE)
            continue;
        w->out->paths++;
        uint32_t rule = rule_of(m, to);
        if (rule != PK_NO_RULE)
            pk_match_add(w->out, child, rule, w->step, depth + 1);
    }
}

void pk_match_compiled(const struct pk_matcher *m, const struct pk_tree *t, struct pk_match *out)
{
    pk_assert(t->names == m->names && t->names->n == m->n_names);
    struct walk w = {.matcher = m, .out = out};
    out->n = out->paths = out->calls = 0;
    visit(&w, t->root, 0, START);
}
