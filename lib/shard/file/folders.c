/* Folders: which of them have a manifest, and whether their samples are complete. */
#include "shard/file/folders.h"

#include "base/text/words.h"
#include "shard/file/manifest.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

enum { LEVELS = 2 };

static bool has_manifest(const char *path, struct pk_arena *a)
{
    struct stat st;
    return !lstat(pk_printf(a, "%s/manifest.json", path), &st);
}

static void add(struct pk_shard_folders *f, const char *path, struct pk_arena *a)
{
    f->v = pk_grow(a, f->v, sizeof *f->v, f->n, &f->cap);
    f->v[f->n++] = path;
}

static void find(const char *path, int levels, struct pk_arena *a, struct pk_shard_folders *f)
{
    struct stat st;
    if (has_manifest(path, a)) {
        add(f, path, a);
        return;
    }
    DIR *d = levels ? opendir(path) : NULL;
    for (const struct dirent *e; d && (e = readdir(d));) {
        const char *below = pk_printf(a, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && !lstat(below, &st) && S_ISDIR(st.st_mode))
            find(below, levels - 1, a, f);
    }
    if (d)
        closedir(d);
}

struct pk_shard_folders pk_shard_folders(const char *path, struct pk_arena *a)
{
    struct pk_shard_folders f = {0};
    find(path, LEVELS, a, &f);
    if (!f.n)
        add(&f, path, a);
    pk_sort_texts(f.v, f.n);
    return f;
}

/* A folder whose manifest cannot be read belongs to somebody else: `perfkit verify` names it. */
static enum pk_code check_complete(const char *path, const struct pk_shard_config *c, const char *hash,
                                   struct pk_arena *a, struct pk_err *err)
{
    PK_FOLDER_CLEANUP struct pk_folder f = {.fd = -1};
    struct pk_manifest m;
    if (pk_folder_open(path, false, a, &f, err) || pk_manifest_read(&f, a, &m, err) || !m.config ||
        !strcmp(m.hash, hash) || pk_manifest_samples(&m) == m.config->samples)
        return PK_OK;
    PK_JSON_CLEANUP json_t *theirs = pk_shard_config_json(m.config), *ours = pk_shard_config_json(c);
    pk_fail(err, PK_E_USAGE, "%s has shards of another configuration, which is not complete", path);
    pk_why(err, "it has %llu of %llu samples; %s", (unsigned long long)pk_manifest_samples(&m),
           (unsigned long long)m.config->samples, pk_shard_config_difference(theirs, ours, a));
    return pk_fix(err, "run it with the options it began with, choose another folder, or remove that folder");
}

enum pk_code pk_shard_own_folder(const char *root, const char *path, const struct pk_shard_config *c,
                                 struct pk_arena *a, const char **own, struct pk_err *err)
{
    const struct pk_shard_config *whole = pk_shard_config_copy(c, a);
    const char *hash = pk_shard_config_hash(whole, a);
    mkdir(root, 0777);
    mkdir(path, 0777);
    const struct pk_shard_folders f = pk_shard_folders(path, a);
    *own = has_manifest(path, a) ? path : pk_printf(a, "%s/%s", path, hash);
    for (size_t i = 0; i < f.n; i++)
        if (*own != path && check_complete(f.v[i], whole, hash, a, err))
            return err->code;
    return PK_OK;
}
