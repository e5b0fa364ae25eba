/* Clients' kernel: what the clients time in clients.c and clients.py, and a call of it between two looks at the clock. */
#pragma once

#include <stdint.h>

void pk_kernel(void);
int64_t pk_kernel_ns(void);
