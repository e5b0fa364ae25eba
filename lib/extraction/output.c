/* Output: the samples that stay in a folder, and the folder of timed passes in it. */
#include "extraction/pipeline.h"

#include <sys/stat.h>

#define TIMING "timing"

/* What is written there is removed: not where a link leads. */
static enum pk_code refuse_link(const char *folder, struct pk_err *err)
{
    struct stat st;
    if (lstat(folder, &st) || S_ISDIR(st.st_mode))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "%s is not a folder", folder);
    pk_why(err, "timed passes write there, and remove what they wrote");
    return pk_fix(err, "remove it, or choose another sink");
}

enum pk_code pk_extraction_complete(struct pk_extraction *x, uint64_t *from, struct pk_err *err)
{
    *from = 0;
    if (x->o.dry || !x->o.folder)
        return PK_OK;
    enum pk_code rc = pk_extraction_begin(x, false, err);
    if (!rc)
        *from = pk_shard_writer_first(x->writer);
    if (!rc && *from < x->o.shards.samples)
        rc = pk_extraction_pass(x, err);
    if (!rc)
        rc = pk_extraction_end(x, err);
    x->o.folder = pk_printf(x->arena, "%s/" TIMING, x->o.folder);
    if (!rc)
        rc = refuse_link(x->o.folder, err);
    x->hash = pk_shard_config_hash(pk_shard_config_copy(&x->o.shards, x->arena), x->arena);
    x->timing = rc ? NULL : x->o.folder;
    return rc;
}

void pk_extraction_clean(const struct pk_extraction *x)
{
    if (x->timing)
        pk_shards_remove(x->timing, x->hash);
}
