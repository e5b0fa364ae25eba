/* Recorded: tests/machines/NAME.tree as files again. */
#include "recorded.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static FILE *create(const char *root, const char *path)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0700);
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    return f;
}

/* "@ path" begins a file; what follows is its text. */
void recorded_unpack(const char *name, const char *root)
{
    char line[4096];
    snprintf(line, sizeof line, "%s/machines/%s.tree", TESTS_DIR, name);
    FILE *in = fopen(line, "r"), *out = NULL;
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        if (strncmp(line, "@ ", 2) == 0) {
            line[strcspn(line, "\n")] = '\0';
            if (out)
                fclose(out);
            out = create(root, line + 2);
        } else {
            assert_non_null(out);
            fputs(line, out);
        }
    }
    fclose(in);
    fclose(out);
}

void recorded_remove(const char *root)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}
