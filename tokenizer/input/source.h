/*
 * source.h - the texts that tokenize reads: files, folders and stdin as one row of documents.
 *
 *     documents   the document stream of wikiprep, or files of WikiExtractor (common/document.h)
 *     jsonl       a line is a document: a JSON object with a string "text", or with those that
 *                 `fields` names; blank lines are skipped
 *     csv         a record is a document: its column "text", or those that `fields` names; the
 *                 first record names the columns
 *     text        a file is one document, with every byte of it
 *     lines       a line is one document, without its line end (LF or CR LF)
 *     sentences   a line is a sentence, and a blank line stands between documents
 *
 * A folder stands for all files in it and in its folders, in order of their names; a path with *, ?
 * or [ that is no file's name stands for the paths that match it, in order. Files may be packed
 * (packed.h).
 */
#ifndef TEXTMILL_TOKENIZER_INPUT_SOURCE_H
#define TEXTMILL_TOKENIZER_INPUT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "tokenizer/input/mend.h"

enum source_format {
    SOURCE_AUTO, /* per file, by how it begins: <doc or wikiprep's mark; {"; column names; else
                  * text, unless it is of a kind that kinds.h knows */
    SOURCE_DOCUMENTS,
    SOURCE_JSONL,
    SOURCE_TEXT,
    SOURCE_LINES,
    SOURCE_SENTENCES,
    SOURCE_CSV,
};

#define SOURCE_FORMATS "auto|documents|jsonl|text|lines|sentences|csv"
/* Help of the options --format and --field. */
#define SOURCE_FORMAT_HELP                                                                         \
    "format of the input; auto detects documents, JSON lines, tables (CSV) or plain text"
#define SOURCE_FIELD_HELP                                                                          \
    "JSON lines and tables: strings or columns that make a document; outer.inner names an inner string"

struct source;

/* How to read. Zeroes: as found. */
struct source_options {
    enum source_format format;
    const char *fields;  /* of JSON or columns, with commas between them; an inner one of JSON as
                          * "outer.inner". Their strings have a blank line between them. NULL:
                          * "text" */
    int text_by_line;    /* a file of text is not one document but one a line, with its line end */
    enum mend_rule mend; /* what bytes of JSON are that are no text; in other forms they stay */
    size_t most;         /* bytes of a document from a packed file: a small file can unpack to any
                          * length. 0: 1 GiB */
};

/* No paths: stdin. NULL with an error when a folder cannot be read. */
struct source *source_open(char *const *paths, int count, const struct source_options *o);
void source_close(struct source *s);

/* Appends the next document's text: 1, 0 at the end, -1. *sentences: its lines are sentences and
 * blank lines end paragraphs; at the end whether any file, perhaps an empty one, had such. */
int source_read(struct source *s, struct buf *text, int *sentences);

uint64_t source_replaced(const struct source *s); /* bytes of JSON, so far */
uint64_t source_returns(const struct source *s);  /* lines that ended with CR LF, so far */
uint64_t source_empty(const struct source *s);    /* records of tables without any text, so far */

#endif
