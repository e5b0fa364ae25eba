/* Fake kernel: counters as a test wants them, and a root directory with the files that go with them. */
#pragma once

#include "counter/perf/reader.h"

#include <stdint.h>

enum { FAKE_FDS = 256 };

struct fake_kernel {
    /* Errnos; 0 = allowed, or there. Rights are asked before existence, as the kernel does. */
    int user, kernel, system;
    int cores;    /* of PERF_TYPE_HARDWARE, HW_CACHE and RAW */
    int software; /* of PERF_TYPE_SOFTWARE */
    int inherited_groups;
    uint32_t knows_bytes; /* of perf_event_attr; 0 = all */
    unsigned counters;    /* of a core: larger groups are refused; 0 = any number */
    unsigned free;        /* of them: larger groups never get their turn; 0 = all */
    int read_error, enable_error;

    /* What a read says: a count is per_read * (reads so far of that group) * (1 + its place) beyond `from`. */
    uint64_t from, per_read, enabled, running; /* the times pass per read, too */
    bool falling;                              /* the first of a group counts most */
    uint64_t software_per_read[12]; /* likewise of an event in software by its number; 0 = per_read */

    /* What was asked. */
    unsigned opened, open_now, retries, enabled_by_call;
    struct fake_fd {
        uint32_t type;
        uint64_t config;
        int pid, cpu, leader;
        bool used, user_only, inherits, pinned, at_exec;
        unsigned members, place, reads;
    } fd[FAKE_FDS];
};
extern struct fake_kernel fake;
extern const struct pk_perf fake_calls;

/* A directory of its own; paths are made as they are needed. Freed with fake_root_remove. */
extern char fake_root[64];
void fake_root_make(void);
void fake_root_clear(void); /* empty again, and the kernel allows and has everything */
void fake_root_remove(void);
void fake_file(const char *path, const char *text);

extern const struct pk_counter_env fake_env;
