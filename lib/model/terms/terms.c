/* Terms: the rows of terms.h as code and as a table. */
#include "model/terms/terms.h"

#include <math.h>

/* Inlined into one function, so that 10^6 meshes take less than a second: rows are local variables, which the compiler keeps in registers. */
void pk_parallel_evaluate(struct pk_parallel_values *v)
{
    double sum[PK_PARALLEL_PASSES][PK_PARALLEL_GROUPS] = {0};
#define INPUT(name, ...)                  const double name = v->name;
#define DERIVED(name, unit, meaning, ...) const double name = v->name = (__VA_ARGS__);
#define TERM(name, GROUP, PASS, assumption, ...)                                                             \
    const double name = v->name = (__VA_ARGS__);                                                             \
    sum[PK_PARALLEL_##PASS][PK_PARALLEL_##GROUP] += name;
#define SUM(name, GROUP, ...)                                                                                \
    v->forward[PK_PARALLEL_##GROUP] = sum[PK_PARALLEL_FORWARD][PK_PARALLEL_##GROUP];                         \
    const double name = v->name =                                                                            \
        sum[PK_PARALLEL_FORWARD][PK_PARALLEL_##GROUP] + sum[PK_PARALLEL_BACKWARD][PK_PARALLEL_##GROUP];
    PK_PARALLEL_INPUTS(INPUT)
    PK_PARALLEL_DERIVED(DERIVED)
    PK_PARALLEL_TERMS(TERM)
    PK_PARALLEL_SUMS(SUM)
    PK_PARALLEL_TOTALS(DERIVED)
    (void)tokens_per_s, (void)utilisation, (void)memory_bytes, (void)tp_most, (void)free_tokens;
}

#define AT(name)                       offsetof(struct pk_parallel_values, name)
#define INPUT_ROW(name, unit, meaning) {#name, PK_PARALLEL_INPUT, 0, 0, unit, meaning, NULL, AT(name)},
#define DERIVED_ROW(name, unit, meaning, ...)                                                                \
    {#name, PK_PARALLEL_DERIVED_VALUE, 0, 0, unit, meaning, #__VA_ARGS__, AT(name)},
#define TERM_ROW(name, GROUP, PASS, assumption, ...)                                                         \
    {#name,                                                                                                  \
     PK_PARALLEL_TERM,                                                                                       \
     PK_PARALLEL_##GROUP,                                                                                    \
     PK_PARALLEL_##PASS,                                                                                     \
     PK_PARALLEL_##GROUP < PK_PARALLEL_FIRST_TIME ? "bytes" : "ns",                                          \
     assumption,                                                                                             \
     #__VA_ARGS__,                                                                                           \
     AT(name)},
#define SUM_ROW(name, GROUP, unit, meaning)                                                                  \
    {#name, PK_PARALLEL_SUM, PK_PARALLEL_##GROUP, 0, unit, meaning, NULL, AT(name)},
#define TOTAL_ROW(name, unit, meaning, ...)                                                                  \
    {#name, PK_PARALLEL_TOTAL, 0, 0, unit, meaning, #__VA_ARGS__, AT(name)},

const struct pk_parallel_row pk_parallel_rows[] = {PK_PARALLEL_INPUTS(INPUT_ROW) PK_PARALLEL_DERIVED(
    DERIVED_ROW) PK_PARALLEL_TERMS(TERM_ROW) PK_PARALLEL_SUMS(SUM_ROW) PK_PARALLEL_TOTALS(TOTAL_ROW){0}};
