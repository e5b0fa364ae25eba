/* What is not printed: columns for programs only, and an output nothing was said to. */
#include "print.h"

static const struct pk_column columns[] = {
    {.key = "name", .heading = "Name", .left = true},
    {.key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true},
    {.key = "n", .heading = "N", .decimals = -1}};

static void one_row(struct pk_out *o)
{
    pk_out_table(o, "t", NULL, columns, 3);
    pk_out_row(o, (struct pk_cell[]){pk_cell_text("a"), pk_cell_text("[1]"), pk_cell_int(5)});
}

static void machine_columns(void **state)
{
    assert_printed(PK_FMT_TABLE, 0, one_row, "Name  N\n-------\na     5\n");
    assert_printed(PK_FMT_MARKDOWN, 0, one_row, "| Name | N |\n|:---|---:|\n| a | 5 |\n");
    assert_printed(PK_FMT_CSV, 0, one_row, "name,axes,n\na,[1],5\n");
    assert_printed(PK_FMT_JSONL, 0, one_row, "{\"table\":\"t\",\"name\":\"a\",\"axes\":[1],\"n\":5}\n");
}

static void cancelled(void **state)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    struct pk_err err;
    struct pk_out *o = pk_out_open(f, &(struct pk_out_options){.format = PK_FMT_JSON});
    assert_true(pk_out_cancel(o));
    fflush(f);
    assert_int_equal(n, 0);
    o = pk_out_open(f, &(struct pk_out_options){.format = PK_FMT_JSON});
    one_row(o);
    assert_false(pk_out_cancel(o));
    assert_int_equal(pk_out_close(o, &err), PK_OK);
    fclose(f);
    assert_true(n > 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(machine_columns), cmocka_unit_test(cancelled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
