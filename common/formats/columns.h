/*
 * columns.h - reads and writes columns of text in Parquet and Arrow files, by the plug-in
 * `parquet`.
 *
 * The plug-in (parquet/parquet.cc) uses Arrow's C++ library, which programs do not link. It never
 * opens files: the caller passes functions that read or write bytes.
 */
#pragma once

#include "common/base/base.h"

enum { COLUMNS_LAYOUT = 2 }; /* layout number of struct columns, for plugin_open */

enum columns_kind {
    COLUMNS_PARQUET,
    COLUMNS_ARROW_FILE,   /* Arrow's IPC file format, which Feather (version 2) is, too */
    COLUMNS_ARROW_STREAM, /* Arrow's IPC stream format, which the library `datasets` writes */
};

/* The bytes of a file, for a reader. `ctx` is the first argument of the functions, which return 0,
 * or -1 with an error. */
struct columns_bytes {
    /* For COLUMNS_ARROW_STREAM: stores up to n of the next bytes. Returns their number, 0 at the
     * end. */
    int64_t (*read)(void *ctx, void *bytes, size_t n);
    /* For the other kinds: stores the n bytes of the file from `offset` on, which are all inside
     * the file. */
    int (*read_at)(void *ctx, uint64_t offset, void *bytes, size_t n);
    void *ctx;
    uint64_t size; /* size of the file in bytes; not for streams */
};

/* A function that takes the next n bytes of a written file. Returns 0, or -1 with an error. */
typedef int columns_put(void *ctx, const void *bytes, size_t n);

/* A value of a column. */
struct columns_cell {
    const char *text; /* not NUL-terminated; NULL: the value is null */
    size_t len;
};

struct columns_reader;
struct columns_writer;
struct columns_copy;

/* The plug-in's functions. Objects may be used by any thread, but only by one at a time. */
struct columns {
    /* Opens `count` columns. A name is that of a column, or outer.inner for a field inside a column
     * of structs. Copies *bytes. Returns NULL with an error, for example if a column is missing, if
     * several have the name, or if one does not hold strings or bytes. */
    struct columns_reader *(*open)(enum columns_kind kind, const struct columns_bytes *bytes,
                                   const char *const *names, size_t count);
    /* Sets cells[0..count) to the next row. The texts stay valid until the next call, and need not
     * be UTF-8. Returns 1, 0 at the end, or -1 with an error. */
    int (*read)(struct columns_reader *r, struct columns_cell *cells);
    void (*close)(struct columns_reader *r); /* NULL is allowed */

    /* Begins a Parquet file whose columns hold strings. Returns NULL with an error. */
    struct columns_writer *(*create)(const char *const *names, size_t count, columns_put *put,
                                     void *ctx);
    /* Adds a row. The texts are UTF-8 and are copied. Returns 0, or -1 with an error. */
    int (*add)(struct columns_writer *w, const struct columns_cell *cells);
    /* Writes what is left, and the end of the file. Returns 0, or -1 with an error. */
    int (*finish)(struct columns_writer *w);
    void (*free)(struct columns_writer *w); /* NULL is allowed; writes nothing */

    /* Begins a copy of Parquet files that may leave out rows and change texts. `text` names the
     * column of texts, which must not be inside another; in the copy its type is string. `mark`
     * names a column of strings to add, or to replace if it exists; NULL: none. The other columns
     * keep their types and values. Returns NULL with an error. */
    struct columns_copy *(*copy)(const char *text, const char *mark, columns_put *put, void *ctx);
    /* Goes on with the rows of the next file, whose columns must be those of the files before.
     * Copies *bytes. Returns 0, or -1 with an error. */
    int (*copy_file)(struct columns_copy *c, const struct columns_bytes *bytes);
    /* Copies the next row if `keep` is 1, else leaves it out. `text` replaces its text unless it
     * is NULL. `mark` is the value of the added column. Returns 0, or -1 with an error. */
    int (*copy_row)(struct columns_copy *c, int keep, const struct columns_cell *text,
                    const char *mark);
    /* Writes what is left, and the end of the file. Returns 0, or -1 with an error. */
    int (*copy_end)(struct columns_copy *c);
    void (*copy_free)(struct columns_copy *c); /* NULL is allowed; writes nothing */
};

/* Opens the plug-in. Returns NULL with an error that says how to build it. */
const struct columns *columns_plugin(void);
