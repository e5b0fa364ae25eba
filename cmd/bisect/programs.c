/* Bisect, programs: git, builds and gates, each with its output in a file. */
#include "cmd/bisect/bisect.h"

#include "base/file.h"
#include "base/program/program.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#define GRACE_NS                                                                                             \
    (5 * PK_NS_PER_S) /* for a gate to record what it measured, and a build to remove its temporary files */

const char *pk_bisect_path(const struct search *s, const char *name)
{
    return pk_printf(s->a, "%s/%s", s->folder, name);
}

int pk_bisect_run(const struct search *s, const char *tree, const char *output, const char *const *argv)
{
    struct pk_program p;
    const bool is_git =
        strcmp(argv[0], "git") == 0; /* its steps are short, and are not to be left half done */
    PK_CLEANUP_FD int fd =
        open(pk_bisect_path(s, output), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return 127;
    const int e =
        pk_program_start(&p, &(struct pk_program_setup){argv, .folder = tree ? pk_bisect_path(s, tree) : NULL,
                                                        .fd = {-1, fd, fd, -1}});
    if (e) {
        dprintf(fd, "cannot start %s: %s\n", argv[0], strerror(e));
        return 127;
    }
    pk_program_ended(&p, UINT64_MAX, is_git ? NULL : &pk_stop_flag);
    pk_program_end(&p, GRACE_NS);
    return WIFEXITED(p.status) ? WEXITSTATUS(p.status) : 128 + WTERMSIG(p.status);
}

const char *pk_bisect_last_line(const struct search *s, const char *output)
{
    char end[512];
    PK_CLEANUP_FILE FILE *f = fopen(pk_bisect_path(s, output), "re");
    if (!f || (fseek(f, -(long)sizeof end, SEEK_END) && fseek(f, 0, SEEK_SET)))
        return "";
    size_t n = fread(end, 1, sizeof end - 1, f);
    while (n && (end[n - 1] == '\n' || end[n - 1] == '\r'))
        n--;
    end[n] = '\0';
    const char *newline = strrchr(end, '\n');
    return pk_strdup(s->a, newline ? newline + 1 : end);
}

const char *pk_bisect_gate_error(const struct search *s)
{
    const char *text = pk_file_text("", pk_bisect_path(s, "gate.log"), s->a), *what = NULL;
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
        what = strncmp(line, "perfkit: ", 9) == 0 ? line + 9 : what;
    if (!what)
        return pk_bisect_last_line(s, "gate.log");
    const char *end = what + strcspn(what, "\n"), *head = pk_strndup(s->a, what, (size_t)(end - what));
    return strncmp(end, "\n  why: ", 8)
               ? head
               : pk_printf(s->a, "%s: %.*s", head, (int)strcspn(end + 8, "\n"), end + 8);
}

enum pk_code pk_bisect_git_failed(const struct search *s, const char *what, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "%s: git failed", what);
    pk_why(err, "%s", pk_bisect_last_line(s, "git.log"));
    return pk_fix(err, "see %s; perfkit bisect --reset removes the trees", pk_bisect_path(s, "git.log"));
}

const char *pk_bisect_subject(const struct search *s, const char *commit)
{
    return PK_BISECT_GIT(s, NULL, "log", "-1", "--no-show-signature", "--format=%s", commit)
               ? ""
               : pk_bisect_last_line(s, "git.log");
}
