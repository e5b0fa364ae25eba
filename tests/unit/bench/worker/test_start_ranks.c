/* Start ranks: by whom a process was started as a rank, as the environment of each launcher says it. */
#include "bench/worker/start_ranks.h"

#include "base/err.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_RANK",
                                    "SLURM_STEP_NUM_TASKS",
                                    "PMI_SIZE",
                                    "PMI_RANK",
                                    "PMIX_RANK"};

static int clear(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return 0;
}

static void each_launcher_is_known_by_its_environment(void **state)
{
    static const struct {
        const char *set[4]; /* name, value */
        const char *by;     /* NULL = alone */
        unsigned rank, size;
    } rows[] = {{{"OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_RANK", "3"}, "mpirun", 3, 4},
                {{"SLURM_STEP_NUM_TASKS", "2", "PMI_RANK", "1"}, "srun", 1, 2},
                {{"SLURM_STEP_NUM_TASKS", "2", "PMIX_RANK", "0"}, "srun", 0, 2},
                {{"PMI_SIZE", "8", "PMI_RANK", "7"}, "mpiexec", 7, 8},
                {{"PMI_SIZE", "8", "PMI_RANK", "8"}, NULL},   /* no rank of eight */
                {{"PMI_SIZE", "8", "PMI_RANK", "1x"}, NULL},  /* no number */
                {{"SLURM_STEP_NUM_TASKS", "2", NULL}, NULL}}; /* a shell under sbatch */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clear(state);
        for (size_t k = 0; k < 4 && rows[i].set[k]; k += 2)
            setenv(rows[i].set[k], rows[i].set[k + 1], 1);
        const struct pk_launcher l = pk_launcher_of_process();
        assert_int_equal(l.size, rows[i].size);
        assert_int_equal(l.rank, rows[i].rank);
        assert_true(rows[i].by ? l.by && strcmp(l.by, rows[i].by) == 0 : !l.by);
    }
}

static void ranks_that_share_a_cpu_are_doubted(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    assert_null(pk_launch_doubt(2, 1, "0-1", &a));
    assert_null(pk_launch_doubt(1, 2, "0-1", &a));
    assert_non_null(strstr(pk_launch_doubt(2, 2, "0-1", &a), "2 ranks of 2 threads share 2 CPUs"));
    assert_non_null(strstr(pk_launch_doubt(3, 0, "0-1", &a), "3 ranks share 2 CPUs"));
    setenv("PMI_SIZE", "3", 1), setenv("PMI_RANK", "0", 1);
    assert_null(pk_launch_doubt(3, 0, "0-1", &a)); /* who started them knows where they are */
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, clear, clear)
    const struct CMUnitTest tests[] = {T(each_launcher_is_known_by_its_environment),
                                       T(ranks_that_share_a_cpu_are_doubted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
