/* Fake kernel: perf_event_open and what is read, without a processor. */
#include "counter/fake_kernel.h"

#include <errno.h>
#include <ftw.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fake_kernel fake;
char fake_root[64];
enum { FIRST_FD = 1000 };

static bool is_core(uint32_t type)
{
    return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

static int refusal(const struct perf_event_attr *attr, pid_t pid)
{
    const int right = pid < 0 ? fake.system : attr->exclude_kernel ? fake.user : fake.kernel;
    return right                              ? right
           : is_core(attr->type)              ? fake.cores
           : attr->type == PERF_TYPE_SOFTWARE ? fake.software
                                              : 0;
}

static int fake_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
    struct fake_fd *leader = group >= 0 ? &fake.fd[group - FIRST_FD] : NULL;
    errno = refusal(attr, pid);
    if (fake.knows_bytes && attr->size > fake.knows_bytes) {
        attr->size = fake.knows_bytes;
        fake.retries++;
        errno = E2BIG;
    } else if (!errno && attr->inherit && fake.inherited_groups)
        errno = fake.inherited_groups;
    else if (!errno && leader && fake.counters && is_core(attr->type) && leader->members == fake.counters)
        errno = EINVAL;
    if (errno)
        return -1;
    size_t i = 0;
    while (fake.fd[i].used)
        i++;
    assert_true(i < FAKE_FDS);
    assert_true((attr->disabled == 1) == (group < 0));
    fake.fd[i] = (struct fake_fd){.type = attr->type,
                                  .config = attr->config,
                                  .pid = pid,
                                  .cpu = cpu,
                                  .leader = leader ? (int)(leader - fake.fd) : (int)i,
                                  .used = true,
                                  .user_only = attr->exclude_kernel,
                                  .inherits = attr->inherit,
                                  .pinned = attr->pinned,
                                  .at_exec = attr->enable_on_exec,
                                  .members = 1,
                                  .place = leader ? leader->members : 0};
    if (leader)
        leader->members++;
    fake.opened++;
    fake.open_now++;
    return FIRST_FD + (int)i;
}

static ssize_t fake_read(int fd, void *into, size_t bytes)
{
    struct fake_fd *f = &fake.fd[fd - FIRST_FD];
    uint64_t *w = into;
    assert_true(f->used && f->place == 0);
    assert_int_equal(bytes, (3 + f->members) * sizeof *w);
    f->reads++;
    if (fake.read_error) {
        errno = fake.read_error;
        return -1;
    }
    if (is_core(f->type) && fake.free && f->members > fake.free)
        return 0; /* pinned, and in error */
    w[0] = f->members;
    w[1] = fake.enabled * f->reads;
    w[2] = fake.running * f->reads;
    const uint64_t own = f->type == PERF_TYPE_SOFTWARE ? fake.software_per_read[f->config] : 0;
    for (unsigned i = 0; i < f->members; i++)
        w[3 + i] =
            fake.from + (own ? own : fake.per_read) * f->reads * (fake.falling ? f->members - i : 1 + i);
    return (ssize_t)bytes;
}

static int fake_enable(int leader)
{
    assert_int_equal(fake.fd[leader - FIRST_FD].place, 0);
    fake.enabled_by_call++;
    errno = fake.enable_error;
    return fake.enable_error ? -1 : 0;
}

static int fake_close(int fd)
{
    assert_true(fake.fd[fd - FIRST_FD].used);
    fake.fd[fd - FIRST_FD].used = false;
    fake.open_now--;
    return 0;
}

const struct pk_perf fake_calls = {fake_open, fake_read, fake_enable, fake_close};
const struct pk_counter_env fake_env = {.root = fake_root, .perf = &fake_calls};

/* --- files ---------------------------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *s, int what, struct FTW *f)
{
    return f->level ? remove(path) : 0;
}

void fake_root_make(void)
{
    strcpy(fake_root, "/tmp/perfkit-kernel-XXXXXX");
    assert_non_null(mkdtemp(fake_root));
}

void fake_root_clear(void)
{
    nftw(fake_root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    fake = (struct fake_kernel){.per_read = 100, .enabled = 1000, .running = 1000};
}

void fake_root_remove(void)
{
    fake_root_clear();
    rmdir(fake_root);
}

void fake_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", fake_root, path);
    for (char *slash = full + strlen(fake_root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}
