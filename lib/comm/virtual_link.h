/* Virtual link: what the virtual link takes, for who predicts it. */
#pragma once

#include "comm/comm.h"

/* ns of one all-reduce of so many bytes without jitter, with nothing before it. */
double pk_comm_link_ns(const struct pk_comm_link *l, unsigned ranks, double bytes);
