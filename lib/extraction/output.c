/* Output: the samples that stay in a folder, and the folder of timed passes in it. */
#include "extraction/pipeline.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMING "timing"

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
    x->o.folder = x->timing = pk_printf(x->arena, "%s/" TIMING, x->o.folder);
    return rc;
}

/* Files and nothing else: the writer makes no folders in it. */
void pk_extraction_clean(const struct pk_extraction *x)
{
    DIR *d = x->timing ? opendir(x->timing) : NULL;
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(x->timing);
}
