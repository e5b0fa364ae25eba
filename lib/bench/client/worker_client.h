/* Worker client: the parent's end of one worker. It starts the worker at the first request, sends one request at a time, and ends it. It
 * keeps the choices that a worker reports, for the workers after it. */
#pragma once

#include "bench/client/external_counts.h"
#include "bench/client/process.h"
#include "bench/worker/request.h"
#include "comm/rank_heartbeats.h"
#include "wire/wire.h"

struct pk_provider {
    const char *name;        /* "native", "numpy-attention" */
    const char *const *argv; /* argv[0] is found in PATH unless it has a slash */
    const char *once;        /* it cannot be started a second time, because of this; NULL = it can */
    bool own; /* it described the experiment, and only the name and unit of a metric are its to repeat */
};

/* This program again, as `perfkit worker`. */
extern const struct pk_provider pk_native_provider;

/* The names of all peers, sorted. */
void pk_peer_names(struct pk_texts *names, struct pk_arena *a);
/* What --peer names: "numpy-attention" is numpy_attention.py in $PERFKIT_PEERS, else in the source tree that
 * this program was built from, else where it was installed; a name with a slash is a path. *.py runs under
 * `python` (NULL: $PERFKIT_PYTHON, else python3), anything else is executed. An unknown name is a usage error
 * that lists what is there. */
enum pk_code pk_peer_provider(const char *name, const char *python, struct pk_arena *a,
                              struct pk_provider *out, struct pk_err *err) PK_MUST_CHECK;

/* Where perfkit.py and perfkit.h are: in the sources, else in the installation. */
const char *pk_client_folder(void);

/* What a path names: a program, or a file of Python, which runs under `python` as above. PK_E_USAGE when it cannot be read. */
enum pk_code pk_program_provider(const char *path, const char *python, struct pk_arena *a,
                                 struct pk_provider *out, struct pk_err *err) PK_MUST_CHECK;
/* A file of Python, by its ending. */
bool pk_is_python(const char *path);

struct pk_fact {
    const char *key, *value;
};

struct pk_worker_client {
    const struct pk_provider *provider;
    struct pk_process process;
    struct pk_wire_reader *reader;
    struct pk_collector *collector;
    struct pk_arena arena; /* facts and messages since the last request */
    struct pk_fact *facts; /* settings that came with the reply */
    size_t n_facts, facts_cap;
    const struct pk_metric_decl *metrics; /* see pk_worker_client_set_metrics */
    size_t n_metrics;
    struct pk_rank_heartbeats heartbeats; /* of a group of ranks; its path is in argv */
    const char *
        missing; /* of a late reply: the process that is stopped, or the rank that did not answer; NULL = not known */
    uint64_t timeout_ns; /* ranks that are stopped or give no heartbeat for this long are late */
    bool silent;         /* of a late reply: for that reason, before the deadline */
    json_t *choices;     /* the choices of its workers so far; every request contains them */
    bool started;        /* a worker, ever */
    bool hello_received;
    pid_t
        pid; /* that it gave in its hello, if it is of the process that was started or its group; else that process */
    struct pk_external_counts external_counts; /* of the request in flight */
    bool bye_received; /* it sent bye: it ends after this reply, and the next request starts another worker */
};

enum pk_reply {
    PK_REPLY_SLICE,   /* *slice: the worker's own, or a failed one with the fate of the worker */
    PK_REPLY_LATE,    /* not complete at the deadline, whatever it wrote until then; the worker was ended */
    PK_REPLY_STOPPED, /* *stop_flag was set; the worker was ended */
};

void pk_worker_client_init(struct pk_worker_client *l, const struct pk_provider *provider);

/* The metrics of the experiment. Tables join them by name, so a worker that reports one in another unit is wrong. They outlive the
 * client. */
void pk_worker_client_set_metrics(struct pk_worker_client *l, const struct pk_metric_decl *metrics, size_t n);

/* The choices of workers of an earlier part of the run. Beyond PK_CHOICES_MAX, or longer than choices are, it is left out. */
void pk_worker_client_choice(struct pk_worker_client *l, const char *key, const char *value);

/* Starts the worker if there is none, sends the request and waits. The slice has no samples when its status is failed; it and the facts
 * are valid until the next request. */
enum pk_reply pk_worker_client_request(struct pk_worker_client *l, const struct pk_request *r,
                                       uint64_t deadline_ns, const volatile int *stop_flag,
                                       struct pk_slice **slice);

/* A request that is not for a case (worker/replies.h). opt may be NULL. */
enum pk_reply pk_worker_client_request_other(struct pk_worker_client *l, const char *experiment,
                                             const char *variant, const char *device,
                                             const struct pk_device_options *opt, uint64_t deadline_ns,
                                             const volatile int *stop_flag, struct pk_slice **slice);

/* Tells the worker to quit, waits briefly, and ends it. */
void pk_worker_client_quit(struct pk_worker_client *l);
/* Ends the worker at once and frees everything. */
void pk_worker_client_free(struct pk_worker_client *l);
/* Both, for a worker that got a single request. */
void pk_worker_client_close(struct pk_worker_client *l);
