/* Oracle: answers "FUNCTION number number ..." lines with what lib/stats computes, so that Python can ask. */
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void say(double v)
{
    printf("%.17g ", v);
}

static const struct question *find(const char *name)
{
    static const struct question *const tables[] = {stats_questions, infer_questions};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        for (const struct question *q = tables[t]; q->name; q++) {
            if (strcmp(name, q->name) == 0)
                return q;
        }
    }
    return NULL;
}

static int answer(char *question)
{
    static double v[MOST];
    size_t n = 0;
    char *rest, *name = strtok_r(question, " \n", &rest);
    for (char *word; n < MOST && (word = strtok_r(NULL, " \n", &rest));)
        v[n++] = strtod(word, NULL);
    const struct question *q = name ? find(name) : NULL;
    if (!q)
        return 1;
    q->answer(v, n);
    putchar('\n');
    return 0;
}

int main(void)
{
    char *text = NULL;
    size_t cap = 0;
    int rc = 0;
    while (!rc && getline(&text, &cap, stdin) > 0) {
        rc = answer(text);
        fflush(stdout);
    }
    free(text);
    return rc;
}
