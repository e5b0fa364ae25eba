/* Spool import: from the lines of a spool to rows of the store that its run is in. */
#include "bench/record/spool.h"

#include "base/file.h"
#include "bench/record/fits.h"
#include "bench/record/record.h"
#include "store/table/table.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct import {
    struct pk_store *store;
    const char *path;
    struct pk_recorder *rec; /* of run_id */
    int64_t run_id, case_id; /* case_id 0: no spool line yet */
    struct pk_collector *slice;
    struct pk_spool_result *result;
};

static enum pk_code bad_spool(const struct import *im, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "spool %s: cannot import it", im->path);
    pk_why(err, "%s", why);
    return pk_fix(err, "give a spool file that perfkit wrote (STORE.spool-RUN.jsonl), and with --db the "
                       "store that it belongs to");
}

/* The run and the case that a spool line names, by the numbers it has in this store, or by what it says of them when the case is
 * not in the store or the store is another one. 0 = not here. */
static enum pk_code find_place(const struct import *im, const json_t *line, int64_t *run_id, int64_t *case_id,
                               struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param params[] = {
        pk_param_text(":uuid", pk_json_str(line, "run", "")),
        pk_param_int(":run", pk_json_int(line, "run_id", 0)),
        pk_param_int(":case", pk_json_int(line, "case_id", 0)),
        pk_param_text(":experiment", pk_json_str(line, "experiment", "")),
        pk_param_text(":variant", pk_json_str(line, "variant", "")),
        pk_param_text(":device", pk_json_str(line, "device", "")),
        pk_param_text(":axes", pk_json_str(line, "axes", "")),
    };
    if (pk_query(im->store, "spooled_case", PK_PARAMS(params), &a, &rows, err))
        return err->code;
    *run_id = rows.n ? rows.cells[0].i : 0;
    *case_id = rows.n && rows.cells[1].type == PK_CELL_INT ? rows.cells[1].i : 0;
    return PK_OK;
}

static enum pk_code add_case(struct import *im, const json_t *line, struct pk_err *err)
{
    const struct pk_case_info c = {.experiment = pk_json_str(line, "experiment", ""),
                                   .revision = (int)pk_json_int(line, "revision", 1),
                                   .variant = pk_json_str(line, "variant", ""),
                                   .device = pk_json_str(line, "device", ""),
                                   .axes = pk_json_str(line, "axes", "{}"),
                                   .identity = pk_json_str(line, "identity", "{}"),
                                   .predicted_bytes = -1};
    return pk_store_cases(im->store, im->run_id, &c, 1, &im->case_id, err);
}

/* The run has what it measured: it ends now, as it would have if the store had been writable. */
static enum pk_code end_run(const struct import *im, const json_t *line, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_run_end end = {.status = pk_json_str(line, "status", ""),
                                   .since_ns = pk_json_int(line, "since_ns", 0),
                                   .slices = pk_json_int(line, "slices", 0)};
    int64_t run_id, case_id;
    const char *experiment;
    enum pk_code code = find_place(im, line, &run_id, &case_id, err);
    if (!code)
        code = pk_store_run_end_spooled(im->store, run_id, &end, &a, &experiment, err);
    const struct pk_probe *probe = code || !experiment ? NULL : pk_probe_find(experiment);
    return probe ? pk_record_fits(im->store, run_id, probe, &a, err) : code;
}

static enum pk_code import_message(struct import *im, const struct pk_wire_msg *msg, struct pk_err *err)
{
    const char *problem;
    if (msg->type == PK_WIRE_UNKNOWN && strcmp(pk_json_str(msg->json, "type", ""), "spool") == 0) {
        int64_t run_id = 0;
        if (find_place(im, msg->json, &run_id, &im->case_id, err))
            return err->code;
        if (!run_id)
            return bad_spool(im, "it belongs to another store: this store does not have its run or case",
                             err);
        if (!im->rec || im->run_id != run_id) {
            pk_recorder_free(im->rec);
            im->run_id = run_id;
            im->rec = pk_recorder_new(im->store, im->run_id, pk_store_file(im->store));
        }
        if (!im->case_id && add_case(im, msg->json, err))
            return err->code;
        pk_collector_reset(im->slice);
        const json_t *settings = json_object_get(msg->json, "settings");
        size_t i;
        json_t *row;
        json_array_foreach(settings, i, row)
        {
            const char *key, *value;
            int invocation;
            if (json_unpack(row, "[i, s, s!]", &invocation, &key, &value) || invocation < 0)
                return bad_spool(im, "a setting in it is not [invocation, key, value]", err);
            if (pk_record_setting(im->rec, invocation, key, value, err))
                return err->code;
        }
        return PK_OK;
    }
    if (msg->type == PK_WIRE_UNKNOWN && strcmp(pk_json_str(msg->json, "type", ""), "run_end") == 0)
        return end_run(im, msg->json, err);
    if (!im->case_id)
        return bad_spool(im, "it does not begin with a line of the type \"spool\"", err);
    bool complete = pk_collect(im->slice, msg, &problem);
    if (problem)
        return bad_spool(im, problem, err);
    if (!complete)
        return PK_OK;
    const struct pk_slice *s = pk_collected(im->slice);
    enum pk_code code = s->invocation < 1 ? bad_spool(im, "a slice in it has no invocation", err)
                                          : pk_record_checked(im->rec, im->case_id, s, err);
    im->case_id = 0;
    im->result->added += code == PK_OK;
    im->result->known += code == PK_E_USAGE;
    return code == PK_E_USAGE ? PK_OK : code;
}

static enum pk_code take_all(struct import *im, struct pk_wire_reader *r, int fd, struct pk_err *err)
{
    char bytes[1 << 16];
    struct pk_wire_msg msg;
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) != 0;) {
        if (n < 0)
            return bad_spool(im, strerror(errno), err);
        pk_wire_feed(r, bytes, (size_t)n);
        while (pk_wire_next(r, &msg))
            if (import_message(im, &msg, err))
                return err->code;
    }
    return PK_OK;
}

enum pk_code pk_spool_import(struct pk_store *s, const char *path, struct pk_spool_result *out,
                             struct pk_err *err)
{
    struct import im = {.store = s, .path = path, .result = out};
    *out = (struct pk_spool_result){0};
    struct stat st;
    PK_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return bad_spool(&im, strerror(errno), err);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) /* a pipe could be endless */
        return bad_spool(&im, "it is not a regular file", err);
    struct pk_wire_reader *r = pk_wire_reader_new();
    im.slice = pk_collector_new();
    enum pk_code code = take_all(&im, r, fd, err);
    if (code == PK_OK && !out->added && !out->known)
        code = bad_spool(&im, "there is no slice in it", err);
    pk_recorder_free(im.rec);
    pk_collector_free(im.slice);
    pk_wire_reader_free(r);
    return code;
}
