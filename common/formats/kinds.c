#include "common/formats/kinds.h"

#include "common/base/crc32c.h"
#include "common/base/le.h"
#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/files/file.h"

/* ---- magic numbers --------------------------------------------------------------------------- */

#define MAGIC(at, bytes, what)                                                                     \
    {                                                                                              \
        at, sizeof(bytes) - 1, bytes, what                                                         \
    }

static const char PACKED[] = "packed, in a way or more often than is read: unpack it";
static const char TOKENS[] = "a token stream: it has been tokenized";
static const char IMAGE[] = "an image";
static const char SOUND[] = "sound or video";
static const char PROGRAM[] = "a program";
static const char WIDE[] = "UTF-16 or UTF-32: iconv makes UTF-8 of it";
static const char PICKLE[] = "a Python pickle";

static const struct {
    size_t at, n;
    const char *bytes, *what;
} magics[] = {
    MAGIC(8, "textmill=tokens", TOKENS),
    MAGIC(16, "textmill=tokens", TOKENS),
    MAGIC(0, "textmill=words", "counts of words: they want tokenize train --counts"),
    MAGIC(0, "textmill languages ", "a model of languages, of textclean learn-language"),
    MAGIC(0, "<mediawiki", "a MediaWiki dump: it wants wikiprep first"),
    MAGIC(0, "WARC/1.", "a web archive (WARC, WET): JSON lines of its texts are wanted"),
    MAGIC(0, "\x1f\x8b", PACKED),
    MAGIC(0, "\xfd\x37zXZ", PACKED),
    MAGIC(0, "\x28\xb5\x2f\xfd", PACKED),
    MAGIC(0, "7z\xbc\xaf", PACKED),
    MAGIC(0, "\x04\x22\x4d\x18", PACKED),
    MAGIC(0, "Rar!\x1a\x07", PACKED),
    MAGIC(4, "1AY&SY", PACKED),           /* bzip2: BZh and a digit */
    MAGIC(4, "\x17\x72\x45\x38", PACKED), /* the end of an empty bzip2 stream */
    MAGIC(0, "PK\x03\x04", "a zip archive (also .npz, .docx, .pt)"),
    MAGIC(0, "PK\x05\x06", "an empty zip archive"),
    MAGIC(257, "ustar", "a tar archive"),
    MAGIC(0, "FEA1", "a Feather file of version 1: it wants a conversion to version 2 or Parquet"),
    MAGIC(0, "\x93NUMPY", "a NumPy array"),
    MAGIC(0, "\x89HDF\r\n\x1a\n", "an HDF5 file"),
    MAGIC(0, "SQLite format 3\0", "an SQLite database"),
    MAGIC(0, "MMIDIDX\0\0", "an index of Megatron's"),
    MAGIC(0, "\x80\x02", PICKLE),
    MAGIC(0, "\x80\x03", PICKLE),
    MAGIC(0, "\x80\x04\x95", PICKLE),
    MAGIC(0, "\x80\x05\x95", PICKLE),
    MAGIC(0, "%PDF-", "a PDF file"),
    MAGIC(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office file"),
    MAGIC(0, "\x7f\x45LF", PROGRAM),
    MAGIC(0, "\xcf\xfa\xed\xfe", PROGRAM),
    MAGIC(0, "\0asm", PROGRAM),
    MAGIC(0, "\x89PNG\r\n\x1a\n", IMAGE),
    MAGIC(0, "\xff\xd8\xff", IMAGE),
    MAGIC(0, "GIF87a", IMAGE),
    MAGIC(0, "GIF89a", IMAGE),
    MAGIC(0, "II*\0", IMAGE),
    MAGIC(0, "MM\0*", IMAGE),
    MAGIC(8, "WEBPVP8", IMAGE),
    MAGIC(8, "WAVEfmt ", SOUND),
    MAGIC(0, "OggS\0", SOUND),
    MAGIC(0, "fLaC\0", SOUND),
    MAGIC(0, "ID3\x03", SOUND),
    MAGIC(0, "ID3\x04", SOUND),
    MAGIC(4, "ftypisom", SOUND),
    MAGIC(4, "ftypmp42", SOUND),
    MAGIC(0, "\x1a\x45\xdf\xa3", SOUND),
    MAGIC(0, "\xff\xfe", WIDE),
    MAGIC(0, "\xfe\xff", WIDE),
    MAGIC(0, "\0\0\xfe\xff", WIDE),
};

static int begins(const char *text, size_t n, size_t at, const char *with, size_t len)
{
    return n >= at + len && !memcmp(text + at, with, len);
}

/* Returns 1 if the text begins as a safetensors file does, else 0: with a length in 8 bytes, and
 * then JSON of that length. */
static int is_safetensors(const char *text, size_t n)
{
    static const uint64_t most = 1 << 30;
    return n > 8 && text[8] == '{' && le_u64((const unsigned char *)text) < most && !text[7];
}

/* Returns 1 if the text begins as a GGUF file of llama.cpp does, else 0: with the magic, and then a
 * version, which is a small number. */
static int is_gguf(const char *text, size_t n)
{
    return begins(text, n, 0, "GGUF", 4) && n >= 8 && !text[6] && !text[7];
}

/* Returns 1 if the text begins as an encrypted Parquet file does, else 0: with the magic, and then
 * a header of Thrift or its length, if it is encrypted, too. */
static int is_encrypted(const char *text, size_t n)
{
    return begins(text, n, 0, "PARE", 4) && n > 7 && (text[4] == 0x15 || !text[7]);
}

/* Returns 1 if the text begins as a TFRecord file does, with the length of the first record and
 * then the checksum of that length; else 0. */
static int is_tfrecord(const char *text, size_t n)
{
    return n >= 12 && crc32c_mask(crc32c(0, text, 8)) == le_u32((const unsigned char *)text + 8);
}

int kinds_columns(const char *text, size_t n, enum columns_kind *kind)
{
    static const struct {
        const char *bytes;
        size_t n;
        enum columns_kind kind;
    } files[] = {
        { "PAR1\x15", 5, COLUMNS_PARQUET },
        { "ARROW1\0\0", 8, COLUMNS_ARROW_FILE },
        { "\xff\xff\xff\xff", 4, COLUMNS_ARROW_STREAM },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (begins(text, n, 0, files[i].bytes, files[i].n)) {
            *kind = files[i].kind;
            return 1;
        }
    return 0;
}

int64_t kinds_look(struct input *in)
{
    const int64_t n = input_peek(in, KINDS_LOOK);
    return n < KINDS_LOOK ? n : KINDS_LOOK;
}

/* ---- text of another form -------------------------------------------------------------------- */

static size_t skip_blank(const char *text, size_t n, size_t at)
{
    while (at < n && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at;
}

/* Returns where the first key of the JSON object at text[at], after white space, begins; 0 if no
 * object with a key is there. */
static size_t key_at(const char *text, size_t n, size_t at)
{
    size_t brace = skip_blank(text, n, at), key = brace < n ? skip_blank(text, n, brace + 1) : n;
    return key < n && text[brace] == '{' && text[key] == '"' ? key : 0;
}

/* A text may begin with a bracket and a quotation. A string of an array has , or ] behind it. */
static int is_json_array(const char *text, size_t n)
{
    const size_t at = skip_blank(text, n, 0), first = skip_blank(text, n, at + 1);
    size_t end = first + 1;
    if (first >= n || text[at] != '[' || text[first] != '"')
        return first < n && text[at] == '[' && key_at(text, n, first);
    while (end < n && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
    end = skip_blank(text, n, end + 1);
    return end >= n || text[end] == ',' || text[end] == ']';
}

/* Returns 1 if the text begins with a brace, a line end and a key, as a JSON object over several
 * lines does; else 0. */
static int is_json_lines_apart(const char *text, size_t n)
{
    size_t at = skip_blank(text, n, 0), key = key_at(text, n, at);
    return key && memchr(text + at, '\n', key - at) != NULL;
}

int kinds_is_table(const char *text, size_t n, char separator)
{
    const char *lf = memchr(text, '\n', n);
    size_t len = lf ? (size_t)(lf - text) : 0, from = 0, names = 0, texts = 0;
    if (len && text[len - 1] == '\r')
        len--;
    for (size_t i = 0; i <= len && len; i++) {
        char c = i < len ? text[i] : separator;
        if (c != separator) {
            if (!(c & 0x80) &&
                (!c ||
                 !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_\"", c)))
                return 0;
            continue;
        }
        names++;
        texts += (i - from == 4 && !memcmp(text + from, "text", 4)) ||
                 (i - from == 6 && !memcmp(text + from, "\"text\"", 6));
        from = i + 1;
    }
    return names > 1 && texts == 1;
}

const char *kinds_recognise(const char *path, const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (begins(text, n, magics[i].at, magics[i].bytes, magics[i].n))
            return magics[i].what;
    if (is_safetensors(text, n))
        return "a safetensors file";
    if (is_gguf(text, n))
        return "a GGUF file";
    if (is_encrypted(text, n))
        return "an encrypted Parquet file";
    if (is_tfrecord(text, n))
        return "a TFRecord file";
    if (!path)
        return NULL;
    if (is_json_array(text, n))
        return "a JSON array: JSON lines are wanted, an object a line with a string \"text\", or "
               "--format text";
    if (is_json_lines_apart(text, n))
        return "JSON over several lines: JSON lines are wanted, an object a line with a string "
               "\"text\", or --format text";
    if (file_ends_with(path, ".tsv") || kinds_is_table(text, n, '\t'))
        return "a table with tabs (TSV): JSON lines are wanted, or for tokenize a table with commas";
    return NULL;
}

int kinds_check(const char *path, const char *text, size_t n)
{
    enum columns_kind kind;
    const char *what = kinds_columns(text, n, &kind) ? "Parquet or Arrow: JSON lines are wanted"
                                                     : kinds_recognise(NULL, text, n);
    if (kinds_is_documents(text, n))
        log_warn("%s: its marks <doc ...> are read as text: grep -v '^<' drops them", path);
    return what ? err_set("%s: not text but %s", path, what) : file_check_pointer(path, text, n);
}

int kinds_check_whole(const char *path, struct buf *text)
{
    const size_t n = text->len, valid = n ? utf8_valid(text->data, n) : 0;
    if (n && kinds_check(path, text->data, n) < 0)
        return -1;
    if (valid < n)
        return err_set("%s: not valid UTF-8 at byte %zu", path, valid);
    const size_t mark = n ? utf8_mark(text->data, n) : 0;
    if (mark)
        memmove(text->data, text->data + mark, n - mark);
    buf_truncate(text, n - mark);
    return 0;
}

/* Returns 1 if text[0..n), after white space, begins with one of the words. */
static int starts(const char *text, size_t n, const char *const *words)
{
    const size_t at = skip_blank(text, n, 0);
    for (; *words; words++)
        if (bytes_begin(text + at, n - at, *words))
            return 1;
    return 0;
}

int kinds_is_documents(const char *text, size_t n)
{
    return starts(text, n, (const char *const[]){ "<!-- textmill documents ", "<doc ", NULL });
}

int kinds_is_jsonl(const char *text, size_t n)
{
    return key_at(text, n, 0) || starts(text, n, (const char *const[]){ "{}\n", "{}\r", NULL });
}
