/* Cleanup: handles that close themselves at the end of their scope.
 *     PK_CLEANUP_FD int fd = open(...);   */
#pragma once

#include <stdio.h>
#include <unistd.h>

static inline void pk_cleanup_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void pk_cleanup_file(FILE **f)
{
    if (*f)
        fclose(*f);
}

#define PK_CLEANUP_FD   __attribute__((cleanup(pk_cleanup_fd)))
#define PK_CLEANUP_FILE __attribute__((cleanup(pk_cleanup_file)))
