/* Terms: the rows of terms.h as code and as a table. */
#include "model/terms/terms.h"

#include <math.h>

/* Inlined into one function, so that 10^6 meshes take less than a second: rows are local variables, which the compiler keeps in registers. */
void pk_plan_evaluate(struct pk_plan_values *v)
{
    double sum[PK_PLAN_PASSES][PK_PLAN_GROUPS] = {0};
#define INPUT(name, ...)                  const double name = v->name;
#define DERIVED(name, unit, meaning, ...) const double name = v->name = (__VA_ARGS__);
#define TERM(name, GROUP, PASS, assumption, ...)                                                             \
    const double name = v->name = (__VA_ARGS__);                                                             \
    sum[PK_PLAN_##PASS][PK_PLAN_##GROUP] += name;
#define SUM(name, GROUP, ...)                                                                                \
    v->forward[PK_PLAN_##GROUP] = sum[PK_PLAN_FORWARD][PK_PLAN_##GROUP];                                     \
    const double name = v->name =                                                                            \
        sum[PK_PLAN_FORWARD][PK_PLAN_##GROUP] + sum[PK_PLAN_BACKWARD][PK_PLAN_##GROUP];
    PK_PLAN_INPUTS(INPUT)
    PK_PLAN_DERIVED(DERIVED)
    PK_PLAN_TERMS(TERM)
    PK_PLAN_SUMS(SUM)
    PK_PLAN_TOTALS(DERIVED)
    (void)tokens_per_s, (void)utilisation, (void)memory_bytes, (void)tp_most, (void)free_tokens;
}

#define AT(name)                       offsetof(struct pk_plan_values, name)
#define INPUT_ROW(name, unit, meaning) {#name, PK_PLAN_INPUT, 0, 0, unit, meaning, NULL, AT(name)},
#define DERIVED_ROW(name, unit, meaning, ...)                                                                \
    {#name, PK_PLAN_DERIVED_VALUE, 0, 0, unit, meaning, #__VA_ARGS__, AT(name)},
#define TERM_ROW(name, GROUP, PASS, assumption, ...)                                                         \
    {#name,                                                                                                  \
     PK_PLAN_TERM,                                                                                           \
     PK_PLAN_##GROUP,                                                                                        \
     PK_PLAN_##PASS,                                                                                         \
     PK_PLAN_##GROUP < PK_PLAN_FIRST_TIME ? "bytes" : "ns",                                                  \
     assumption,                                                                                             \
     #__VA_ARGS__,                                                                                           \
     AT(name)},
#define SUM_ROW(name, GROUP, unit, meaning)                                                                  \
    {#name, PK_PLAN_SUM, PK_PLAN_##GROUP, 0, unit, meaning, NULL, AT(name)},
#define TOTAL_ROW(name, unit, meaning, ...)                                                                  \
    {#name, PK_PLAN_TOTAL, 0, 0, unit, meaning, #__VA_ARGS__, AT(name)},

const struct pk_plan_row pk_plan_rows[] = {PK_PLAN_INPUTS(INPUT_ROW) PK_PLAN_DERIVED(
    DERIVED_ROW) PK_PLAN_TERMS(TERM_ROW) PK_PLAN_SUMS(SUM_ROW) PK_PLAN_TOTALS(TOTAL_ROW){0}};
