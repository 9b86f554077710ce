/*
 * entry.h - documents as textclean reads and writes them: all that is not text stays as it is.
 *
 *     documents   the document stream of wikiprep (common/formats/document.h)
 *     jsonl       JSON lines: objects with a string "text", or another that `field` names
 *     parquet     each row of a Parquet file, whose text is in the column `field` (rows.h)
 *     text        each file is one document
 *     lines       each line is one document
 *
 * All files but Parquet may be compressed (common/files/packed.h). All files of a run have one
 * format. The output has the same format and is not compressed.
 *
 * A mark says what a document failed. It is the attribute textclean="…" or the member "textclean",
 * and takes the place of an earlier mark.
 */
#pragma once

#include "common/files/file.h"
#include "common/files/packed.h"
#include "common/formats/document.h"
#include "common/formats/rows.h"

#define ENTRY_MARK "textclean"

enum entry_format {
    ENTRY_AUTO, /* recognised by the beginning of the first file */
    ENTRY_DOCUMENTS,
    ENTRY_JSONL,
    ENTRY_TEXT,
    ENTRY_LINES,
    ENTRY_PARQUET,
};
#define ENTRY_FORMATS "auto|documents|jsonl|text|lines|parquet"

struct entry {
    uint64_t number;          /* of the document in the run, from 1 */
    struct document document; /* the text, in all formats; attributes only of `documents` */
    int changed;              /* the text is another one than in the input */
    struct buf raw;           /* jsonl: the line */
    const char *file;         /* borrowed from the reader */
    uint64_t line;            /* jsonl, lines, parquet: its line or row in the file, from 1 */
    /* jsonl: offsets in `raw` of the text with its quotes, of an older mark's value, and of the
     * closing brace; 0 before entry_parse */
    size_t text_begin, text_end, mark_begin, mark_end, close;
};

void entry_init(struct entry *r);
void entry_release(struct entry *r);

/* ---- reading --------------------------------------------------------------------------------- */

struct entries {
    struct file_names paths;
    size_t next; /* file to open next */
    enum entry_format format;
    int any; /* 1: the user chose the format text or lines, which any content has */
    const char *field;
    struct input in; /* path NULL: no file is open */
    struct packed packed;
    struct rows rows;
    struct document_reader reader;
    int sentences; /* -1: no document was read */
    uint64_t count, line;
};

/* Opens the files, as paths_expand takes them; `field` is borrowed. Returns 0, or -1 with an error.
 * The caller calls entries_close even then. */
int entries_open(struct entries *s, char *const *paths, int count, enum entry_format format,
                 const char *field);
void entries_close(struct entries *s);

/* Reads the next document, in jsonl only its line. Returns 1, 0 at the end of all files, or -1 with
 * an error. */
int entries_read(struct entries *s, struct entry *r);

/* jsonl: finds the text, which is the string `field` (outer.inner names an inner string); parquet:
 * checks that the text is UTF-8; others: does nothing. It may run in another thread. Returns 0, or
 * -1 with an error. */
int entry_parse(struct entry *r, enum entry_format format, const char *field);

/* Replaces the text; the new one must not be a part of the old one. */
void entry_change(struct entry *r, const char *text, size_t n);

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends the document; with `mark`, unless it is NULL. Not for parquet. */
void entry_put(const struct entry *r, enum entry_format format, const char *mark, struct buf *out);
