/* Make tokens: a text as a file of tokens, one of each byte, for batch-scaling. */
#include "cmd/cmd.h"

#include "model/epoch/tokens.h"

#include <unistd.h>

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    size_t n;
    if (!app->globals->output && isatty(fileno(app->text))) {
        pk_fail(err, PK_E_USAGE, "tokens cannot be shown on a terminal");
        pk_why(err, "they are binary numbers");
        return pk_fix(err, "perfkit make-tokens %s -o tokens.u16", app->args.v[0]);
    }
    if (pk_tokens_write(app->args.v[0], app->text, &n, err))
        return err->code;
    pk_note(app,
            "%zu tokens of 2 bytes, from 0 to 255; use: perfkit run batch-scaling --vocab 256 --tokens FILE",
            n);
    return PK_OK;
}

const struct pk_cmd pk_cmd_make_tokens = {
    .name = "make-tokens",
    .summary = "turn a text into a file of tokens for batch-scaling",
    .usage = "make-tokens TEXT -o FILE",
    .examples = "perfkit make-tokens book.txt -o book.u16",
    .exact_args = "1",
    .hidden = true, /* the first screen of help has 23 lines; the page of batch-scaling names it */
    .run = run,
};
