/* Globals: the options that every command has, and how a terminal is treated because of them. */
#include "cmd/frame/frame.h"

#include "bench/worker/start_ranks.h"
#include "out/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define O(field) offsetof(struct pk_globals, field)

static const char *const when[] = {"auto", "always", "never", NULL};
static const char *const plot[] = {"terminal", "gnuplot", NULL};
static const char *const progress[] = {"auto", "plain", "none", NULL};

const struct pk_opt pk_global_rows[] = {
    {"db", .type = PK_OPT_TEXT, .offset = O(db), .arg = "FILE", .code = true, .group = "Every command",
     .help = "the store (default: $XDG_DATA_HOME/perfkit/perfkit.db)"},
    {"db-limit", .type = PK_OPT_DURATION, .offset = O(query_limit_ns), .arg = "TIME", .min = 1e6,
     .max = 3.1536e16, .def = "60s",
     .help = "end a query of the store that gives no row for this long; a valid file needs seconds"},
    {"format", .type = PK_OPT_CHOICE, .offset = O(format), .arg = "FORMAT", .choices = pk_format_names,
     .def = "table", .help = "output format of results"},
    {"output", .letter = 'o', .type = PK_OPT_TEXT, .offset = O(output), .arg = "FILE", .cli_only = true,
     .help =
         "write results to this file instead of standard output; it appears when they are complete. DIR/: "
         "a CSV file of each table there"},
    {"csv-safe", .type = PK_OPT_FLAG, .offset = O(csv_safe),
     .help =
         "in CSV, put ' before a text that a spreadsheet would take for a formula; --output does so, too"},
    {"color", .type = PK_OPT_CHOICE, .offset = O(color), .arg = "WHEN", .choices = when, .def = "auto",
     .help = "colour on a terminal (auto), always or never; NO_COLOR and FORCE_COLOR are respected"},
    {"details", .type = PK_OPT_FLAG, .offset = O(details),
     .help = "print everything: all tables and rows, and the doubtful cases by name"},
    {"plot", .type = PK_OPT_CHOICE, .offset = O(plot), .arg = "HOW", .choices = plot, .bare = "terminal",
     .cli_only = true,
     .help = "compare, history, run and show: draw the first chart with characters, or by gnuplot; with -o "
             "FILE.svg, .png or .pdf gnuplot draws this file"},
    {"width", .type = PK_OPT_INT, .offset = O(width), .arg = "N", .min = -1, .max = 10000, .def = "-1",
     .help = "maximum width of tables in characters; 0: no limit; -1: the width of the terminal, no limit "
             "elsewhere"},
    {"height", .type = PK_OPT_INT, .offset = O(height), .arg = "N", .min = -1, .max = 10000, .def = "-1",
     .help =
         "maximum lines of commands that shorten their output to the screen; 0: no limit; -1: the lines of "
         "the terminal, no limit elsewhere"},
    {"progress", .type = PK_OPT_CHOICE, .offset = O(progress), .arg = "HOW", .choices = progress,
     .def = "auto",
     .help = "progress on standard error: one redrawn line on a terminal (auto), plain lines, or none"},
    {"quiet", .letter = 'q', .type = PK_OPT_FLAG, .offset = O(quiet),
     .help = "print no notes on standard error, only errors and warnings"},
    {0},
};

/* Launchers give their processes a terminal even if their own output is not one. */
static bool to_terminal(const struct pk_globals *g, int fd)
{
    return (fd == STDERR_FILENO || !g->output) && !pk_launcher_of_process().by && isatty(fd);
}

/* The flag beats NO_COLOR beats FORCE_COLOR beats what the stream is. */
static bool wants_color(const struct pk_globals *g, int fd)
{
    const char *term = getenv("TERM"), *force = getenv("FORCE_COLOR"), *never = getenv("NO_COLOR");
    if (strcmp(g->color, "auto"))
        return !strcmp(g->color, "always");
    if (never && *never)
        return false;
    if (force && *force)
        return strcmp(force, "0");
    return to_terminal(g, fd) && term && *term && strcmp(term, "dumb");
}

struct pk_out_options pk_out_options_of(const struct pk_globals *g, enum pk_format format)
{
    struct winsize w = {0};
    const bool terminal = to_terminal(g, STDOUT_FILENO);
    if (!terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col || !w.ws_row)
        w = (struct winsize){.ws_row = 24, .ws_col = 80};
    pk_message_color = wants_color(g, STDERR_FILENO);
    return (struct pk_out_options){.format = format,
                                   .color = wants_color(g, STDOUT_FILENO),
                                   .width = g->width >= 0 ? (unsigned)g->width
                                            : terminal    ? w.ws_col
                                                          : 0,
                                   .height = g->height >= 0 ? (unsigned)g->height
                                             : terminal     ? w.ws_row
                                                            : 0,
                                   .details = g->details,
                                   .ascii = pk_terminal_is_ascii(),
                                   .csv_safe = g->csv_safe || g->output};
}

bool pk_for_people(const struct pk_app *app)
{
    enum pk_format f;
    struct pk_err ignored;
    return !pk_format_parse(app->globals->format, &f, &ignored) && pk_format_for_people(f);
}
