/* Doctor: its files. doctor.c reads the options; rows.c checks one facility per row; state.c checks the machine's state; sources.c tests
 * the counter sources. */
#pragma once

#include "cmd/cmd.h"

#include "device/device.h"
#include "machine/machine.h"

enum finding { FOUND_OK, FOUND_WARN, FOUND_NO };

/* What one row says. Texts are constant or in the command's arena. */
struct pk_finding {
    enum finding state;
    const char *found;
    const char *advice; /* NULL = nothing to do */
};

/* A --require that is not met; found NULL = it is. */
struct pk_unmet {
    const char *found, *advice;
};

/* What a row said of something that is not ok, and the names of rows of the table that is being printed that say the same. */
struct pk_said {
    const char *name, *found, *advice, *others;
};
enum { PK_SAID_MOST = 64 };

struct doctor_options {
    bool ceilings;
    const char *device, *bind;
    int64_t threads;
    struct pk_texts require;
};

struct doctor {
    struct pk_app *app;
    bool people;            /* read it: one screen */
    struct pk_unmet *unmet; /* of each --require, in their order */
    struct pk_machine machine;
    struct pk_said said[PK_SAID_MOST];
    size_t n_said;
    const char *device;
    struct pk_device_options device_options;
};

struct pk_doctor_row {
    const char *name; /* "clock"; ends the table when NULL; what --require takes */
    struct pk_finding (*look)(struct doctor *d);
};
extern const struct pk_doctor_row pk_doctor_rows[];

/* state.c: what makes timings spread. */
struct pk_finding pk_look_virtualisation(struct doctor *d);
struct pk_finding pk_look_governor(struct doctor *d);
struct pk_finding pk_look_turbo(struct doctor *d);
struct pk_finding pk_look_smt(struct doctor *d);
struct pk_finding pk_look_thp(struct doctor *d);
struct pk_finding pk_look_cgroup(struct doctor *d);
struct pk_finding pk_look_steal(struct doctor *d);
struct pk_finding pk_look_pressure(struct doctor *d);
struct pk_finding pk_look_noise(struct doctor *d);

/* What was found, and for people, whose table has one column for both, what to do about it. */
#define PK_DOCTOR_HEADING "Found → what to do"
const char *pk_doctor_words(const struct doctor *d, const char *found, const char *advice);

/* Whether an earlier row said it, so that people need not read it again; and a note of such rows, which ends the table. */
bool pk_doctor_said(struct doctor *d, const char *name, const char *found, const char *advice);
void pk_doctor_note_said(struct doctor *d);

/* Whether --require names it. What is not ok is remembered for the end. */
bool pk_doctor_requires(const struct doctor *d, const char *name);
void pk_doctor_unmet(struct doctor *d, const char *name, const char *found, const char *advice);

/* A second table: every source of counts, tried with known work where it can be, by a worker. PK_E_INTERRUPTED. */
enum pk_code pk_doctor_sources(struct doctor *d, struct pk_err *err) PK_MUST_CHECK;
