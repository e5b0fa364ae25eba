/* compare --a --b: what gate measures and prints, without its exit status. */
#include "cmd/compare_now.h"

#include "cmd/gate_rows.h"

#include <string.h>

struct options {
    struct gate_options gate; /* first: its rows write there */
    bool exit_code;
};

static const struct pk_opt options[] = {
    PK_GATE_ROWS,
    {"exit-code", 0, PK_OPT_FLAG, offsetof(struct options, exit_code),
     .help = "exit status 3 when a row is slower, 4 when no row could be judged, as gate's; "
             "--fail-on-undecided implies it"},
    {0},
};

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct options *o = app->options;
    return pk_gate_run_command(app, !o->exit_code && !o->gate.verdict.fail_on_undecided, err);
}

static const struct pk_cmd compare_now = {
    .name = "compare",
    .summary = "two builds, commands or settings, measured in turns and compared",
    .usage = "compare [EXPERIMENT] --a SIDE --b SIDE [as gate]",
    .examples = "perfkit compare --a './solve-main input' --b './solve input'\n"
                "perfkit compare attention-scaling --a dtype=fp32 --b dtype=bf16\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .exact_args = "0-1",
    .more = pk_gate_more,
    .run = run,
};

static bool is_side(const char *word)
{
    return strncmp(word, "--a", 3) == 0 || strncmp(word, "--b", 3) == 0 ? word[3] == '=' || !word[3] : false;
}

const struct pk_cmd *pk_compare_now(int argc, const char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_side(argv[i]))
            return &compare_now;
    return NULL;
}
