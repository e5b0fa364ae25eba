/* Rates: what a chip and its links can do, with the source of each number.
 *
 * A rate is typed in, measured by a run of this store, or of a data sheet; the first of these that has it counts. A typed rate is a value or
 * "value,lowest,highest"; a measured one has the interval of the measurement. Corners of these intervals are the intervals of results. */
#pragma once

#include "model/parallel/mesh.h"
#include "store/store.h"

/* Chips by their data sheets: name, and what they have. Ends where name is NULL. */
struct pk_parallel_chip {
    const char *name, *source;
    double flops_per_s, memory_bytes, link_bytes_per_s, network_bytes_per_s;
    int64_t node; /* chips of a node; 0: all are connected by links */
};
extern const struct pk_parallel_chip pk_parallel_chips[];

/* The chip's rates, memory limit and node. PK_E_USAGE for an unknown name. */
enum pk_code pk_parallel_chip_rates(const char *name, struct pk_parallel_setup *s, struct pk_arena *a,
                                    struct pk_err *err) PK_MUST_CHECK;

/* The rows of rates: option, unit, and what the value is, for help and tables. By enum pk_parallel_rate_key. */
struct pk_parallel_rate_row {
    const char *option, *unit, *example;
};
extern const struct pk_parallel_rate_row pk_parallel_rate_rows[PK_PARALLEL_RATES];

/* "450GB", "450GB,440GB,460GB"; NULL changes nothing. PK_E_USAGE names the option. */
enum pk_code pk_parallel_rate_typed(enum pk_parallel_rate_key key, const char *text,
                                    struct pk_parallel_setup *s, struct pk_arena *a,
                                    struct pk_err *err) PK_MUST_CHECK;
/* A size with its unit: "80GB". */
enum pk_code pk_parallel_memory_typed(const char *text, struct pk_parallel_setup *s,
                                      struct pk_err *err) PK_MUST_CHECK;

/* What a run measured: of ddp-bucket the launch cost and the bandwidth of a link (both that of links and of the network), of
 * mixed-precision the model FLOPs a second of its fastest step (measured MFU, not a peak). PK_E_NOTHING when it has neither. */
enum pk_code pk_parallel_rates_of_run(struct pk_store *store, int64_t run_id, struct pk_parallel_setup *s,
                                      struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
/* The highest ceiling of products that this run's machine has: a peak. Between it and 5 % less when it is confirmed. */
enum pk_code pk_parallel_rates_of_machine(struct pk_store *store, int64_t run_id, struct pk_parallel_setup *s,
                                          struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
/* "fsdp=2": links of a chip along an axis. */
enum pk_code pk_parallel_links_typed(const char *text, struct pk_parallel_setup *s, struct pk_arena *a,
                                     struct pk_err *err) PK_MUST_CHECK;
