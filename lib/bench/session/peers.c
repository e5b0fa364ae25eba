/* Session, its peers: the state of the machine around what others measure. */
#include "bench/session/parts.h"

#include "base/clock.h"
#include "bench/worker/answers.h"

#include <string.h>

#define PATIENCE_NS (60 * PK_NS_PER_S) /* the first time it may have to open a GPU */

/* The answer of our own worker; NULL when there is none. */
static const struct pk_slice *ask(struct session *s, size_t i, const char *when)
{
    struct pk_request r = pk_session_request(s, i);
    struct pk_slice *slice;
    struct pk_err err;
    if (!s->plan->v[i].provider || s->plan->kind == PK_DEVICE_NULL)
        return NULL;
    r.id = ++s->last_id;
    r.experiment = PK_ASK_ENVIRONMENT;
    r.variant = when;
    r.pass = PK_PASS_CALIBRATION;
    if (pk_worker_client_ask(&s->links[0], &r, pk_clock_ns() + PATIENCE_NS, s->stop_flag, &slice) !=
            PK_ANSWER_SLICE ||
        slice->status != PK_ST_OK || pk_session_record_facts(s, &s->links[0], &err))
        return NULL;
    return slice;
}

void pk_session_before_peer(struct session *s, size_t i)
{
    ask(s, i, "before");
}

void pk_session_after_peer(struct session *s, size_t i, struct pk_slice *slice)
{
    const struct pk_slice *own = slice->status == PK_ST_OK ? ask(s, i, "after") : NULL;
    if (!own || !own->n_notes)
        return;
    struct pk_note *notes = pk_new_n(&s->links[0].arena, struct pk_note, slice->n_notes + own->n_notes);
    if (slice->n_notes)
        memcpy(notes, slice->notes, slice->n_notes * sizeof *notes);
    memcpy(notes + slice->n_notes, own->notes, own->n_notes * sizeof *notes);
    slice->notes = notes;
    slice->n_notes += own->n_notes;
}
