/* Requests to the C client: refused, or a case whose axes, stop rule and CPUs are read; nothing outside the line is. */
#include "client/perfkit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void nothing(perfkit_case *c)
{
    (void)c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    perfkit_experiment *e = perfkit_new("fuzz", "");
    char *line = (char *)malloc(n + 1), type[16], text[8];
    const char *p, *behind;
    perfkit_case c;
    perfkit_axis(e, "n", PERFKIT_INT, "1,2", "");
    perfkit_axis(e, "size", PERFKIT_SIZE, "0", "bytes");
    perfkit_axis(e, "x", PERFKIT_FLOAT, "0.5", "");
    perfkit_axis(e, "kind", PERFKIT_CHOICE, "a,b", "");
    perfkit_axis(e, "on", PERFKIT_BOOL, "off,on", "");
    perfkit_variant(e, "v", nothing, "");
    for (size_t i = 0; i < n; i++)
        line[i] = data[i] ? (char)data[i] : '?';
    line[n] = 0;
    p = perfkit_space(line);
    behind = perfkit_value_end(p, 0);
    if (behind && (behind <= p || behind > line + n))
        abort();
    if (behind && *p == '{') {
        const perfkit_rule r = perfkit_rule_of(perfkit_member(p, "stop"));
        if (r.max_samples < 1 || r.max_samples > 1000000 || r.warmup < -1 || r.warmup > 1000000)
            abort();
        perfkit_string(perfkit_member(p, "type"), type, sizeof type);
        perfkit_string(perfkit_member(p, "cut"), text, sizeof text);
        if (perfkit_case_of(e, p, &c) == 0 && strcmp(c.status, "ok") == 0 && perfkit_is(&c, "kind", "c"))
            abort();
        if (strcmp(c.status, "ok") == 0)
            (void)(perfkit_int(&c, "n") + perfkit_int(&c, "size") + perfkit_bool(&c, "on") +
                   (int)(perfkit_float(&c, "x") > 0));
    }
    free(line);
    free(e);
    return 0;
}
