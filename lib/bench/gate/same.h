/* Same: whether two command lines must do the same work, so that what differs between them is noise. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

/* The words are equal, and the program is one file under one name: all that it may look for beside itself is the same too. Both are
 * started in one folder with one environment. When in doubt they are not the same: that costs pairs, the other error a regression. */
bool pk_same_program(const char *const *a_words, const char *const *b_words, struct pk_arena *a);
