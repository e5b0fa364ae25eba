/* Fuzz: text in every format. No byte that commands a terminal, no line that commands GitHub, and valid JSON. */
#include "fuzz.h"

#include "out/out.h"
#include "out/text.h"
#include "json/json.h"

#include <stdlib.h>

static void print(struct pk_out *o, const char *text)
{
    static const struct pk_column cols[] = {{.key = "text", .heading = "Text", .left = true},
                                            {.key = "json", .heading = "JSON", .left = true, .json = true}};
    pk_out_note(o, text);
    pk_out_table(o, "table", text, cols, 2);
    pk_out_row(o, (struct pk_cell[]){pk_cell_text(text), pk_cell_text(text)});
    pk_out_note(o, text);
}

static void check(const char *text)
{
    uint32_t code;
    for (const char *line = text; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL)
        pk_assert(strncmp(line + strspn(line, " \t"), "::", 2) != 0);
    for (; *text; text += pk_utf8_next(text, &code)) {
        pk_utf8_next(text, &code);
        pk_assert(code == '\n' || code == PK_UTF8_BAD || !pk_utf8_unsafe(code));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    if (!n)
        return 0;
    const char *input = pk_strndup(&a, (const char *)data + 1, n - 1);
    for (enum pk_format f = 0; f < PK_FORMATS_N; f++) {
        char *text = NULL;
        size_t bytes;
        FILE *to = open_memstream(&text, &bytes);
        struct pk_out *o =
            pk_out_open(to, &(struct pk_out_options){.format = f, .width = data[0], .csv_safe = true});
        print(o, input);
        pk_assert(pk_out_close(o, &err) == PK_OK);
        fclose(to);
        check(text);
        PK_JSON_CLEANUP json_t *j = f == PK_FMT_JSON ? json_loads(text, 0, NULL) : NULL;
        pk_assert(j || f != PK_FMT_JSON);
        free(text);
    }
    return 0;
}
