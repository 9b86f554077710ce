/*
 * sink.h - the destination of documents: a stream (stdout or a file), a Parquet file, or
 * WikiExtractor's tree of files.
 *
 *     DIR/AA/wiki_00 … AA/wiki_99, AB/wiki_00 … ZZ/wiki_99, AAA/wiki_00 …
 *     DIR/manifest     key=value: describes the tree; present only if the tree is complete
 *
 * A document is never split. A file is closed before a document that would make it larger than the
 * limit. The tree appears when it is complete (output_folder.h), in place of one from an earlier
 * run. For any other folder that is not empty, also for a tree into which the user has put a file,
 * sink_open fails and changes nothing.
 *
 * A file, also a Parquet file, appears under its name when it is complete, too.
 */
#pragma once

#include "common/files/output_folder.h"
#include "common/formats/document.h"
#include "common/formats/kv.h"
#include "wikiprep/output/page_json.h"

enum sink_format {
    SINK_DOCUMENTS,
    SINK_JSON,
    SINK_CLASSIC, /* as SINK_DOCUMENTS, without begin and end marks */
    SINK_ROWS,    /* rows of a Parquet file */
    SINK_TEXT,    /* the text alone, which no sink takes */
};

struct sink {
    enum sink_format format;
    int sentences;                 /* each line of a document is a sentence */
    const struct columns *library; /* for SINK_ROWS, as the next two */
    struct columns_writer *writer;
    int columns;
    const char *path;            /* of a stream; borrowed */
    struct output_folder folder; /* the tree; not open: a stream or a Parquet file */
    uint64_t limit_bytes;        /* size limit of a file; 0: one document per file */
    struct output out;           /* the current file */
    int is_open;
    uint64_t in_file; /* documents in the current file */
    uint64_t files, documents, bytes;
    struct buf piece;
};

/* Opens a tree of files, or a stream to `path` ("-": stdout), which is opened only at the first
 * document or at the end. limit_bytes is the size limit of a file of the tree; 0: one document per
 * file. `sentences` 1: the documents' lines are sentences. Returns 0, or -1 with an error. */
int sink_open(struct sink *s, const char *path, int is_tree, uint64_t limit_bytes,
              enum sink_format format, int sentences);

/* Opens a Parquet file with the columns of `layout`. Returns 0, or -1 with an error; the caller
 * calls sink_abandon even then. */
int sink_open_rows(struct sink *s, const char *path, const struct page_json_layout *layout);

/* Writes one document. Its bytes may come from any thread. Returns 0, or -1 with an error. */
int sink_write(struct sink *s, const struct buf *document);

/* Completes the output and renames the tree to its final name. The lines `more` are added to the
 * manifest. Frees what *s holds. Returns 0, or -1 with an error; then no file was published, and
 * stdout has no end mark. */
int sink_close(struct sink *s, const struct kv *more);
void sink_abandon(struct sink *s); /* allowed on a zeroed struct, and after sink_close */
