/* Rows: from a prepared statement to cells and writers. Private to lib/store. */
#pragma once

#include "store/db.h"

/* Prepares one SELECT and binds the parameters it names, whose texts must stay; the caller finalizes. */
enum pk_code pk_db_prepare(struct pk_store *s, const char *sql, const struct pk_param *params,
                           size_t n_params, sqlite3_stmt **stmt, struct pk_err *err) PK_MUST_CHECK;

/* One value of the current row; text lives until the next step. */
void pk_db_cell(sqlite3_stmt *stmt, int i, struct pk_cell *c);

/* Column names in the arena, one per column. */
const char **pk_db_names(sqlite3_stmt *stmt, struct pk_arena *a);

/* Rows from the current one (the caller has stepped once and got it) to the last go to `out`, whose table has
 * begun. Ends early, without an error, when nobody reads any more. */
enum pk_code pk_db_stream_rows(struct pk_store *s, sqlite3_stmt *stmt, struct pk_out *out,
                               struct pk_err *err) PK_MUST_CHECK;
