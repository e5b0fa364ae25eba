/* Import: results of other benchmark tools as runs of experiments that are named after their source.
 *
 * A source is a row (import.c): its name, how its files are recognised, and a reader in source/NAME.c. Readers produce one neutral form,
 * struct pk_imported: facts of the run, cases with axes, metrics with unit, direction and combination, samples where the file has them, and
 * otherwise summaries. pk_import_store (store.c) writes it in one transaction, so that nothing of a file is half imported. docs/import.md has
 * the metrics of each source.
 *
 * A file may come from anybody: it is a regular file, read through a buffer; texts, cases, values and the JSON that is held at once are
 * bounded, and what is wrong is refused with its place. */
#pragma once

#include "opt/opt.h"
#include "store/store.h"

/* A metric of a case: samples, or a summary of samples that the file does not have. */
struct pk_imported_metric {
    struct pk_metric_decl decl;
    size_t n, cap, ordinal_cap;
    double *value; /* in the unit of the metric */
    int64_t *ordinal;
    /* n == 0: what the file says of them; NaN = nothing. decl.combine is "median" or "mean", and that one is there. */
    struct pk_summary summary;
    const char *dispersion; /* of the summary: what its sd is, in words; NULL = there is none */
};

struct pk_imported_case {
    const char *variant, *device;
    const char *axes; /* canonical JSON */
    enum pk_status status;
    const char *message; /* why not ok; "" */
    bool process_each;   /* each sample is of a process of its own; else all are of one */
    struct pk_imported_metric *metrics;
    size_t n_metrics, cap;
    struct pk_note *notes; /* facts about the case as the file has them */
    size_t n_notes, notes_cap;
    const struct pk_note *trace; /* those of a trace pass: import/trace.h */
    size_t n_trace;
};

struct pk_imported {
    const char *source, *path;
    char uuid[33];       /* from the bytes of the file: a file makes one run */
    int64_t started_ns;  /* the date in the file, or else of the file */
    const char *machine; /* JSON: what the file says of it */
    const char *git_commit, *git_branch;
    int git_dirty;
    const struct pk_setting *settings;
    size_t n_settings;
    const struct pk_imported_case *cases;
    size_t n_cases, n_values; /* values: samples of all cases */
    const char *spool; /* the file is a spool of perfkit, which has no other member: bench/record/spool.h */
};

enum {
    PK_IMPORT_CASES_MAX = 100000,
    PK_IMPORT_VALUES_MAX = 16 << 20,  /* of all files of a command; and of processes of their own: */
    PK_IMPORT_PROCESSES_MAX = 200000, /* each is a slice */
    PK_IMPORT_TEXT_MAX = 4096,        /* bytes of a name */
    PK_IMPORT_JSON_MAX = 16 << 20,    /* bytes of an element of a list, and of what stands around the list */
};

/* Of a value in its unit: a time of 31 years. Squares and sums of it are numbers. */
#define PK_IMPORT_LARGEST 1e18

struct pk_import_options {
    const char *label, *tags; /* of each run; tags is a JSON object */
    const char *command_line;
    const volatile int *stop_flag; /* of a signal handler; NULL = no signal ends reading */
    size_t values;                 /* read so far, of all files; counted by pk_import_read */
};

/* Whether it is the name of a source, and so of the experiment of what is imported from it. */
bool pk_import_is_source(const char *name);

/* Reads a file and writes nothing. In the arena. PK_E_IO with the file and the place for a file that no
 * source has, that is broken, or that is of a version which is not known. */
enum pk_code pk_import_read(const char *path, struct pk_import_options *o, struct pk_arena *a,
                            struct pk_imported *out, struct pk_err *err) PK_MUST_CHECK;
/* The same of several, before anything is written. *mode is how to open
 * the store: a spool belongs to one that exists. */
enum pk_code pk_import_read_all(const struct pk_texts *paths, struct pk_import_options *o, struct pk_arena *a,
                                struct pk_imported **out, enum pk_store_mode *mode,
                                struct pk_err *err) PK_MUST_CHECK;

struct pk_import_result {
    int64_t run_id;      /* 0: of a spool */
    size_t cases;        /* of the run */
    size_t added, known; /* slices */
};
/* Writes what was read, in one transaction. A file that is a run of the store already adds nothing. */
enum pk_code pk_import_store(struct pk_store *s, const struct pk_imported *im,
                             const struct pk_import_options *o, struct pk_import_result *out,
                             struct pk_err *err) PK_MUST_CHECK;

/* A row of the table "import" per file. */
void pk_import_print(const struct pk_imported *im, const struct pk_import_result *results, size_t n,
                     struct pk_out *out);
