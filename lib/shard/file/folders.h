/* Folders: a folder of activations holds a subfolder for each configuration, named by its hash.
 *
 *     FOLDER/HASH/manifest.json           and the shards (manifest.h)
 *     FOLDER/rank-N/HASH/manifest.json    of process N over MPI
 *
 * So one run can write several configurations into one folder, and data of two configurations never mix. What would be lost by mistake
 * is refused: while a configuration has only a part of its samples, because the process that wrote it was ended, no other one is begun
 * beside it. A typing error in the options of the run that is to continue is then an error, and not a second extraction. */
#pragma once

#include "shard/config.h"

/* The subfolder of this configuration, which is not made; path itself where that has a manifest. Path is `root` or a folder in it: these two
 * are made where they are absent, and who writes into the subfolder reports what cannot be made. PK_E_USAGE when another configuration there
 * is not complete: the message names its folder, its samples and the first difference. */
enum pk_code pk_shard_own_folder(const char *root, const char *path, const struct pk_shard_config *c,
                                 struct pk_arena *a, const char **own, struct pk_err *err) PK_MUST_CHECK;

struct pk_shard_folders {
    const char **v;
    size_t n, cap;
};
/* Path where it has a manifest; else the folders that have one, at most two levels below it, by name. Links are not followed. All is in the
 * arena; path itself when there is none. */
struct pk_shard_folders pk_shard_folders(const char *path, struct pk_arena *a);
