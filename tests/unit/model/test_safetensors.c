/* Safetensors: elements of each type, headers that are not what they promise, files of another model. */
#include "model/safetensors.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "model/transformer/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pk_arena arena;
static struct pk_err err;
static char path[64];

static int a_file(void **state)
{
    strcpy(path, "/tmp/perfkit-tensors-XXXXXX");
    return close(mkstemp(path));
}

static int no_file(void **state)
{
    pk_arena_free(&arena);
    return unlink(path);
}

/* A file of this header and data; a length of the header that is a lie where one is given. */
static void put(const char *header, const void *data, size_t bytes, uint64_t length)
{
    FILE *f = fopen(path, "w");
    const uint64_t n = length ? length : strlen(header);
    assert_non_null(f);
    for (unsigned i = 0; i < 8; i++)
        fputc((int)(n >> 8 * i & 255), f);
    fwrite(header, 1, strlen(header), f);
    fwrite(data, 1, bytes, f);
    assert_int_equal(fclose(f), 0);
}

static void assert_why(const char *why)
{
    if (!strstr(err.why, why))
        fail_msg("'%s; %s' is not about '%s'", err.what, err.why, why);
    assert_true(err.code == PK_E_USAGE && err.what[0] && err.fix[0]);
}

static void elements_are_widened_exactly(void **state)
{
    static const struct {
        float f[2];
        uint16_t half[5], bf[2];
        char byte[2];
    } data = {{1.5f, -3e-40f}, {0x3C00, 0x0001, 0xFBFF, 0x7C00, 0x8000}, {0x3F80, 0xC040}, {7, 8}};
    static const float halves[] = {1, 0x1p-24f, -65504, INFINITY, -0.0f};
    struct pk_safetensors f;
    float x[5];
    put("{\"__metadata__\":{\"format\":\"pt\"},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[18,22]},"
        "\"f\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
        "\"h\":{\"dtype\":\"F16\",\"shape\":[5],\"data_offsets\":[8,18]},"
        "\"u\":{\"dtype\":\"U8\",\"shape\":[1,2],\"data_offsets\":[22,24]}}   ",
        &data, 24, 0);
    assert_int_equal(pk_safetensors_open(path, &arena, &f, &err), PK_OK);
    assert_int_equal(f.n, 4);
    assert_null(pk_safetensors_find(&f, "__metadata__"));
    const struct pk_tensor *t = pk_safetensors_find(&f, "f");
    assert_int_equal(pk_safetensors_read(&f, t, 0, 2, x, &err), PK_OK);
    assert_true(x[0] == 1.5f && x[1] == -3e-40f);
    assert_string_equal(pk_tensor_shape_text(t, &arena), "[2, 1]");
    assert_int_equal(pk_safetensors_read(&f, pk_safetensors_find(&f, "b"), 1, 1, x, &err), PK_OK);
    assert_true(x[0] == -3.0f);
    assert_int_equal(pk_safetensors_read(&f, pk_safetensors_find(&f, "h"), 0, 5, x, &err), PK_OK);
    assert_memory_equal(x, halves, sizeof halves);
    assert_false(pk_tensor_has_floats(pk_safetensors_find(&f, "u")));
    pk_safetensors_close(&f);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
    static const float data[4];
    struct pk_safetensors f;
    float x[4];
    put("{\"w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", data, sizeof data, 0);
    assert_int_equal(pk_safetensors_open(path, &arena, &f, &err), PK_OK);
    assert_int_equal(truncate(path, 60), 0);
    assert_int_equal(pk_safetensors_read(&f, &f.v[0], 0, 4, x, &err), PK_E_IO);
    assert_non_null(strstr(err.why, "shorter"));
    pk_safetensors_close(&f);
}

static void headers_are_doubted(void **state)
{
    static const struct {
        const char *header, *why;
        size_t bytes; /* behind it */
    } rows[] = {
        {"[]", "its header is not a JSON object", 0},
        {"{\"a\":", "its header is not JSON", 0},
        {"{\"a\":1}", "'a' has an unknown dtype", 0},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         "duplicate", 4},
        {"{\"a\":{\"dtype\":\"F3\",\"shape\":[1],\"data_offsets\":[0,4]}}", "dtype", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", "has no shape", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "has no shape", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", "has no shape",
         4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}",
         "has no shape", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", "data_offsets",
         0},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", "no data_offsets", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", "no data_offsets", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",
         "its shape and dtype do not have", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "'a' does not begin where", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         "'b' does not begin where", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         "need 4 bytes after the header, and the file has 3: it is truncated", 3},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         "need 4 bytes after the header, and the file has 5", 5},
    };
    struct pk_safetensors f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(rows[i].header, "12345678", rows[i].bytes, 0);
        assert_int_equal(pk_safetensors_open(path, &arena, &f, &err), PK_E_USAGE);
        assert_why(rows[i].why);
        assert_non_null(strstr(err.what, "is not a valid safetensors file"));
    }
}

static void lengths_are_doubted(void **state)
{
    struct pk_safetensors f;
    put("{}", "", 0, 100000001);
    assert_int_equal(pk_safetensors_open(path, &arena, &f, &err), PK_E_USAGE);
    assert_why("at most 100 MB");
    put("{}", "", 0, 3);
    assert_int_equal(pk_safetensors_open(path, &arena, &f, &err), PK_E_USAGE);
    assert_why("ends before the end of its header");
    assert_true(f.fd < 0); /* closed, and not by whoever closes f, too */
    assert_int_equal(truncate(path, 7), 0);
    assert_int_equal(pk_safetensors_open(path, &arena, &f, &err), PK_E_USAGE);
    assert_why("fewer than 8 bytes");
    assert_int_equal(pk_safetensors_open("/nowhere", &arena, &f, &err), PK_E_USAGE);
    assert_why("No such file");
    assert_int_equal(pk_safetensors_open("/dev/zero", &arena, &f, &err), PK_E_USAGE);
    assert_why("not a regular file");
}

/* --- against a model --- */

static const struct pk_transformer_config tiny = {.layers = 1, .width = 8, .heads = 1, .ff = 16, .vocab = 5};

/* A header with the parameters of tiny, where `from` is replaced by `to` ("" = nothing is). */
static struct pk_safetensors file_with(const char *from, const char *to)
{
    struct pk_layout l;
    struct pk_safetensors f;
    const char *text = "{\"__metadata__\":{}";
    size_t end = 0;
    pk_layout_make(&l, &tiny, &arena);
    for (size_t i = 0; i < l.n; i++) {
        const struct pk_parameter *p = &l.v[i];
        const char *shape =
            p->rows > 1 ? pk_printf(&arena, "%zu,%zu", p->rows, p->cols) : pk_printf(&arena, "%zu", p->cols);
        const size_t bytes = 4 * p->rows * p->cols;
        text = pk_printf(&arena, "%s,\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                         text, p->name, shape, end, end + bytes);
        end += bytes;
    }
    text = pk_printf(&arena, "%s}", text);
    const char *at = *from ? strstr(text, from) : text;
    assert_non_null(at);
    text = pk_printf(&arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    if (pk_safetensors_parse("w", text, strlen(text), end, &arena, &f, &err))
        fail_msg("%s; %s", err.what, err.why);
    return f;
}

static void assert_unfit(const char *from, const char *to, const char *what, const char *why, const char *fix)
{
    const struct pk_safetensors f = file_with(from, to);
    assert_int_equal(pk_transformer_weights_fit(&f, &tiny, &err), PK_E_USAGE);
    if (!strstr(err.what, what) || !strstr(err.why, why) || !strstr(err.fix, fix))
        fail_msg("%s; %s; %s", err.what, err.why, err.fix);
}

static void a_file_fits_or_says_what_does_not(void **state)
{
    const struct pk_safetensors f = file_with("", "");
    assert_int_equal(pk_transformer_weights_fit(&f, &tiny, &err), PK_OK);
    assert_unfit("lm_head.weight", "head", "w has no tensor lm_head.weight",
                 "this model needs one of [5, 8]; the file has 12",
                 "those of this model: save it with this tensor");
    assert_unfit("token_embeddings", "embed", "no tensor token_embeddings.weight", "[5, 8]",
                 "its tensors need the names");
    assert_unfit("[8,8]", "[4,16]", "attn.q_proj.weight is of [4, 16]", "needs [8, 8]", "in that shape");
    assert_unfit("[8]", "[1,8]", "ln1.weight is of [1, 8]", "needs [8]", "in that shape");
    assert_unfit("\"F32\",\"shape\":[5", "\"I32\",\"shape\":[5", "token_embeddings.weight is of dtype I32",
                 "F32, BF16 and F16", "float()");
    assert_unfit("{\"__metadata__\":{}", "{\"more\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}",
                 "w has a tensor more", "it has 12, the file 13", "without this tensor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_widened_exactly),
        cmocka_unit_test(a_file_that_shrinks_is_an_error),
        cmocka_unit_test(headers_are_doubted),
        cmocka_unit_test(lengths_are_doubted),
        cmocka_unit_test(a_file_fits_or_says_what_does_not),
    };
    return cmocka_run_group_tests(tests, a_file, no_file);
}
