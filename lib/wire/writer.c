/* Writer: messages to a file descriptor, one whole line at a time. */
#include "wire/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { VALUES_PER_LINE = 4096 };

static enum pk_code write_all(int fd, const char *s, size_t n, struct pk_err *err)
{
    while (n) {
        /* EPIPE instead of a signal where the other end is gone */
        ssize_t done = send(fd, s, n, MSG_NOSIGNAL);
        if (done < 0 && errno == ENOTSOCK)
            done = write(fd, s, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            pk_fail(err, PK_E_IO, "cannot write a message of the wire protocol");
            return pk_why_errno(err, errno);
        }
        s += done;
        n -= (size_t)done;
    }
    return PK_OK;
}

enum pk_code pk_wire_write(int fd, json_t *obj_stolen, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_JSON_CLEANUP json_t *obj = obj_stolen;
    size_t n = json_dumpb(obj, NULL, 0, PK_JSON_COMPACT);
    if (!n) {
        pk_fail(err, PK_E_INTERNAL, "a message of the wire protocol cannot be written");
        return pk_why(err, "it holds text that is not UTF-8");
    }
    char *line = pk_alloc(&a, n + 1);
    json_dumpb(obj, line, n, PK_JSON_COMPACT);
    line[n] = '\n';
    return write_all(fd, line, n + 1, err);
}

enum pk_code pk_wire_hello(int fd, const char *program, struct pk_err *err)
{
    return pk_wire_write(fd,
                         json_pack("{s:s, s:i, s:s, s:I}", "type", "hello", "version", PK_WIRE_VERSION,
                                   "program", program, "pid", (json_int_t)getpid()),
                         err);
}

enum pk_code pk_wire_setting(int fd, const char *key, const char *value, struct pk_err *err)
{
    return pk_wire_write(fd, json_pack("{s:s, s:s, s:s}", "type", "setting", "key", key, "value", value),
                         err);
}

enum pk_code pk_wire_bye(int fd, struct pk_err *err)
{
    return pk_wire_write(fd, json_pack("{s:s}", "type", "bye"), err);
}

/* A line of values from *at on, as long as their ordinals are contiguous. */
static enum pk_code write_samples(int fd, const struct pk_series *s, const char *metric, size_t *at,
                                  struct pk_err *err)
{
    json_t *values = json_array();
    const int64_t first = s->ordinal[*at];
    for (int64_t n = 0; *at < s->n && n < VALUES_PER_LINE && s->ordinal[*at] == first + n; n++, ++*at)
        json_array_append_new(values,
                              s->integer ? json_integer(s->integer[*at]) : pk_json_real(s->real[*at]));
    return pk_wire_write(fd,
                         json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:o}", "type", "samples", "metric",
                                   metric, "phase", pk_phase_name(s->phase), "rank", s->rank, "instance",
                                   s->instance, "ordinal", (json_int_t)first, "reps", (json_int_t)s->reps,
                                   "values", values),
                         err);
}

enum pk_code pk_wire_slice(int fd, int64_t id, const struct pk_slice *s, struct pk_err *err)
{
    for (size_t i = 0; i < s->n_metrics; i++) {
        const struct pk_metric_decl *d = &s->metrics[i];
        if (pk_wire_write(fd,
                          json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "type", "metric", "name",
                                    d->name, "unit", d->unit, "direction", d->direction, "class", d->class,
                                    "combine", d->combine, "ranks", d->ranks, "source", d->source),
                          err))
            return err->code;
    }
    for (size_t i = 0; i < s->n_series; i++)
        for (size_t at = 0; at < s->series[i].n;)
            if (write_samples(fd, &s->series[i], s->metrics[s->series[i].metric].name, &at, err))
                return err->code;
    for (size_t i = 0; i < s->n_notes; i++) {
        const struct pk_note *n = &s->notes[i];
        json_t *value = json_loads(n->json, JSON_DECODE_ANY, NULL);
        if (pk_wire_write(fd,
                          json_pack("{s:s, s:s, s:o}", "type", "note", "key", n->key, "value",
                                    value ? value : json_null()),
                          err))
            return err->code;
    }
    json_t *status = json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:I}", "type", "status", "status",
                               pk_status_name(s->status), "message", s->message, "pass",
                               pk_pass_name(s->pass), "invocation", s->invocation, "started_wall_ns",
                               (json_int_t)s->started_wall_ns, "elapsed_ns", (json_int_t)s->elapsed_ns);
    if (id >= 0)
        json_object_set_new(status, "id", json_integer(id));
    return pk_wire_write(fd, status, err);
}
