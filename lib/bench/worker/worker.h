/* Worker: the process that measures. `perfkit worker` reads measure requests on stdin and answers on
 * PERFKIT_WIRE_FD. */
#pragma once

#include "base/err.h"
#include "device/device.h"

/* What a request of pass `calibration` can be of besides ceilings and trials (bench/trial.h): the machine around a case that another
 * program measures. Variant "before", then "after": the answer to that has the notes of struct pk_surroundings. */
#define PK_SURROUNDINGS "surroundings"

/* Serves requests until quit or end of input. Opens the device of the first request and keeps it. Returns
 * PK_OK, or the reason it could not go on (which the parent has been told as well, when it still listens). */
enum pk_code pk_worker_serve(int in_fd, int wire_fd, struct pk_err *err) PK_MUST_CHECK;
