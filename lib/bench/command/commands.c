/* Commands: which commands the arguments of `exec` name, and how each ended. */
#include "bench/command/command.h"

#include "base/text/words.h"
#include "bench/record/runinfo.h"

#include <string.h>

const char *pk_command_name(const struct pk_command_options *o, struct pk_arena *a)
{
    return o->name ? o->name : pk_shell_line(o->argv, SIZE_MAX, a);
}

static enum pk_code check_names(const struct pk_texts *names, size_t n, struct pk_arena *a,
                                struct pk_err *err)
{
    for (size_t i = 0; i < names->n; i++) {
        if (pk_text_check("name", names->v[i], err))
            return err->code;
        if (*names->v[i])
            continue;
        pk_fail(err, PK_E_USAGE, "--name '' is empty");
        pk_why(err, "a name has at least one character");
        return pk_fix(err, "give a name, or omit it: the case is then named by its command line");
    }
    if (!names->n || names->n == n)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--name is given %s for %s", pk_plural(names->n, "time", a),
            pk_plural(n, "command", a));
    pk_why(err, "the first name is of the first command, the second of the second");
    return pk_fix(err, "give one --name for each command, or none");
}

static enum pk_code check_different(const struct pk_command_options *o, size_t n, struct pk_arena *a,
                                    struct pk_err *err)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            const char *name = pk_command_name(&o[i], a);
            if (strcmp(name, pk_command_name(&o[k], a)) != 0)
                continue;
            pk_fail(err, PK_E_USAGE, "'%s' is given twice", name);
            pk_why(err, "each command is a case of the run, and cases have different names");
            return pk_fix(err, "omit one, or name each: --name first --name second");
        }
    return PK_OK;
}

static enum pk_code read_command(const struct pk_texts *args, bool in_words, size_t i, struct pk_arena *a,
                                 struct pk_command_options *o, struct pk_err *err)
{
    const char **words = pk_new_n(a, const char *, args->n + 1);
    memcpy(words, args->v, args->n * sizeof *words);
    o->argv = words;
    if (!in_words && pk_words_split(NULL, args->v[i], a, &o->argv, err))
        return err->code;
    if (!pk_program_find(o->argv, err))
        return PK_OK;
    if (in_words || args->n < 2)
        return err->code;
    /* `perfkit exec sleep 0.1` would be two commands, of which the second does not exist. */
    return pk_fix(err, "the words of one command come after --: perfkit exec -- %s",
                  pk_shell_line(words, args->n, a));
}

enum pk_code pk_commands_read(const struct pk_texts *args, bool in_words, const struct pk_texts *names,
                              const struct pk_command_options *common, struct pk_arena *a,
                              struct pk_command_options **out, size_t *n, struct pk_err *err)
{
    *n = in_words ? 1 : args->n;
    *out = pk_new_n(a, struct pk_command_options, *n);
    if (check_names(names, *n, a, err))
        return err->code;
    for (size_t i = 0; i < *n; i++) {
        (*out)[i] = *common;
        (*out)[i].several = *n > 1;
        (*out)[i].name = names->n ? names->v[i] : NULL;
        if (read_command(args, in_words, i, a, &(*out)[i], err))
            return err->code;
    }
    return check_different(*out, *n, a, err);
}

enum pk_code pk_command_ended(const struct pk_command_options *o, const struct pk_command_result *r,
                              struct pk_err *err)
{
    if (r->last == PK_ST_OK)
        return PK_OK;
    const char *how = r->last == PK_ST_TIMEOUT ? "did not end in time" : "failed";
    if (r->runs > 1)
        pk_fail(err, r->verdict == PK_E_NOTHING ? PK_E_CHECK : r->verdict,
                "run %lld of '%s' %s, after %lld that were measured", (long long)r->runs, o->argv[0], how,
                (long long)r->runs - 1);
    else
        pk_fail(err, r->verdict, "nothing was measured: '%s' %s", o->argv[0], how);
    pk_why(err, "%s", r->message);
    return pk_fix(err, "%s",
                  r->last == PK_ST_TIMEOUT ? "give it more time with --timeout"
                  : r->verdict == PK_E_NOTHING
                      ? "run it by hand; --ignore-failure measures commands that fail"
                  : r->verdict == PK_E_CHECK ? "docs/protocol.md describes what a program may report"
                                             : "run it again");
}
