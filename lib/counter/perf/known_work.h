/* Known work: work whose counts are known in advance, to test whether a counter that opens also counts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PK_KNOWN_PAGES = 100, PK_KNOWN_LOOPS = 1000000, PK_KNOWN_SLEEPS = 50, PK_KNOWN_CPU_NS = 10000000 };

/* Touches PK_KNOWN_PAGES fresh pages, for as many page faults. Does nothing when there is no memory. */
void pk_known_pages(void *unused);

/* Allocates fresh memory and touches each page; NULL when there is no memory. */
void *pk_known_memory(size_t bytes);
void pk_known_memory_end(void *p, size_t bytes);

/* A loop with PK_KNOWN_LOOPS iterations: as many branches, twice as many instructions, almost no misses. */
void pk_known_loop(void *unused);

/* Sleeps PK_KNOWN_SLEEPS times, for as many context switches. */
void pk_known_sleeps(void *unused);

/* Computes until this thread has used PK_KNOWN_CPU_NS of CPU time. */
void pk_known_cpu_time(void *unused);

/* Computes for *ns. */
void pk_known_load(void *ns);
