/* Provider: a program that measures: perfkit's own worker, or a peer that speaks the protocol. */
#pragma once

#include "base/arena.h"

struct pk_provider {
    const char *name;        /* "native", "numpy-attention" */
    const char *const *argv; /* argv[0] is found in PATH unless it has a slash */
    const char *once;        /* it cannot be started a second time, because of this; NULL = it can */
};

/* This program again, as `perfkit worker`. */
extern const struct pk_provider pk_native_provider;

/* What --peer names: "numpy-attention" is numpy_attention.py in $PERFKIT_PEERS, else in the source tree that
 * this program was built from, else where it was installed; a name with a slash is a path. *.py runs under
 * `python` (NULL: $PERFKIT_PYTHON, else python3), anything else is executed. An unknown name is a usage error
 * that lists what is there. */
enum pk_code pk_peer_provider(const char *name, const char *python, struct pk_arena *a,
                              struct pk_provider *out, struct pk_err *err) PK_MUST_CHECK;
