/* Spool: slices kept beside a store that could not be written, as lines of the wire protocol in a file.
 *
 * The lines of a slice (metric, samples, note, status: docs/protocol.md) follow one line of the type "spool" that says where the slice
 * belongs:
 * {"type":"spool","run":"5be1...","run_id":3,"case_id":17,"experiment":...,"revision":1,"variant":...,"device":...,"axes":"...",
 * "identity":"...","settings":[[1,"threads","2"]]}. case_id 0: the case could not be stored either; it belongs to the run with uuid
 * "run". */
#pragma once

#include "store/store.h"

struct pk_spool_place {
    const char *run; /* uuid; "" = unknown */
    int64_t run_id, case_id;
    const struct pk_case_info *c;
    const char *store_path;
    const struct pk_setting *settings; /* of the run, not yet stored before this slice */
    size_t n_settings;
};

/* Appends a slice, whole or not at all, and waits until it is on the disk. *path is the file: NULL at first,
 * then chosen (beside the store, else in the temporary directory) and kept; in the arena. PK_E_IO when
 * neither can be written. */
enum pk_code pk_spool_append(const struct pk_spool_place *place, const struct pk_slice *s, struct pk_arena *a,
                             const char **path, struct pk_err *err) PK_MUST_CHECK;

/* How the run ended, as the last line of its last spool:
 * {"type":"run_end","run":"5be1...","run_id":3,"status":"complete","since_ns":...,"slices":12}. The store has all of it when it has this
 * number of slices that began since then. */
struct pk_spool_end {
    const char *run, *status; /* uuid; "complete" */
    int64_t run_id, since_ns, slices;
};
enum pk_code pk_spool_end(const char *path, const struct pk_spool_end *e, struct pk_err *err) PK_MUST_CHECK;

/* spool_import.c: records every slice of a spool in the store its run is in. Slices that exist already are counted, not stored again. An
 * incomplete last slice is ignored. When all slices of the run are in the store, it ends as the spool says, and its fits are computed. */
struct pk_spool_result {
    size_t added, known;
};
enum pk_code pk_spool_import(struct pk_store *s, const char *path, struct pk_spool_result *out,
                             struct pk_err *err) PK_MUST_CHECK;
