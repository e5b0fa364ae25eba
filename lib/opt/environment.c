/* Environment: options from PERFKIT_ variables, and those that mean nothing. */
#include "base/text/buf.h"
#include "base/text/words.h"
#include "opt/source.h"

#include <ctype.h>
#include <string.h>

#define PREFIX "PERFKIT_"

char *pk_opt_variable(const char *option, struct pk_arena *a)
{
    char *name = pk_printf(a, PREFIX "%s", option);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    return name;
}

const char *pk_opt_getenv(const struct pk_opt_input *in, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *e = in->environ_; *e; e++)
        if (!strncmp(*e, name, n) && (*e)[n] == '=')
            return (*e)[n + 1] ? *e + n + 1 : NULL;
    return NULL;
}

static enum pk_code set_rows(struct pk_opt_job *job, struct pk_opt_table *t, struct pk_err *err)
{
    for (size_t i = 0; t->rows && t->rows[i].name; i++) {
        const char *name = pk_opt_variable(t->rows[i].name, job->arena);
        const char *text = t->rows[i].cli_only ? NULL : pk_opt_getenv(job->in, name);
        struct pk_opt_origin origin = {PK_OPT_ENVIRONMENT, name};
        if (text && pk_opt_set((struct pk_opt_place){t, i}, text, origin, job->arena, err))
            return pk_within(err, "%s", name);
    }
    return PK_OK;
}

/* Every name a PERFKIT_ variable may have, whichever command runs. */
static struct pk_texts known_variables(const struct pk_opt_known *known, struct pk_arena *a)
{
    struct pk_texts names = {0};
    for (size_t s = 0; s <= known->n; s++)
        for (const struct pk_opt *r = s < known->n ? known->sections[s].rows : known->globals; r && r->name;
             r++)
            if (!r->cli_only)
                pk_texts_add(&names, pk_opt_variable(r->name, a), a);
    for (const struct pk_opt_variable *v = known->variables; v->name; v++)
        pk_texts_add(&names, v->name, a);
    return names;
}

static bool listed(const struct pk_texts *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->v[i], name))
            return true;
    return false;
}

static enum pk_code refuse_unknown(const struct pk_opt_job *job, struct pk_err *err)
{
    struct pk_texts names = {0};
    for (const char *const *e = job->in->environ_; *e; e++) {
        if (strncmp(*e, PREFIX, strlen(PREFIX)))
            continue;
        if (!names.n)
            names = known_variables(job->in->known, job->arena);
        const char *name = pk_strndup(job->arena, *e, strcspn(*e, "="));
        if (listed(&names, name))
            continue;
        const char *near = pk_suggest(name, names.v, names.n);
        pk_fail(err, PK_E_USAGE, "environment variable %.200s means nothing here", name);
        pk_why(err, "variables that begin with " PREFIX " set options, and no option has this name");
        return near ? pk_fix(err, "did you mean %s?", near) : pk_fix(err, "unset it: unset %.200s", name);
    }
    return PK_OK;
}

static enum pk_code check_word(const struct pk_opt_variable *v, const char *text, struct pk_arena *a,
                               struct pk_err *err)
{
    struct pk_texts words = {0};
    struct pk_buf all = {.arena = a};
    for (const char *const *w = v->words; *w; w++) {
        pk_texts_add(&words, *w, a);
        pk_buf_printf(&all, "%s%s", words.n > 1 ? ", " : "", *w);
    }
    if (listed(&words, text))
        return PK_OK;
    const char *near = pk_suggest(text, words.v, words.n);
    pk_fail(err, PK_E_USAGE, "%s: '%.100s' is not one of its words", v->name, text);
    pk_why(err, "it is one of %s", pk_buf_text(&all));
    return near ? pk_fix(err, "did you mean %s=%s?", v->name, near)
                : pk_fix(err, "unset it: unset %s", v->name);
}

static enum pk_code check_words(const struct pk_opt_job *job, struct pk_err *err)
{
    for (const struct pk_opt_variable *v = job->in->known->variables; v->name; v++) {
        const char *text = v->words ? pk_opt_getenv(job->in, v->name) : NULL;
        if (text && check_word(v, text, job->arena, err))
            return err->code;
    }
    return PK_OK;
}

enum pk_code pk_opt_read_environment(struct pk_opt_job *job, struct pk_err *err)
{
    for (size_t t = 0; t < job->n_tables; t++)
        if (set_rows(job, &job->tables[t], err))
            return err->code;
    return refuse_unknown(job, err) ? err->code : check_words(job, err);
}
