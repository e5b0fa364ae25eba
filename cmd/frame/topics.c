/* Topics: the pages of the documentation, which are part of the program. */
#include "base/build.h"
#include "cmd/frame/frame.h"

#include <string.h>

extern const struct pk_embedded pk_doc_pages[];

/* A row for each page: docs/TOPIC.md. */
static const struct {
    const char *topic, *about;
} topics[] = {
    {"commands", "an example of every command"},
    {"command-line",
     "runs, options, configuration, counters, the store that cannot be written, exit statuses"},
    {"comparing", "comparing runs: ratios, verdicts, baselines, history"},
    {"gate", "gates for CI: two sides in turns, thresholds, reports"},
    {"statistics", "how a verdict is decided, and how often it is wrong"},
    {"suites", "a file that lists what is measured and judged together"},
    {"store", "the SQLite file: views, export, guarantees"},
    {"import", "results of other programs as runs"},
    {"report", "one page of runs with charts, to mail or keep"},
    {"timeline", "timelines for Perfetto: what ran when"},
    {"counters", "event counts, breakdown by kernel, roofline"},
    {"profilers", "one case under nsys, ncu, compute-sanitizer or perf"},
    {"ceilings", "measured peak rates of a device"},
    {"machine-state", "what disturbs a measurement, and how it is recorded"},
    {"security", "how untrusted files are handled"},
    {"mixed-precision", "time, memory and accuracy of number types"},
    {"ddp-bucket", "bucket sizes of gradient all-reduces"},
    {"batch-scaling", "batch size and accumulation at a fixed global batch"},
    {"extraction", "hidden states of a model into files"},
    {"tree-patch", "the cost of editing a large model functionally"},
    {"plan", "analytical models of training steps"},
    {"protocol", "samples from a program in any language"},
    {"tables", "how the tables of an experiment are described"},
    {"clients", "an experiment of one's own in Python, C, CUDA or a script"},
    {"adding-an-experiment", "an experiment that is built into perfkit"},
    {"own-experiments", "a program that describes an experiment of its own"},
    {"architecture", "folders, layers, and the path of a sample"},
    {"gpu-kernels", "what limits each GPU kernel, by its machine code"},
    {"gpu-status", "what is claimed about GPUs, and how it is checked"},
};
enum { TOPICS = sizeof topics / sizeof *topics };

void pk_topic_names(struct pk_texts *names, struct pk_arena *a)
{
    for (size_t i = 0; i < TOPICS; i++)
        pk_texts_add(names, topics[i].topic, a);
}

const char *pk_topic_page(const char *topic)
{
    const size_t n = strlen(topic);
    for (const struct pk_embedded *p = pk_doc_pages; p->name; p++)
        if (strncmp(p->name, topic, n) == 0 && strcmp(p->name + n, ".md") == 0)
            return p->text;
    return NULL;
}

void pk_topics_print(struct pk_out *out)
{
    static const struct pk_column columns[] = {
        {.key = "topic", .heading = "Topic", .left = true, .decimals = -1},
        {.key = "about", .heading = "Contents", .left = true, .decimals = -1},
    };
    pk_out_table(out, "topics", NULL, PK_COLUMNS(columns));
    for (size_t i = 0; i < TOPICS; i++) {
        struct pk_row *row = pk_row_begin(out);
        pk_put_text(row, "topic", topics[i].topic);
        pk_put_text(row, "about", topics[i].about);
        pk_row_end(row);
    }
    pk_out_note(out,
                "perfkit help TOPIC prints the page; where a command or an experiment has the name, perfkit "
                "help topics TOPIC.");
}
