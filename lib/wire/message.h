/* Message: one line of the protocol, checked and taken apart. Inside lib/wire only. */
#pragma once

#include "wire/wire.h"

/* Fills *msg from a line without its newline. Arrays and texts are in `a` or in msg->json, which the caller
 * owns (one reference). Never fails: a bad line is of type PK_WIRE_GARBAGE and msg->problem says what is
 * wrong. */
void pk_wire_parse(const char *line, size_t n, struct pk_arena *a, struct pk_wire_msg *msg);

/* Garbage that is not a line at all. */
void pk_wire_garbage(struct pk_wire_msg *msg, const char *problem);
