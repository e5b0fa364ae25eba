/* Ceilings: measures a device's peak rates. */
#include "cmd/doctor/doctor.h"

#include "bench/client/ceilings_store.h"
#include "bench/tables/tables.h"
#include "device/cpu/cpu.h"

static enum pk_code check_device(const char *device, const struct pk_device_options *o, struct pk_err *err)
{
    enum pk_device_kind kind;
    unsigned ordinal;
    if (pk_device_parse(device, &kind, &ordinal, err))
        return err->code;
    const char *reason = pk_device_unavailable(kind);
    if (!reason)
        return kind == PK_DEVICE_CPU ? pk_cpu_threads_check(o->threads, o->cpus, err) : PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "device %s cannot be used here", device);
    pk_why(err, "%s", reason);
    return pk_fix(err, "perfkit list devices shows which devices can be used");
}

enum pk_code pk_doctor_ceilings(struct doctor *d, struct pk_err *err)
{
    struct pk_arena *a = d->app->arena;
    const char *machine = pk_machine_json(&d->machine, a);
    const char *key = pk_ceilings_key(d->device, &d->device_options, a);
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    struct pk_stored_ceilings stored;
    struct pk_rows curve;
    if (check_device(d->device, &d->device_options, err) ||
        pk_open_store(d->app, NULL, PK_STORE_WRITE, &s, err) ||
        pk_ceilings_refresh(s, machine, d->device, &d->device_options, PK_CEILINGS_LIMIT_NS, &pk_stop_flag,
                            &stored, err) ||
        pk_store_curve(s, machine, key, a, &curve, err))
        return err->code;
    pk_out_again(d->app->out, NULL); /* the same command would measure */
    pk_ceilings_print(d->app->out, key, &stored, &curve, a);
    return PK_OK;
}
