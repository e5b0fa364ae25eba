/* Plural: counted nouns for messages and notes, in the one place that knows the grammar. */
#pragma once

#include "base/arena.h"

/* 1, "case" -> "1 case"; 2, "process" -> "2 processes"; 12345, "sample" -> "12345 samples". In the arena. */
const char *pk_plural(size_t n, const char *noun, struct pk_arena *a);
