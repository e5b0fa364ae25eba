/* Pool: exact accounting of device memory over free lists by size. */
#include "device/pool.h"

#include "base/arena.h"
#include "base/err.h"
#include "device/device.h"

/* A descriptor. Memory of a device cannot hold it (a GPU's is not the host's), so it lives in the device's
 * arena. */
struct pk_pool_block {
    struct pk_pool_block *next; /* in its bucket, or in the spare list */
    struct pk_pool_block *same; /* idle: others of the same size */
    void *ptr;
    size_t bytes;
    uint64_t serial;
    enum pk_tag tag;
};

enum { SPARE_STEP = 64 };

static unsigned bucket_of(uint64_t key)
{
    return (unsigned)((key / PK_POOL_ALIGN * 0x9e3779b97f4a7c15u) >> 56) % PK_POOL_BUCKETS;
}

void pk_pool_init(struct pk_pool *p, struct pk_device *dev, size_t limit_bytes)
{
    *p = (struct pk_pool){.dev = dev, .limit = limit_bytes ? limit_bytes : SIZE_MAX};
}

/* A cold path: it may run inside the first, timed, iteration. */
static struct pk_pool_block *spare_block(struct pk_pool *p)
{
    if (!p->spare) {
        bool timed = pk_timed_region(false);
        struct pk_pool_block *b = pk_new_n(&p->dev->arena, struct pk_pool_block, SPARE_STEP);
        pk_timed_region(timed);
        for (size_t i = 0; i < SPARE_STEP; i++) {
            b[i].next = p->spare;
            p->spare = &b[i];
        }
    }
    struct pk_pool_block *b = p->spare;
    p->spare = b->next;
    return b;
}

/* Where the list of idle blocks of this size hangs; when there is none, the end of its bucket (NULL). */
static struct pk_pool_block **idle_list(struct pk_pool *p, size_t bytes)
{
    struct pk_pool_block **at = &p->idle[bucket_of(bytes)];
    while (*at && (*at)->bytes != bytes)
        at = &(*at)->next;
    return at;
}

static struct pk_pool_block *idle_take(struct pk_pool_block **at)
{
    struct pk_pool_block *head = *at, *b = head->same;
    if (b) {
        head->same = b->same;
        return b;
    }
    *at = head->next;
    return head;
}

static void idle_put(struct pk_pool *p, struct pk_pool_block *b)
{
    struct pk_pool_block **at = idle_list(p, b->bytes);
    if (*at) {
        b->same = (*at)->same;
        (*at)->same = b;
        return;
    }
    b->same = NULL;
    b->next = NULL;
    *at = b;
}

/* Gives idle blocks back to the device until `reserved` is at most `target`. */
static void release_idle(struct pk_pool *p, size_t target)
{
    for (unsigned i = 0; i < PK_POOL_BUCKETS; i++)
        while (p->idle[i] && p->reserved > target) {
            struct pk_pool_block *b = idle_take(&p->idle[i]);
            p->dev->ops->release(p->dev, b->ptr, b->bytes);
            p->reserved -= b->bytes;
            b->next = p->spare;
            p->spare = b;
        }
}

void pk_pool_trim(struct pk_pool *p)
{
    release_idle(p, 0);
}

/* Memory never had before: idle blocks go first when the limit, or the device itself, is short. In a capture a device neither gives
 * memory nor takes it back. */
static struct pk_pool_block *reserve(struct pk_pool *p, size_t bytes)
{
    if (p->dev->capturing)
        return NULL;
    if (p->limit - bytes < p->reserved)
        release_idle(p, p->limit - bytes);
    struct pk_pool_block *b = spare_block(p);
    b->ptr = p->dev->ops->reserve(p->dev, bytes);
    if (!b->ptr && p->reserved > p->current) {
        pk_pool_trim(p);
        b->ptr = p->dev->ops->reserve(p->dev, bytes);
    }
    if (!b->ptr) {
        b->next = p->spare;
        p->spare = b;
        return NULL;
    }
    b->bytes = bytes;
    p->reserved += bytes;
    return b;
}

static void account(struct pk_pool *p, const struct pk_pool_block *b, bool taken)
{
    size_t *tag = &p->tag_current[b->tag];
    if (taken) {
        p->current += b->bytes;
        *tag += b->bytes;
    } else {
        p->current -= b->bytes;
        *tag -= b->bytes;
    }
    if (p->current > p->peak)
        p->peak = p->current;
    if (*tag > p->tag_peak[b->tag])
        p->tag_peak[b->tag] = *tag;
    if (p->observer)
        p->observer(p->observer_user, taken ? (int64_t)b->bytes : -(int64_t)b->bytes, b->tag, p->current);
}

static void *refuse(struct pk_pool *p, size_t bytes)
{
    p->refused_bytes = bytes;
    return NULL;
}

void *pk_pool_alloc(struct pk_pool *p, size_t bytes, enum pk_tag tag)
{
    pk_assert(tag < PK_TAGS);
    if (bytes > SIZE_MAX - PK_POOL_ALIGN)
        return refuse(p, bytes);
    size_t rounded = pk_pool_rounded(bytes ? bytes : 1);
    if (rounded > p->limit || p->limit - rounded < p->current || (p->fail_at && --p->fail_at == 0))
        return refuse(p, rounded);
    struct pk_pool_block **idle = idle_list(p, rounded);
    struct pk_pool_block *b = *idle ? idle_take(idle) : reserve(p, rounded);
    if (!b)
        return refuse(p, rounded);
    b->tag = tag;
    b->serial = ++p->serial;
    struct pk_pool_block **live = &p->live[bucket_of((uintptr_t)b->ptr)];
    b->next = *live;
    *live = b;
    account(p, b, true);
    return b->ptr;
}

static void free_block(struct pk_pool *p, struct pk_pool_block **at)
{
    struct pk_pool_block *b = *at;
    *at = b->next;
    account(p, b, false);
    idle_put(p, b);
}

void pk_pool_free(struct pk_pool *p, void *ptr)
{
    if (!ptr)
        return;
    struct pk_pool_block **at = &p->live[bucket_of((uintptr_t)ptr)];
    while (*at && (*at)->ptr != ptr)
        at = &(*at)->next;
    pk_assert(*at);
    free_block(p, at);
}

size_t pk_pool_reclaim(struct pk_pool *p, uint64_t since)
{
    size_t before = p->current;
    for (unsigned i = 0; i < PK_POOL_BUCKETS; i++)
        for (struct pk_pool_block **at = &p->live[i]; *at;)
            if ((*at)->serial > since)
                free_block(p, at);
            else
                at = &(*at)->next;
    return before - p->current;
}

void pk_pool_reset_peak(struct pk_pool *p)
{
    p->peak = p->current;
    for (unsigned t = 0; t < PK_TAGS; t++)
        p->tag_peak[t] = p->tag_current[t];
    p->refused_bytes = 0;
}

const char *pk_tag_name(enum pk_tag tag)
{
    static const char *const names[PK_TAGS] = {
        [PK_TAG_OTHER] = "other",           [PK_TAG_INPUT] = "input",
        [PK_TAG_PARAMETERS] = "parameters", [PK_TAG_GRADIENTS] = "gradients",
        [PK_TAG_OPTIMIZER] = "optimizer",   [PK_TAG_ACTIVATIONS] = "activations",
        [PK_TAG_WORKSPACE] = "workspace",
    };
    pk_assert(tag < PK_TAGS);
    return names[tag];
}
