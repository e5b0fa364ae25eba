/* Folder: opens the folder of the shards, and puts files there that are absent or whole.
 *
 * A file is written as ".NAME.tmp", synced, renamed to NAME, and the folder is synced. While it grows the kernel is told to write it to the
 * disk, so that the sync at the end waits for its last bytes alone. All files are opened relative to the folder, no
 * link is followed. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

struct pk_folder {
    const char *path;
    int fd;
};

/* Opens the folder; with `make` it is made when it is absent, and locked until close: PK_E_USAGE when another process has the lock. */
enum pk_code pk_folder_open(const char *path, bool make, struct pk_arena *a, struct pk_folder *out,
                            struct pk_err *err) PK_MUST_CHECK;
void pk_folder_close(const struct pk_folder *f);
#define PK_FOLDER_CLEANUP __attribute__((cleanup(pk_folder_close)))

/* The size of a regular file that is no link; -1 when there is none, -2 when it is something else. */
int64_t pk_folder_size(const struct pk_folder *f, const char *name);
/* The text of a regular file of at most `limit` bytes. *text is NULL when there is none. */
enum pk_code pk_folder_read(const struct pk_folder *f, const char *name, size_t limit, struct pk_arena *a,
                            char **text, size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* Removes a file, if it is there. */
void pk_folder_remove(const struct pk_folder *f, const char *name);

/* A file that is being written. */
struct pk_new_file {
    const struct pk_folder *folder;
    const char *name; /* that it will have */
    char temporary[160];
    int fd;               /* -1 = none */
    size_t waiting_bytes; /* written since the kernel was last told to write to the disk */
};

enum { PK_WRITEBACK_BYTES = 8 << 20 };

enum pk_code pk_new_file_begin(const struct pk_folder *f, const char *name, struct pk_new_file *out,
                               struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_new_file_write(struct pk_new_file *w, const void *from, size_t n, uint64_t at,
                               struct pk_err *err) PK_MUST_CHECK;
/* Syncs, renames, syncs the folder. After an error the file is removed. */
enum pk_code pk_new_file_commit(struct pk_new_file *w, struct pk_err *err) PK_MUST_CHECK;
/* Removes it; nothing to do for one that was committed. */
void pk_new_file_abandon(struct pk_new_file *w);
