/* Suite files: refused in three parts, or sections with names and lines in order, whose keys are set or refused likewise. */
#include "fuzz.h"
#include "opt/suite.h"

struct options {
    int64_t samples;
    double noise;
    const char *label;
    struct pk_texts tags, axes;
};

#define O(f) offsetof(struct options, f)
static const struct pk_opt rows[] = {
    {"samples", 0, PK_OPT_INT, O(samples), "N", 1, 100, .def = "15", .help = "How many."},
    {"noise", 0, PK_OPT_RATIO, O(noise), "RATIO", 0, 1, .help = "How much."},
    {"label", 0, PK_OPT_TEXT, O(label), "NAME", .help = "What to call it."},
    {"tag", 0, PK_OPT_LIST, O(tags), "TEXT", .help = "Anything."},
    {"axis", 0, PK_OPT_LIST, O(axes), "AXIS=VALUES", .help = "An axis."},
    {"output", 'o', PK_OPT_TEXT, O(label), "FILE", .cli_only = true, .help = "Where to."},
    {0},
};
static const struct pk_opt axes[] = {
    {"seq-len", .type = PK_OPT_TEXT, .arg = "VALUES", .cli_only = true, .help = "Length.", .into = "axis",
     .key = "seq_len"},
    {0},
};

static void check(struct pk_suite *s, const struct pk_suite_section *section, struct pk_arena *a)
{
    static const char *const others[] = {"command", NULL};
    struct options o = {0};
    struct pk_err err = {0};
    struct pk_opt_table tables[] = {{rows, &o, NULL}, {.rows = axes}};
    for (size_t i = 0; i < section->n; i++)
        pk_assert(section->keys[i].name && section->keys[i].value && section->keys[i].line > section->line);
    const struct pk_suite_keys may = {.tables = tables, .n_tables = 2, .others = others};
    pk_opt_defaults(&tables[0], a);
    pk_opt_defaults(&tables[1], a);
    if (pk_suite_apply(s, section, &may, a, &err)) {
        pk_fuzz_refusal(&err);
        return;
    }
    pk_assert(o.samples >= 1 && o.samples <= 100 && o.noise >= 0 && o.noise <= 1);
    pk_assert(!pk_suite_value(section, "output") && !pk_suite_value(section, "nonsense"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_suite s;
    if (pk_suite_parse("suite", (const char *)data, n, &a, &s, &err)) {
        pk_fuzz_refusal(&err);
        pk_assert(s.n_wrong >= 1 && s.n_wrong <= PK_SUITE_ERRORS_MAX);
        for (size_t i = 0; i < s.n_wrong; i++) {
            pk_fuzz_refusal(&s.wrong[i].err);
            pk_assert(!i || s.wrong[i].line > s.wrong[i - 1].line);
        }
        return 0;
    }
    pk_assert(s.n && !s.n_wrong);
    check(&s, &s.common, &a);
    for (size_t i = 0; i < s.n; i++) {
        pk_assert(*s.v[i].name && s.v[i].line > (i ? s.v[i - 1].line : 0));
        check(&s, &s.v[i], &a);
    }
    return 0;
}
