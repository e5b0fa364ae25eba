/* bisect: finds the commit that made a command slower: `git bisect` with a build and a gate for every commit that it asks about. */
#include "cmd/bisect/bisect.h"

#include "base/file.h"
#include "machine/software/software.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct bisect_options {
    const char *side, *gate;
    bool resume, reset;
};

#define O(field) offsetof(struct bisect_options, field)

static const struct pk_opt options[] = {
    {"side", .type = PK_OPT_TEXT, .offset = O(side), .arg = "COMMAND", .cli_only = true,
     .group = "The search", .help = "the command that became slower; it runs in the tree of the commit"},
    {"gate", .type = PK_OPT_TEXT, .offset = O(gate), .arg = "OPTIONS", .cli_only = true,
     .help = "options of `perfkit gate` for every step: '--metric solve_ns --max-pairs 40'"},
    {"resume", .type = PK_OPT_FLAG, .offset = O(resume), .cli_only = true,
     .help = "go on with a search that was interrupted"},
    {"reset", .type = PK_OPT_FLAG, .offset = O(reset), .cli_only = true,
     .help = "give up a search that was interrupted, and remove its trees"},
    {0},
};

/* --- the search ------------------------------------------------------------------------------------------------------------ */

static void remove_trees(const struct search *s)
{
    (void)PK_BISECT_GIT(s, NULL, "worktree", "remove", "--force", "--force", pk_bisect_path(s, "base"));
    (void)PK_BISECT_GIT(s, NULL, "worktree", "remove", "--force", "--force", pk_bisect_path(s, "tree"));
    static const char *const files[] = {"git.log",   "build.log",  "gate.log",
                                        "gate.json", "state.json", "state.json.new"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(pk_bisect_path(s, files[i]));
    rmdir(s->folder);
}

/* The line of git's answer that is these words, after a commit's hash if it has one; NULL = there is none. Subjects of commits, which git
 * prints as well, may contain the same words. */
static const char *line_of_git(const char *text, const char *words)
{
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line + strspn(line, "0123456789abcdef"), words, strlen(words)) == 0)
            return line;
    return NULL;
}

/* git is told the last step; *done when it has found the commit. */
static enum pk_code tell_git(const struct search *s, bool *done, struct pk_err *err)
{
    const json_t *steps = json_object_get(s->state, "steps");
    const char *decision = pk_json_str(json_array_get(steps, json_array_size(steps) - 1), "decision", "");
    if (PK_BISECT_GIT(s, "tree", "reset", "--hard", "--quiet"))
        return pk_bisect_git_failed(s, "cleaning the tree", err);
    const int status = PK_BISECT_GIT(s, "tree", "bisect", decision);
    const char *answer = pk_file_text("", pk_bisect_path(s, "git.log"), s->a);
    const char *found = line_of_git(answer, " is the first bad commit\n");
    if (found) {
        *done = true;
        const char *commit = pk_strndup(s->a, found, strcspn(found, " "));
        pk_bisect_print(s);
        const char *text =
            pk_printf(s->a, "%s is the first slower commit: %s", commit, pk_bisect_subject(s, commit));
        pk_out_note(s->app->out, text);
        if (!pk_for_people(s->app))
            pk_print_note(s->app, "%s", text);
        remove_trees(s);
        return PK_OK;
    }
    if (line_of_git(answer, "There are only 'skip'ped commits left to test")) {
        *done = true;
        pk_bisect_print(s);
        remove_trees(s);
        pk_fail(err, PK_E_UNDECIDED, "the first slower commit is among commits that could not be judged");
        pk_why(err, "the remaining commits were skipped (see Why)");
        return pk_fix(err, "make them build, or search another range");
    }
    return status ? pk_bisect_git_failed(s, pk_printf(s->a, "git bisect %s", decision), err) : PK_OK;
}

static enum pk_code search(const struct search *s, struct pk_err *err)
{
    const json_t *steps = json_object_get(s->state, "steps");
    for (bool done = false; !done;) {
        if (PK_BISECT_GIT(s, "tree", "rev-parse", "HEAD"))
            return pk_bisect_git_failed(s, "reading the commit", err);
        const char *head = pk_bisect_last_line(s, "git.log");
        const json_t *last = json_array_get(steps, json_array_size(steps) - 1);
        /* Decided, but interrupted before git was told. */
        const bool decided = json_array_size(steps) && strcmp(pk_json_str(last, "commit", ""), head) == 0;
        if ((!decided && pk_bisect_decide(s, head, err)) || tell_git(s, &done, err))
            return err->code;
        if (pk_stop_flag && !done)
            return pk_bisect_interrupted(err);
    }
    return PK_OK;
}

/* --- beginning ------------------------------------------------------------------------------------------------------------- */

static enum pk_code ends_failed(const struct search *s, const char *end, const char *how, const char *why,
                                struct pk_err *err)
{
    pk_fail(err, PK_E_CHECK, "%s: %s", end, how);
    pk_why(err, "%s", why);
    pk_fix(err, "both ends of the range must build and run: try them, or another range");
    remove_trees(s);
    return err->code;
}

/* NEW is slower than BASE, or there is nothing to find. Steps then need half of that: no commit lies between. */
static enum pk_code compare_ends(struct search *s, struct pk_err *err)
{
    if (pk_bisect_gate(s, pk_bisect_text(s, "new"), true, err) == 2) { /* before anything is built */
        pk_fail(err, PK_E_USAGE, "--gate %s: a gate does not take that", pk_bisect_text(s, "gate"));
        pk_why(err, "%s", pk_bisect_gate_error(s));
        remove_trees(s);
        return pk_fix(err, "perfkit gate --help lists its options");
    }
    if (PK_BISECT_GIT(s, "tree", "checkout", "--quiet", "--detach", pk_bisect_text(s, "new")))
        return pk_bisect_git_failed(s, "git checkout", err);
    static const char *const trees[] = {"base", "tree"}, *const names[] = {"base", "new"};
    for (int i = 0; i < 2; i++) {
        const int built = pk_bisect_build(s, trees[i]);
        if (pk_stop_flag)
            return pk_bisect_interrupted(err);
        if (built)
            return ends_failed(s, pk_bisect_short(s, pk_bisect_text(s, names[i])),
                               pk_printf(s->a, "the build ended with %d", built),
                               pk_bisect_last_line(s, "build.log"), err);
    }
    const int status = pk_bisect_gate(s, pk_bisect_text(s, "new"), false, err);
    if (status < 0)
        return err->code;
    if (pk_stop_flag || status == 130)
        return pk_bisect_interrupted(err);
    if (status != 0 && status != 3 && status != 4)
        return ends_failed(s, "the gate of both ends", pk_printf(s->a, "it ended with %d", status),
                           pk_bisect_gate_error(s), err);
    const double ratio = pk_bisect_ratio(s);
    if (status != 3) {
        const char *base = pk_bisect_short(s, pk_bisect_text(s, "base")),
                   *new_ = pk_bisect_short(s, pk_bisect_text(s, "new"));
        if (status == 4)
            pk_fail(err, PK_E_UNDECIDED, "the gate could not judge whether %s is slower than %s", new_, base);
        else
            pk_fail(err, PK_E_NOTHING, "%s is not slower than %s", new_, base);
        pk_why(err, "the gate ended with status %d%s", status,
               isnan(ratio) ? "" : pk_printf(s->a, "; new / base is %.3f", ratio));
        pk_fix(
            err,
            "choose a range whose end is slower, or --gate with a smaller --min-effect or more --max-pairs");
        remove_trees(s);
        return err->code;
    }
    pk_print_note(s->app, "%s is slower than %s (%+.1f %%)", pk_bisect_short(s, pk_bisect_text(s, "new")),
                  pk_bisect_short(s, pk_bisect_text(s, "base")), pk_bisect_change(ratio));
    const bool own =
        strstr(pk_bisect_text(s, "gate"), "--min-effect") || strstr(pk_bisect_text(s, "gate"), "--threshold");
    json_object_set_new(s->state, "min_effect", json_real(own || !(ratio > 1.04) ? 0 : (ratio - 1) / 2));
    if (PK_BISECT_GIT(s, "tree", "reset", "--hard", "--quiet") ||
        PK_BISECT_GIT(s, "tree", "bisect", "start", pk_bisect_text(s, "new"), pk_bisect_text(s, "base")))
        return pk_bisect_git_failed(s, "git bisect start", err);
    return pk_bisect_save(s, err);
}

static enum pk_code not_a_range(const char *what, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s", what);
    pk_why(err, "%s", why);
    return pk_fix(err, "perfkit bisect v1.2..main --side './solve input' -- make -s solve");
}

static enum pk_code read_range(struct search *s, const char *range, struct pk_err *err)
{
    const char *dots = strstr(range, "..");
    if (!dots || dots[2] == '.')
        return not_a_range(pk_printf(s->a, "'%s' is not a range", range), "a range is BASE..NEW", err);
    const char *const names[] = {pk_strndup(s->a, range, (size_t)(dots - range)), dots + 2};
    for (int i = 0; i < 2; i++) {
        const char *commit = pk_machine_commit(names[i], s->a);
        if (!commit)
            return not_a_range(pk_printf(s->a, "there is no commit '%s'", names[i]),
                               "git does not find it in this repository", err);
        json_object_set_new(s->state, i ? "new" : "base", json_string(commit));
    }
    if (strcmp(pk_bisect_text(s, "base"), pk_bisect_text(s, "new")) == 0 ||
        PK_BISECT_GIT(s, NULL, "merge-base", "--is-ancestor", pk_bisect_text(s, "base"),
                      pk_bisect_text(s, "new")))
        return not_a_range(pk_printf(s->a, "%s is not an ancestor of %s", names[0], names[1]),
                           "the search is among the commits that lead from BASE to NEW", err);
    return PK_OK;
}

static enum pk_code begin(struct search *s, const struct bisect_options *o, struct pk_err *err)
{
    const struct pk_texts *args = &s->app->args;
    const char *const *words;
    json_t *build_words = json_array();
    for (size_t i = 1; i < args->n; i++)
        json_array_append_new(build_words, json_string(args->v[i]));
    s->state = json_pack("{s:s, s:s, s:o, s:[]}", "side", o->side ? o->side : "", "gate",
                         o->gate ? o->gate : "", "build", build_words, "steps");
    if (!s->state || args->n < 2 || !o->side)
        return not_a_range(
            "bisect needs a range of commits, a command that is measured, and one that builds it",
            !args->n   ? "no range is given"
            : !o->side ? "--side is missing"
                       : "no BUILD is given",
            err);
    if (pk_words_split("side", o->side, s->a, &words, err) ||
        (o->gate && pk_words_split("gate", o->gate, s->a, &words, err)))
        return err->code;
    if (access(pk_bisect_path(s, "state.json"), F_OK) == 0) {
        pk_fail(err, PK_E_USAGE, "a search is under way in this repository");
        pk_why(err, "%s exists", s->folder);
        return pk_fix(err, "perfkit bisect --resume goes on with it; perfkit bisect --reset gives it up");
    }
    remove_trees(s); /* of a search that was killed before its first state was written */
    if (mkdir(s->folder, 0777) != 0) {
        pk_fail(err, PK_E_IO, "cannot make %s", s->folder);
        pk_why_errno(err, errno);
        return pk_fix(err, "make the git directory writable");
    }
    if (read_range(s, args->v[0], err)) {
        remove_trees(s);
        return err->code;
    }
    if (PK_BISECT_GIT(s, NULL, "worktree", "add", "--detach", pk_bisect_path(s, "base"),
                      pk_bisect_text(s, "base")) ||
        PK_BISECT_GIT(s, NULL, "worktree", "add", "--detach", pk_bisect_path(s, "tree"),
                      pk_bisect_text(s, "new")))
        return pk_bisect_git_failed(s, "making the trees", err);
    int dirty;
    const char *commit;
    pk_machine_repository(".", s->a, &commit, &dirty);
    if (dirty > 0)
        pk_print_note(s->app, "uncommitted changes are not measured");
    return pk_bisect_save(s, err) || compare_ends(s, err) ? err->code : search(s, err);
}

/* --- the command ------------------------------------------------------------------------------------------------------------- */

static enum pk_code resume(struct search *s, struct pk_err *err)
{
    s->state = json_load_file(pk_bisect_path(s, "state.json"), 0, NULL);
    if (!s->state) {
        pk_fail(err, PK_E_USAGE, "there is no search to resume");
        pk_why(err, "%s cannot be read", pk_bisect_path(s, "state.json"));
        return pk_fix(err, "begin one: perfkit bisect BASE..NEW --side COMMAND -- BUILD");
    }
    if (!json_object_get(s->state, "min_effect") && compare_ends(s, err))
        return err->code;
    return search(s, err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct bisect_options *o = app->options;
    struct search s = {.app = app, .a = app->arena};
    pk_must_finish = 1;
    if (o->resume + o->reset > 0 && (o->resume + o->reset > 1 || app->args.n || o->side || o->gate)) {
        pk_fail(err, PK_E_USAGE, "--resume and --reset take no other options or arguments");
        pk_why(err, "the range and the commands are those of the search that was interrupted");
        return pk_fix(err, "perfkit bisect --resume, or perfkit bisect --reset");
    }
    const char *directory = pk_machine_git_directory(s.a);
    if (!directory) {
        pk_fail(err, PK_E_USAGE, "not in a git repository");
        pk_why(err, "git rev-parse --absolute-git-dir failed");
        return pk_fix(err, "change to the repository whose commits are searched");
    }
    s.folder = pk_printf(s.a, "%s/perfkit-bisect", directory);
    if (o->reset) {
        remove_trees(&s);
        return PK_OK;
    }
    const enum pk_code code = o->resume ? resume(&s, err) : begin(&s, o, err);
    json_decref(s.state);
    return code;
}

const struct pk_cmd pk_cmd_bisect = {
    .name = "bisect",
    .summary = "find the commit that made a command slower, with git bisect",
    .usage = "bisect BASE..NEW --side COMMAND [options] -- BUILD... | bisect --resume | bisect --reset",
    .examples = "perfkit bisect v1.2..main --side './solve input' -- make -s solve\n"
                "perfkit bisect HEAD~9..HEAD --side ./solve --gate '-m solve_ns' -- make\n"
                "perfkit bisect --resume\n",
    .options = options,
    .options_bytes = sizeof(struct bisect_options),
    .exact_args = "0+",
    .run = run,
};
