/* Merge base, branch and commit of the working directory: of real repositories in a temporary folder. */
#include "machine/software/software.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char top[] = "/tmp/perfkit-merge-XXXXXX";
static struct pk_arena a;
static struct pk_err err;

static void shell(const char *command)
{
    assert_int_equal(system(command), 0);
}

/* What a command prints. */
static const char *said(const char *command)
{
    static char line[128];
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    pclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* An empty directory to be in, with no configuration of the user's and no CI server's words. */
static int set_up(void **state)
{
    static const char *const named[] = {"GITHUB_HEAD_REF", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
                                        "CI_COMMIT_BRANCH", "GITHUB_REF_TYPE", "GITHUB_REF_NAME"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        unsetenv(named[i]);
    strcpy(strrchr(top, '-'), "-XXXXXX");
    if (!mkdtemp(top) || chdir(top) != 0)
        return -1;
    return setenv("HOME", top, 1);
}

static int tear_down(void **state)
{
    char command[64];
    pk_arena_free(&a);
    snprintf(command, sizeof command, "rm -rf %s", top);
    return chdir("/") != 0 || system(command) != 0;
}

/* Equal ones of one second would be one commit. */
#define COMMIT "git commit -q --allow-empty -m $(mktemp -u)"
/* HEAD is topic, one commit after it left main, which has gone on. */
#define BRANCHED                                                                                             \
    "git init -q -b main . && git config user.email a@b && git config user.name a && " COMMIT                \
    " && git tag shared && git switch -q -c topic && " COMMIT " && git switch -q main && " COMMIT            \
    " && git switch -q topic"

static void is_where_the_branch_was_left(void **state)
{
    const char *commit;
    shell(BRANCHED " && git tag -a -m old v1 shared && mkdir deep");
    const char *const branches[] = {"main", "refs/heads/main", "shared", "v1"};
    assert_int_equal(chdir("deep"), 0);
    for (size_t i = 0; i < sizeof branches / sizeof *branches; i++) {
        assert_int_equal(pk_machine_merge_base(branches[i], &a, &commit, &err), PK_OK);
        assert_string_equal(commit, said("git rev-parse shared"));
    }
    assert_int_equal(pk_machine_merge_base("topic", &a, &commit, &err), PK_OK);
    assert_string_equal(commit, said("git rev-parse HEAD"));
}

static void names_that_git_does_not_know(void **state)
{
    static const char *const names[] = {"mian", "", "-h", "--all", "main main", "main..topic"};
    const char *commit;
    shell(BRANCHED);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(pk_machine_merge_base(names[i], &a, &commit, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, names[i]));
        assert_null(pk_machine_commit(names[i], &a));
    }
}

static void without_a_repository_or_a_commit(void **state)
{
    const char *commit;
    assert_int_equal(pk_machine_merge_base("main", &a, &commit, &err), PK_E_NOT_COMPARABLE);
    assert_null(pk_machine_branch(&a));
    shell("git init -q -b main .");
    assert_int_equal(pk_machine_merge_base("main", &a, &commit, &err), PK_E_NOT_COMPARABLE);
}

static void histories_that_are_apart_or_cut_off(void **state)
{
    const char *commit;
    shell(BRANCHED " && git switch -q --orphan apart && " COMMIT);
    assert_int_equal(pk_machine_merge_base("main", &a, &commit, &err), PK_E_NOT_COMPARABLE);
    assert_non_null(strstr(err.what, "no commit in common"));
    shell("git switch -q topic && git clone -q --depth 1 --no-single-branch file://$PWD shallow");
    assert_int_equal(chdir("shallow"), 0);
    assert_int_equal(pk_machine_merge_base("origin/main", &a, &commit, &err), PK_E_NOT_COMPARABLE);
    assert_non_null(strstr(err.fix, "--unshallow"));
    shell("git fetch -q --unshallow");
    assert_int_equal(pk_machine_merge_base("origin/main", &a, &commit, &err), PK_OK);
    assert_string_equal(commit, said("git rev-parse shared"));
}

static void a_commit_by_any_name(void **state)
{
    shell(BRANCHED " && git tag -a -m x v1");
    const char *const names[] = {"HEAD", "v1", "topic", "HEAD~1", said("git rev-parse --short HEAD")};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *commit = pk_machine_commit(names[i], &a);
        assert_non_null(commit);
        assert_int_equal(strlen(commit), 40);
    }
    assert_string_equal(pk_machine_commit("HEAD~1", &a), said("git rev-parse shared"));
}

static void the_branch_is_that_of_the_tree_or_the_server(void **state)
{
    shell(BRANCHED);
    assert_string_equal(pk_machine_branch(&a), "topic");
    setenv("GITHUB_HEAD_REF", "elsewhere", 1);
    assert_string_equal(pk_machine_branch(&a), "topic"); /* what is checked out is known better */
    unsetenv("GITHUB_HEAD_REF");
    shell("git checkout -q --detach");
    assert_null(pk_machine_branch(&a));
    setenv("GITHUB_REF_NAME", "12/merge", 1);
    assert_null(pk_machine_branch(&a));
    setenv("GITHUB_HEAD_REF", "fix", 1);
    assert_string_equal(pk_machine_branch(&a), "fix");
    setenv("GITHUB_HEAD_REF", "", 1); /* as a push has it */
    setenv("GITHUB_REF_TYPE", "tag", 1);
    assert_null(pk_machine_branch(&a));
    setenv("GITHUB_REF_TYPE", "branch", 1);
    setenv("GITHUB_REF_NAME", "main", 1);
    assert_string_equal(pk_machine_branch(&a), "main");
    setenv("CI_COMMIT_BRANCH", "lab", 1);
    assert_string_equal(pk_machine_branch(&a), "lab");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {T(is_where_the_branch_was_left),
                                       T(names_that_git_does_not_know),
                                       T(without_a_repository_or_a_commit),
                                       T(histories_that_are_apart_or_cut_off),
                                       T(a_commit_by_any_name),
                                       T(the_branch_is_that_of_the_tree_or_the_server)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
