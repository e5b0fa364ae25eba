/* Own: an experiment of the user's own, which a program describes (docs/protocol.md, the message `experiment`). */
#pragma once

#include "bench/client/worker_client.h"
#include "bench/probe.h"

enum {
    PK_OWN_NAME_MAX = 64,
    PK_OWN_TEXT_MAX = 500,
    PK_OWN_VARIANTS_MAX = 64,
    PK_OWN_METRICS_MAX = 32,
    PK_OWN_WORDS_MAX = 64, /* choices, or default values, of an axis */
    PK_OWN_PRESETS_MAX = 16,
    PK_OWN_SQL_MAX = 64 << 10,
    PK_OWN_BYTES_MAX = 1 << 20, /* of the whole message */
};

struct pk_own_plans; /* program.c */

/* Descriptor, program and plans of one experiment; in the arena that it was read into. */
struct pk_own {
    struct pk_probe probe;  /* probe.own is this */
    const char *call;       /* what the user calls it: "./bench.py"; NULL = it was read from a store */
    const char *json;       /* the descriptor, canonical, with the `born` of every axis */
    const char *yardstick;  /* the variant that others are compared with */
    const char *headline;   /* the first metric that is a time, else the first; NULL = there is none */
    unsigned devices;       /* kinds, a bit each */
    bool has_plan;          /* work and predictions are asked for, case by case */
    bool has_sql;           /* tables of its own; otherwise probe.sql is pk_own_tables */
    bool born[PK_AXES_MAX]; /* it says the axis's `born` itself */
    struct pk_provider provider;
    struct pk_own_plans *plans; /* NULL = there is no program to ask */
    struct pk_own *next;        /* of a command: the next program that it asked */
};

/* What the user calls an experiment on the command line. */
static inline const char *pk_probe_call(const struct pk_probe *p)
{
    return p->own && p->own->call ? p->own->call : p->name;
}

/* What measures its variants. */
static inline const struct pk_provider *pk_probe_provider(const struct pk_probe *p)
{
    return p->own ? &p->own->provider : &pk_native_provider;
}

/* Whether the experiment runs on this kind of device. */
static inline bool pk_own_runs_on(const struct pk_own *own, enum pk_device_kind kind)
{
    return own->devices >> kind & 1;
}

/* Whether perfkit counts around its samples: it cannot count the GPU work of another process. */
static inline bool pk_own_counted(const struct pk_probe *p, enum pk_device_kind kind)
{
    return p->own && kind == PK_DEVICE_CPU;
}

/* tables.c: what is printed of one that brings no SQL: sections (store/table/table.h) with findings, the headline table `results`, and charts chosen
 * by the axes. It follows from the descriptor alone. Names are those that pk_descriptor_read has let through: none of them can end a
 * name or a text of SQL. */
const char *pk_own_tables(const struct pk_own *own, struct pk_arena *a);
/* The text of somebody else, with the line that makes the store run it under limits. */
const char *pk_own_limited(const char *sql, struct pk_arena *a);
