/* Init: an example of the documentation under a name of one's own, to start an experiment from. */
#include "cmd/cmd.h"

#include "base/build.h"
#include "base/file.h"
#include "base/text/buf.h"
#include "base/text/words.h"
#include "bench/client/worker_client.h"
#include "bench/record/runinfo.h"
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

extern const struct pk_embedded pk_init_templates[]; /* docs/examples/my-bench.* */

static const char placeholder[] = "my-bench";

/* What the client for Python imports, and what that does: a file of such a name in the program's folder would be found instead. */
static const char imported[] =
    " abc ast codecs collections contextlib copyreg cupy dis encodings enum fnmatch functools gc "
    "genericpath heapq importlib inspect io itertools jax json keyword linecache locale math numpy "
    "opcode operator os perfkit pickle posixpath re reprlib resource site sre_compile sre_constants "
    "sre_parse stat string struct sys textwrap time token tokenize torch traceback tracemalloc types "
    "typing warnings weakref zipimport ";

/* In `next`, what to type then, @name@ stands for the name and @folder@ for where the clients are. */
static const struct {
    const char *word, *file, *next;
} languages[] = {
    {"python", "my-bench.py", "PYTHONPATH=@folder@ python3 @name@.py\nperfkit run ./@name@.py\n"},
    {"c", "my-bench.c", "cc -O2 -I@folder@ @name@.c -o @name@\n./@name@\nperfkit run ./@name@\n"},
    {"cuda", "my-bench.cu",
     "nvcc -O2 -arch=native -I@folder@ @name@.cu -o @name@\n./@name@\nperfkit run ./@name@\n"},
    {"shell", "my-bench.sh", "perfkit run ./@name@.sh\n"},
};
enum { LANGUAGES = sizeof languages / sizeof *languages };

/* Text with `to` in every place of `from`. */
static const char *replaced(struct pk_arena *a, const char *text, const char *from, const char *to)
{
    struct pk_buf out = {.arena = a};
    for (const char *at; (at = strstr(text, from)); text = at + strlen(from)) {
        pk_buf_add(&out, text, (size_t)(at - text));
        pk_buf_str(&out, to);
    }
    pk_buf_str(&out, text);
    return pk_buf_text(&out);
}

static enum pk_code unknown_language(struct pk_app *app, const char *word, struct pk_err *err)
{
    const char *names[LANGUAGES];
    for (size_t i = 0; i < LANGUAGES; i++)
        names[i] = languages[i].word;
    pk_fail(err, PK_E_USAGE, "there is no template for '%.100s'", word);
    pk_why(err, "there are templates for %s", pk_list(names, LANGUAGES, ", ", app->arena));
    return pk_fix(err, "%s", pk_suggest_text(app->arena, word, names, LANGUAGES));
}

/* A file is never replaced. */
static enum pk_code write_new(const char *path, const char *text, const char *language, struct pk_err *err)
{
    const bool is_script = strncmp(text, "#!", 2) == 0;
    PK_CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_script ? 0777 : 0666);
    if (fd < 0) {
        pk_fail(err, errno == EEXIST ? PK_E_USAGE : PK_E_IO, "%.200s was not written", path);
        pk_why_errno(err, errno);
        return pk_fix(err,
                      errno == EEXIST ? "give another name: perfkit init %s NAME"
                                      : "change to a folder in which you may write",
                      language);
    }
    for (size_t n = strlen(text); n;) {
        const ssize_t done = write(fd, text, n);
        if (done < 0) {
            pk_fail(err, PK_E_IO, "%.200s was not written completely", path);
            pk_why_errno(err, errno);
            return pk_fix(err, "remove it, and make room");
        }
        text += done;
        n -= (size_t)done;
    }
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const char *word = app->args.v[0], *name = app->args.n > 1 ? app->args.v[1] : placeholder;
    const struct pk_embedded *template = pk_init_templates;
    size_t i = 0;
    while (i < LANGUAGES && strcmp(languages[i].word, word) != 0)
        i++;
    if (i == LANGUAGES)
        return unknown_language(app, word, err);
    const char *suffix = strrchr(languages[i].file, '.');
    if (pk_ends_with(name, suffix))
        name = pk_strndup(app->arena, name, strlen(name) - strlen(suffix));
    if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != strlen(name) ||
        strchr(".-_", *name) || strlen(name) > 64 || pk_probe_find(name) || pk_import_is_source(name)) {
        pk_fail(err, PK_E_USAGE, "'%.100s' is not a valid experiment name", name);
        pk_why(err,
               "a name has at most 64 letters, digits, '-', '_' and '.', begins with a letter or a digit, "
               "and is not that of an experiment of perfkit or of a source of `perfkit import`");
        return pk_fix(err, "perfkit init %s my-experiment", word);
    }
    if (strcmp(word, "python") == 0 && strstr(imported, pk_printf(app->arena, " %s ", name))) {
        pk_fail(err, PK_E_USAGE, "'%s' is not a valid name for a Python program", name);
        pk_why(err, "the client imports a module of this name, and would find this file instead");
        return pk_fix(err, "perfkit init python my-%s", name);
    }
    while (strcmp(template->name, languages[i].file) != 0)
        template ++;
    const char *path = replaced(app->arena, languages[i].file, placeholder, name);
    if (write_new(path, replaced(app->arena, template->text, placeholder, name), word, err))
        return err->code;
    pk_print_note(app, "%s is written; what comes next (perfkit help clients):", path);
    const char *next = replaced(app->arena, languages[i].next, "@name@", name);
    fputs(replaced(app->arena, next, "@folder@", pk_shell_quote(pk_client_folder(), app->arena)), app->text);
    return PK_OK;
}

const struct pk_cmd pk_cmd_init = {
    .name = "init",
    .summary = "write a template for your own experiment",
    .usage = "init python|c|cuda|shell [NAME]",
    .examples = "perfkit init python\n"
                "perfkit init c my-sum            my-sum.c, and how to compile and run it\n",
    .exact_args = "1-2",
    .run = run,
};
