/* list counters: counter sources, their groups and events, and which of them work here. */
#pragma once

#include "cmd/cmd.h"

/* pattern: of groups, events and sources, as file names are matched; NULL = all. `all`: also the source for tests. PK_E_USAGE when
 * nothing matches. */
enum pk_code pk_list_counters(struct pk_app *app, const char *pattern, bool all,
                              struct pk_err *err) PK_MUST_CHECK;
