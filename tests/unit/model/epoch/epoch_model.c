/* Epoch model: delays. */
#include "epoch_model.h"

static enum pk_code forward(void *user, const struct pk_epoch_input *in, size_t n, bool keep,
                            struct pk_err *err)
{
    struct counted_model *m = user;
    m->forwards++;
    m->kept += keep;
    pk_device_delay(m->dev, PK_LANE_COMPUTE, FORWARD_NS);
    pk_epoch_loss_begins(m->epoch);
    pk_device_delay(m->dev, PK_LANE_COMPUTE, LOSS_NS);
    return PK_OK;
}

static enum pk_code backward(void *user, bool add, struct pk_err *err)
{
    struct counted_model *m = user;
    m->backwards++;
    m->added += add;
    pk_device_delay(m->dev, PK_LANE_COMPUTE, BACKWARD_NS);
    return PK_OK;
}

static enum pk_code clear(void *user, struct pk_err *err)
{
    struct counted_model *m = user;
    m->cleared++;
    pk_device_delay(m->dev, PK_LANE_COMPUTE, CLEAR_NS);
    return PK_OK;
}

static enum pk_code update(void *user, float factor, struct pk_err *err)
{
    struct counted_model *m = user;
    m->factors[m->updates++ % 64] = factor;
    pk_device_delay(m->dev, PK_LANE_COMPUTE, UPDATE_NS);
    return PK_OK;
}

static void forget(void *user)
{
}

struct pk_epoch_model model_of_delays(struct counted_model *m)
{
    return (struct pk_epoch_model){.user = m,
                                   .forward = forward,
                                   .backward = backward,
                                   .clear = clear,
                                   .update = update,
                                   .forget = forget,
                                   .loss = m->memory,
                                   .gradients = m->memory + 16,
                                   .elements = ELEMENTS,
                                   .batch = 2,
                                   .seq = 3};
}
