/* Options: what can be refused before anything is opened, and the sizes that follow. */
#include "extraction/pipeline.h"

#include "base/text/units.h"
#include "machine/machine.h"

size_t pk_extraction_batches(const struct pk_extraction_options *o)
{
    return (size_t)((o->shards.samples + o->shards.batch - 1) / o->shards.batch);
}

size_t pk_extraction_device_bytes(const struct pk_extraction_options *o)
{
    return PK_STAGINGS * pk_pool_rounded(pk_shard_batch_bytes(&o->shards));
}

static enum pk_code check_slots(const struct pk_extraction_options *o, struct pk_err *err)
{
    const uint64_t slot = pk_shard_batch_bytes(&o->shards);
    const int64_t has = pk_machine_available_bytes("/");
    char need[32], left[32], each[32];
    if (has <= 0 || slot <= (uint64_t)(0.9 * (double)has) / o->slots)
        return PK_OK;
    pk_format_bytes((int64_t)(slot * o->slots), need, sizeof need);
    pk_format_bytes(has, left, sizeof left);
    pk_format_bytes((int64_t)slot, each, sizeof each);
    pk_fail(err, PK_E_USAGE, "slots of %s do not fit", each);
    pk_why(err, "%s (%llu bytes) with slots=%zu, and this machine has %s left", need,
           (unsigned long long)(slot * o->slots), o->slots, left);
    return pk_fix(err, "use fewer slots, fewer layers, a smaller batch, or a shorter seq_len");
}

enum pk_code pk_extraction_valid(const struct pk_extraction_options *o, struct pk_err *err)
{
    const struct pk_shard_config *s = &o->shards;
    if (pk_transformer_valid(&o->model, err))
        return err->code;
    if (!s->n_layers) {
        pk_fail(err, PK_E_USAGE, "no layer is chosen");
        pk_why(err, "the first layer to extract comes after the last");
        return pk_fix(err, "choose extract_from <= extract_to < %zu", o->model.layers);
    }
    if (s->layers[s->n_layers - 1] >= o->model.layers) {
        pk_fail(err, PK_E_USAGE, "layers %u to %u of a model of %zu layers", s->layers[0],
                s->layers[s->n_layers - 1], o->model.layers);
        pk_why(err, "its layers are 0 to %zu", o->model.layers - 1);
        return pk_fix(err, "choose layers from 0 to %zu, such as -a extract_from=0 -a extract_to=%zu",
                      o->model.layers - 1, o->model.layers - 1);
    }
    enum pk_code rc = pk_shard_config_check(s, err);
    return rc ? rc : check_slots(o, err);
}
