/* The five formats: the same rows in each, several tables, hostile text, empty things. */
#include "print.h"

#include "out/writer.h"
#include "json/json.h"

#include <stdlib.h>

static void table_is_aligned(void **state)
{
    assert_printed(PK_FMT_TABLE, 0, sample_rows,
                   "Attention\n"
                   "d_model  Forward (ms)  ± %  Status                Axes\n"
                   "---------------------------------------------------------\n"
                   "     16         0.258  0.3  ok                    a=1\n"
                   "    128                     oom: 35 GB, \"8\" left  {broken\n"
                   "1 case ran out of memory\n");
}

static const char long_text[] = "out of memory: 35 GB needed and 8 GB are there";

static void long_rows(struct pk_out *o)
{
    sample_rows(o);
    pk_out_row(o, (struct pk_cell[]){pk_cell_int(16), pk_cell_int(258000), pk_cell_real(0.0031),
                                     pk_cell_text(long_text), pk_cell_text("{}")});
}

/* Long texts wrap; numbers, and columns whose texts are all short, do not. */
static void narrow_table_wraps_long_texts_only(void **state)
{
    char *text = printed(PK_FMT_TABLE, 60, long_rows);
    assert_non_null(strstr(text, "     16    0.258  0.3  ok"));
    assert_non_null(strstr(text, "a=1"));
    assert_null(strstr(text, long_text));
    assert_non_null(strstr(text, "out of memory: 35 GB needed\n")); /* at a blank */
    free(text);
    text = printed(PK_FMT_TABLE, 5, sample_rows);
    assert_non_null(strstr(text, "     16\n    128\nLeft\n"));
    free(text);
}

static void markdown_has_alignment(void **state)
{
    assert_printed(PK_FMT_MARKDOWN, 0, sample_rows,
                   "### Attention\n\n"
                   "| d_model | Forward (ms) | ± % | Status | Axes |\n"
                   "|---:|---:|---:|:---|:---|\n"
                   "| 16 | 0.258 | 0.3 | ok | a=1 |\n"
                   "| 128 |  |  | oom: 35 GB, \"8\" left | {broken |\n"
                   "\n1 case ran out of memory\n");
}

static void csv_quotes(void **state)
{
    assert_printed(PK_FMT_CSV, 0, sample_rows,
                   "d_model,forward_ns,noise,status,axes\n"
                   "16,258000,0.0031,ok,\"{\"\"a\"\": 1}\"\n"
                   "128,,,\"oom: 35 GB, \"\"8\"\" left\",{broken\n");
}

static void json_embeds_what_is_json(void **state)
{
    assert_printed(
        PK_FMT_JSON, 0, sample_rows,
        "{\"schema\":1,\"tables\":{\n"
        "\"scaling\":{\"rows\":[\n"
        "{\"d_model\":16,\"forward_ns\":258000,\"noise\":0.0031,\"status\":\"ok\",\"axes\":{\"a\": 1}},\n"
        "{\"d_model\":128,\"forward_ns\":null,\"noise\":null,\"status\":\"oom: 35 GB, \\\"8\\\" left\","
        "\"axes\":\"{broken\"}],\"notes\":[\"1 case ran out of memory\"]}}}\n");
}

static void jsonl_names_the_table(void **state)
{
    assert_printed(PK_FMT_JSONL, 0, sample_rows,
                   "{\"table\":\"scaling\",\"d_model\":16,\"forward_ns\":258000,\"noise\":0.0031,\"status\":"
                   "\"ok\",\"axes\":{\"a\": 1}}\n"
                   "{\"table\":\"scaling\",\"d_model\":128,\"forward_ns\":null,\"noise\":null,"
                   "\"status\":\"oom: 35 GB, \\\"8\\\" left\",\"axes\":\"{broken\"}\n");
}

static void twice_and_empty(struct pk_out *o)
{
    struct pk_column one[] = {{.key = "x", .heading = "X", .decimals = -1}};
    struct pk_cell seven = pk_cell_int(-7);
    struct pk_column other[] = {{.key = "y", .heading = "Y", .decimals = -1}};
    pk_out_table(o, "t", NULL, one, 1);
    pk_out_row(o, &seven);
    pk_out_table(o, "t", "the same again", one, 1);
    pk_out_row(o, &seven);
    pk_out_table(o, "t", NULL, other, 1);
    pk_out_table(o, NULL, NULL, one, 1);
}

static void several_tables(void **state)
{
    assert_printed(PK_FMT_TABLE, 0, twice_and_empty,
                   " X\n--\n-7\n\nthe same again\n X\n--\n-7\n\n(no rows)\n\n(no rows)\n");
    assert_printed(PK_FMT_CSV, 0, twice_and_empty, "x\n-7\n-7\n\ny\n\nx\n");
    assert_printed(PK_FMT_JSONL, 0, twice_and_empty,
                   "{\"table\":\"t\",\"x\":-7}\n{\"table\":\"t\",\"x\":-7}\n");
    assert_printed(
        PK_FMT_JSON, 0, twice_and_empty,
        "{\"schema\":1,\"tables\":{\n\"t\":{\"rows\":[\n{\"x\":-7},\n{\"x\":-7}]},\n\"t_2\":{\"rows\":[]},"
        "\n\"table\":{\"rows\":[]}}}\n");
}

static void nothing(struct pk_out *o)
{
}

static void only_a_note(struct pk_out *o)
{
    pk_out_note(o, "no runs yet");
}

static void a_preface(struct pk_out *o)
{
    static const struct pk_column n = {.key = "n", .heading = "N", .decimals = -1};
    pk_out_note(o, "run 3");
    pk_out_table(o, "t", "T", &n, 1);
    pk_out_note(o, "of t");
    pk_out_row(o, &(struct pk_cell){.type = PK_CELL_INT, .i = 7});
    pk_out_table(o, "u", NULL, &n, 1);
    pk_out_row(o, &(struct pk_cell){.type = PK_CELL_INT, .i = 8});
}

static void notes_before_the_first_table_are_of_the_whole(void **state)
{
    assert_printed(PK_FMT_TABLE, 0, a_preface, "run 3\n\nT\nN\n-\n7\nof t\n\nN\n-\n8\n");
    assert_printed(PK_FMT_MARKDOWN, 0, a_preface,
                   "run 3\n\n### T\n\n| N |\n|---:|\n| 7 |\n\nof t\n\n| N |\n|---:|\n| 8 |\n");
    assert_printed(PK_FMT_CSV, 0, a_preface, "n\n7\n\nn\n8\n");
    assert_printed(PK_FMT_JSON, 0, a_preface,
                   "{\"schema\":1,\"tables\":{\n\"t\":{\"rows\":[\n{\"n\":7}],\"notes\":[\"of t\"]},\n"
                   "\"u\":{\"rows\":[\n{\"n\":8}]}},\"notes\":[\"run 3\"]}\n");
    assert_printed(PK_FMT_JSONL, 0, a_preface, "{\"table\":\"t\",\"n\":7}\n{\"table\":\"u\",\"n\":8}\n");
}

static void outputs_without_tables(void **state)
{
    assert_printed(PK_FMT_JSON, 0, nothing, "{\"schema\":1,\"tables\":{}}\n");
    assert_printed(PK_FMT_TABLE, 0, nothing, "");
    assert_printed(PK_FMT_TABLE, 0, only_a_note, "no runs yet\n");
    assert_printed(PK_FMT_JSON, 0, only_a_note, "{\"schema\":1,\"tables\":{},\"notes\":[\"no runs yet\"]}\n");
}

/* Escape sequences (7 and 8 bit), a line break, a bidirectional override, broken UTF-8, the syntax of each
 * format. */
static const char *const hostile[] = {
    "\x1b[31mred",
    "\xc2\x9b"
    "31m",
    "a\nb\tc\rd",
    "\xe2\x80\xae"
    "gnp.exe",
    "\xff\xc3(\xed\xa0\x80\xf5",
    "a|b\\|<img>",
    "\"\\\x7f",
    "::error title=x::y",
    "\xc2\xa0 ::set-output name=x::y",
    "\xd8\x9c\xe2\x80\x8b\xe2\x80\x8f\xef\xbb\xbf\xf3\xa0\x80\x81\xf3\xa0\x81\xbf",
    "a\xc2\xad\xe2\x81\xa0\xe1\xa0\x8e\xe3\x85\xa4\xf3\xa0\x84\x80z", /* soft hyphen, word joiner, fillers, selector */
    "[x](https://evil.example) ![y](z) @someone a&#64;b www.evil.example",
    "=cmd|' /C calc'!A0",
};
enum { N_HOSTILE = sizeof hostile / sizeof *hostile };

static void hostile_rows(struct pk_out *o)
{
    static const struct pk_column cols[] = {
        {.key = "text", .heading = "a\x1b]0;x\x07", .decimals = -1, .left = true},
        {.key = "json", .heading = "JSON", .decimals = -1, .left = true, .json = true}};
    pk_out_table(o, "hostile", "title\x1b[2J", cols, 2);
    for (size_t i = 0; i < N_HOSTILE; i++) {
        struct pk_cell row[] = {pk_cell_text(hostile[i]), pk_cell_text(hostile[i])};
        pk_out_row(o, row);
    }
    pk_out_row(
        o, (struct pk_cell[]){pk_cell_text(""),
                              pk_cell_text("{\n \"k\": \"\xe2\x80\xae\xc2\x9b\", \"k2\": [1.10, 1e-3]}")});
    pk_out_note(o, "note\x1b[2J");
}

static void hostile_text_is_disarmed(void **state)
{
    for (enum pk_format f = 0; f < PK_FORMATS_N; f++) {
        char *text = printed(f, 0, hostile_rows);
        for (const char *p = text; *p; p++)
            assert_true(*p == '\n' || (unsigned char)*p >= ' ');
        assert_null(strchr(text, 0x7f));
        assert_null(strstr(text, "\xc2\x9b"));
        assert_null(strstr(text, "\xe2\x80\xae"));
        assert_null(strchr(text, '\xff'));
        static const char *const unseen[] = {"\xd8\x9c",     "\xe2\x80\x8b", "\xe2\x80\x8f",
                                             "\xef\xbb\xbf", "\xf3\xa0",     "\xc2\xad",
                                             "\xe2\x81\xa0", "\xe1\xa0\x8e", "\xe3\x85\xa4"};
        for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
            assert_null(strstr(text, unseen[i]));
        for (const char *line = text; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL)
            assert_true(strncmp(line + strspn(line, " \xc2\xa0"), "::", 2) != 0);
        free(text);
    }
}

static void hostile_markdown_keeps_its_columns(void **state)
{
    char *text = printed(PK_FMT_MARKDOWN, 0, hostile_rows);
    assert_non_null(strstr(text, "| a\\|b\\\\\\|&lt;img> | a\\|b\\\\\\|&lt;img> |\n"));
    assert_non_null(strstr(text, "| \\[x\\](https&#58;//evil.example) !\\[y\\](z) @&#8203;someone "
                                 "a&amp;#64;b www&#46;evil.example |"));
    free(text);
}

static void a_line_that_begins_late_is_no_command(void **state)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    struct pk_sink *s = calloc(1, sizeof *s);
    s->f = f;
    for (size_t before = PK_SINK_BYTES - 12; before < PK_SINK_BYTES + 4;
         before++) { /* at every place of the buffer's end */
        for (size_t i = 0; i < before; i++)
            pk_sink_char(s, 'x');
        pk_sink_str(s, "\n  ::error::x a::b\n:: c\n: :\n");
        pk_sink_str(s, "a##[b ##vso[c ###VSO[d ##v[e #[f ##so[ ##vs##[g\n");
        pk_sink_flush(s);
    }
    assert_null(strstr(text, "##["));
    assert_null(strcasestr(text, "##vso["));
    assert_non_null(strstr(text, "\na##\xef\xbf\xbd"
                                 "b ##vso\xef\xbf\xbd"
                                 "c ###VSO\xef\xbf\xbd"
                                 "d ##v[e #[f ##so[ ##vs##\xef\xbf\xbdg\n"));
    for (const char *line = text; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL)
        assert_true(strncmp(line + strspn(line, " "), "::", 2) != 0);
    assert_non_null(strstr(text, "\n  :\xef\xbf\xbd"
                                 "error::x a::b\n:\xef\xbf\xbd c\n: :\n"));
    fclose(f);
    free(text);
    free(s);
}

static void formulas_are_defused_when_asked(void **state)
{
    static const char *const texts[] = {"=1+1", "+1", "-x",       "@SUM(A1)",
                                        "\tx",  "-",  "=\"a\",b", "\xef\xbc\x9d-"};
    char *text[2];
    for (int safe = 0; safe < 2; safe++) {
        size_t n;
        FILE *f = open_memstream(&text[safe], &n);
        struct pk_out *o = pk_out_open(f, &(struct pk_out_options){.format = PK_FMT_CSV, .csv_safe = safe});
        struct pk_err err;
        pk_out_table(o, "t", NULL, &(struct pk_column){.key = "x"}, 1);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            pk_out_row(o, &(struct pk_cell){.type = PK_CELL_TEXT, .s = texts[i]});
        pk_out_row(o, &(struct pk_cell){.type = PK_CELL_INT, .i = -5});
        assert_int_equal(pk_out_close(o, &err), PK_OK);
        fclose(f);
    }
    assert_string_equal(text[0],
                        "x\n=1+1\n+1\n-x\n@SUM(A1)\n\" x\"\n-\n\"=\"\"a\"\",b\"\n\"\xef\xbc\x9d-\"\n-5\n");
    assert_string_equal(
        text[1], "x\n'=1+1\n'+1\n'-x\n'@SUM(A1)\n\"' x\"\n'-\n\"'=\"\"a\"\",b\"\n\"'\xef\xbc\x9d-\"\n-5\n");
    free(text[0]);
    free(text[1]);
}

static void hostile_json_parses(void **state)
{
    char *text = printed(PK_FMT_JSON, 0, hostile_rows);
    PK_JSON_CLEANUP json_t *j = json_loads(text, 0, NULL);
    assert_non_null(j);
    json_t *rows = json_object_get(json_object_get(json_object_get(j, "tables"), "hostile"), "rows");
    assert_int_equal(json_array_size(rows), N_HOSTILE + 1);
    assert_string_equal(pk_json_str(json_array_get(rows, 0), "text", ""), hostile[0]);
    assert_string_equal(pk_json_str(json_array_get(rows, 5), "text", ""), hostile[5]);
    json_t *embedded = json_object_get(json_array_get(rows, N_HOSTILE), "json");
    assert_string_equal(pk_json_str(embedded, "k", ""), "\xef\xbf\xbd\xef\xbf\xbd");
    free(text);
}

static void unknown_format_is_explained(void **state)
{
    enum pk_format f;
    struct pk_err err;
    assert_int_equal(pk_format_parse("jsonl", &f, &err), PK_OK);
    assert_int_equal(f, PK_FMT_JSONL);
    assert_int_equal(pk_format_parse("jason", &f, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, "'jason'"));
    assert_non_null(strstr(err.why, "markdown"));
    assert_non_null(strstr(err.fix, "'json'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_aligned),
        cmocka_unit_test(narrow_table_wraps_long_texts_only),
        cmocka_unit_test(markdown_has_alignment),
        cmocka_unit_test(csv_quotes),
        cmocka_unit_test(json_embeds_what_is_json),
        cmocka_unit_test(jsonl_names_the_table),
        cmocka_unit_test(several_tables),
        cmocka_unit_test(notes_before_the_first_table_are_of_the_whole),
        cmocka_unit_test(outputs_without_tables),
        cmocka_unit_test(hostile_text_is_disarmed),
        cmocka_unit_test(hostile_markdown_keeps_its_columns),
        cmocka_unit_test(a_line_that_begins_late_is_no_command),
        cmocka_unit_test(formulas_are_defused_when_asked),
        cmocka_unit_test(hostile_json_parses),
        cmocka_unit_test(unknown_format_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
