/* Points: canonical JSON, identity, and what a worker refuses to be asked. */
#include "axes.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_arena kept;

static enum pk_code from_text(const char *text, struct pk_point *p, struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *j = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(j);
    return pk_point_from_json(axes, j, &kept, p, err);
}

static void json_is_canonical(void **state)
{
    struct pk_arena a = {0};
    struct pk_point p;
    struct pk_err err = {0};
    assert_int_equal(
        from_text("{\"seq_len\": 7, \"causal\": true, \"window\": 3, \"dtype\": \"bf16\"}", &p, &err), PK_OK);
    assert_string_equal(
        pk_point_json(&p, &a),
        "{\"alpha\":0.5,\"bucket_bytes\":25000000,\"causal\":true,\"d_model\":64,\"dtype\":\"bf16\","
        "\"seq_len\":7,\"tree\":\"bert\",\"window\":3}");
    assert_string_equal(pk_point_identity(&p, &a),
                        "{\"causal\":true,\"dtype\":\"bf16\",\"seq_len\":7,\"window\":3}");
    pk_arena_free(&a);
}

static void text_is_for_people(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_point p, q;
    struct pk_err err = {0};
    bool differ[PK_AXES_MAX];
    assert_int_equal(from_text("{\"seq_len\": 7, \"causal\": true, \"window\": 3}", &p, &err), PK_OK);
    assert_int_equal(from_text("{\"seq_len\": 8}", &q, &err), PK_OK);
    assert_string_equal(pk_point_text(&q, NULL, &a), "seq_len=8");
    pk_points_differ((const struct pk_point *const[]){&p, &q}, 2, differ);
    assert_string_equal(pk_point_text(&p, differ, &a), "seq_len=7 causal=on window=3");
    assert_string_equal(pk_point_text(&q, differ, &a), "seq_len=8 causal=off"); /* it has no window */
    pk_points_differ((const struct pk_point *const[]){&p, &p}, 2, differ);
    assert_string_equal(pk_point_text(&p, differ, &a), "");
}

static void missing_axes_default(void **state)
{
    struct pk_arena a = {0};
    struct pk_point p;
    struct pk_err err = {0};
    assert_int_equal(from_text("{}", &p, &err), PK_OK);
    assert_true(p.absent[WINDOW]);
    assert_int_equal(p.v[SEQ_LEN].i, 256);
    assert_string_equal(pk_point_identity(&p, &a), "{}");
    assert_null(strstr(pk_point_json(&p, &a), "window"));
    /* a composite changes the defaults of the axes it sets */
    assert_int_equal(from_text("{\"model\": \"small\"}", &p, &err), PK_OK);
    assert_int_equal(p.v[D_MODEL].i, 32);
    assert_int_equal(p.v[SEQ_LEN].i, 8);
    assert_int_equal(from_text("{\"model\": \"small\", \"d_model\": 5}", &p, &err), PK_OK);
    assert_int_equal(p.v[D_MODEL].i, 5);
    pk_arena_free(&a);
}

static void round_trip(void **state)
{
    struct pk_arena a = {0};
    struct pk_point p, q;
    struct pk_err err = {0};
    static const char *const texts[] = {"{\"alpha\": 0.1, \"model\": \"large\"}", "{\"alpha\": 1e-300}",
                                        "{\"alpha\": 2, \"bucket_bytes\": 1048576, \"causal\": false}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(from_text(texts[i], &p, &err), PK_OK);
        const char *once = pk_point_json(&p, &a);
        assert_int_equal(from_text(once, &q, &err), PK_OK);
        assert_string_equal(pk_point_json(&q, &a), once);
    }
    pk_arena_free(&a);
}

static void refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"[]", "not a JSON object"},
        {"{\"seqlen\": 7}", "did you mean 'seq_len'?"},
        {"{\"seq_len\": 0}", "out of range"},
        {"{\"seq_len\": 7.5}", "wrong JSON type"},
        {"{\"seq_len\": \"7\"}", "wrong JSON type"},
        {"{\"seq_len\": null}", "wrong JSON type"},
        {"{\"dtype\": \"fp8\"}", "not one of its values"},
        {"{\"dtype\": 1}", "wrong JSON type"},
        {"{\"causal\": 1}", "wrong JSON type"},
        {"{\"window\": 3}", "does not apply"},
        {"{\"alpha\": [1]}", "wrong JSON type"},
        {"{\"tree\": 1}", "wrong JSON type"},
        {"{\"tree\": \"no such file#12345678\"}", "cannot read no such file"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pk_point p;
        struct pk_err err = {0};
        assert_int_equal(from_text(bad[i].text, &p, &err), PK_E_USAGE);
        assert_true(err.why[0] && err.fix[0]);
        assert_true(strstr(err.what, bad[i].says) || strstr(err.fix, bad[i].says));
    }
}

static bool first_is_on(const struct pk_point *p)
{
    return p->v[0].i;
}

static void an_absent_composite_sets_nothing(void **state)
{
    static const char *const shapes[] = {"tiny", NULL};
    static const char *const sets[] = {"width=1"};
    static const struct pk_axis table[] = {
        {.name = "on", .type = PK_AXIS_BOOL, .def = "off", .born = "off"},
        {.name = "shape",
         .type = PK_AXIS_ENUM,
         .choices = shapes,
         .def = "tiny",
         .born = "tiny",
         .applies = first_is_on,
         .sets = sets},
        {.name = "width", .type = PK_AXIS_INT, .min = 1, .max = 9, .def = "7", .born = "7"},
        {0},
    };
    struct pk_err err = {0};
    struct pk_point p;
    PK_JSON_CLEANUP json_t *on = json_loads("{\"on\": true}", 0, NULL);
    PK_JSON_CLEANUP json_t *off = json_loads("{}", 0, NULL);
    assert_int_equal(pk_point_from_json(table, on, &kept, &p, &err), PK_OK);
    assert_int_equal(p.v[2].i, 1);
    assert_int_equal(pk_point_from_json(table, off, &kept, &p, &err), PK_OK);
    assert_int_equal(p.v[2].i, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_canonical),
        cmocka_unit_test(text_is_for_people),
        cmocka_unit_test(missing_axes_default),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(refused),
        cmocka_unit_test(an_absent_composite_sets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
