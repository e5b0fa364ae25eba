/* Case set: the case of a command and the cases that it reports, collected run by run. */
#pragma once

#include "store/store.h"
#include "wire/wire.h"

/* A case and its data in the current run. */
struct pk_command_case {
    struct pk_case_info info; /* in the arena of the set */
    int64_t id;               /* of the store; 0 = not there yet */
    struct pk_collector *collector;
    bool reported; /* in this run */
    bool complete; /* its status came */
};

/* v[0] is the command's own case. */
struct pk_case_set {
    struct pk_arena *arena;
    const char *command; /* axis of the cases that it names; NULL = it is the only command of its run */
    struct pk_command_case *v;
    size_t n, cap, current;    /* current: where samples go */
    enum pk_status own_status; /* the status that the command reported for its own case, and its message */
    const char *own_message;
    size_t text_bytes; /* of texts in the arena */
};

void pk_case_set_init(struct pk_case_set *r, const struct pk_case_info *own, struct pk_arena *a);
void pk_case_set_free(struct pk_case_set *r);
/* Before each run. */
void pk_case_set_clear(struct pk_case_set *r);

/* One message of the command. NULL, or what is wrong with it. */
const char *pk_case_set_take(struct pk_case_set *r, const struct pk_wire_msg *msg);
