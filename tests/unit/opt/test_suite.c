/* Suite files: sections, keys and their lines; where values go, which source is stronger, and what is refused with its line. */
#include "opt/suite.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

struct options {
    int64_t samples;
    double noise;
    const char *label;
    struct pk_texts tags, axes;
};

#define O(f) offsetof(struct options, f)
static const struct pk_opt rows[] = {
    {"samples", 0, PK_OPT_INT, O(samples), "N", 1, 100, .def = "15", .help = "How many."},
    {"noise", 0, PK_OPT_RATIO, O(noise), "RATIO", 0.001, 1, .def = "1%", .help = "How much."},
    {"label", 0, PK_OPT_TEXT, O(label), "NAME", .help = "What to call it."},
    {"tag", 0, PK_OPT_LIST, O(tags), "TEXT", .help = "Anything."},
    {"axis", 0, PK_OPT_LIST, O(axes), "AXIS=VALUES", .help = "An axis."},
    {"output", 'o', PK_OPT_TEXT, O(label), "FILE", .cli_only = true, .help = "Where to."},
    {0},
};
static const struct pk_opt axes[] = {
    {"seq-len", .type = PK_OPT_TEXT, .cli_only = true, .help = "Length.", .into = "axis", .key = "seq_len"},
    {0},
};
static const char *const others[] = {"command", NULL};

static struct pk_arena arena;
static struct pk_err err;
static struct options o;
static struct pk_opt_table tables[2];

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static enum pk_code parse(const char *text, struct pk_suite *s)
{
    return pk_suite_parse("x.ini", text, strlen(text), &arena, s, &err);
}

static enum pk_code apply(struct pk_suite *s, const struct pk_suite_section *section)
{
    const struct pk_suite_keys may = {.tables = tables, .n_tables = 2, .others = others};
    return pk_suite_apply(s, section, &may, &arena, &err);
}

static void no_options(void)
{
    o = (struct options){0};
    tables[0] = (struct pk_opt_table){rows, &o, NULL};
    tables[1] = (struct pk_opt_table){.rows = axes};
    pk_opt_defaults(&tables[0], &arena);
    pk_opt_defaults(&tables[1], &arena);
}

static void sections_keys_and_lines(void **state)
{
    static const char text[] =
        "; a comment\n[suite]\nnoise = 2%\n\n[one]\ncommand = a b ; not this\n  tag: x\ntag = y\n[two words]";
    struct pk_suite s;
    assert_int_equal(parse(text, &s), PK_OK);
    assert_int_equal(s.common.line, 2);
    assert_int_equal(s.common.n, 1);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.v[0].name, "one");
    assert_int_equal(s.v[0].n, 3);
    assert_string_equal(s.v[0].keys[0].value, "a b");
    assert_string_equal(s.v[0].keys[1].name, "tag");
    assert_int_equal(s.v[0].keys[2].line, 8);
    assert_string_equal(s.v[1].name, "two words"); /* a section without keys, and no newline at the end */
    assert_int_equal(s.v[1].line, 9);
    assert_string_equal(pk_suite_value(&s.v[0], "command"), "a b");
    assert_null(pk_suite_value(&s.v[1], "command"));
}

static void an_entry_is_stronger_than_what_is_common(void **state)
{
    struct pk_suite s;
    assert_int_equal(
        parse("[suite]\nsamples = 5\nnoise = 2%\ntag = all\n[a]\nsamples = 7\ntag = x\ntag = y\n", &s),
        PK_OK);
    no_options();
    assert_int_equal(apply(&s, &s.common), PK_OK);
    assert_int_equal(apply(&s, &s.v[0]), PK_OK);
    assert_int_equal(o.samples, 7);
    assert_true(o.noise == 0.02);
    assert_int_equal(o.tags.n, 2);
    assert_string_equal(o.tags.v[0], "x");
    assert_int_equal(pk_opt_source_of(&tables[0], "samples"), PK_OPT_SUITE_ENTRY);
    assert_int_equal(pk_opt_source_of(&tables[0], "noise"), PK_OPT_SUITE);
    assert_string_equal(pk_opt_origin(tables, 1, "samples"), "x.ini:6");
    assert_int_equal(apply(&s, &s.common), PK_OK); /* in whatever order they come */
    assert_int_equal(o.samples, 7);
}

static void what_is_typed_is_stronger(void **state)
{
    struct pk_suite s;
    assert_int_equal(parse("[a]\nsamples = 7\n", &s), PK_OK);
    no_options();
    tables[0].origins[0].source = PK_OPT_COMMAND_LINE;
    o.samples = 9;
    assert_int_equal(apply(&s, &s.v[0]), PK_OK);
    assert_int_equal(o.samples, 9);
}

static void axes_are_keys_by_either_spelling(void **state)
{
    struct pk_suite s;
    assert_int_equal(parse("[a]\nseq_len = 1,2\n[b]\nseq-len = 3\naxis = heads=4\n", &s), PK_OK);
    no_options();
    assert_int_equal(apply(&s, &s.v[0]), PK_OK);
    assert_string_equal(o.axes.v[0], "seq_len=1,2");
    no_options();
    assert_int_equal(apply(&s, &s.v[1]), PK_OK);
    assert_string_equal(o.axes.v[0], "seq_len=3");
    assert_string_equal(o.axes.v[1], "heads=4");
}

/* A file that is refused, as a whole or in its first entry. */
static void refused(const char *text, const char *what, const char *fix)
{
    struct pk_suite s;
    err = (struct pk_err){0};
    no_options();
    if (parse(text, &s) == PK_OK)
        assert_int_equal(apply(&s, &s.v[0]), PK_E_USAGE);
    assert_int_equal(err.code, PK_E_USAGE);
    assert_non_null(strstr(err.what, what));
    assert_non_null(strstr(err.fix, fix));
    assert_true(*err.why);
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    char long_line[400] = "[a]\nlabel = ";
    memset(long_line + strlen(long_line), 'x', 300);
    refused("", "x.ini has no entry", "[attention-scaling]");
    refused("[suite]\n", "x.ini has no entry", "");
    refused("label = x\n[a]\n", "x.ini:1: this key is before the first section", "[suite]");
    refused("[a]\n\nlabel\n", "x.ini:3: this line is not understood", "correct");
    refused("[a\n", "x.ini:1: this line is not understood", "correct");
    refused("[]\n", "x.ini:1: this section has no name", "word");
    refused("[a]\n[b]\n[a]\n", "x.ini:3: there is a second section [a]", "a different name");
    refused("[suite]\n[suite]\n", "x.ini:2: there is a second section [suite]", "");
    refused(long_line, "x.ini:2: the line is too long", "shorten");
    refused("[a]\nlabl = x\n", "x.ini:2: there is no key 'labl' in [a]", "did you mean 'label'?");
    refused("[a]\nseqlen = 1\n", "x.ini:2: there is no key 'seqlen'", "did you mean 'seq_len'?");
    refused("[a]\nqqqqqqqqq = x\n", "x.ini:2: there is no key 'qqqqqqqqq'", "docs/suites.md");
    refused("[a]\n= x\n", "x.ini:2: there is no key ''", "");
    refused("[a]\noutput = x\n", "x.ini:2: 'output' is not allowed in this file", "--output");
    refused("[a]\nsamples = 1\nsamples = 2\n", "x.ini:3: 'samples' is given twice", "remove");
    refused("[a]\ncommand = 1\ncommand = 2\n", "x.ini:3: 'command' is given twice", "remove");
    refused("[a]\nsamples = 0\n", "x.ini:2: samples: 0 is out of range", "1 or more");
}

/* Of a file with several things wrong, each is said, one for a line and in their order. */
static void all_that_is_wrong_is_said(void **state)
{
    static const int lines[] = {1, 4, 5, 6, 8, 10, 11};
    struct pk_suite s;
    no_options();
    assert_int_equal(
        parse("early = 1\n[a]\nsamples = 3\n[half\nlabl = x\nlabel\n[b]\nsamples = 0\nnoise = 2%\n[a]\n"
              "[c ; ]\nsamples = 1\nsamples = none\n",
              &s),
        PK_E_USAGE);
    assert_non_null(strstr(err.what, "x.ini:1: "));
    assert_int_equal(s.n, 2);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(apply(&s, &s.v[i]), PK_E_USAGE);
    assert_int_equal(s.n_wrong, 7);
    for (size_t i = 0; i < s.n_wrong; i++)
        assert_int_equal(s.wrong[i].line, lines[i]);
    assert_true(o.noise == 0.02); /* what is sound was set */
    assert_int_equal(apply(&s, &s.v[0]), PK_E_USAGE);
    assert_int_equal(s.n_wrong, 7); /* and nothing is said twice */
}

static void most_of_what_is_wrong_is_kept(void **state)
{
    char text[400] = "";
    struct pk_suite s;
    for (int i = 0; i < 50; i++)
        strcat(text, "x\n");
    assert_int_equal(parse(text, &s), PK_E_USAGE);
    assert_int_equal(s.n_wrong, PK_SUITE_ERRORS_MAX);
}

static void bytes_that_are_no_text(void **state)
{
    static const char text[] = "[a]\nlabel = x\0y\n";
    struct pk_suite s;
    assert_int_equal(pk_suite_parse("x.ini", text, sizeof text - 1, &arena, &s, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, "x.ini:2: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(sections_keys_and_lines, free_arena),
        cmocka_unit_test_teardown(an_entry_is_stronger_than_what_is_common, free_arena),
        cmocka_unit_test_teardown(what_is_typed_is_stronger, free_arena),
        cmocka_unit_test_teardown(axes_are_keys_by_either_spelling, free_arena),
        cmocka_unit_test_teardown(what_is_wrong_is_said_with_its_line, free_arena),
        cmocka_unit_test_teardown(all_that_is_wrong_is_said, free_arena),
        cmocka_unit_test_teardown(most_of_what_is_wrong_is_kept, free_arena),
        cmocka_unit_test_teardown(bytes_that_are_no_text, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
