/* Row: columns filled by key, in any order, each once. */
#include "print.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct pk_column columns[] = {
    {.key = "case", .heading = "Case", .left = true},
    {.key = "base", .tail = "_ns", .heading = "Base (ms)", .scale = 1e6, .decimals = 3},
    {.key = "n", .heading = "N", .decimals = -1},
};

static void three_rows(struct pk_out *o)
{
    pk_out_table(o, "t", NULL, PK_COLUMNS(columns));
    struct pk_row *row = pk_row_begin(o);
    pk_put_text(row, "case", "in order");
    pk_put_real(row, "base", 2.5e6);
    pk_put_int(row, "n", 7);
    pk_row_end(row);
    row = pk_row_begin(o);
    pk_put_int(row, "n", 8);
    pk_put_text(row, "case", "backwards");
    pk_row_end(row);
    row = pk_row_begin(o);
    pk_put_nonempty(row, "case", "");
    pk_row_end(row);
}

static void filled_by_key(void **state)
{
    assert_printed(PK_FMT_CSV, 0, three_rows, "case,base_ns,n\nin order,2500000.0,7\nbackwards,,8\n,,\n");
    assert_printed(PK_FMT_MARKDOWN, 0, three_rows,
                   "| Case | Base (ms) | N |\n|:---|---:|---:|\n| in order | 2.500 | 7 |\n"
                   "| backwards |  | 8 |\n|  |  |  |\n");
}

static void unknown_key(struct pk_out *o, struct pk_row *row)
{
    pk_put_int(row, "base_ns", 1);
}

static void put_twice(struct pk_out *o, struct pk_row *row)
{
    pk_put_int(row, "n", 1);
    pk_put_int(row, "n", 1);
}

static void second_row(struct pk_out *o, struct pk_row *row)
{
    pk_row_begin(o);
}

static bool aborts(void (*wrong)(struct pk_out *o, struct pk_row *row))
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL);
        struct pk_out *o = pk_out_open(stdout, &(struct pk_out_options){.format = PK_FMT_CSV});
        pk_out_table(o, "t", NULL, PK_COLUMNS(columns));
        wrong(o, pk_row_begin(o));
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void mistakes_abort(void **state)
{
    assert_true(aborts(unknown_key));
    assert_true(aborts(put_twice));
    assert_true(aborts(second_row));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(filled_by_key), cmocka_unit_test(mistakes_abort)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
