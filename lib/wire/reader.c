/* Reader: from bytes in pieces to messages, one per line. */
#include "wire/wire.h"

#include "base/err.h"
#include "base/text/words.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct pk_wire_reader {
    struct pk_arena own;     /* this struct and the bytes: grows to twice the longest line */
    struct pk_arena message; /* what the last message points to */
    json_t *json;            /* of the last message */
    char *s;                 /* bytes [pos, n) are not yet read, [pos, scanned) hold no newline */
    size_t pos, scanned, n, cap;
    bool skipping; /* inside a line that was too long */
};

struct pk_wire_reader *pk_wire_reader_new(void)
{
    struct pk_arena own = {0};
    struct pk_wire_reader *r = pk_new(&own, struct pk_wire_reader);
    r->own = own;
    return r;
}

void pk_wire_reader_free(struct pk_wire_reader *r)
{
    if (!r)
        return;
    json_decref(r->json);
    pk_arena_free(&r->message);
    struct pk_arena own = r->own; /* r lives in it */
    pk_arena_free(&own);
}

static void reserve(struct pk_wire_reader *r, size_t more)
{
    if (r->pos) {
        memmove(r->s, r->s + r->pos, r->n - r->pos);
        r->n -= r->pos;
        r->scanned -= r->pos;
        r->pos = 0;
    }
    if (r->n + more <= r->cap)
        return;
    size_t cap = r->cap ? r->cap * 2 : 4096;
    if (cap < r->n + more)
        cap = r->n + more;
    char *s = pk_alloc(&r->own, cap);
    if (r->n)
        memcpy(s, r->s, r->n);
    r->s = s;
    r->cap = cap;
}

void pk_wire_feed(struct pk_wire_reader *r, const char *bytes, size_t n)
{
    if (r->skipping) {
        const char *end = n ? memchr(bytes, '\n', n) : NULL;
        if (!end)
            return;
        n -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
        r->skipping = false;
    }
    if (!n)
        return;
    reserve(r, n);
    memcpy(r->s + r->n, bytes, n);
    r->n += n;
}

/* The next line without its newline. A line that is too long is dropped and comes as an empty one with
 * *too_long set. */
static bool next_line(struct pk_wire_reader *r, const char **line, size_t *n, bool *too_long)
{
    if (r->scanned == r->n)
        return false;
    char *end = memchr(r->s + r->scanned, '\n', r->n - r->scanned);
    size_t stop = end ? (size_t)(end - r->s) : r->n;
    *line = r->s + r->pos;
    *n = stop - r->pos;
    *too_long = *n > PK_WIRE_LINE_MAX;
    r->scanned = stop;
    if (!end && !*too_long)
        return false;
    r->skipping = !end;
    r->pos = r->scanned = end ? stop + 1 : stop;
    return true;
}

bool pk_wire_next(struct pk_wire_reader *r, struct pk_wire_msg *msg)
{
    const char *line;
    size_t n, blanks;
    bool too_long = false;
    do {
        if (!next_line(r, &line, &n, &too_long))
            return false;
        for (blanks = 0; blanks < n && pk_is_blank(line[blanks]);)
            blanks++;
    } while (!too_long && blanks == n);

    json_decref(r->json);
    r->json = NULL;
    pk_arena_free(&r->message);
    *msg = (struct pk_wire_msg){0};
    if (too_long)
        pk_wire_garbage(msg, "a line longer than 8 MiB");
    else
        pk_wire_parse(line, n, &r->message, msg);
    r->json = msg->json;
    return true;
}

enum pk_code pk_wire_read(struct pk_wire_reader *r, int fd, struct pk_wire_msg *msg, struct pk_err *err)
{
    char bytes[8192];
    while (!pk_wire_next(r, msg)) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            pk_fail(err, PK_E_IO, "cannot read the next message");
            return pk_why(err, "%s", strerror(errno));
        }
        if (n == 0) {
            pk_fail(err, PK_E_IO, "no further message");
            return pk_why(err, "the other side closed the connection");
        }
        pk_wire_feed(r, bytes, (size_t)n);
    }
    return PK_OK;
}
