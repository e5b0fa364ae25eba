/* Resolve: which run "@", "@~2", "17", "commit:1a2b3c4" or "nightly" means. */
#include "store/baseline.h"

#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "store/db.h"

#include <inttypes.h>
#include <string.h>

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

/* The newest runs as "12 (nightly), 11, 10": what a user can choose from. */
static const char *newest_runs(struct pk_store *s, struct pk_arena *a)
{
    struct pk_rows rows;
    struct pk_err ignored;
    struct pk_buf b = {.arena = a};
    if (pk_store_query(s, "SELECT run_id, label FROM v_run ORDER BY run_id DESC LIMIT 6", NULL, 0, a, &rows,
                       &ignored))
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
        pk_why(err, "nothing has been recorded there yet");
        return pk_fix(err, "`perfkit run attention-scaling` records a first run");
    }
    pk_fail(err, PK_E_USAGE, "run '%s' is not in %s", ref, s->path);
    pk_why(err, "a run is named by @ (the newest), @~1 (the one before), its id, a baseline or its label");
    if (near)
        return pk_fix(err, "did you mean the baseline '%s'?", near);
    return pk_fix(err, "newest runs: %s", runs);
}

static enum pk_code no_such_commit(const char *ref, struct pk_err *err)
{
    pk_fail(err, PK_E_NOT_COMPARABLE, "no run of %s is stored", ref);
    pk_why(err, "only complete runs count that were recorded there without uncommitted changes, and no sides "
                "of gates; 7 digits are the fewest");
    return pk_fix(
        err,
        "check it out (git worktree add ../base %s), build it, and `perfkit run` there; or gate the two "
        "builds in turns: perfkit gate EXPERIMENT --a ../base/build --b build",
        ref + strlen("commit:"));
}

/* The newest run of a baseline; -1 when there is none of this name. */
static enum pk_code newest_of_baseline(struct pk_store *s, const char *name, int64_t *run_id,
                                       struct pk_err *err)
{
    int64_t exists;
    if (pk_db_int(s, err, &exists, 0, "SELECT count(*) FROM main.baseline WHERE name = ?1", "t", name) ||
        pk_db_int(s, err, run_id, -1, "SELECT max(run_id) FROM v_baseline_run WHERE name = ?1", "t", name))
        return err->code;
    if (!exists || *run_id >= 0)
        return PK_OK;
    pk_fail(err, PK_E_NOTHING, "baseline '%s' stands for no run now", name);
    pk_why(err, "it moves, and no complete run has what it follows any more");
    return pk_fix(err, "`perfkit baseline show %s` says what it follows", name);
}

static enum pk_code newest_named(struct pk_store *s, const char *ref, int64_t *run_id, struct pk_err *err)
{
    static const char commit[] =
        "SELECT max(id) FROM main.run WHERE length(?1) >= 14 AND git_dirty IS NOT 1"
        " AND substr('commit:' || git_commit, 1, length(?1)) = ?1 AND status = 'complete'"
        " AND CASE WHEN json_valid(settings) THEN settings ->> '$.gate' IS NULL END";
    static const char label[] = "SELECT id FROM main.run WHERE label = ?1 ORDER BY id DESC LIMIT 1";
    enum pk_code code = newest_of_baseline(s, ref, run_id, err);
    if (code == PK_OK && *run_id < 0)
        code = pk_db_int(s, err, run_id, -1, commit, "t", ref);
    if (code == PK_OK && *run_id < 0)
        code = pk_db_int(s, err, run_id, -1, label, "t", ref);
    if (code == PK_OK && *run_id < 0 && strncmp(ref, "commit:", strlen("commit:")) == 0)
        code = no_such_commit(ref, err);
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
        code = pk_db_int(s, err, run_id, -1, "SELECT id FROM main.run ORDER BY id DESC LIMIT 1 OFFSET ?1",
                         "i", back);
    else if (pk_parse_int(ref, &id, &ignored) == PK_OK)
        code = pk_db_int(s, err, run_id, -1, "SELECT id FROM main.run WHERE id = ?1", "i", id);
    if (code == PK_OK && back < 0 && *run_id < 0)
        code = newest_named(s, ref, run_id, err);
    return code || *run_id >= 0 ? code : no_such_run(s, ref, err);
}
