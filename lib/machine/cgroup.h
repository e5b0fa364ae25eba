/* Cgroup: how often the control group's quota stopped this process. Used by lib/machine only; limits are in machine.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Since the groups were made, over every level that can stop us. */
struct pk_quota_stops {
    bool known; /* some level has a quota controller that counts */
    int64_t stops, stopped_ns;
};
void pk_quota_stops_read(const char *root, struct pk_quota_stops *q);
