/* Options: every type, every source and their order, everything that is refused, the help made from the rows.
 */
#include "opt/opt.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct globals {
    const char *db;
    bool quiet;
};
struct options {
    bool check, dry_run;
    int64_t samples, bytes, time_ns;
    double noise;
    const char *label, *mode, *draw, *output, *tool;
    bool no_bind;
    struct pk_texts tags;
};

#define G(f) offsetof(struct globals, f)
#define O(f) offsetof(struct options, f)
static const char *const modes[] = {"fast", "exact", NULL};
static const char *const drawings[] = {"dots", "lines", NULL};
static const struct pk_opt global_rows[] = {
    {.name = "db",
     .type = PK_OPT_TEXT,
     .offset = G(db),
     .arg = "FILE",
     .help = "The store.",
     .group = "General"},
    {.name = "quiet", .letter = 'q', .type = PK_OPT_FLAG, .offset = G(quiet), .help = "Silence."},
    {0},
};
static const struct pk_opt rows[] = {
    {.name = "check",
     .type = PK_OPT_FLAG,
     .offset = O(check),
     .def = "true",
     .help = "Check results.",
     .group = "Measuring"},
    {.name = "dry-run", .letter = 'n', .type = PK_OPT_FLAG, .offset = O(dry_run), .help = "Only print."},
    {.name = "samples",
     .type = PK_OPT_INT,
     .offset = O(samples),
     .arg = "N",
     .min = 1,
     .max = 100,
     .def = "15",
     .help = "How many."},
    {.name = "size",
     .type = PK_OPT_SIZE,
     .offset = O(bytes),
     .arg = "SIZE",
     .min = 1024,
     .max = 1 << 20,
     .def = "4KiB",
     .help = "How large."},
    {.name = "max-time",
     .letter = 't',
     .type = PK_OPT_DURATION,
     .offset = O(time_ns),
     .arg = "TIME",
     .min = 1e6,
     .max = 3600e9,
     .def = "1s",
     .help = "How long."},
    {.name = "noise",
     .type = PK_OPT_RATIO,
     .offset = O(noise),
     .arg = "RATIO",
     .min = 0.001,
     .max = 1,
     .def = "0.5%",
     .help = "How noisy."},
    {.name = "label", .type = PK_OPT_TEXT, .offset = O(label), .arg = "TEXT", .help = "A name."},
    {.name = "mode",
     .type = PK_OPT_CHOICE,
     .offset = O(mode),
     .arg = "MODE",
     .choices = modes,
     .def = "exact",
     .help = "The way."},
    {.name = "draw",
     .type = PK_OPT_CHOICE,
     .offset = O(draw),
     .arg = "HOW",
     .choices = drawings,
     .bare = "dots",
     .help = "A drawing.",
     .cli_only = true},
    {.name = "tag", .type = PK_OPT_LIST, .offset = O(tags), .arg = "K=V", .help = "Tags."},
    {.name = "output",
     .letter = 'o',
     .type = PK_OPT_TEXT,
     .offset = O(output),
     .arg = "FILE",
     .help = "Where.",
     .cli_only = true},
    {.name = "tool",
     .type = PK_OPT_TEXT,
     .offset = O(tool),
     .arg = "PATH",
     .help = "A program.",
     .code = true},
    {.name = "no-bind", .type = PK_OPT_FLAG, .offset = O(no_bind), .help = "Unbound."},
    {0},
};
static const struct pk_opt other_rows[] = {{.name = "preset", .type = PK_OPT_TEXT, .help = "."}, {0}};
static const struct pk_opt_section sections[] = {{"run", rows}, {"list", NULL}, {"other", other_rows}};
static const char *const wires[] = {"copper", "glass", NULL};
static const struct pk_opt_variable variables[] = {{"PERFKIT_WIRE_FD"}, {"PERFKIT_WIRE", wires}, {0}};
static const struct pk_opt_program program = {sections, 3, global_rows, variables};

/* One call of the parser and what it gave. */
struct call {
    struct pk_arena arena;
    struct globals g;
    struct options o;
    struct pk_opt_table tables[3];
    struct pk_texts rest;
    int help;
    struct pk_err err;
};

/* Rows that stand for elements of --tag. */
static const struct pk_opt into_tag[] = {
    {.name = "seq-len",
     .type = PK_OPT_TEXT,
     .cli_only = true,
     .into = "tag",
     .key = "seq_len",
     .help = "A tag."},
    {.name = "heads", .type = PK_OPT_TEXT, .cli_only = true, .into = "tag", .key = "heads", .help = "A tag."},
    {0},
};

/* argv and environment as texts with '|' between the elements. */
static char **elements(char *text)
{
    static char *v[2][64];
    static int turn;
    size_t n = 0;
    char **out = v[turn++ % 2];
    for (char *s = text; s && n < 63; n++) {
        out[n] = s;
        if ((s = strchr(s, '|')))
            *s++ = '\0';
    }
    out[n] = NULL;
    return out;
}

static enum pk_code parse(struct call *c, const char *args, const char *env)
{
    *c = (struct call){0};
    c->tables[0] = (struct pk_opt_table){global_rows, &c->g, NULL};
    c->tables[1] = (struct pk_opt_table){rows, &c->o, NULL};
    c->tables[2] = (struct pk_opt_table){into_tag, NULL, NULL};
    char **argv = elements(pk_printf(&c->arena, "run%s%s", *args ? "|" : "", args));
    char **environ_ = elements(pk_strdup(&c->arena, *env ? env : "X=1"));
    int argc = 0;
    while (argv[argc])
        argc++;
    struct pk_opt_input in = {"run", argc, (const char *const *)argv, (const char *const *)environ_,
                              &program};
    enum pk_code rc = pk_opt_parse(&in, c->tables, 3, &c->arena, &c->rest, &c->help, &c->err);
    assert_int_equal(rc ? c->err.code : PK_OK, rc);
    return rc;
}

/* The parts of the message hold `says`, and none is empty. */
static void refuses(const char *args, const char *env, const char *says)
{
    struct call c;
    if (!parse(&c, args, env))
        fail_msg("accepted: %s %s", args, env);
    assert_int_equal(c.err.code, PK_E_USAGE);
    assert_true(c.err.what[0] && c.err.why[0] && c.err.fix[0]);
    if (!strstr(c.err.what, says) && !strstr(c.err.why, says) && !strstr(c.err.fix, says))
        fail_msg("%s: %s | %s | %s", args, c.err.what, c.err.why, c.err.fix);
    pk_arena_free(&c.arena);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void defaults(void **state)
{
    struct call c;
    assert_int_equal(parse(&c, "", ""), PK_OK);
    assert_true(c.o.check && !c.o.dry_run && c.o.samples == 15 && c.o.bytes == 4096 &&
                c.o.time_ns == 1000000000);
    assert_true(c.o.noise == 0.005 && !c.o.label && !c.g.db && c.o.tags.n == 0);
    assert_string_equal(c.o.mode, "exact");
    assert_string_equal(pk_opt_origin(c.tables, 2, "mode"), "default");
    assert_null(pk_opt_origin(c.tables, 2, "nothing"));
    pk_arena_free(&c.arena);
}

static void every_type(void **state)
{
    struct call c;
    assert_int_equal(
        parse(&c,
              "--no-check|-n|a|--samples=3|--size|1MiB|-t2s|--noise|1%|--label||--mode=fast|--tag|x=1|"
              "--tag=y=2|-o|f|-q|b|--|--samples|-z",
              ""),
        PK_OK);
    assert_true(!c.o.check && c.o.dry_run && c.o.samples == 3 && c.o.bytes == 1 << 20 &&
                c.o.time_ns == 2000000000);
    assert_true(c.o.noise == 0.01 && c.g.quiet);
    assert_string_equal(c.o.label, "");
    assert_string_equal(c.o.mode, "fast");
    assert_int_equal(c.o.tags.n, 2);
    assert_string_equal(c.o.tags.v[1], "y=2");
    assert_string_equal(c.o.output, "f");
    assert_int_equal(c.rest.n, 4);
    assert_string_equal(c.rest.v[0], "a");
    assert_string_equal(c.rest.v[3], "-z");
    assert_string_equal(pk_opt_origin(c.tables, 2, "samples"), "command line");
    pk_arena_free(&c.arena);
}

static void an_option_may_stand_without_one_of_its_choices(void **state)
{
    static const struct {
        const char *args, *draw, *first;
    } lines[] = {{"--draw", "dots", NULL},         {"--draw|a", "dots", "a"},
                 {"--draw|lines|a", "lines", "a"}, {"--draw=lines|a", "lines", "a"},
                 {"a|--draw", "dots", "a"},        {"--draw|-n", "dots", NULL},
                 {"--|--draw", NULL, "--draw"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct call c;
        assert_int_equal(parse(&c, lines[i].args, ""), PK_OK);
        assert_true(lines[i].draw ? c.o.draw && !strcmp(c.o.draw, lines[i].draw) : !c.o.draw);
        assert_true(lines[i].first ? c.rest.n == 1 && !strcmp(c.rest.v[0], lines[i].first) : !c.rest.n);
        pk_arena_free(&c.arena);
    }
    struct call c;
    assert_int_equal(parse(&c, "--draw=wool", ""), PK_E_USAGE);
    pk_arena_free(&c.arena);
}

static void switches_are_negated(void **state)
{
    static const struct {
        const char *args;
        bool check, no_bind;
    } rows_[] = {{"--no-check", false, false},
                 {"--no-check|--check", true, false},
                 {"--no-bind", true, true},
                 {"--no-bind|--bind", true, false}};
    for (size_t i = 0; i < sizeof rows_ / sizeof *rows_; i++) {
        struct call c;
        assert_int_equal(parse(&c, rows_[i].args, ""), PK_OK);
        assert_true(c.o.check == rows_[i].check && c.o.no_bind == rows_[i].no_bind);
        pk_arena_free(&c.arena);
    }
}

static void help_stops_validation(void **state)
{
    struct call c;
    assert_int_equal(parse(&c, "--help|--samples=x", "PERFKIT_NONSENSE=1"), PK_OK);
    assert_int_equal(c.help, 2);
    pk_arena_free(&c.arena);
    assert_int_equal(parse(&c, "-h", ""), PK_OK);
    assert_int_equal(c.help, 1);
    pk_arena_free(&c.arena);
    assert_int_equal(parse(&c, "--|-h", ""), PK_OK);
    assert_int_equal(c.help, 0);
    pk_arena_free(&c.arena);
}

static void command_line_refused(void **state)
{
    refuses("--sampels=3", "", "did you mean --samples?");
    refuses("--sampl=3", "", "there is no option --sampl"); /* no abbreviations */
    refuses("--preset=quick", "", "perfkit other");
    refuses("-z", "", "there is no option -z");
    refuses("--samples", "", "its value is missing");
    refuses("--dry-run=yes", "", "--dry-run");
    refuses("--samples=0", "", "from 1 to 100");
    refuses("--samples=x", "", "--samples: 'x' is not an integer");
    refuses("--samples=", "", "'' is not an integer");
    refuses("--size=1K", "", "1KB or 1KiB");
    refuses("--size=1023", "", "from 1KiB to 1MiB");
    refuses("--max-time=5", "", "unit is missing");
    refuses("--max-time=2h", "", "from 1ms to 1h");
    refuses("--noise=200%", "", "from 0.1% to 100%");
    refuses("--noise=2", "", "write 2%, or 200%");
    refuses("--mode=fats", "", "did you mean 'fast'?");
    refuses("--mode=zzzzz", "", "fast, exact");
}

static void environment(void **state)
{
    struct call c;
    assert_int_equal(parse(&c, "--samples=4",
                           "PERFKIT_SAMPLES=5|PERFKIT_MAX_TIME=3s|PERFKIT_WIRE_FD=7|PERFKIT_LABEL="
                           "|PERFKIT_PRESET=x|PERFKIT_QUIET=1|PERFKIT_TAG=a=b"),
                     PK_OK);
    assert_true(c.o.samples == 4 && c.o.time_ns == 3000000000 && !c.o.label && c.g.quiet);
    assert_int_equal(c.o.tags.n, 1);
    assert_string_equal(pk_opt_origin(c.tables, 2, "max-time"), "PERFKIT_MAX_TIME");
    pk_arena_free(&c.arena);
    refuses("", "PERFKIT_SAMPELS=5", "did you mean PERFKIT_SAMPLES?");
    refuses("", "PERFKIT_SAMPLES=500", "PERFKIT_SAMPLES: 500 is out of range");
    refuses("", "PERFKIT_OUTPUT=x", "PERFKIT_OUTPUT is unknown");
    refuses("", "PERFKIT_=x", "is unknown");
    refuses("", "PERFKIT_WIRE=glas", "did you mean PERFKIT_WIRE=glass?");
    refuses("", "PERFKIT_WIRE=amx", "one of copper, glass");
    assert_int_equal(parse(&c, "", "PERFKIT_WIRE=glass|PERFKIT_LABEL=x"), PK_OK);
    pk_arena_free(&c.arena);
    assert_int_equal(parse(&c, "", "PERFKIT_WIRE="), PK_OK);
    pk_arena_free(&c.arena);
}

static void files_and_their_order(void **state)
{
    mkdir("xdg", 0755);
    mkdir("xdg/perfkit", 0755);
    write_file(
        "xdg/perfkit/config.ini",
        "[run]\nsamples = 20\nlabel = user\ntool = mine\ntag = u\n[perfkit]\nmax-time = 7s\nquiet = true\n");
    write_file(
        ".perfkit.ini",
        "; a comment\n[run]\n  label = here\n    tag = a\n tag = b ; the second\n[perfkit]\nlabel = common\n"
        "preset = of another command\n[list]\ndb = other.db\n");
    struct call c;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    char here[1024];
    assert_non_null(getcwd(here, sizeof here));
    const char *home = pk_printf(&a, "XDG_CONFIG_HOME=%s/xdg|HOME=/nowhere", here);
    assert_int_equal(parse(&c, "", home), PK_OK);
    assert_true(c.o.samples == 20 && c.o.time_ns == 7000000000 && c.g.quiet && !c.g.db);
    assert_string_equal(c.o.label, "here");
    assert_string_equal(c.o.tool, "mine");
    assert_int_equal(c.o.tags.n, 2);
    assert_string_equal(c.o.tags.v[0], "a");
    assert_string_equal(c.o.tags.v[1], "b");
    assert_string_equal(pk_opt_origin(c.tables, 2, "label"), "./.perfkit.ini:3");
    assert_string_equal(pk_opt_origin(c.tables, 2, "samples"),
                        pk_printf(&a, "%s/xdg/perfkit/config.ini:2", here));
    pk_arena_free(&c.arena);
    assert_int_equal(parse(&c, "--tag=cli", pk_printf(&a, "%s|PERFKIT_LABEL=env", home)), PK_OK);
    assert_string_equal(c.o.label, "env");
    assert_int_equal(c.o.tags.n, 1);
    pk_arena_free(&c.arena);
    assert_int_equal(parse(&c, "", "XDG_CONFIG_HOME=xdg"), PK_OK);
    assert_int_not_equal(c.o.samples, 20); /* a relative one is ignored */
    pk_arena_free(&c.arena);
    assert_int_equal(unlink("xdg/perfkit/config.ini"), 0);
}

static void files_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"[run]\nsampels = 3\n", "./.perfkit.ini:2: there is no option 'sampels' in [run]"},
        {"[run]\nsampels = 3\n", "did you mean 'samples'?"},
        {"[run]\n\nsamples = 3000\n", "./.perfkit.ini:3: samples: 3000 is out of range"},
        {"[rum]\nsamples = 3\n", "did you mean 'run'?"},
        {"samples = 3\n", "before the first section"},
        {"[run]\nwhat is this\n", "./.perfkit.ini:2: this line is not understood"},
        {"[run]\noutput = x\n", "is not allowed in this file"},
        {"[run]\ntool = ./evil\n", "may belong to anyone"},
        {"[perfkit]\ntool = ./evil\n", "remove the line and give --tool"},
        {"[run]\ncheck = maybe\n", "neither true nor false"},
        {"[list]\nsamples = 3\n", "there is no option 'samples' in [list]"},
        {"[run\n", "./.perfkit.ini:1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(".perfkit.ini", bad[i].text);
        refuses("", "", bad[i].says);
    }
    char longest[400] = "[run]\nlabel = ";
    memset(longest + strlen(longest), 'x', 300);
    write_file(".perfkit.ini", longest);
    refuses("", "", "./.perfkit.ini:2: the line is too long");
    unlink(".perfkit.ini");
    mkdir(".perfkit.ini", 0755);
    struct call c;
    assert_int_equal(parse(&c, "", ""), PK_E_IO);
    assert_string_equal(c.err.why, "Is a directory");
    pk_arena_free(&c.arena);
    rmdir(".perfkit.ini");
}

static void presets_are_weak(void **state)
{
    struct call c;
    assert_int_equal(parse(&c, "--samples=9", ""), PK_OK);
    assert_int_equal(pk_opt_preset(&c.tables[1], "samples=3", &c.arena, &c.err), PK_OK);
    assert_int_equal(pk_opt_preset(&c.tables[1], "max-time=2s", &c.arena, &c.err), PK_OK);
    assert_true(c.o.samples == 9 && c.o.time_ns == 2000000000);
    assert_string_equal(pk_opt_origin(c.tables, 2, "max-time"), "preset");
    assert_int_equal(pk_opt_preset(&c.tables[1], "noise=7", &c.arena, &c.err), PK_E_USAGE);
    pk_arena_free(&c.arena);
}

static void help_from_rows(void **state)
{
    struct call c;
    assert_int_equal(parse(&c, "", ""), PK_OK);
    const char *full = pk_opt_help(c.tables, 2, true, 60, &c.arena),
               *brief = pk_opt_help(c.tables + 1, 1, false, 60, &c.arena);
    assert_non_null(strstr(full, "--[no-]check"));
    assert_non_null(strstr(full, "-t, --max-time TIME"));
    assert_non_null(strstr(full, "[default: 4KiB]"));
    assert_non_null(strstr(full, "fast, exact"));
    assert_non_null(strstr(full, "[PERFKIT_MAX_TIME]"));
    assert_non_null(strstr(full, "General:\n"));
    assert_null(strstr(full, "PERFKIT_OUTPUT"));
    assert_null(strstr(brief, "default:"));
    for (const char *line = full; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        assert_true(strcspn(line, "\n") <= 60);
    pk_arena_free(&c.arena);
}

/* Files are read from the working directory: an empty one. */
static int enter(void **state)
{
    static char dir[] = "/tmp/test-opt-XXXXXX";
    *state = dir;
    return !mkdtemp(dir) || chdir(dir);
}

static int leave(void **state)
{
    rmdir("xdg/perfkit");
    rmdir("xdg");
    return chdir("/") || rmdir(*state);
}

static void rows_can_be_elements_of_a_list(void **state)
{
    struct call c;
    assert_int_equal(parse(&c, "--seq-len|1,2|--tag|a=b|--seq_len=3|--heads=4", "PERFKIT_TAG=gone=1"), PK_OK);
    assert_int_equal(c.o.tags.n, 4);
    static const char *const tags[] = {"seq_len=1,2", "a=b", "seq_len=3", "heads=4"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(c.o.tags.v[i], tags[i]);
    pk_arena_free(&c.arena);
    refuses("--seq-lem|1", "", "did you mean --seq-len?");
    refuses("--heads", "", "its value is missing");
    refuses("", "PERFKIT_HEADS=1", "PERFKIT_HEADS");
}

static const char *first_of(const char *args)
{
    static struct pk_arena a;
    const struct pk_opt_table tables[] = {{.rows = global_rows}, {.rows = rows}};
    char **argv = elements(pk_printf(&a, "run|%s", args));
    struct pk_opt_input in = {.command = "run", .argv = (const char *const *)argv};
    while (argv[in.argc])
        in.argc++;
    return pk_opt_first_argument(&in, tables, 2);
}

static void the_first_argument_is_found(void **state)
{
    static const struct {
        const char *args, *first;
    } lines[] = {{"x|y", "x"},          {"--db|f|x", "x"},     {"--db=f|x", "x"},      {"-q|x", "x"},
                 {"--quiet|x", "x"},    {"--no-quiet|x", "x"}, {"--bind|x", "x"},      {"--no-bind|x", "x"},
                 {"-t|1s|x", "x"},      {"-t1s|x", "x"},       {"--what|v|x", "x"},    {"--what=v|x", "x"},
                 {"--help|x", "x"},     {"-h|x", "x"},         {"--|-x", "-x"},        {"-|x", "-"},
                 {"--no-check|x", "x"}, {"--draw|x", "x"},     {"--draw|lines|x", "x"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_string_equal(first_of(lines[i].args), lines[i].first);
    assert_null(first_of("--db|x"));
    assert_null(first_of("--what|x"));
    assert_null(first_of("--db"));
    assert_null(first_of("--"));
}

static void a_table_stands_in_place_of_its_row(void **state)
{
    struct inner {
        int64_t before, size;
    };
    struct outer {
        const char *name;
        struct inner inner;
    };
    static const struct pk_opt inner[] = {
        {"size", .type = PK_OPT_INT, .offset = offsetof(struct inner, size)}, {0}};
    static const struct pk_opt outer[] = {
        {"first", .type = PK_OPT_TEXT, .offset = offsetof(struct outer, name)},
        {.rows = inner, .offset = offsetof(struct outer, inner)},
        {"last", .type = PK_OPT_TEXT, .offset = offsetof(struct outer, name)},
        {0}};
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    const struct pk_opt *flat = pk_opt_flat(outer, &own);
    assert_string_equal(flat[0].name, "first");
    assert_string_equal(flat[1].name, "size");
    assert_int_equal(flat[1].offset, offsetof(struct outer, inner.size));
    assert_string_equal(flat[2].name, "last");
    assert_null(flat[3].name);
    assert_null(pk_opt_flat(NULL, &own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(every_type),
        cmocka_unit_test(switches_are_negated),
        cmocka_unit_test(help_stops_validation),
        cmocka_unit_test(rows_can_be_elements_of_a_list),
        cmocka_unit_test(the_first_argument_is_found),
        cmocka_unit_test(an_option_may_stand_without_one_of_its_choices),
        cmocka_unit_test(command_line_refused),
        cmocka_unit_test(environment),
        cmocka_unit_test(files_and_their_order),
        cmocka_unit_test(files_refused),
        cmocka_unit_test(presets_are_weak),
        cmocka_unit_test(help_from_rows),
        cmocka_unit_test(a_table_stands_in_place_of_its_row),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
