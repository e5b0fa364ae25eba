/* compare --a --b: two sides that are measured for it. */
#pragma once

#include "cmd/cmd.h"

/* The command for words with --a or --b among them; NULL for others. */
const struct pk_cmd *pk_compare_now(int argc, const char *const *argv);
