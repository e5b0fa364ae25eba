/* Writer and verify: what is written is verified, continues where it ended, and is refused where it is not right. */
#include "shard/verify.h"
#include "shard/writer.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/index.h"
#include "shard/file/manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct pk_arena arena;
static struct pk_err err;
static char folder[64];

static const unsigned layers[] = {1, 4, 7};

static struct pk_shard_config config_of(const char *codec, enum pk_byte_filter filter, enum pk_dtype type)
{
    struct pk_shard_config c = {.type = type,
                                .filter = filter,
                                .layers = layers,
                                .n_layers = 3,
                                .samples = 19,
                                .length = 7,
                                .width = 9,
                                .batch = 4,
                                .shard_samples = 8,
                                .chunk_bytes = 100};
    const enum pk_code rc = pk_codec_parse(codec, &c.codec, &err);
    if (rc == PK_E_UNAVAILABLE)
        assert_int_equal(pk_codec_parse("none", &c.codec, &err), PK_OK);
    return c;
}

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/perfkit-shards-XXXXXX");
    return !mkdtemp(folder);
}

static const char *path_of(const char *name)
{
    return pk_printf(&arena, "%s/%s", folder, name);
}

/* Calls fn with each name in the folder; returns how many there are. */
static size_t each_file(void (*fn)(const char *path))
{
    DIR *d = opendir(folder);
    size_t n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            n++;
            if (fn)
                fn(path_of(e->d_name));
        }
    closedir(d);
    return n;
}

static void removes(const char *path)
{
    if (remove(path))
        fail_msg("%s", path);
}

static int remove_folder(void **state)
{
    each_file(removes);
    rmdir(folder);
    pk_arena_free(&arena);
    return 0;
}

/* Writes the samples from where the folder ends up to `end`; returns where it began. */
static uint64_t write_to(const struct pk_shard_config *c, uint64_t end, unsigned threads,
                         struct pk_shard_writer_facts *f)
{
    enum { SLOTS = 2 };
    char *slots[SLOTS];
    struct pk_shard_writer *w;
    for (size_t i = 0; i < SLOTS; i++)
        slots[i] = pk_alloc(&arena, pk_shard_batch_bytes(c));
    assert_int_equal(pk_shard_writer_open(&w,
                                          &(struct pk_shard_writer_options){.config = c,
                                                                            .folder = folder,
                                                                            .threads = threads,
                                                                            .slots = (void *const *)slots,
                                                                            .n_slots = SLOTS},
                                          &err),
                     PK_OK);
    const uint64_t begun = pk_shard_writer_first(w);
    for (uint64_t first = begun; first < end; first += c->batch) {
        size_t slot;
        assert_int_equal(pk_shard_writer_slot(w, &slot, &err), PK_OK);
        for (size_t i = 0; i < pk_shard_batch_bytes(c); i++)
            slots[slot][i] = (char)pk_hash(first, i % 97 * (i % 3));
        pk_shard_writer_submit(w, slot, first, c->samples - first < c->batch ? c->samples - first : c->batch);
    }
    assert_int_equal(pk_shard_writer_close(w, f, &err), PK_OK);
    return begun;
}

static struct pk_verify_result verified(void)
{
    struct pk_verify_result v;
    assert_int_equal(pk_verify(folder, NULL, &arena, &v, &err), PK_OK);
    return v;
}

static void all_that_is_written_is_verified(void **state)
{
    static const char *const codecs[] = {"none", "zlib-6", "igzip", "lz4", "zstd-1", "zstd-huffman"};
    struct pk_shard_writer_facts f;
    for (size_t k = 0; k < sizeof codecs / sizeof *codecs; k++)
        for (enum pk_byte_filter filter = 0; filter < PK_FILTERS; filter++)
            for (enum pk_dtype type = PK_FP32; type <= PK_BF16; type++) {
                const struct pk_shard_config c = config_of(codecs[k], filter, type);
                assert_int_equal(write_to(&c, c.samples, 1 + (unsigned)k % 3, &f), 0);
                const struct pk_verify_result v = verified();
                assert_true(!v.n_broken && v.shards == 3 && v.samples == c.samples && f.shards == 3 &&
                            f.samples == c.samples);
                assert_int_equal(f.raw_bytes, c.samples * c.n_layers * pk_shard_sample_bytes(&c));
                uint64_t stored = 0;
                for (size_t i = 0; i < c.n_layers; i++) {
                    assert_true(v.layers[i].layer == layers[i] && v.layers[i].samples == c.samples);
                    assert_int_equal(v.layers[i].raw_bytes, f.raw_bytes / c.n_layers);
                    stored += v.layers[i].stored_bytes;
                }
                assert_true(stored == f.stored_bytes && f.stage[PK_STAGE_WRITE].bytes == stored &&
                            f.stage[PK_STAGE_SYNC].count == 3);
                assert_int_equal(each_file(removes), 4);
            }
}

/* In the place of the C library's. */
static unsigned writebacks;
int sync_file_range(int fd, off64_t from, off64_t n, unsigned flags)
{
    writebacks++;
    assert_true(fd >= 0 && !from && !n && flags == SYNC_FILE_RANGE_WRITE);
    return -1; /* a file system that cannot: the data is written all the same */
}

/* 24 MiB in one shard: a sync at its end alone would keep the pipeline waiting for all of them. */
static void a_large_shard_goes_to_the_disk_while_it_grows(void **state)
{
    struct pk_shard_writer_facts f;
    struct pk_shard_config c = config_of("none", PK_FILTER_NONE, PK_FP32);
    writebacks = 0;
    write_to(&c, c.samples, 1, &f);
    assert_int_equal(writebacks, 0);
    c.samples = c.shard_samples = 32, c.length = 64, c.width = 1024, c.chunk_bytes = 1 << 20;
    assert_int_equal(each_file(removes), 4);
    write_to(&c, c.samples, 2, &f);
    assert_int_equal(f.stored_bytes, 3 * PK_WRITEBACK_BYTES);
    assert_int_equal(writebacks, 3);
    assert_int_equal(verified().n_broken, 0);
}

static void a_writer_continues_after_the_last_whole_shard(void **state)
{
    struct pk_shard_writer_facts f;
    const struct pk_shard_config c = config_of("none", PK_FILTER_EXPONENT, PK_BF16);
    assert_int_equal(write_to(&c, 12, 1, &f), 0); /* a shard and a half */
    assert_true(f.shards == 1 && f.samples == 8 && verified().samples == 8);
    assert_int_equal(each_file(NULL), 2);
    assert_int_equal(write_to(&c, 16, 1, &f), 8);
    assert_int_equal(write_to(&c, c.samples, 1, &f), 16);
    assert_int_equal(write_to(&c, c.samples, 1, &f), c.samples); /* nothing is left */
    struct pk_verify_result v = verified();
    assert_true(!v.n_broken && v.samples == c.samples && v.layers[2].samples == c.samples);
    PK_FOLDER_CLEANUP struct pk_folder d = {.fd = -1};
    struct pk_manifest m;
    assert_int_equal(pk_folder_open(folder, false, &arena, &d, &err), PK_OK);
    assert_int_equal(pk_manifest_read(&d, &arena, &m, &err), PK_OK);
    removes(path_of(m.v[1].file)); /* a shard that is gone is written again, with all after it */
    v = verified();
    assert_true(v.n_broken == 1 && !strcmp(v.broken[0].file, m.v[1].file) &&
                !strcmp(v.broken[0].why, "it is absent"));
    assert_int_equal(write_to(&c, c.samples, 1, &f), 8);
    assert_int_equal(verified().n_broken, 0);
}

static void opening_fails(const struct pk_shard_config *c, enum pk_code code, const char *what,
                          const char *why)
{
    struct pk_shard_writer *w;
    char *slot = pk_alloc(&arena, 1 << 16);
    const struct pk_shard_writer_options o = {
        .config = c, .folder = folder, .threads = 1, .slots = (void *const *)&slot, .n_slots = 1};
    assert_int_equal(pk_shard_writer_open(&w, &o, &err), code);
    if (!strstr(err.what, what) || !strstr(err.why, why) || !err.fix[0])
        fail_msg("%s; %s; %s", err.what, err.why, err.fix);
}

static void another_configuration_is_refused_with_the_difference(void **state)
{
    struct pk_shard_writer_facts f;
    struct pk_shard_attribute seed = {"seed", "1"};
    struct pk_shard_config c = config_of("none", PK_FILTER_SHUFFLE, PK_FP32);
    c.attributes = &seed;
    c.n_attributes = 1;
    write_to(&c, 8, 1, &f);
    struct pk_shard_config other = c;
    other.filter = PK_FILTER_EXPONENT;
    opening_fails(&other, PK_E_USAGE, "another configuration",
                  "filter is \"shuffle\" there and \"exponent\" here");
    other = c;
    other.length = 8;
    opening_fails(&other, PK_E_USAGE, "another configuration", "length is 7 there and 8 here");
    seed.value = "2";
    opening_fails(&c, PK_E_USAGE, "another configuration", "seed is \"1\" there and \"2\" here");
    c.n_attributes = 0;
    opening_fails(&c, PK_E_USAGE, "another configuration", "seed is \"1\" there and absent here");
    seed.value = "1";
    c.n_attributes = 1;
    assert_int_equal(write_to(&c, c.samples, 1, &f), 8);
}

static void impossible_configurations_are_refused(void **state)
{
    struct pk_shard_config c = config_of("none", PK_FILTER_NONE, PK_FP32);
    c.shard_samples = 6;
    opening_fails(&c, PK_E_USAGE, "shard_samples 6", "whole batches");
    c.shard_samples = 8;
    c.length = 0;
    opening_fails(&c, PK_E_USAGE, "length 0", "from 1");
    c.length = c.width = UINT64_C(1) << 32;
    opening_fails(&c, PK_E_USAGE, "samples", "2^60");
    c.length = 1 << 20;
    c.width = 1 << 10;
    opening_fails(&c, PK_E_USAGE, "samples of length", "100 MB");
    assert_non_null(strstr(err.fix, "a smaller batch"));
    const unsigned twice[] = {3, 3};
    c = config_of("none", PK_FILTER_NONE, PK_FP32);
    c.layers = twice;
    c.n_layers = 2;
    opening_fails(&c, PK_E_USAGE, "layer 3", "increasing");
    c = (struct pk_shard_config){.type = PK_FP32, .n_layers = 14, .length = 512, .width = 896};
    assert_int_equal(pk_shard_bytes_check(&c, 9, 231211008, &err), PK_OK);
    c.type = PK_BF16;
    assert_int_equal(pk_shard_bytes_check(&c, 9, 115605504, &err), PK_OK);
    c.type = PK_FP32;
    assert_int_equal(pk_shard_bytes_check(&c, 9, 784100000, &err), PK_E_USAGE);
    assert_non_null(strstr(err.why, "a length of 1736"));
}

static void two_writers_do_not_share_a_folder(void **state)
{
    const struct pk_shard_config c = config_of("none", PK_FILTER_NONE, PK_FP32);
    char *slot = pk_alloc(&arena, pk_shard_batch_bytes(&c));
    struct pk_shard_writer *w;
    const struct pk_shard_writer_options o = {
        .config = &c, .folder = folder, .threads = 1, .slots = (void *const *)&slot, .n_slots = 1};
    assert_int_equal(pk_shard_writer_open(&w, &o, &err), PK_OK);
    opening_fails(&c, PK_E_USAGE, "another process", "lock");
    assert_int_equal(pk_shard_writer_close(w, NULL, &err), PK_OK);
}

/* The byte at `at` of the only shard whose name begins so is changed. */
static void damage(const char *file, long at)
{
    FILE *f = fopen(path_of(file), "r+");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    const int c = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(c ^ 0x40, f);
    assert_int_equal(fclose(f), 0);
}

static void every_changed_byte_of_a_shard_is_found(void **state)
{
    static const char *const codecs[] = {"none", "zstd-1"};
    for (size_t k = 0; k < 2; k++) {
        struct pk_shard_writer_facts f;
        struct pk_shard_config c = config_of(codecs[k], k ? PK_FILTER_EXPONENT : PK_FILTER_NONE, PK_BF16);
        c.samples = 8;
        write_to(&c, 8, 1, &f);
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const char *file = pk_shard_file_name(pk_shard_config_hash(pk_shard_config_copy(&c, &a), &a), 0, &a);
        struct stat st;
        assert_int_equal(stat(path_of(file), &st), 0);
        const long data = st.st_size - (long)f.stored_bytes;
        for (long at = 0; at < st.st_size; at += at < data ? 3 : 5) {
            damage(file, at);
            const struct pk_verify_result v = verified();
            damage(file, at);
            if (!v.n_broken && at >= data && pk_checksum_unavailable())
                continue;
            assert_true(v.n_broken || at < data); /* blanks of the header may become others */
            if (at >= data) {
                const struct pk_broken_shard *b = &v.broken[0];
                assert_true(b->layer >= 0 && b->chunk >= 0 && b->at <= at &&
                            at < b->at + (int64_t)c.chunk_bytes);
                assert_int_equal(b->layer, layers[b->chunk / 6 % 3]);
            }
        }
        assert_int_equal(verified().n_broken, 0);
        assert_int_equal(truncate(path_of(file), st.st_size - 1), 0);
        assert_non_null(strstr(verified().broken[0].why, "the manifest says"));
        opening_fails(&c, PK_E_CHECK, "is broken", "the manifest says");
        each_file(removes);
    }
}

static void what_is_no_folder_of_shards_is_refused(void **state)
{
    struct pk_verify_result v;
    assert_int_equal(pk_verify(folder, NULL, &arena, &v, &err), PK_E_USAGE);
    assert_non_null(strstr(err.why, "no manifest.json"));
    assert_int_equal(mkfifo(path_of("manifest.json"), 0600), 0);
    assert_int_equal(pk_verify(folder, NULL, &arena, &v, &err), PK_E_USAGE);
    assert_non_null(strstr(err.why, "regular"));
    removes(path_of("manifest.json"));
    assert_int_equal(symlink("/etc/passwd", path_of("manifest.json")), 0);
    assert_int_equal(pk_verify(folder, NULL, &arena, &v, &err), PK_E_USAGE);
    removes(path_of("manifest.json"));
    assert_int_equal(pk_verify("/nonexistent", NULL, &arena, &v, &err), PK_E_USAGE);
    assert_int_equal(pk_verify("/etc/passwd", NULL, &arena, &v, &err), PK_E_USAGE);

    struct pk_shard_writer_facts f;
    const struct pk_shard_config c = config_of("none", PK_FILTER_NONE, PK_BF16);
    write_to(&c, 8, 1, &f);
    const char *file =
        pk_shard_file_name(pk_shard_config_hash(pk_shard_config_copy(&c, &arena), &arena), 0, &arena);
    removes(path_of(file));
    assert_int_equal(mkfifo(path_of(file), 0600), 0); /* nothing waits for it */
    assert_true(verified().n_broken == 1 && strstr(verified().broken[0].why, "regular"));
    removes(path_of(file));
    assert_int_equal(symlink("/dev/zero", path_of(file)), 0);
    assert_int_equal(verified().n_broken, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_that_is_written_is_verified, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_large_shard_goes_to_the_disk_while_it_grows, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_writer_continues_after_the_last_whole_shard, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(another_configuration_is_refused_with_the_difference, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(impossible_configurations_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(two_writers_do_not_share_a_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(every_changed_byte_of_a_shard_is_found, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_folder_of_shards_is_refused, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
