/* Faulty SQLite: the library itself over files and memory that fail on request.
 *
 * Calls are counted from each faulty_* on: everything that changes a file (open to create, write, truncate, sync, delete) or asks for
 * memory. Nothing fails until asked, and only in this process. */
#pragma once

#include <stdbool.h>

/* Before the first use of SQLite: its default file system and its memory are then ours. */
void faulty_install(void);

/* The n-th call from now on a file fails with `code` (SQLITE_IOERR_WRITE, SQLITE_FULL ...), and with `on` every later one; 0 = none. */
void faulty_files(unsigned long n, bool on, int code);
/* The same for memory. */
void faulty_memory(unsigned long n, bool on);

/* Whether a fault was due since it was asked for. */
bool faulty_happened(void);
