/* Ref: a run named on the command line, in our own store or in another file; which run "@", "@~2", "17", "commit:1a2b3c4" or "nightly" is. */
#include "store/store.h"

#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "store/db.h"
#include "store/read/baseline.h"
#include "store/table/table.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static bool ends_in_db(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".db") == 0;
}

/* Opens the file named in a reference; the rest of the reference is the run's name. */
static enum pk_code open_file(const char *own_path, const char **ref, const struct pk_store_wait *wait,
                              struct pk_store **out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *colon = strrchr(*ref, ':'), *path = own_path;
    const char *file = colon ? pk_strndup(&a, *ref, (size_t)(colon - *ref)) : ends_in_db(*ref) ? *ref : "";
    const bool commit = strcmp(file, "commit") == 0;
    bool other = !commit && (ends_in_db(file) || (*file && access(file, F_OK) == 0));
    enum pk_store_mode mode = other ? PK_STORE_UNTRUSTED : PK_STORE_READ;
    if (other) {
        path = file;
        *ref = colon && colon[1] ? colon + 1 : "@";
    }
    return pk_store_open(path, mode, wait, out, err);
}

/* Views leave out a row without its parent: of a stranger's run they would show a part as if it were the whole. */
static enum pk_code check_rows(struct pk_store *s, const int64_t *runs, size_t n, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (size_t i = 0; s->mode == PK_STORE_UNTRUSTED && i < n; i++) {
        const struct pk_param run = pk_param_int(":run", runs[i]);
        const char *table, *parent;
        struct pk_rows rows;
        int64_t row, id;
        if (pk_query(s, "missing_parent", &run, 1, &a, &rows, err))
            return err->code;
        if (!rows.n)
            continue;
        pk_db_row(&rows, 0, "titi", &table, &row, &parent, &id);
        return pk_db_no_parent(s, table, row, parent, id, err);
    }
    return PK_OK;
}

enum pk_code pk_store_open_ref(const char *own_path, const char *ref, const struct pk_store_wait *wait,
                               struct pk_store **out, int64_t *run_id, struct pk_err *err)
{
    if (open_file(own_path, &ref, wait, out, err))
        return err->code;
    if (pk_store_resolve(*out, ref, run_id, err) == PK_OK && check_rows(*out, run_id, 1, err) == PK_OK)
        return PK_OK;
    pk_store_close(*out);
    *out = NULL;
    return err->code;
}

struct id_list {
    int64_t *ids;
    size_t n, cap;
};

static void add(struct id_list *l, int64_t id, struct pk_arena *a)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->ids[i] == id)
            return;
    l->ids = pk_grow(a, l->ids, sizeof *l->ids, l->n, &l->cap);
    l->ids[l->n++] = id;
}

/* Every run of what stands for several, in pk_store_resolve's order and of the first that has any; and the newest, which it resolved to. */
static enum pk_code add_matches(struct pk_store *s, const char *ref, int64_t newest, struct id_list *l,
                                struct pk_arena *a, struct pk_err *err)
{
    static const char *const meanings[] = {"runs_of_baseline", "runs_of_commit", "runs_of_label"};
    const struct pk_param params[] = {pk_param_text(":ref", ref), pk_param_int(":newest", newest)};
    struct pk_rows rows = {0};
    for (size_t i = 0; !rows.n && i < sizeof meanings / sizeof *meanings; i++)
        if (pk_query(s, meanings[i], params, 2, a, &rows, err))
            return err->code;
    for (size_t i = 0; i < rows.n; i++)
        add(l, rows.cells[i].i, a);
    add(l, newest, a);
    return PK_OK;
}

enum pk_code pk_store_refs(struct pk_store *s, const char *ref, struct pk_arena *a, int64_t **ids, size_t *n,
                           struct pk_err *err)
{
    struct id_list l = {0};
    struct pk_err whole;
    int64_t id;
    enum pk_code rc = pk_store_resolve(s, ref, &id, &whole); /* a label may have commas */
    if (!rc) {
        rc = add_matches(s, ref, id, &l, a, err);
    } else if (!strchr(ref, ',')) {
        *err = whole;
    } else {
        rc = PK_OK;
        for (const char *rest = ref, *part; !rc && (part = pk_next_part(&rest, ',', a));) {
            rc = pk_store_resolve(s, part, &id, err);
            rc = rc ? rc : add_matches(s, part, id, &l, a, err);
        }
    }
    *ids = l.ids;
    *n = l.n;
    return rc;
}

/* "@" and "@~N" -> N; -1 when ref is something else. */
static int64_t steps_back(const char *ref)
{
    int64_t n = -1;
    struct pk_err ignored;
    if (strcmp(ref, "@") == 0)
        return 0;
    if (strncmp(ref, "@~", 2) != 0 || pk_parse_int(ref + 2, &n, &ignored) || n < 0)
        return -1;
    return n;
}

/* "@" and "@~N" count the entry's runs, the sides of gates apart; other words mean all runs that have them. */
static enum pk_code entry_refs(struct pk_store *s, const char *ref, const struct pk_entry_name *of,
                               struct pk_arena *a, int64_t **ids, size_t *n, struct pk_err *err)
{
    const int64_t back = steps_back(ref);
    const struct pk_param params[] = {pk_param_text(":suite", of->suite), pk_param_text(":entry", of->entry),
                                      back >= 0 ? pk_param_int(":back", back) : pk_param_text(":ref", ref)};
    struct pk_rows rows;
    if (pk_query(s, back >= 0 ? "entry_run_counted_back" : "entry_runs_named", PK_PARAMS(params), a, &rows,
                 err))
        return err->code;
    *ids = pk_new_n(a, int64_t, rows.n + 1);
    for (*n = 0; *n < rows.n; ++*n)
        (*ids)[*n] = rows.cells[*n].i;
    if (*n)
        return PK_OK;
    pk_fail(err, PK_E_NOT_COMPARABLE, "no run of [%s] of the suite %s is '%s' in %s", of->entry, of->suite,
            ref, pk_store_file(s));
    pk_why(err,
           "runs of an entry are those that `perfkit run --suite` or a gate of the suite recorded, by label, "
           "commit or baseline");
    return pk_fix(err, "perfkit run --suite %s.ini --label %s", of->suite, *ref == '@' ? "main" : ref);
}

enum pk_code pk_store_open_refs(const char *own_path, const char *ref, const struct pk_entry_name *of,
                                const struct pk_store_wait *wait, struct pk_arena *a, struct pk_store **out,
                                int64_t **ids, size_t *n, struct pk_err *err)
{
    if (open_file(own_path, &ref, wait, out, err))
        return err->code;
    enum pk_code rc =
        of ? entry_refs(*out, ref, of, a, ids, n, err) : pk_store_refs(*out, ref, a, ids, n, err);
    if (!rc)
        rc = check_rows(*out, *ids, *n, err);
    if (!rc)
        return PK_OK;
    pk_store_close(*out);
    *out = NULL;
    return rc;
}

/* --- one run ---------------------------------------------------------------------------------------------------------- */

/* The newest runs as "12 (nightly), 11, 10": what a user can choose from. */
static const char *newest_runs(struct pk_store *s, struct pk_arena *a)
{
    struct pk_rows rows;
    struct pk_err ignored;
    struct pk_buf b = {.arena = a};
    if (pk_query(s, "newest_runs", NULL, 0, a, &rows, &ignored))
        return "";
    for (size_t i = 0; i < rows.n && i < 5; i++) {
        const struct pk_cell *c = &rows.cells[2 * i];
        pk_buf_printf(&b, "%s%" PRId64, i ? ", " : "", c[0].i);
        if (c[1].type == PK_CELL_TEXT)
            pk_buf_printf(&b, " (%s)", c[1].s);
    }
    pk_buf_str(&b, rows.n > 5 ? " ..." : "");
    return pk_buf_text(&b);
}

static enum pk_code no_such_run(struct pk_store *s, const char *ref, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    size_t n;
    const char *runs = newest_runs(s, &a), *const *names = pk_baseline_names(s, &a, &n);
    const char *near = n ? pk_suggest(ref, names, n) : NULL;
    if (!*runs) {
        pk_fail(err, PK_E_NOTHING, "there is no run in %s", s->path);
        pk_why(err, "nothing has been recorded in it yet");
        return pk_fix(err, "`perfkit run attention-scaling` records a first run");
    }
    pk_fail(err, PK_E_USAGE, "run '%s' is not in %s", ref, s->path);
    pk_why(err,
           "a run is given as @ (the newest, no calibration), @~1 (the one before), an id, a baseline or a "
           "label");
    if (near)
        return pk_fix(err, "did you mean the baseline '%s'?", near);
    return pk_fix(err, "newest runs: %s", runs);
}

/* The newest run of a baseline, a commit or a label; -1 when there is none. */
static enum pk_code newest_named(struct pk_store *s, const char *ref, int64_t *run_id, struct pk_err *err)
{
    int64_t baseline;
    enum pk_code code = pk_db_int(s, err, &baseline, -1, "baseline_id", "t", ref);
    if (code == PK_OK)
        code = pk_db_own_views(s, err);
    if (code == PK_OK)
        code = pk_db_int(s, err, run_id, -1, "run_of_baseline", "t", ref);
    if (code == PK_OK && baseline >= 0 && *run_id < 0) {
        pk_fail(err, PK_E_NOTHING, "baseline '%s' has no run now", ref);
        pk_why(err, "it is a moving baseline, and no complete run matches it any more");
        return pk_fix(err, "`perfkit baseline show %s` shows what it follows", ref);
    }
    if (code == PK_OK && *run_id < 0)
        code = pk_db_int(s, err, run_id, -1, "run_of_commit", "t", ref);
    if (code == PK_OK && *run_id < 0)
        code = pk_db_int(s, err, run_id, -1, "run_of_label", "t", ref);
    if (code == PK_OK && *run_id < 0 && strncmp(ref, "commit:", strlen("commit:")) == 0) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "no run of %s is stored", ref);
        pk_why(err,
               "only complete runs recorded at this commit without uncommitted changes count, and no sides "
               "of gates; a commit needs at least 7 digits");
        code = pk_fix(
            err,
            "check it out (git worktree add ../base %s), build it, and `perfkit run` there; or gate the two "
            "builds in turns: perfkit gate EXPERIMENT --a ../base/build --b build",
            ref + strlen("commit:"));
    }
    return code;
}

enum pk_code pk_store_resolve(struct pk_store *s, const char *ref, int64_t *run_id, struct pk_err *err)
{
    int64_t id, back = steps_back(ref);
    struct pk_err ignored;
    enum pk_code code = PK_OK;
    s->doing = "find a run";
    *run_id = -1;
    if (back >= 0)
        code = pk_db_int(s, err, run_id, -1, "run_counted_back", "i", back);
    else if (pk_parse_int(ref, &id, &ignored) == PK_OK)
        code = pk_db_int(s, err, run_id, -1, "run_of_id", "i", id);
    if (code == PK_OK && back < 0 && *run_id < 0)
        code = newest_named(s, ref, run_id, err);
    return code || *run_id >= 0 ? code : no_such_run(s, ref, err);
}
