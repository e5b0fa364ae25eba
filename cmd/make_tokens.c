/* Make tokens: a text as a file of tokens, one of each byte, for batch-scaling. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "model/epoch/tokens.h"

#include <unistd.h>

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const char *out = app->globals->output;
    const size_t width = out ? pk_tokens_width(out) : 2;
    size_t n;
    if (!out && isatty(fileno(app->text))) {
        pk_fail(err, PK_E_USAGE, "tokens cannot be shown on a terminal");
        pk_why(err, "they are binary numbers");
        return pk_fix(err, "perfkit make-tokens %s -o tokens.u16", app->args.v[0]);
    }
    if (out && pk_same_file(app->args.v[0], out)) {
        pk_fail(err, PK_E_USAGE, "-o %s is the text itself", out);
        pk_why(err, "its tokens would replace it");
        return pk_fix(err, "give another file, as -o tokens.u16");
    }
    if (pk_tokens_write(app->args.v[0], width, app->text, &n, err))
        return err->code;
    pk_print_note(
        app,
        "%zu tokens of %zu bytes, from 0 to 255; use: perfkit run batch-scaling --vocab 256 --tokens FILE", n,
        width);
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
