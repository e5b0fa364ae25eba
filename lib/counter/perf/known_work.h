/* Known work: work whose counts are known in advance, to test whether a counter that opens also counts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PK_KNOWN_PAGES = 100, PK_KNOWN_LOOPS = 1000000, PK_KNOWN_SLEEPS = 50, PK_KNOWN_CPU_NS = 10000000 };

/* Touches PK_KNOWN_PAGES fresh pages: so many page faults. Ends without a fault more when there is no memory. */
void pk_known_pages(void *unused);

/* So many fresh bytes, every page of them touched; NULL when there is no memory. */
void *pk_known_memory(size_t bytes);
void pk_known_memory_end(void *p, size_t bytes);

/* PK_KNOWN_LOOPS times round a loop: so many branches, twice as many instructions, hardly a miss. */
void pk_known_loop(void *unused);

/* Sleeps PK_KNOWN_SLEEPS times: so many switches. */
void pk_known_sleeps(void *unused);

/* Computes until this thread was PK_KNOWN_CPU_NS on a CPU. */
void pk_known_cpu_time(void *unused);

/* Computes for *ns. */
void pk_known_load(void *ns);
