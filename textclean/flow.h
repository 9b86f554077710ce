/*
 * flow.h - one pass over documents: reads them, lets a command judge them, writes those that stay.
 *
 * All threads judge; reading and writing is in order, so the output is the same for any number of
 * threads.
 */
#pragma once

#include "textclean/entry.h"

/* The options of all commands of textclean. */
struct flow_options {
    const char *output_path, *rejected_path, *summary_path, *field;
    int format; /* enum entry_format */
    int mark;
};

/* Default values, and rows for the option table of a struct with a `struct flow_options flow`. */
/* clang-format off */
#define FLOW_DEFAULTS { .output_path = "-", .field = "text" }
#define FLOW_INPUT_ROWS(type)                                                                      \
    { 0, "format", OPT_CHOICE, offsetof(type, flow.format), ENTRY_FORMATS,                         \
      "format of the documents; auto detects <doc> marks, JSON lines, Parquet and plain text, "   \
      "each file of which is one document" },                                                                \
    { 0, "field", OPT_TEXT, offsetof(type, flow.field), "KEY",                                     \
      "JSON lines, Parquet: the string or column that is the text; outer.inner: an inner string" }
#define FLOW_ROWS(type)                                                                            \
    { 'o', "output", OPT_TEXT, offsetof(type, flow.output_path), "FILE",                           \
      "output file, or folder: if it exists, or its name ends in /, each input file has an "       \
      "output in it; - is standard output" },                                                       \
    { 0, "rejected", OPT_TEXT, offsetof(type, flow.rejected_path), "FILE",                         \
      "write the documents that are left out to FILE, each marked with the reason" },              \
    { 0, "mark", OPT_FLAG, offsetof(type, flow.mark), NULL,                                        \
      "leave no document out; mark each with the reason or \"\"; language, quality: score" },      \
    { 0, "json", OPT_TEXT, offsetof(type, flow.summary_path), "FILE",                              \
      "write the counts of the summary as JSON to FILE" },                                         \
    FLOW_INPUT_ROWS(type)
/* clang-format on */

enum { FLOW_KEPT = -1 };

struct flow_item {
    struct entry entry;
    int reason;      /* why the document is left out: index into `reasons`; FLOW_KEPT: it stays */
    uint64_t pieces; /* parts of it that are left out: lines, addresses */
    char mark[32];   /* text of the document's mark (entry.h); "": the reason */
    void *result;    /* free for the command, which sets it in `judge` and uses it in `settle` */
};

struct flow {
    const struct flow_options *options;
    /* Judges a document: sets `reason` and `pieces`, and may change the text. `tools` is working
     * memory that no other thread uses at the time. */
    int (*judge)(void *ctx, void *tools, struct flow_item *item);
    /* Called after `judge`, in the order of the documents; may do the same. NULL: not called. */
    int (*settle)(void *ctx, struct flow_item *item);
    /* Called after the last document, to write the end of `report`; NULL: not called. */
    int (*end)(void *ctx);
    void (*forget)(void *result); /* frees a result, once; NULL if the command sets none */
    void *ctx;
    size_t tools_bytes; /* size of `tools`, which is zeroed; the next two may be NULL */
    void (*tools_init)(void *ctx, void *tools);
    void (*tools_release)(void *tools);
    const char *const *reasons; /* the names of the reasons */
    size_t reason_count;
    const char *piece; /* the noun of what `pieces` counts, as for log_counted; NULL: nothing */
    const char *report_path; /* one more output, which `settle` and `end` write; may be NULL */
    struct output report;    /* open unless `silent`; appears with the other outputs */
    int silent;              /* writes no documents: the first of two passes */
    int blind;               /* `judge` needs no text */
    uint64_t least;          /* number of documents that a first pass found; fewer are an error */
    uint64_t read, kept, pieces;
};

/* Runs the flow over the files argv[0..argc). Returns 0, or -1 with an error. */
int flow_run(struct flow *f, int argc, char **argv);
