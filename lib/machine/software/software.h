/* Software: the repository of the code that is measured, the libraries of a program, Python modules, and the file system of a path;
 * mostly by asking other programs, for a bounded time. */
#pragma once

#include "base/arena.h"

/* The repository that a folder is in (".": the working directory's): commit and dirty flag (tracked files only; -1 unknown) by asking git,
 * two seconds at most each; commit NULL outside one, without git, without a commit, or where git refuses
 * (foreign ownership). */
void pk_machine_repository(const char *folder, struct pk_arena *a, const char **commit, int *dirty);

/* The branch that is checked out in the working directory; where a CI server checked out a commit without a branch, the branch that it
 * reports (GitHub and GitLab). NULL = none. */
const char *pk_machine_branch(struct pk_arena *a);
/* Where git keeps the data of the working directory's repository; NULL outside one. */
const char *pk_machine_git_directory(struct pk_arena *a);
/* The commit of any git name ("v1.2", "origin/main"); NULL when git does not know the name. */
const char *pk_machine_commit(const char *name, struct pk_arena *a);

/* The files that the loader would load into a program, as the lines of ldd(1) without addresses ("libm.so.6 => /lib/libm.so.6"), in
 * two seconds at most; NULL when there is none, or it cannot say. */
const char *pk_machine_libraries(const char *program, struct pk_arena *a);

/* The commit at which HEAD of the working directory's repository left `branch` (any name git knows). PK_E_USAGE for a branch that git
 * does not know, PK_E_NOT_COMPARABLE outside a repository or where the two have nothing in common (a shallow clone). */
enum pk_code pk_machine_merge_base(const char *branch, struct pk_arena *a, const char **commit,
                                   struct pk_err *err) PK_MUST_CHECK;

/* "ext4", "nfs", ...: of path, or of its nearest directory that exists; *network = locks cross the network there, which SQLite
 * and timings suffer from. */
const char *pk_machine_filesystem(const char *path, struct pk_arena *a, bool *network);

/* The version of a Python module ("numpy") of an interpreter ("python3"); NULL when either is missing. Starts it: 0.2 s. */
const char *pk_machine_python_module(const char *python, const char *module, struct pk_arena *a);
