/* Same program: whether two command lines must do the same work, so that differences between them are noise. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

/* The words are equal, and the program is one file under one name, so files that it searches near itself are the same, too. Two files
 * are the same program when they have one name, equal bytes and equal libraries, and lie in working trees of one commit without changes.
 * Both are started in one folder with one environment. In doubt they are not the same: this costs pairs, while the opposite error would
 * hide a regression. */
bool pk_same_program(const char *const *a_words, const char *const *b_words, struct pk_arena *a);
