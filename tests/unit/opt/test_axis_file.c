/* Axes that name a file: what is read, what is recorded of it, and what is refused. */
#include "axes.h"

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

static struct pk_arena arena;
static struct pk_err err;
static char home[64];

static int to_a_folder(void **state)
{
    strcpy(home, "/tmp/perfkit-axis-XXXXXX");
    return !mkdtemp(home) || chdir(home) || mkdir("sub", 0700);
}

static int away(void **state)
{
    char cmd[96];
    snprintf(cmd, sizeof cmd, "rm -r %s", home);
    pk_arena_free(&arena);
    return chdir("/") || system(cmd);
}

static void put(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static union pk_value value(const char *text)
{
    union pk_value v;
    if (pk_axis_value(&axes[TREE], text, &arena, &v, &err))
        fail_msg("%s: %s", err.what, err.why);
    return v;
}

static void assert_refused(const char *text, const char *what, const char *why, const char *fix)
{
    union pk_value v;
    assert_int_equal(pk_axis_value(&axes[TREE], text, &arena, &v, &err), PK_E_USAGE);
    if (!strstr(err.what, what) || !strstr(err.why, why) || !strstr(err.fix, fix))
        fail_msg("%s; %s; %s", err.what, err.why, err.fix);
    assert_non_null(strstr(err.what, "axis tree"));
}

/* FNV-1a of "a\n" is 0x089bdc07b544e7b2, of "b\n" 0x08a61e07b54dac5d: halves combined by exclusive or. */
static void a_file_is_its_contents(void **state)
{
    put("m.txt", "a\n", 2);
    put("sub/m.txt", "b\n", 2);
    union pk_value a = value("m.txt"), b = value("sub/m.txt");
    assert_string_equal(a.s, "m.txt#bddf3bb5");
    assert_string_equal(b.s, "sub/m.txt#bdebb25a");
    assert_string_equal(pk_axis_file_path(b, &arena), "sub/m.txt");
    assert_string_equal(pk_axis_file_name(b), "m.txt#bdebb25a");
    assert_false(pk_axis_same(&axes[TREE], a, b));
    put("sub/m.txt", "a\n", 2);
    assert_true(pk_axis_same(&axes[TREE], a, value("sub/m.txt")));
    assert_string_equal(pk_axis_format(&axes[TREE], a, &arena), "m.txt#bddf3bb5");
    assert_string_equal(value("m.txt#bddf3bb5").s, "m.txt#bddf3bb5");
    put("empty", "", 0);
    assert_string_equal(pk_axis_file_path(value("empty"), &arena), "empty");
}

static void the_word_is_no_file(void **state)
{
    put("bert", "a\n", 2);
    assert_string_equal(value("bert").s, "bert");
    assert_null(pk_axis_file_path(value("bert"), &arena));
    assert_string_equal(pk_axis_file_name(value("bert")), "bert");
    assert_string_equal(value("./bert").s, "./bert#bddf3bb5");
    assert_string_equal(pk_axis_takes(&axes[TREE], &arena), "the path of a text file, or the word bert");
}

static void what_is_refused(void **state)
{
    put("m.txt", "a\n", 2);
    assert_refused("brt", "cannot read brt", "No such file", "did you mean -a tree=bert?");
    assert_refused("nowhere/x", "cannot read nowhere/x", "No such file", "-a tree=bert");
    assert_refused("sub", "'sub'", "a directory", "give a text file");
    assert_refused("/dev/null", "'/dev/null'", "not a regular file", "");
    assert_refused("m.txt#00000000", "m.txt has changed since the run was planned",
                   "was 00000000 and is bddf3bb5", "start a new run");
    assert_refused("#bddf3bb5", "is not a file", "no path", "");
    assert_refused("\xff", "is not a file", "not UTF-8", "");
    put("binary", "a\0b", 3);
    assert_refused("binary", "'binary' is not a text file", "NUL", "");
    static char long_line[1024];
    memset(long_line, 'x', sizeof long_line);
    FILE *f = fopen("large", "w");
    for (int i = 0; i <= 16 << 10; i++)
        assert_int_equal(fwrite(long_line, sizeof long_line, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    assert_refused("large", "large is too long", "16.0 MiB", "give a text file");
    assert_int_equal(chmod("m.txt", 0), 0);
    if (geteuid() != 0) /* root may read everything */
        assert_refused("m.txt", "cannot read m.txt", "Permission denied", "give a text file");
}

static struct pk_point point(const char *json, enum pk_code expected)
{
    PK_JSON_CLEANUP json_t *j = json_loads(json, 0, NULL);
    struct pk_point p;
    assert_non_null(j);
    assert_int_equal(pk_point_from_json(axes, j, &arena, &p, &err), expected);
    return p;
}

static void points_have_paths_and_identities_names(void **state)
{
    put("sub/m.txt", "a\n", 2);
    struct pk_point p = point("{\"tree\": \"sub/m.txt#bddf3bb5\"}", PK_OK);
    assert_non_null(strstr(pk_point_json(&p, &arena), "\"tree\":\"sub/m.txt#bddf3bb5\""));
    assert_string_equal(pk_point_identity(&p, &arena), "{\"tree\":\"m.txt#bddf3bb5\"}");
    p = point("{\"tree\": \"bert\"}", PK_OK);
    assert_string_equal(pk_point_identity(&p, &arena), "{}");
    p = point("{}", PK_OK);
    assert_string_equal(p.v[TREE].s, "bert");
    put("sub/m.txt", "b\n", 2);
    point("{\"tree\": \"sub/m.txt#bddf3bb5\"}", PK_E_USAGE);
    assert_non_null(strstr(err.what, "has changed since the run was planned"));
}

/* The same file by two ways is one point, two files of one name are two. */
static void sweeps_and_grids(void **state)
{
    struct pk_sweep s[1][PK_AXES_MAX] = {0};
    struct pk_point *points;
    struct pk_axis_sweep tree, seq_len;
    size_t n;
    put("m.txt", "a\n", 2);
    put("sub/m.txt", "b\n", 2);
    assert_int_equal(pk_axis_assign(axes, "tree=bert, m.txt,./m.txt,sub/m.txt", &arena, &tree, &err), PK_OK);
    assert_int_equal(tree.axis, TREE);
    s[0][TREE] = tree.sweep;
    assert_string_equal(pk_sweep_text(&axes[TREE], &s[0][TREE], &arena),
                        "bert,m.txt#bddf3bb5,sub/m.txt#bdebb25a");
    assert_int_equal(pk_axis_assign(axes, "seq_len=1:4:*2", &arena, &seq_len, &err), PK_OK);
    s[0][SEQ_LEN] = seq_len.sweep;
    const struct pk_grid g = {.axes = axes, .n_axes = N_AXES, .n_blocks = 1, .sweeps = s};
    assert_int_equal(pk_grid_expand(&g, &arena, &points, &n, &err), PK_OK);
    assert_int_equal(n, 9);
}

static void twice_in_two_blocks(void **state)
{
    struct pk_sweep s[2][PK_AXES_MAX] = {0};
    struct pk_point *points;
    struct pk_axis_sweep tree, again;
    size_t n;
    put("m.txt", "a\n", 2);
    assert_int_equal(pk_axis_assign(axes, "tree=bert,m.txt", &arena, &tree, &err), PK_OK);
    assert_int_equal(pk_axis_assign(axes, "tree=sub/../m.txt", &arena, &again, &err), PK_OK);
    s[0][TREE] = tree.sweep;
    s[1][TREE] = again.sweep;
    s[0][SEQ_LEN] = s[1][SEQ_LEN] = (struct pk_sweep){(const union pk_value[]){{.i = 1}}, 1};
    const struct pk_grid g = {.axes = axes, .n_axes = N_AXES, .n_blocks = 2, .sweeps = s};
    assert_int_equal(pk_grid_expand(&g, &arena, &points, &n, &err), PK_OK);
    assert_int_equal(n, 2);
}

static void filters(void **state)
{
    struct pk_filter *f;
    put("m.txt", "a\n", 2);
    struct pk_point p = point("{\"tree\": \"m.txt#bddf3bb5\"}", PK_OK);
    static const struct {
        const char *text;
        bool match;
    } rows[] = {{"tree=m.txt", true}, {"tree=./m.txt", true},    {"tree=bert", false},
                {"tree!=bert", true}, {"tree=bert|m.txt", true}, {"tree!=m.txt", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(pk_filter_parse(axes, rows[i].text, &arena, &f, &err), PK_OK);
        assert_int_equal(pk_filter_match(f, &p, "flash"), rows[i].match);
    }
    assert_int_equal(pk_filter_parse(axes, "tree<m.txt", &arena, &f, &err), PK_E_USAGE);
    assert_int_equal(pk_filter_parse(axes, "tree=x.txt", &arena, &f, &err), PK_E_USAGE);
}

#define IN_A_FOLDER(f) cmocka_unit_test_setup_teardown(f, to_a_folder, away)

/* Of data any byte may be anything; of a long file the ends count, and places between. */
static void data_may_be_long(void **state)
{
    static const struct pk_axis weights = {.name = "weights",
                                           .type = PK_AXIS_FILE,
                                           .def = "seeded",
                                           .born = "seeded",
                                           .data = true,
                                           .help = "W."};
    const off_t bytes = (off_t)3 * PK_AXIS_FILE_BYTES_MAX + 5;
    const off_t places[] = {0, bytes / 256 * 100, bytes - 1};
    union pk_value v, w;
    put("w.bin", "a\0b", 3);
    assert_int_equal(pk_axis_value(&weights, "w.bin", &arena, &v, &err), PK_OK);
    assert_int_equal(truncate("w.bin", bytes), 0);
    assert_int_equal(pk_axis_value(&weights, "w.bin", &arena, &w, &err), PK_OK);
    assert_string_not_equal(v.s, w.s);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        FILE *f = fopen("w.bin", "r+");
        assert_non_null(f);
        assert_int_equal(fseek(f, places[i], SEEK_SET), 0);
        assert_int_equal(fputc('x', f), 'x');
        assert_int_equal(fclose(f), 0);
        v = w;
        assert_int_equal(pk_axis_value(&weights, v.s, &arena, &w, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, "w.bin has changed since the run was planned"));
        assert_int_equal(pk_axis_value(&weights, "w.bin", &arena, &w, &err), PK_OK);
    }
    assert_string_equal(pk_axis_takes(&weights, &arena), "the path of a file, or the word seeded");
    assert_int_equal(pk_axis_value(&weights, "none.bin", &arena, &w, &err), PK_E_USAGE);
    assert_string_equal(err.what, "axis weights: cannot read none.bin");
    assert_non_null(strstr(err.why, "No such file"));
    assert_non_null(strstr(err.fix, "give a regular file without a comma"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(a_file_is_its_contents),
        IN_A_FOLDER(the_word_is_no_file),
        IN_A_FOLDER(what_is_refused),
        IN_A_FOLDER(points_have_paths_and_identities_names),
        IN_A_FOLDER(sweeps_and_grids),
        IN_A_FOLDER(twice_in_two_blocks),
        IN_A_FOLDER(filters),
        IN_A_FOLDER(data_may_be_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
