/* Fuzz: a folder of criterion, which has two files: the input up to the first byte 0, and what follows it. Any bytes become a run or are
 * refused in three parts. */
#include "stored.h"

#include "import/import.h"

#include <string.h>
#include <sys/stat.h>

static char folder[64], new_[96], name_file[128], sample_file[128];

static void remove_folder(void)
{
    unlink(name_file);
    unlink(sample_file);
    rmdir(new_);
    rmdir(folder);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "%s/perfkit-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    pk_assert(mkdtemp(folder));
    snprintf(new_, sizeof new_, "%s/new", folder);
    snprintf(name_file, sizeof name_file, "%s/benchmark.json", new_);
    snprintf(sample_file, sizeof sample_file, "%s/sample.json", new_);
    pk_assert(mkdir(new_, 0700) == 0);
    atexit(remove_folder);
}

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    FILE *f = fopen(path, "w");
    pk_assert(f);
    if (n)
        fwrite(data, 1, n, f);
    fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_imported im;
    struct pk_import_options o = {.tags = "{}", .command_line = "fuzz"};
    const uint8_t *zero = n ? memchr(data, 0, n) : NULL;
    const size_t first = zero ? (size_t)(zero - data) : n;
    if (!*folder)
        make_folder();
    write_file(name_file, data, first);
    write_file(sample_file, zero ? zero + 1 : NULL, zero ? n - first - 1 : 0);
    if (pk_import_read(folder, &o, &a, &im, &err))
        pk_assert(err.what[0] && err.why[0] && err.fix[0]);
    else
        pk_assert(im.n_cases == 1 && im.n_values > 0);
    return 0;
}
