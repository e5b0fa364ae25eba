/* Runinfo: machine, repository, command line and version of a run. */
#include "bench/record/runinfo.h"

#include "base/build.h"
#include "base/text/buf.h"
#include "machine/machine.h"
#include "machine/software/software.h"
#include "json/json.h"

#include <string.h>

const char *pk_shell_quote(const char *arg, struct pk_arena *a)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,.:/@%^";
    if (*arg && strspn(arg, plain) == strlen(arg))
        return arg;
    struct pk_buf b = {.arena = a};
    pk_buf_char(&b, '\'');
    for (; *arg; arg++)
        pk_buf_str(&b, *arg == '\'' ? "'\\''" : (const char[]){*arg, '\0'});
    pk_buf_char(&b, '\'');
    return pk_buf_text(&b);
}

const char *pk_shell_line(const char *const *argv, size_t n, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < n && argv[i]; i++)
        pk_buf_printf(&b, "%s%s", i ? " " : "", pk_shell_quote(argv[i], a));
    return pk_buf_text(&b);
}

/* Git takes any bytes for a name; what is recorded is text. */
static const char *branch(struct pk_arena *a)
{
    const char *name = pk_machine_branch(a);
    PK_JSON_CLEANUP json_t *utf8 = name ? json_string(name) : NULL;
    return utf8 ? name : NULL;
}

enum pk_code pk_run_info_fill(struct pk_run_info *info, int argc, const char *const *argv, struct pk_arena *a,
                              struct pk_err *err)
{
    struct pk_machine *m = pk_new(a, struct pk_machine);
    enum pk_code rc = pk_machine_read("/", a, m, err);
    if (rc)
        return rc;
    info->machine = pk_machine_json(m, a);
    info->topology = pk_machine_topology_xml("/", a);
    pk_machine_repository(".", a, &info->git_commit, &info->git_dirty);
    info->git_branch = info->git_commit ? branch(a) : NULL;
    info->command_line = pk_shell_line(argv, (size_t)argc, a);
    info->version = pk_version;
    return PK_OK;
}

enum pk_code pk_text_check(const char *option, const char *text, struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *utf8 = text ? json_string(text) : NULL;
    if (!text || utf8)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "the text of --%s is not UTF-8", option);
    pk_why(err, "it is recorded as text");
    return pk_fix(err, "write it in UTF-8, or omit --%s", option);
}

enum pk_code pk_label_check(const char *label, struct pk_err *err)
{
    if (pk_text_check("label", label, err))
        return err->code;
    if (!label || (*label && *label != '@' && label[strspn(label, "0123456789")]))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--label '%s' cannot name a run", label);
    pk_why(err,
           *label ? "numbers are run ids, and @ stands for the newest run or one before it" : "it is empty");
    return pk_fix(err, "give a word, for example --label before");
}

enum pk_code pk_tags_json(const char *const *tags, size_t n, struct pk_arena *a, const char **json,
                          struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *obj = json_object();
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(tags[i], '=');
        if (!eq || eq == tags[i]) {
            pk_fail(err, PK_E_USAGE, "--tag '%s' is not KEY=VALUE", tags[i]);
            pk_why(err, "a tag needs a name, '=' and a value");
            return pk_fix(err, "write for example --tag branch=main");
        }
        if (pk_text_check("tag", tags[i], err))
            return err->code;
        const char *key = pk_strndup(a, tags[i], (size_t)(eq - tags[i]));
        if (json_object_get(obj, key)) {
            pk_fail(err, PK_E_USAGE, "--tag %s is given twice", key);
            pk_why(err, "a run has one value for each of its tags");
            return pk_fix(err, "leave one of them out");
        }
        json_object_set_new(obj, key, json_string(eq + 1));
    }
    *json = pk_json_text(a, obj, PK_JSON_CANON);
    return PK_OK;
}
