/* Doctor: its files. doctor.c reads the options; rows.c checks one facility per row; state.c checks the machine's state; sources.c tests
 * the counter sources; ceilings.c measures peak rates; advice.c prints a
 * row, with what to do. */
#pragma once

#include "cmd/cmd.h"

#include "device/device.h"
#include "machine/machine.h"

enum check_state { FOUND_OK, FOUND_WARN, FOUND_NO };

/* What one row says. Texts are constant or in the command's arena. */
struct pk_check_result {
    enum check_state state;
    const char *found;
    const char *advice; /* NULL = nothing to do */
};

/* A --require that is not met; found NULL = it is. */
struct pk_requirement {
    const char *found, *advice;
};

/* The text of a row that is not ok, and the names of later rows of the same table with the same text. */
struct pk_shared_advice {
    const char *name, *found, *advice, *others;
};
enum { PK_SHARED_ADVICE_MAX = 64 };

struct doctor_options {
    bool ceilings;
    const char *device, *bind;
    int64_t threads, limit_bytes;
    struct pk_texts require;
};

struct doctor {
    struct pk_app *app;
    bool people;                         /* read it: one screen */
    struct pk_requirement *requirements; /* of each --require, in their order */
    struct pk_texts ready;               /* of a short output: rows of the table that are ok */
    bool measured;                       /* the first table is complete */
    struct pk_machine machine;
    struct pk_shared_advice shared_advice[PK_SHARED_ADVICE_MAX];
    size_t n_shared_advice;
    const char *device;
    struct pk_device_options device_options;
};

struct pk_doctor_row {
    const char *name; /* "clock"; ends the table when NULL; what --require takes */
    struct pk_check_result (*check)(struct doctor *d, int which);
    int which; /* where `check` serves several rows */
};
extern const struct pk_doctor_row pk_doctor_rows[];

/* state.c: what makes timings spread. pk_check_state: a text of the machine's state, by enum pk_state_text. */
struct pk_check_result pk_check_state(struct doctor *d, int which);
struct pk_check_result pk_check_virtualisation(struct doctor *d, int which);
struct pk_check_result pk_check_governor(struct doctor *d, int which);
struct pk_check_result pk_check_cgroup(struct doctor *d, int which);
struct pk_check_result pk_check_steal(struct doctor *d, int which);
struct pk_check_result pk_check_pressure(struct doctor *d, int which);
struct pk_check_result pk_check_noise(struct doctor *d, int which);

/* advice.c: a row of either table; people have one column for what was found and what to do about it. What is not ok (state "ok") is kept
 * for --require. People do not get a row with the text of an earlier one: its name is in a note, which ends the table. error 0 = none. */
#define PK_DOCTOR_HEADING "Found → what to do"
void pk_doctor_put(struct doctor *d, const char *name, const char *state, const char *found,
                   const char *advice, int error);
void pk_doctor_end_table(struct doctor *d);

/* sources.c: a second table: every source of counts, tried with known work where it can be, by a worker. PK_E_INTERRUPTED. */
enum pk_code pk_doctor_sources(struct doctor *d, struct pk_err *err) PK_MUST_CHECK;

/* ceilings.c: a worker measures the ceilings of d->device; this process stores them and prints them. */
enum pk_code pk_doctor_ceilings(struct doctor *d, struct pk_err *err) PK_MUST_CHECK;
