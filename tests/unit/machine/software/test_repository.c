/* The commit of the working directory: in a repository, outside one, in odd ones, without git, with a git
 * that hangs. */
#include "machine/software/software.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char top[] = "/tmp/perfkit-git-XXXXXX";
static char *old_path;

static void shell(const char *command)
{
    assert_int_equal(system(command), 0);
}

/* An empty directory to be in, no configuration of the user's, and the real PATH. */
static int set_up(void **state)
{
    strcpy(strrchr(top, '-'), "-XXXXXX");
    if (!mkdtemp(top) || chdir(top) != 0)
        return -1;
    setenv("HOME", top, 1);
    setenv("PATH", old_path, 1);
    return 0;
}

static int tear_down(void **state)
{
    char command[64];
    setenv("PATH", old_path, 1);
    snprintf(command, sizeof command, "rm -rf %s", top);
    return chdir("/") != 0 || system(command) != 0;
}

#define COMMIT                                                                                               \
    "git init -q . && git config user.email a@b && git config user.name a && echo x > f && git add f && "    \
    "git commit -qm x"

static void check(const char *want_head_of, int want_dirty)
{
    struct pk_arena a = {0};
    const char *commit;
    int dirty;
    pk_machine_repository(".", &a, &commit, &dirty);
    if (want_head_of) {
        char command[256];
        assert_non_null(commit);
        assert_int_equal(strlen(commit), 40);
        snprintf(command, sizeof command, "test $(git -C %s rev-parse HEAD) = %s", want_head_of, commit);
        shell(command);
    } else {
        assert_null(commit);
    }
    assert_int_equal(dirty, want_dirty);
    pk_arena_free(&a);
}

static void clean_dirty_and_untracked(void **state)
{
    shell(COMMIT);
    check(".", 0);
    shell("echo new > untracked");
    check(".", 0);
    shell("echo y > f");
    check(".", 1);
    shell("mkdir sub");
    assert_int_equal(chdir("sub"), 0);
    check("..", 1);
}

static void outside_a_repository(void **state)
{
    check(NULL, -1);
}

static void without_a_commit(void **state)
{
    shell("git init -q .");
    check(NULL, -1);
}

static void bare_has_a_commit_but_no_tree(void **state)
{
    shell("mkdir w && cd w && " COMMIT " && cd .. && git clone -q --bare w b");
    assert_int_equal(chdir("b"), 0);
    check(".", -1);
}

static void of_another_owner(void **state)
{
    if (geteuid() != 0)
        skip();
    shell(COMMIT " && chown -R 65534 . && unset SUDO_UID");
    unsetenv("SUDO_UID");
    check(NULL, -1);
}

static void without_git(void **state)
{
    shell(COMMIT);
    setenv("PATH", "/nowhere", 1);
    check(NULL, -1);
}

static void git_that_hangs(void **state)
{
    char path[256];
    shell("mkdir bin && printf '#!/bin/sh\\nexec sleep 60\\n' > bin/git && chmod +x bin/git");
    snprintf(path, sizeof path, "%s/bin:%s", top, old_path);
    setenv("PATH", path, 1);
    uint64_t start = pk_clock_ns();
    check(NULL, -1);
    uint64_t took = pk_clock_ns() - start;
    assert_true(took > PK_NS_PER_S && took < 10 * PK_NS_PER_S);
}

static void many_changed_files(void **state)
{
    shell("for i in $(seq 500); do echo x > a-file-with-a-long-name-$i; done && git init -q . && git add . &&"
          "git -c user.email=a@b -c user.name=a commit -qm x && for f in a-*; do echo y > $f; done");
    check(".", 1);
}

int main(void)
{
    old_path = strdup(getenv("PATH"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clean_dirty_and_untracked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outside_a_repository, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bare_has_a_commit_but_no_tree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_another_owner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_git, set_up, tear_down),
        cmocka_unit_test_setup_teardown(git_that_hangs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_changed_files, set_up, tear_down),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(old_path);
    return rc;
}
