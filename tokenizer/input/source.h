/*
 * source.h - reads texts from files, folders and stdin as one sequence of documents.
 *
 *     documents   the document stream of wikiprep, or files of WikiExtractor
 *                 (common/formats/document.h)
 *     jsonl       each line is a document: a JSON object with a string "text", or with the strings
 *                 that `fields` names; blank lines are skipped
 *     csv         each record is a document: its column "text", or the columns that `fields` names;
 *                 the first record holds the column names
 *     parquet     each row of a Parquet file is a document: its column "text", or the columns that
 *                 `fields` names
 *     arrow       the same for an Arrow file or stream, as `datasets` writes them
 *     text        each file is one document, with all its bytes
 *     lines       each line is one document, without its line end (LF or CR LF)
 *     sentences   each line is a sentence, and a blank line separates documents
 *
 * A folder stands for all files in it and in its subfolders, in order of their names. A path with
 * *, ? or [ that is not the name of a file stands for the paths that match it, in order. Files may
 * be compressed (packed.h), except Parquet and Arrow files, which must be read from their end.
 */
#pragma once

#include "tokenizer/input/mend.h"

enum source_format {
    SOURCE_AUTO, /* each file's format is recognised by its beginning (kinds.h) or its name (.csv,
                    .jsonl); else it is text */
    SOURCE_DOCUMENTS,
    SOURCE_JSONL,
    SOURCE_TEXT,
    SOURCE_LINES,
    SOURCE_SENTENCES,
    SOURCE_CSV,
    SOURCE_PARQUET,
    SOURCE_ARROW,
};

#define SOURCE_FORMATS "auto|documents|jsonl|text|lines|sentences|csv|parquet|arrow"
/* Help of the options --format and --field. */
#define SOURCE_FORMAT_HELP                                                                         \
    "format of the input; auto detects documents, JSON lines, tables (CSV, Parquet, Arrow) or "    \
    "plain text"
#define SOURCE_FIELD_HELP                                                                          \
    "JSON lines and tables: strings or columns that make a document; outer.inner names an inner string"

struct source;

/* Options for reading. If all are zero, each file's format is recognised. */
struct source_options {
    enum source_format format;
    const char *fields;  /* comma-separated names of JSON fields or columns; outer.inner names a
                            field of an inner JSON object. The values are joined with a blank line
                            between them. NULL: "text" */
    int text_by_line;    /* each line of a text file, with its line end, is a document */
    const char *output;  /* a file that may be none of those that are read; NULL: there is none */
    int objects;         /* lines are JSON objects: other kinds of files (kinds.h) are errors */
    enum mend_rule mend; /* how to treat invalid bytes in JSON; other formats keep them */
    size_t most; /* maximum size in bytes of a document from a compressed, Parquet or Arrow file,
                    because a small file can unpack to any length, and from a pipe, which may have
                    no end. 0: 1 GiB */
};

/* Opens the files in `paths`, or stdin if count is 0. Returns NULL with an error, for example if a
 * folder cannot be read. */
struct source *source_open(char *const *paths, int count, const struct source_options *o);
void source_close(struct source *s);

/* Appends the text of the next document to `text`. Returns 1, 0 at the end of the input, -1 with an
 * error. With 1, sets *sentences to 1 if each line of the document is a sentence and blank lines
 * end paragraphs, else to 0. With 0, sets it to 1 if any file, even an empty one, was in a format
 * with sentences. */
int source_read(struct source *s, struct buf *text, int *sentences);

const char *source_file(const struct source *s); /* the file read last; valid until source_close */

/* What was read so far. */
struct source_counts {
    uint64_t replaced;         /* bytes of JSON that are not UTF-8 */
    uint64_t returns;          /* lines that ended with CR LF */
    uint64_t documents, empty; /* of them: records of tables and JSON lines without any text */
};
const struct source_counts *source_counts(const struct source *s);
