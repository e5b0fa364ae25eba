/* Table: an experiment's tables as text, SQL plus column rows, printed from the store.
 *
 * A .sql file (probes/NAME.sql, lib/store/tables.sql) holds any number of sections. docs/tables.md is the
 * manual:
 *
 *     -- view: NAME                        a SELECT that later sections may read; no parameters; columns with
 * run_id SELECT ...;
 *
 *     -- table: scaling
 *     -- title: Attention scaling, {each}  for people; {each} is the text of the value below
 *     -- each: SELECT DISTINCT variant FROM v_case WHERE run_id = :run     one table per row; bound as :each
 *     -- column: d_model                                  as it is
 *     -- column: forward_ns | Forward (ms) | ms | 3       heading, display unit, attributes: decimals, e, hide, machine, optionalN
 *     -- note: SELECT 'text' WHERE ...     a line under the table per row; :run and :each may be used
 *     -- empty: keep                       print the headings even without rows; otherwise no rows, no table
 *     SELECT d_model, forward_ns FROM ... WHERE run_id = :run;
 *
 * A display unit is a row of base/text/units.h: its base is what the key ends with ("_ns", "_bytes"), or is
 * written before a '>' ("ns>ms"); of several, blanks between, the first that suits the table's numbers, which {unit} in the heading
 * becomes. Also: "%" (a ratio times 100), "x" (a ratio), "±" ("%", ">100" above that), "text" (left-aligned), "json"
 * (embedded in JSON formats). A comment line that begins with two spaces after the dashes continues the
 * directive above it. */
#pragma once

#include "store/store.h"

/* Tables that belong to no experiment: runs, cases, summary, samples, fits, and "case_medians" for cases
 * without a probe. */
const char *pk_store_tables(void);

/* Prints one table of a text. Parameters are bound by name where the SQL has them. PK_E_INTERNAL for a text
 * that is wrong (a test prints every table of every probe). */
enum pk_code pk_table_print(struct pk_store *s, const char *text, const char *table,
                            const struct pk_param *params, size_t n_params, struct pk_out *out,
                            struct pk_err *err) PK_MUST_CHECK;

static inline struct pk_param pk_param_int(const char *name, int64_t value)
{
    return (struct pk_param){name, {.type = PK_CELL_INT, .i = value}};
}

static inline struct pk_param pk_param_text(const char *name, const char *value)
{
    return (struct pk_param){name, {.type = value ? PK_CELL_TEXT : PK_CELL_NULL, .s = value}};
}
