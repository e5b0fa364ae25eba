/* Program: a program that describes an experiment of its own (docs/protocol.md). It is a process, never code that is loaded.
 *
 * One process answers `describe` and, where the descriptor says so, `plan` for every case that is planned; those that measure are others. */
#pragma once

#include "bench/own/own.h"

/* Does a name stand for a program: a path with a slash, or a file of Python? */
bool pk_is_program(const char *name);

/* Starts it and reads what it describes; its SQL is checked, too. PK_E_USAGE for what is no program, says nothing or describes
 * nothing that can be used; PK_E_INTERRUPTED when *stop_flag was set. */
enum pk_code pk_own_open(const char *call, const char *python, const volatile int *stop_flag,
                         struct pk_arena *a, struct pk_own **out, struct pk_err *err) PK_MUST_CHECK;

/* Ends the process, if there is one. It is started again when there is more to ask. */
void pk_own_stop_process(struct pk_own *own);
