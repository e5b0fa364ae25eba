/* Import, reader: what the readers of sources share: the file, its JSON, fields with their place, and the cases that they build. */
#pragma once

#include "base/text/buf.h"
#include "import/import.h"
#include "json/json.h"

#include <stdio.h>

enum { PK_IMPORT_KEYS = 4, PK_IMPORT_BEGINNINGS = 4 };

/* A file while it is read. The first problem is kept: everything after it does nothing, so that a reader looks once, at its end. */
struct pk_import_reader {
    struct pk_arena *a;
    const struct pk_import_source *source; /* NULL = not recognised yet */
    const char *path;
    FILE *f;
    size_t line;        /* of the next byte, from 1; 0 = it has no lines */
    bool in_lines;      /* lines.c: the line is one that was read */
    const char *member; /* the list that is read, "benchmarks"; NULL = none */
    size_t at;          /* and its element */
    uint64_t hash;      /* of the bytes so far */
    struct pk_imported *out;
    struct pk_imported_case *cases;
    size_t cases_cap;
    struct pk_index *index; /* of cases */
    struct pk_setting *settings;
    size_t settings_cap, values_left;
    void *user;                    /* of the source */
    const volatile int *stop_flag; /* NULL = no signal ends it */
    bool failed;
    struct pk_err *err;
};

typedef void pk_import_json_fn(struct pk_import_reader *r, const json_t *j);

/* A source of results. */
struct pk_import_source {
    const char *name;  /* and of the experiment */
    const char *files; /* what its files are, for help and messages */
    /* JSON: an object with these members ... */
    const char *keys[PK_IMPORT_KEYS];
    const char *list;           /* ... whose member of this name is a list: */
    pk_import_json_fn *element; /* takes its elements, one at a time, */
    pk_import_json_fn *rest;    /* and then the object with an empty list; may be NULL */
    /* Any other file: whether it begins with one of these, and its reader. */
    const char *begins[PK_IMPORT_BEGINNINGS];
    bool folder; /* it is a folder, which the reader opens */
    void (*read)(struct pk_import_reader *r);
};

/* Most metrics of most sources. `combine`: what there is of samples, or what the file has instead: median or mean. */
#define PK_IMPORT_TIME(name, combine)                                                                        \
    {                                                                                                        \
        name, "ns", "lower", "time", combine, "median", "reported"                                           \
    }

extern const struct pk_import_source pk_import_criterion, pk_import_hyperfine, pk_import_google_benchmark,
    pk_import_nccl_tests, pk_import_nccl_tests_json, pk_import_nsys, pk_import_nvbench,
    pk_import_pytest_benchmark, pk_import_pytorch_profiler, pk_import_superbench;

/* --- problems --- */

/* "line 12: benchmarks[3]: <text>". Only the first one counts. */
void pk_import_problem(struct pk_import_reader *r, const char *fmt, ...) PK_PRINTF(2, 3);
/* A file of a version that is not known. */
void pk_import_version(struct pk_import_reader *r, const char *what, const char *known);

/* Whether a problem or a signal ended the reading. */
bool pk_import_stopped(struct pk_import_reader *r);

/* Opens a regular file of a folder as r->f, and its name as r->path; links are not followed. NULL after a problem. */
FILE *pk_import_open(struct pk_import_reader *r, int folder, const char *path, const char *name);

/* --- json_list.c: a JSON file of any size --- */

/* Reads the object of the file: elements of `list` go to `element`, the rest to `rest`. NaN and Infinity, which some tools write, become
 * null. */
void pk_import_json(struct pk_import_reader *r, const char *list, pk_import_json_fn *element,
                    pk_import_json_fn *rest);
/* Reads a list, or values one after the other (JSON lines), an element at a time. `name`: of the list, for messages. */
void pk_import_json_rows(struct pk_import_reader *r, const char *name, pk_import_json_fn *element);
/* The names of the members of the object that are wanted, from the start of the file until its end or what is wrong in it: at most n. */
typedef bool pk_import_wanted_fn(const char *name);
size_t pk_import_json_keys(struct pk_import_reader *r, pk_import_wanted_fn *wanted, const char **keys,
                           size_t n);

/* --- lines.c: a file of lines --- */

/* The next line without its end, in the arena until the next call; NULL at the end, or after a problem. r->line is its own. */
const char *pk_import_line(struct pk_import_reader *r, struct pk_buf *b);

/* --- fields.c: members of an object; NULL or NaN after a problem --- */

const char *pk_field_text(struct pk_import_reader *r, const json_t *obj, const char *key);
const char *pk_field_text_or(struct pk_import_reader *r, const json_t *obj, const char *key,
                             const char *otherwise);
/* Absent or null: NaN. */
double pk_field_number_or_nan(struct pk_import_reader *r, const json_t *obj, const char *key);
/* The same of what cannot be negative, times `scale`: seconds and 1e9 are nanoseconds. */
double pk_field_time(struct pk_import_reader *r, const json_t *obj, const char *key, double scale);
double pk_field_time_or_nan(struct pk_import_reader *r, const json_t *obj, const char *key, double scale);
int64_t pk_field_count(struct pk_import_reader *r, const json_t *obj, const char *key, int64_t least);
/* An array or an object; a problem when it is something else, or absent where it must be there. */
const json_t *pk_field_array(struct pk_import_reader *r, const json_t *obj, const char *key, bool required);
const json_t *pk_field_object(struct pk_import_reader *r, const json_t *obj, const char *key, bool required);
/* Nanoseconds since 1970 of "2026-11-23T18:06:22+00:00"; without a zone it is UTC. 0 where it is no such date. */
int64_t pk_import_date(const char *text);

/* --- cases.c: building what is imported --- */

/* The case with these axes, which is added the first time. `axes` is an object of scalars, may be NULL; anything else in it becomes text. */
struct pk_imported_case *pk_import_case(struct pk_import_reader *r, const char *variant, const char *device,
                                        const json_t *axes);
/* A new case, though the file may have one of this name: then with the axis `occurrence`, from 2. */
struct pk_imported_case *pk_import_new_case(struct pk_import_reader *r, const char *variant,
                                            const char *device, const json_t *axes);
struct pk_imported_metric *pk_import_metric(struct pk_import_reader *r, struct pk_imported_case *c,
                                            const struct pk_metric_decl *decl);
void pk_import_sample(struct pk_import_reader *r, struct pk_imported_metric *m, int64_t ordinal,
                      double value);
/* All numbers of an array, times `scale`; none may be negative, null or anything else. */
void pk_import_samples(struct pk_import_reader *r, struct pk_imported_metric *m, const json_t *array,
                       double scale);
void pk_import_note(struct pk_import_reader *r, struct pk_imported_case *c, const char *key, json_t *stolen);
/* A fact about how the run was measured, which compare holds equal. NULL: nothing. */
void pk_import_setting(struct pk_import_reader *r, const char *key, const char *value);
/* What the file says of the machine: an object with the names of machine/machine.h. Facts that are empty or 0 are not known. */
void pk_import_machine(struct pk_import_reader *r, json_t *machine);
