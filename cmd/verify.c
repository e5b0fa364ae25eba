/* Verify: checks a folder of shards, as `perfkit run extraction` writes it. */
#include "cmd/cmd.h"

#include "shard/file/folders.h"
#include "shard/verify.h"

static const struct pk_column layer_columns[] = {
    {.key = "layer", .heading = "Layer", .decimals = -1},
    {.key = "samples", .heading = "Samples", .decimals = -1},
    {.key = "chunks", .heading = "Chunks", .decimals = -1, .optional = 3},
    {.key = "raw_bytes", .heading = "Raw (MB)", .scale = 1e6, .decimals = 2},
    {.key = "stored_bytes", .heading = "Stored (MB)", .scale = 1e6, .decimals = 2},
    {.key = "ratio", .heading = "Ratio", .decimals = 3},
    {.key = "exponent_bits", .heading = "Exponent entropy (bits)", .decimals = 3},
    {.key = "exponent_bound", .heading = "Bound by exponents", .decimals = 3},
    {.key = "plane_bound", .heading = "Bound by planes", .decimals = 3, .optional = 2},
    {.key = "folder", .heading = "Folder", .left = true, .machine = true},
};

static const struct pk_column broken_columns[] = {
    {.key = "file", .heading = "Broken shard", .left = true},
    {.key = "layer", .heading = "Layer", .decimals = -1},
    {.key = "chunk", .heading = "Chunk", .decimals = -1},
    {.key = "at_bytes", .heading = "At byte", .decimals = -1},
    {.key = "why", .heading = "Why", .left = true},
    {.key = "folder", .heading = "Folder", .left = true, .machine = true},
};

static void print_layers(struct pk_app *app, const char *folder, const struct pk_verify_result *v)
{
    const char *title = pk_printf(app->arena, "Layers in whole shards of %s", folder);
    pk_out_table(app->out, "layers", title, PK_COLUMNS(layer_columns));
    for (size_t i = 0; i < v->config->n_layers; i++) {
        const struct pk_verify_layer *l = &v->layers[i];
        struct pk_row *row = pk_row_begin(app->out);
        pk_put_int(row, "layer", l->layer);
        pk_put_int(row, "samples", (int64_t)l->samples);
        pk_put_int(row, "chunks", (int64_t)l->chunks);
        pk_put_int(row, "raw_bytes", (int64_t)l->raw_bytes);
        pk_put_int(row, "stored_bytes", (int64_t)l->stored_bytes);
        pk_put_real(row, "ratio", (double)l->raw_bytes / (double)l->stored_bytes);
        pk_put_real(row, "exponent_bits", l->bounds.exponent_bits);
        pk_put_real(row, "exponent_bound", l->bounds.exponent_bound);
        pk_put_real(row, "plane_bound", l->bounds.plane_bound);
        pk_put_text(row, "folder", folder);
        pk_row_end(row);
    }
}

static void put_known(struct pk_row *row, const char *key, int64_t x)
{
    if (x >= 0)
        pk_put_int(row, key, x);
}

static void print_broken_of(struct pk_app *app, const char *folder, const struct pk_verify_result *v)
{
    for (size_t i = 0; i < v->n_broken; i++) {
        struct pk_row *row = pk_row_begin(app->out);
        pk_put_text(row, "file", v->broken[i].file);
        put_known(row, "layer", v->broken[i].layer);
        put_known(row, "chunk", v->broken[i].chunk);
        put_known(row, "at_bytes", v->broken[i].at);
        pk_put_text(row, "why", v->broken[i].why);
        pk_put_text(row, "folder", folder);
        pk_row_end(row);
    }
}

static void print_broken(struct pk_app *app, const struct pk_shard_folders *f,
                         const struct pk_verify_result *v)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += v[i].n_broken;
    if (n)
        pk_out_table(app->out, "broken", NULL, PK_COLUMNS(broken_columns));
    for (size_t i = 0; i < f->n; i++)
        print_broken_of(app, f->v[i], &v[i]);
}

/* All folders, also behind a broken one; the error is the first one's. */
static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct pk_shard_folders f = pk_shard_folders(app->args.v[0], app->arena);
    struct pk_verify_result *v = pk_new_n(app->arena, struct pk_verify_result, f.n);
    enum pk_code first = PK_OK;
    for (size_t i = 0; i < f.n; i++) {
        struct pk_err next;
        enum pk_code rc = pk_verify(f.v[i], &pk_stop_flag, app->arena, &v[i], &next);
        if (!rc) {
            print_layers(app, f.v[i], &v[i]);
            pk_out_note(app->out, pk_verified_text(&v[i], app->arena));
            rc = pk_verified_outcome(&v[i], f.v[i], &next);
        }
        if (rc && !first)
            first = rc, *err = next;
    }
    print_broken(app, &f, v);
    return first;
}

const struct pk_cmd pk_cmd_verify = {
    .name = "verify",
    .summary = "check the shards of activations in a folder",
    .usage = "verify FOLDER [options]",
    .examples = "perfkit verify activations\n"
                "perfkit verify activations --format json",
    .exact_args = "1",
    .run = run,
};
