/* Plot: a chart (store/table/chart.h) drawn by gnuplot, or with characters on a terminal: points joined by dots of braille, error bars, bars, stacks, areas, heat maps,
 * timelines, and the points with intervals of a comparison. Series differ in their marks; colours repeat that. A terminal without UTF-8 gets ASCII.
 *
 *     if (pk_out_plots(out))
 *         rc = pk_plot_first(s, pk_probe_sql(probe), PK_PARAMS(params), out, err); */
#pragma once

#include "store/table/chart.h"

/* Draws, as the options of the output say, the first chart of a text that has rows, or the times of all cases, below what is printed so far. A line says where there is none, or PK_E_NOTHING where a file was to be drawn. */
enum pk_code pk_plot_first(struct pk_store *s, const char *text, const struct pk_param *params,
                           size_t n_params, struct pk_out *out, struct pk_err *err) PK_MUST_CHECK;

enum pk_code pk_plot_print(const struct pk_chart *c, struct pk_out *out, struct pk_err *err) PK_MUST_CHECK;

/* gnuplot.c: whether gnuplot can be started, which draws what is not "terminal". */
bool pk_gnuplot_is_there(void);
