/* Units: one table for parsing values that users write and for scaling values that are printed.
 *
 * Base units inside and in every file: ns, bytes, flops, counts, plain ratios. Scaling happens once, at the
 * printing edge, with pk_unit_fit. Decimal and binary prefixes are different words: MB = 10^6, MiB = 2^20; a bare
 * "M" is refused and the message names both. Parsing and printing use the C locale's numbers always. */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* "4096", "64KiB", "200MB", "1.5GiB" -> bytes. Not negative; "0.18GiB" is rounded to whole bytes; sizes below one byte ("0.5B") are
 * refused. */
enum pk_code pk_parse_size(const char *text, int64_t *bytes, struct pk_err *err) PK_MUST_CHECK;

/* "25GB" -> bytes per second. As sizes, but the unit is required. */
enum pk_code pk_parse_rate(const char *text, int64_t *bytes_per_s, struct pk_err *err) PK_MUST_CHECK;

/* "500ms", "2s", "10m", "1h", "250us", "0" -> ns. A bare number other than 0 is refused (which unit?). Rounded like sizes. */
enum pk_code pk_parse_duration(const char *text, int64_t *ns, struct pk_err *err) PK_MUST_CHECK;

/* "0.5%" or "0.005" -> ratio. A plain number above 1 is refused: "2" rarely means 200 %. */
enum pk_code pk_parse_ratio(const char *text, double *ratio, struct pk_err *err) PK_MUST_CHECK;

/* "42", "-7" -> integer; "1e9" and "64Ki" are refused. */
enum pk_code pk_parse_int(const char *text, int64_t *value, struct pk_err *err) PK_MUST_CHECK;

/* "0.25", "1e-3" -> finite number; nan and inf are refused. */
enum pk_code pk_parse_real(const char *text, double *value, struct pk_err *err) PK_MUST_CHECK;

/* A display unit of a base unit: 1 shown = scale base units. base is the unit stored, e.g. "ns". */
struct pk_unit {
    const char *base, *shown;
    double scale;
};

/* The row for (base, shown), e.g. ("ns", "ms") -> 1e6 or ("bytes", "GB") -> 1e9; NULL when there is none. */
const struct pk_unit *pk_unit_find(const char *base, const char *shown);

/* A number of bytes that is too large for int64_t. */
#define PK_BYTES_BEYOND INT64_MAX

/* From several display units of a base unit, separated by blanks, smallest first ("GFLOP/s TFLOP/s"): the first in which `most` has at
 * most 5 digits before the point, else the last. NULL when one of them is unknown. */
const struct pk_unit *pk_unit_fit(const char *base, const char *shown, double most);

/* Human forms for messages and progress, not for tables: 1536 -> "1.5 KiB", 2500000 -> "2.50 ms"; PK_BYTES_BEYOND -> "over 8 EiB". Write
 * at most cap bytes, the NUL included; return buf. */
char *pk_format_bytes(int64_t bytes, char *buf, size_t cap);
char *pk_format_ns(double ns, char *buf, size_t cap);

/* A change in per cent, without the percent sign: 0.053 -> "+5.3"; very large ones have an exponent. */
char *pk_format_percent(double share, char *buf, size_t cap);

/* The shortest text that parses back to the same size, rate or duration, for echoing settings: 67108864 -> "64MiB". */
char *pk_format_size_exact(int64_t bytes, char *buf, size_t cap);
char *pk_format_rate_exact(int64_t bytes_per_s, char *buf, size_t cap);
char *pk_format_duration_exact(int64_t ns, char *buf, size_t cap);
