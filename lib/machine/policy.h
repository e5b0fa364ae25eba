/* Policy: what the kernel was told about clocks, threads per core and pages. Used by lib/machine only; texts as in struct pk_machine,
 * "" where it says nothing. */
#pragma once

#include "base/arena.h"

const char *pk_policy_governor(const char *root, struct pk_arena *a);
const char *pk_policy_turbo(const char *root);
const char *pk_policy_smt(const char *root); /* "on": cores run two threads; "off": they do not, or cannot */
const char *pk_policy_thp(const char *root, struct pk_arena *a);
