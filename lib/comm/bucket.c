/* Bucket: greedy and in order, of whole tensors or of equal parts of the flat array. */
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
    size_t at = 0;
    pk_assert(cap >= 1);
    *out = (struct pk_buckets){.n_tensors = n, .v = v, .bucket_of = bucket_of};
    for (size_t t = 0; t < n; t++) {
        if (t && v[at].elements + elements[t] > cap_of(at, cap, first)) {
            v[at + 1] = (struct pk_bucket){.first = t, .start = v[at].start + v[at].elements};
            at++;
        }
        bucket_of[t] = (uint32_t)at;
        v[at].elements += elements[t];
        v[at].n++;
        out->oversize += elements[t] > cap_of(at, cap, first);
    }
    out->n = n ? at + 1 : 0;
}

/* How many buckets a flat array of so many elements is cut into. */
static size_t bucket_count(size_t all, size_t cap, size_t first)
{
    const size_t head = first && first < all ? first : 0;
    return (head > 0) + (all - head + cap - 1) / cap;
}

void pk_buckets_split(const size_t *elements, size_t n, size_t cap, size_t first, struct pk_arena *a,
                      struct pk_buckets *out)
{
    size_t all = 0, t = 0, before = 0; /* of tensor t */
    pk_assert(cap >= 1);
    for (size_t i = 0; i < n; i++)
        all += elements[i];
    struct pk_bucket *v = pk_new_n(a, struct pk_bucket, bucket_count(all, cap, first));
    uint32_t *bucket_of = pk_new_n(a, uint32_t, n);
    *out = (struct pk_buckets){.n_tensors = n, .v = v, .bucket_of = bucket_of};
    for (size_t start = 0; start < all; start += v[out->n++].elements) {
        const size_t room = cap_of(out->n, cap, first);
        struct pk_bucket *b = &v[out->n];
        *b = (struct pk_bucket){
            .first = t, .start = start, .elements = room < all - start ? room : all - start};
        for (; t < n && before < start + b->elements; before += elements[t++]) {
            if (before >= start)
                bucket_of[t] = (uint32_t)out->n;
            if (before + elements[t] > start + b->elements)
                break; /* the next bucket begins inside of it */
        }
        b->n = t - b->first + (t < n && before < start + b->elements);
    }
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

void pk_bucket_progress_init(struct pk_bucket_progress *f, const struct pk_buckets *b, struct pk_arena *a)
{
    *f = (struct pk_bucket_progress){.buckets = b, .missing = pk_new_n(a, size_t, b->n)};
    pk_bucket_progress_reset(f);
}

void pk_bucket_progress_reset(struct pk_bucket_progress *f)
{
    for (size_t i = 0; i < f->buckets->n; i++)
        f->missing[i] = f->buckets->v[i].n;
    f->next = 0;
}

void pk_bucket_progress_ready(struct pk_bucket_progress *f, size_t t, size_t *from, size_t *to)
{
    const struct pk_buckets *b = f->buckets;
    for (size_t i = b->bucket_of[t]; i < b->n && b->v[i].first <= t; i++) {
        pk_assert(f->missing[i] > 0);
        f->missing[i]--;
    }
    *from = f->next;
    while (f->next < f->buckets->n && f->missing[f->next] == 0)
        f->next++;
    *to = f->next;
}
