/* Formula: a parser by recursive descent into postfix steps, and a stack that runs them. */
#include "counter/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 }; /* of parentheses, and of the stack with them */

struct pk_formula_step {
    char op;      /* + - * / ~ (negate), 'v' a value, 'c' a constant */
    size_t name;  /* of v */
    double value; /* of c */
};

struct formula_parser {
    struct pk_arena *arena;
    struct pk_formula *out;
    const char *at;
    struct pk_formula_step *steps;
    const char **names;
    size_t steps_cap, names_cap, depth;
    struct pk_err *err;
};

static enum pk_code fail_at(const struct formula_parser *p, const char *what)
{
    pk_fail(p->err, PK_E_USAGE, "'%.200s' is not a formula", p->out->text);
    if (*p->at)
        pk_why(p->err, "%s at character %d, '%.20s'", what, (int)(p->at - p->out->text) + 1, p->at);
    else
        pk_why(p->err, "%s at its end", what);
    return pk_fix(p->err, "names, numbers, + - * / and parentheses: instructions / cycles");
}

static char next(struct formula_parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    return *p->at;
}

static void add_step(struct formula_parser *p, struct pk_formula_step s)
{
    if (p->out->n_steps == p->steps_cap)
        p->steps = pk_grow(p->arena, p->steps, sizeof *p->steps, p->out->n_steps, &p->steps_cap);
    p->steps[p->out->n_steps++] = s;
}

static size_t name_index(struct formula_parser *p, const char *start, size_t n)
{
    for (size_t i = 0; i < p->out->n_names; i++)
        if (strlen(p->names[i]) == n && !strncmp(p->names[i], start, n))
            return i;
    if (p->out->n_names == p->names_cap)
        p->names = pk_grow(p->arena, p->names, sizeof *p->names, p->out->n_names, &p->names_cap);
    p->names[p->out->n_names] = pk_strndup(p->arena, start, n);
    return p->out->n_names++;
}

static enum pk_code sum(struct formula_parser *p);

static enum pk_code parenthesis(struct formula_parser *p)
{
    p->at++;
    if (sum(p))
        return p->err->code;
    if (next(p) != ')')
        return fail_at(p, "a parenthesis is not closed");
    p->at++;
    return PK_OK;
}

static enum pk_code number(struct formula_parser *p)
{
    char *end;
    double v = strtod(p->at, &end);
    if (end == p->at || !isfinite(v) || isalpha((unsigned char)*end) || *end == '_')
        return fail_at(p, "a number is malformed");
    p->at = end;
    add_step(p, (struct pk_formula_step){.op = 'c', .value = v});
    return PK_OK;
}

static enum pk_code atom(struct formula_parser *p)
{
    const char c = next(p);
    if (c == '(')
        return parenthesis(p);
    if (isdigit((unsigned char)c))
        return number(p);
    if (!isalpha((unsigned char)c))
        return fail_at(p, "a name or a number is missing");
    const char *start = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_')
        p->at++;
    add_step(p, (struct pk_formula_step){.op = 'v', .name = name_index(p, start, (size_t)(p->at - start))});
    return PK_OK;
}

static enum pk_code factor(struct formula_parser *p)
{
    if (++p->depth >= DEEPEST)
        return fail_at(p, "it is nested too deeply");
    if (next(p) == '-') {
        p->at++;
        if (factor(p))
            return p->err->code;
        add_step(p, (struct pk_formula_step){.op = '~'});
    } else if (atom(p))
        return p->err->code;
    p->depth--;
    return PK_OK;
}

/* Operands with any of these operators between them. */
static enum pk_code chain(struct formula_parser *p, const char *operators,
                          enum pk_code (*operand)(struct formula_parser *))
{
    if (operand(p))
        return p->err->code;
    for (char op; (op = next(p)) && strchr(operators, op);) {
        p->at++;
        if (operand(p))
            return p->err->code;
        add_step(p, (struct pk_formula_step){.op = op});
    }
    return PK_OK;
}

static enum pk_code product(struct formula_parser *p)
{
    return chain(p, "*/", factor);
}

static enum pk_code sum(struct formula_parser *p)
{
    return chain(p, "+-", product);
}

enum pk_code pk_formula_parse(const char *text, struct pk_arena *a, const struct pk_formula **out,
                              struct pk_err *err)
{
    struct pk_formula *f = pk_new(a, struct pk_formula);
    struct formula_parser p = {.arena = a, .out = f, .err = err};
    p.at = f->text = pk_strdup(a, text);
    if (sum(&p))
        return err->code;
    if (next(&p))
        return fail_at(&p, "an operator is missing");
    f->names = p.names;
    f->steps = p.steps;
    *out = f;
    return PK_OK;
}

double pk_formula_value(const struct pk_formula *f, const double *values, struct pk_arena *a,
                        const char **missing)
{
    double stack[2 * DEEPEST];
    size_t n = 0;
    *missing = NULL;
    for (size_t i = 0; i < f->n_names; i++)
        if (isnan(values[i])) {
            *missing = f->names[i];
            return NAN;
        }
    for (size_t i = 0; i < f->n_steps; i++) {
        const struct pk_formula_step *s = &f->steps[i];
        if (s->op == 'v' || s->op == 'c') {
            stack[n++] = s->op == 'v' ? values[s->name] : s->value;
            continue;
        }
        if (s->op == '~') {
            stack[n - 1] = -stack[n - 1];
            continue;
        }
        if (s->op == '/' && stack[n - 1] == 0) {
            const struct pk_formula_step *by = s - 1;
            *missing = by->op == 'v' ? pk_printf(a, "%s is 0", f->names[by->name]) : "a divisor is 0";
            return NAN;
        }
        const double left = stack[n - 2], right = stack[n - 1]; /* become one */
        n--;
        stack[n - 1] = s->op == '+'   ? left + right
                       : s->op == '-' ? left - right
                       : s->op == '*' ? left * right
                                      : left / right;
    }
    if (isfinite(stack[0]))
        return stack[0];
    *missing = "a number of that size";
    return NAN;
}
