/* Bucket: greedy, in order, unsplit. */
#include "comm/bucket.h"

#include "base/err.h"

static size_t cap_of(size_t bucket, size_t cap, size_t first)
{
    return bucket == 0 && first ? first : cap;
}

void pk_buckets_plan(const size_t *elements, size_t n, size_t cap, size_t first, struct pk_arena *a,
                     struct pk_buckets *out)
{
    struct pk_bucket *v = pk_new_n(a, struct pk_bucket, n);
    uint32_t *bucket_of = pk_new_n(a, uint32_t, n);
    size_t *offset = pk_new_n(a, size_t, n), at = 0;
    pk_assert(cap >= 1);
    *out = (struct pk_buckets){.n_tensors = n, .v = v, .bucket_of = bucket_of, .offset = offset};
    for (size_t t = 0; t < n; t++) {
        if (t && v[at].elements + elements[t] > cap_of(at, cap, first))
            v[++at].first = t;
        bucket_of[t] = (uint32_t)at;
        offset[t] = v[at].elements;
        v[at].elements += elements[t];
        v[at].n++;
        out->oversize += elements[t] > cap_of(at, cap, first);
    }
    out->n = n ? at + 1 : 0;
}

struct pk_bucket_sizes pk_buckets_sizes(const struct pk_buckets *b)
{
    struct pk_bucket_sizes s = {0};
    for (size_t i = 0; i < b->n; i++) {
        const size_t e = b->v[i].elements;
        s.least = i && s.least < e ? s.least : e;
        s.most = s.most > e ? s.most : e;
        s.mean += (double)e / (double)b->n;
    }
    return s;
}

void pk_filling_init(struct pk_filling *f, const struct pk_buckets *b, struct pk_arena *a)
{
    *f = (struct pk_filling){.buckets = b, .missing = pk_new_n(a, size_t, b->n)};
    pk_filling_reset(f);
}

void pk_filling_reset(struct pk_filling *f)
{
    for (size_t i = 0; i < f->buckets->n; i++)
        f->missing[i] = f->buckets->v[i].n;
    f->next = 0;
}

void pk_filling_ready(struct pk_filling *f, size_t t, size_t *from, size_t *to)
{
    size_t *missing = &f->missing[f->buckets->bucket_of[t]];
    pk_assert(*missing > 0);
    --*missing;
    *from = f->next;
    while (f->next < f->buckets->n && f->missing[f->next] == 0)
        f->next++;
    *to = f->next;
}
