/* The extension module textmill_tokenizer._core: textmill-tokenizer.h for Python, with the stable
 * ABI of Python 3.11. Results are NumPy arrays on the library's memory. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "common/base/err.h"
#include "library/textmill-tokenizer.h"
#include "tfrecord/formats/example.h"
#include "tfrecord/formats/record.h"

/* Shorter calls keep the interpreter's lock: to give it back and take it again would take longer.
 */
enum { LOCKED_BYTES = 1 << 12 };

/* Objects of other modules that calls need. Set once, when the module is imported. */
static struct {
    PyObject *error, *memory, *frombuffer, *uint32, *uint64, *int64, *float32, *ndarray, *dtype;
} the;

/* Declares references that are given back at the end of their scope; NULL is fine. */
#define OWNED SCOPED_BY(give_back) PyObject
static void give_back(PyObject **object)
{
    Py_XDECREF(*object);
}

static PyObject *fail(const char *text)
{
    OWNED *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message)
        PyErr_SetObject(the.error, message);
    return NULL;
}

/* ---- memory of the library as a NumPy array -------------------------------------------------- */

struct memory {
    PyObject_HEAD void *at;
    Py_ssize_t bytes;
};

static int memory_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct memory *m = (struct memory *)self;
    return PyBuffer_FillInfo(view, self, m->at, m->bytes, 0, flags);
}

static void free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static void memory_free(PyObject *self)
{
    free(((struct memory *)self)->at);
    free_object(self);
}

static PyType_Slot memory_slots[] = { { Py_tp_dealloc, memory_free },
                                      { Py_bf_getbuffer, memory_buffer },
                                      { 0, NULL } };
static PyType_Spec memory_spec = { "textmill_tokenizer._core.Memory", sizeof(struct memory), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   memory_slots };

/* Returns an array of n elements in *memory, which it takes. */
static PyObject *take_array(void *memory, uint64_t n, size_t size, PyObject *type)
{
    void **taken = memory;
    struct memory *m = PyObject_New(struct memory, (PyTypeObject *)the.memory);
    if (!m)
        return NULL;
    m->at = *taken;
    m->bytes = (Py_ssize_t)(n * size);
    *taken = NULL;
    PyObject *array = PyObject_CallFunctionObjArgs(the.frombuffer, m, type, NULL);
    Py_DECREF(m);
    return array;
}

static PyObject *take_places(struct textmill_tokens *tokens, uint64_t n)
{
    OWNED *flat = take_array(&tokens->offsets, 2 * n, sizeof(uint32_t), the.uint32);
    return flat ? PyObject_CallMethod(flat, "reshape", "nn", (Py_ssize_t)n, (Py_ssize_t)2) : NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

enum {
    OFFSETS = TEXTMILL_OFFSETS_BYTES | TEXTMILL_OFFSETS_CHARACTERS,
    THREADS = 1 << 16,
    FLAT = 1 << 17,
    ENCODING = TEXTMILL_SPECIAL | TEXTMILL_WRAP | TEXTMILL_STRICT | OFFSETS,
};

/* The keyword arguments of a call. */
struct how {
    unsigned flags;
    int threads;
};

static int set_offsets(struct how *how, PyObject *value)
{
    if (value == Py_None)
        return 0;
    if (PyUnicode_Check(value) && !PyUnicode_CompareWithASCIIString(value, "characters"))
        how->flags |= TEXTMILL_OFFSETS_CHARACTERS;
    else if (PyUnicode_Check(value) && !PyUnicode_CompareWithASCIIString(value, "bytes"))
        how->flags |= TEXTMILL_OFFSETS_BYTES;
    else
        PyErr_Format(the.error, "offsets are 'characters', 'bytes' or None, not %R", value);
    return PyErr_Occurred() ? -1 : 0;
}

static int set_threads(struct how *how, PyObject *value)
{
    long n = PyLong_AsLong(value);
    if (n == -1 && PyErr_Occurred())
        return -1;
    how->threads = n < 0 ? 0 : n > 1 << 16 ? 1 << 16 : (int)n;
    return 0;
}

static int set_named(struct how *how, unsigned allowed, PyObject *name, PyObject *value)
{
    static const struct {
        const char *name;
        unsigned flag;
    } flags[] = { { "special", TEXTMILL_SPECIAL },
                  { "wrap", TEXTMILL_WRAP },
                  { "strict", TEXTMILL_STRICT },
                  { "flat", FLAT },
                  { "skip_special", TEXTMILL_SKIP_SPECIAL } };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!(flags[i].flag & allowed) || PyUnicode_CompareWithASCIIString(name, flags[i].name))
            continue;
        int is = PyObject_IsTrue(value);
        how->flags |= is > 0 ? flags[i].flag : 0;
        return is < 0 ? -1 : 0;
    }
    if (allowed & OFFSETS && !PyUnicode_CompareWithASCIIString(name, "offsets"))
        return set_offsets(how, value);
    if (allowed & THREADS && !PyUnicode_CompareWithASCIIString(name, "threads"))
        return set_threads(how, value);
    PyErr_Format(PyExc_TypeError, "there is no argument %R", name);
    return -1;
}

/* Checks that a call has `count` positional arguments, and reads its keyword arguments. `allowed`
 * has the flags of those that there may be. Returns 0, or -1 with an exception. */
static int read_how(struct how *how, unsigned allowed, Py_ssize_t count, PyObject *const *args,
                    Py_ssize_t given, PyObject *names)
{
    if (given != count) {
        PyErr_Format(PyExc_TypeError, "%zd argument(s) without a name are needed, not %zd", count,
                     given);
        return -1;
    }
    for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++)
        if (set_named(how, allowed, PyTuple_GetItem(names, i), args[given + i]) < 0)
            return -1;
    return 0;
}

/* A text: a str, or bytes in an object with a buffer. */
struct text {
    const char *bytes;
    Py_ssize_t n;
    PyObject *kept;  /* owns the bytes; NULL: the caller's object does */
    Py_buffer *view; /* NULL: none */
};

static void text_release(struct text *t)
{
    Py_XDECREF(t->kept);
    if (t->view)
        PyBuffer_Release(t->view);
    free(t->view);
}

static int read_text(struct text *t, PyObject *from)
{
    *t = (struct text){ 0 };
    if (PyUnicode_Check(from)) {
        if ((t->bytes = PyUnicode_AsUTF8AndSize(from, &t->n)))
            return 0;
        PyErr_Clear(); /* half a surrogate pair; the library replaces it */
        if ((t->kept = PyUnicode_AsEncodedString(from, "utf-8", "surrogatepass"))) {
            t->bytes = PyBytes_AsString(t->kept);
            t->n = PyBytes_Size(t->kept);
            return 0;
        }
    } else if (PyBytes_Check(from)) {
        t->n = PyBytes_Size(from);
        t->bytes = PyBytes_AsString(from);
        return 0;
    } else if (!(t->view = calloc(1, sizeof *t->view))) {
        PyErr_NoMemory();
    } else if (PyObject_GetBuffer(from, t->view, PyBUF_SIMPLE) == 0) {
        t->bytes = t->view->buf;
        t->n = t->view->len;
        if (t->view->itemsize == 1)
            return 0;
        PyErr_Format(PyExc_TypeError, "a text is a str or bytes, not %R", Py_TYPE(from));
    }
    text_release(t);
    *t = (struct text){ 0 };
    return -1;
}

/* Whole numbers: uint32_t or uint64_t, as `size` says. */
struct numbers {
    void *at;
    size_t size, n, cap;
    const char *what; /* their name in messages */
};

static void numbers_release(struct numbers *a)
{
    free(a->at);
}

static int out_of_range(const struct numbers *a)
{
    const uint64_t most = a->size == sizeof(uint32_t) ? UINT32_MAX : INT64_MAX;
    PyErr_Format(the.error, "%s go from 0 to %llu", a->what, (unsigned long long)most);
    return -1;
}

/* Sets an exception unless the caller's object raised one that is no TypeError. Returns -1. */
static int no_numbers(const struct numbers *a)
{
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(the.error, "%s are whole numbers in one dimension", a->what);
    return -1;
}

/* Makes room for `more` numbers, and for at least one. */
static int reserve(struct numbers *a, size_t more)
{
    const size_t needed = a->n + more + 1;
    if (needed <= a->cap)
        return 0;
    const size_t cap = 2 * a->cap > needed ? 2 * a->cap : needed;
    void *made = realloc(a->at, cap * a->size);
    if (!made) {
        PyErr_NoMemory();
        return -1;
    }
    a->at = made;
    a->cap = cap;
    return 0;
}

static int add(struct numbers *a, int64_t value)
{
    if (value < 0 || (a->size == sizeof(uint32_t) && value > UINT32_MAX))
        return out_of_range(a);
    if (a->size == sizeof(uint32_t))
        ((uint32_t *)a->at)[a->n++] = (uint32_t)value;
    else
        ((uint64_t *)a->at)[a->n++] = (uint64_t)value;
    return 0;
}

static int add_object(struct numbers *a, PyObject *item)
{
    int overflow;
    OWNED *whole = PyLong_CheckExact(item) ? Py_NewRef(item)
                   : PyBool_Check(item)    ? NULL
                                           : PyNumber_Index(item);
    if (!whole)
        return no_numbers(a);
    const long long value = PyLong_AsLongLongAndOverflow(whole, &overflow);
    return overflow ? out_of_range(a) : add(a, value);
}

/* Returns element i of a buffer of integers. One above INT64_MAX becomes negative. */
static int64_t element(const Py_buffer *v, int is_signed, Py_ssize_t i)
{
    const char *at = (const char *)v->buf + i * v->itemsize;
    switch (v->itemsize) {
    case 1: return is_signed ? *(const int8_t *)at : *(const uint8_t *)at;
    case 2: return is_signed ? *(const int16_t *)at : *(const uint16_t *)at;
    case 4: return is_signed ? *(const int32_t *)at : (int64_t) * (const uint32_t *)at;
    default: return *(const int64_t *)at;
    }
}

/* Adds a buffer's integers. Returns 0, 1 if their type is unknown, or -1 with an exception. */
static int add_buffer(struct numbers *a, const Py_buffer *v)
{
    const char *kind = !v->format ? "I" : *v->format ? strchr("bhilqBHILQ", *v->format) : NULL;
    const Py_ssize_t n = v->itemsize ? v->len / v->itemsize : 0;
    if (v->ndim != 1 || (n && (!kind || (v->format && v->format[1]))))
        return 1;
    if (reserve(a, (size_t)n) < 0)
        return -1;
    if (n && *kind < 'a' && (size_t)v->itemsize == a->size && a->size == sizeof(uint32_t)) {
        memcpy((uint32_t *)a->at + a->n, v->buf, (size_t)v->len);
        a->n += (size_t)n;
        return 0;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (add(a, element(v, *kind >= 'a', i)) < 0)
            return -1;
    return 0;
}

/* Returns 1 for an array of uint32, else 0. NumPy need not write the format of its buffer. */
static int is_uint32(PyObject *from)
{
    OWNED *dtype = Py_IS_TYPE(from, (PyTypeObject *)the.ndarray) ? PyObject_GetAttr(from, the.dtype)
                                                                 : NULL;
    return dtype == the.uint32;
}

/* Adds the whole numbers of a list. Returns 0, or -1 with an exception. */
static int add_list(struct numbers *a, PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);
    int overflow, result = reserve(a, (size_t)n);
    for (Py_ssize_t i = 0; i < n && !result; i++) {
        PyObject *item = PyList_GetItem(list, i); /* NULL: an __index__ shortened the list */
        const long long value = item && PyLong_CheckExact(item)
                                    ? PyLong_AsLongLongAndOverflow(item, &overflow)
                                    : -1;
        if (value >= 0 && value <= UINT32_MAX && a->size == sizeof(uint32_t))
            ((uint32_t *)a->at)[a->n++] = (uint32_t)value;
        else
            result = item ? add_object(a, item) : -1;
    }
    return result;
}

/* Adds the numbers of an array, of a list or of another iterable object. Returns 0, or -1 with an
 * exception. */
static int add_numbers(struct numbers *a, PyObject *from)
{
    Py_buffer view;
    if (PyObject_CheckBuffer(from) &&
        PyObject_GetBuffer(from, &view,
                           is_uint32(from) ? PyBUF_ND : PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0) {
        const int result = add_buffer(a, &view);
        PyBuffer_Release(&view);
        if (result <= 0)
            return result;
    }
    PyErr_Clear(); /* no buffer, or elements that do not follow each other */
    OWNED *list = PyList_CheckExact(from) ? Py_NewRef(from) : PySequence_List(from);
    return list ? add_list(a, list) : no_numbers(a);
}

/* Checks that the last text ends within the `most` bytes or ids; `what` names them in the error. */
static int check_end(const struct numbers *ends, size_t most, const char *what)
{
    if (!ends->n || ((const uint64_t *)ends->at)[ends->n - 1] <= most)
        return 0;
    PyErr_Format(the.error, "the last text ends behind the %s", what);
    return -1;
}

/* ---- encode ---------------------------------------------------------------------------------- */

struct object {
    PyObject_HEAD struct textmill_tokenizer *t; /* NULL before __init__ */
};

static struct textmill_tokenizer *tokenizer_of(PyObject *self)
{
    struct textmill_tokenizer *t = ((struct object *)self)->t;
    if (!t)
        fail("the tokenizer has no vocabulary: __init__ has not been called");
    return t;
}

/* Encodes texts: their bytes one after the other at `bytes` or, if `texts` is given, text i at
 * texts[i]. Returns 0, or -1 with an exception. */
static int encode(PyObject *self, const char *bytes, const char *const *texts, const uint64_t *ends,
                  uint64_t count, const struct how *how, struct textmill_tokens *out)
{
    struct textmill_error why;
    struct textmill_tokenizer *t = tokenizer_of(self);
    if (!t)
        return -1;
    const unsigned flags = how->flags & ENCODING;
    PyThreadState *state = count && ends[count - 1] >= LOCKED_BYTES ? PyEval_SaveThread() : NULL;
    int result = texts
                     ? textmill_encode_texts(t, texts, ends, count, flags, how->threads, out, &why)
                     : textmill_encode(t, bytes, ends, count, flags, how->threads, out, &why);
    if (state)
        PyEval_RestoreThread(state);
    if (result < 0)
        fail(why.text);
    return result;
}

/* Returns the ids of all texts, their ends, and the offsets or None. */
static PyObject *whole_tokens(struct textmill_tokens *tokens, unsigned flags)
{
    const uint64_t texts = tokens->texts, count = texts ? tokens->ends[texts - 1] : 0;
    OWNED *places = flags & OFFSETS ? take_places(tokens, count) : Py_NewRef(Py_None);
    OWNED *ids = take_array(&tokens->ids, count, sizeof *tokens->ids, the.uint32);
    OWNED *ends = take_array(&tokens->ends, texts, sizeof *tokens->ends, the.uint64);
    return places && ids && ends ? PyTuple_Pack(3, ids, ends, places) : NULL;
}

static PyObject *encode_buffer(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    struct how how = { 0 };
    SCOPED(text) data = { 0 };
    SCOPED(numbers) ends = { .size = sizeof(uint64_t), .what = "ends" };
    SCOPED_BY(textmill_tokens_free) struct textmill_tokens tokens = { 0 };
    if (read_how(&how, ENCODING | THREADS, 2, args, n, names) < 0 ||
        read_text(&data, args[0]) < 0 || add_numbers(&ends, args[1]) < 0 ||
        check_end(&ends, (size_t)data.n, "data") < 0 ||
        encode(self, data.bytes, NULL, ends.at, ends.n, &how, &tokens) < 0)
        return NULL;
    return whole_tokens(&tokens, how.flags);
}

static PyObject *encode_one(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    struct how how = { .threads = 1 };
    SCOPED(text) text = { 0 };
    SCOPED_BY(textmill_tokens_free) struct textmill_tokens tokens = { 0 };
    if (read_how(&how, ENCODING, 1, args, n, names) < 0 || read_text(&text, args[0]) < 0)
        return NULL;
    const uint64_t end = (uint64_t)text.n;
    if (encode(self, text.bytes, NULL, &end, 1, &how, &tokens) < 0)
        return NULL;
    const uint64_t count = tokens.ends[0];
    OWNED *ids = take_array(&tokens.ids, count, sizeof *tokens.ids, the.uint32);
    if (!ids || !(how.flags & OFFSETS))
        return Py_XNewRef(ids);
    OWNED *places = take_places(&tokens, count);
    return places ? PyTuple_Pack(2, ids, places) : NULL;
}

/* Takes the array `all`, whose rows belong to texts as `ends` says. Returns a list of its parts. */
static PyObject *split_array(PyObject *all, const uint64_t *ends, Py_ssize_t count)
{
    PyObject *list = all ? PyList_New(count) : NULL;
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *part = PySequence_GetSlice(all, i ? (Py_ssize_t)ends[i - 1] : 0,
                                             (Py_ssize_t)ends[i]);
        if (!part || PyList_SetItem(list, i, part) < 0)
            Py_CLEAR(list);
    }
    Py_XDECREF(all);
    return list;
}

static PyObject *split_tokens(struct textmill_tokens *tokens, Py_ssize_t count, unsigned flags)
{
    const uint64_t all = count ? tokens->ends[count - 1] : 0;
    PyObject *joined = take_array(&tokens->ids, all, sizeof *tokens->ids, the.uint32);
    OWNED *ids = split_array(joined, tokens->ends, count);
    if (!ids || !(flags & OFFSETS))
        return Py_XNewRef(ids);
    OWNED *places = split_array(take_places(tokens, all), tokens->ends, count);
    return places ? PyTuple_Pack(2, ids, places) : NULL;
}

enum { AHEAD = 8 }; /* objects lie apart in memory: one is fetched while those before it are read */

static PyObject *encode_batch(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    struct how how = { 0 };
    SCOPED_BY(textmill_tokens_free) struct textmill_tokens tokens = { 0 };
    OWNED *list = NULL;
    PyObject *result = NULL;
    if (read_how(&how, ENCODING | THREADS | FLAT, 1, args, n, names) < 0)
        return NULL;
    if (PyUnicode_Check(args[0])) /* else each of its characters is a text */
        PyErr_SetString(PyExc_TypeError, "texts are in a list; encode takes one text");
    else
        list = PySequence_List(args[0]);
    if (!list)
        return NULL;
    const Py_ssize_t count = PyList_Size(list);
    SCOPED_MEM struct text *texts = malloc(((size_t)count + 1) * sizeof *texts);
    SCOPED_MEM const char **begins = malloc(((size_t)count + 1) * sizeof *begins);
    SCOPED_MEM uint64_t *ends = malloc(((size_t)count + 1) * sizeof *ends);
    Py_ssize_t read = 0, owners = 0; /* texts[0..owners): those that own something */
    if (!texts || !begins || !ends)
        PyErr_NoMemory();
    for (; texts && begins && ends && read < count; read++) {
        struct text *text = &texts[owners];
        if (read + AHEAD < count)
            __builtin_prefetch((char *)PyList_GetItem(list, read + AHEAD) + 64);
        if (read_text(text, PyList_GetItem(list, read)) < 0)
            break;
        begins[read] = text->bytes;
        ends[read] = (read ? ends[read - 1] : 0) + (uint64_t)text->n;
        owners += text->kept || text->view;
    }
    if (!PyErr_Occurred() && encode(self, NULL, begins, ends, (uint64_t)count, &how, &tokens) == 0)
        result = how.flags & FLAT ? whole_tokens(&tokens, how.flags)
                                  : split_tokens(&tokens, count, how.flags);
    while (owners)
        text_release(&texts[--owners]);
    return result;
}

/* ---- decode ---------------------------------------------------------------------------------- */

static int decode(PyObject *self, const struct numbers *ids, const uint64_t *ends, uint64_t count,
                  const struct how *how, struct textmill_texts *out)
{
    struct textmill_error why;
    struct textmill_tokenizer *t = tokenizer_of(self);
    if (!t)
        return -1;
    PyThreadState *state = ids->n * sizeof(uint32_t) >= LOCKED_BYTES ? PyEval_SaveThread() : NULL;
    int result = textmill_decode(t, ids->at, ends, count, how->flags, how->threads, out, &why);
    if (state)
        PyEval_RestoreThread(state);
    if (result < 0)
        fail(why.text);
    return result;
}

static PyObject *decode_buffer(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    struct how how = { 0 };
    SCOPED(numbers) ids = { .size = sizeof(uint32_t), .what = "ids" };
    SCOPED(numbers) ends = { .size = sizeof(uint64_t), .what = "ends" };
    SCOPED_BY(textmill_texts_free) struct textmill_texts texts = { 0 };
    if (read_how(&how, TEXTMILL_SKIP_SPECIAL | THREADS, 2, args, n, names) < 0 ||
        add_numbers(&ids, args[0]) < 0 || add_numbers(&ends, args[1]) < 0 ||
        check_end(&ends, ids.n, "ids") < 0 || decode(self, &ids, ends.at, ends.n, &how, &texts) < 0)
        return NULL;
    const Py_ssize_t bytes = ends.n ? (Py_ssize_t)texts.ends[ends.n - 1] : 0;
    OWNED *data = PyBytes_FromStringAndSize(texts.bytes, bytes);
    OWNED *made = take_array(&texts.ends, ends.n, sizeof *texts.ends, the.uint64);
    return data && made ? PyTuple_Pack(2, data, made) : NULL;
}

typedef PyObject *make_text(const char *bytes, Py_ssize_t n);

static PyObject *make_str(const char *bytes, Py_ssize_t n)
{
    return PyUnicode_DecodeUTF8(bytes, n, "replace");
}

static PyObject *decode_as(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names,
                           make_text *make)
{
    struct how how = { .threads = 1 };
    SCOPED(numbers) ids = { .size = sizeof(uint32_t), .what = "ids" };
    SCOPED_BY(textmill_texts_free) struct textmill_texts texts = { 0 };
    if (read_how(&how, TEXTMILL_SKIP_SPECIAL, 1, args, n, names) < 0 ||
        add_numbers(&ids, args[0]) < 0)
        return NULL;
    const uint64_t end = ids.n;
    return decode(self, &ids, &end, 1, &how, &texts) < 0
               ? NULL
               : make(texts.bytes, (Py_ssize_t)texts.ends[0]);
}

static PyObject *decode_one(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    return decode_as(self, args, n, names, make_str);
}

static PyObject *decode_bytes(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    return decode_as(self, args, n, names, PyBytes_FromStringAndSize);
}

/* Adds the ids of all sequences in the list, and where those of each end. */
static int add_all(struct numbers *ids, struct numbers *ends, PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);
    int result = reserve(ends, (size_t)count);
    for (Py_ssize_t i = 0; i < count && !result; i++) {
        result = add_numbers(ids, PyList_GetItem(list, i));
        if (!result)
            result = add(ends, (int64_t)ids->n);
    }
    return result;
}

static PyObject *decode_batch(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    struct how how = { 0 };
    SCOPED(numbers) ids = { .size = sizeof(uint32_t), .what = "ids" };
    SCOPED(numbers) ends = { .size = sizeof(uint64_t), .what = "ends" };
    SCOPED_BY(textmill_texts_free) struct textmill_texts texts = { 0 };
    OWNED *list = NULL;
    PyObject *result = NULL;
    if (read_how(&how, TEXTMILL_SKIP_SPECIAL | THREADS, 1, args, n, names) < 0 ||
        !(list = PySequence_List(args[0])))
        return NULL;
    if (add_all(&ids, &ends, list) == 0 && decode(self, &ids, ends.at, ends.n, &how, &texts) == 0)
        result = PyList_New((Py_ssize_t)ends.n);
    for (size_t i = 0, at = 0; result && i < ends.n; at = texts.ends[i++]) {
        PyObject *text = make_str(texts.bytes + at, (Py_ssize_t)(texts.ends[i] - at));
        if (!text || PyList_SetItem(result, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(result);
    }
    return result;
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

/* Sets *id to the token id that `object` holds. Returns 0, or -1 with an exception. */
static int read_id(const struct textmill_tokenizer *t, PyObject *object, uint32_t *id)
{
    int overflow;
    OWNED *whole = PyNumber_Index(object);
    if (!whole)
        return -1;
    const long long value = PyLong_AsLongLongAndOverflow(whole, &overflow);
    const uint32_t size = textmill_vocabulary_size(t);
    *id = (uint32_t)value;
    if (!overflow && value >= 0 && value < size)
        return 0;
    PyErr_Format(the.error, "id %S is not in the vocabulary of %lu tokens", object,
                 (unsigned long)size);
    return -1;
}

static PyObject *token(PyObject *self, PyObject *object)
{
    struct textmill_tokenizer *t = tokenizer_of(self);
    uint32_t id;
    size_t n;
    if (!t || read_id(t, object, &id) < 0)
        return NULL;
    const char *bytes = textmill_token(t, id, &n);
    return bytes ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)n) : Py_NewRef(Py_None);
}

static PyObject *is_special(PyObject *self, PyObject *object)
{
    struct textmill_tokenizer *t = tokenizer_of(self);
    uint32_t id;
    if (!t || read_id(t, object, &id) < 0)
        return NULL;
    return PyBool_FromLong(textmill_is_special(t, id));
}

/* chat(form, line, use): returns (ids, ends, None) of textmill_encode_chat. */
static PyObject *chat(PyObject *self, PyObject *args)
{
    const char *form, *line;
    Py_ssize_t n;
    int use;
    struct textmill_error why;
    SCOPED_BY(textmill_tokens_free) struct textmill_tokens tokens = { 0 };
    struct textmill_tokenizer *t = tokenizer_of(self);
    if (!t || !PyArg_ParseTuple(args, "yy#i", &form, &line, &n, &use))
        return NULL;
    int failed;
    Py_BEGIN_ALLOW_THREADS;
    failed = textmill_encode_chat(t, form, line, (size_t)n, (enum textmill_chat_use)use, &tokens,
                                  &why);
    Py_END_ALLOW_THREADS;
    return failed ? fail(why.text) : whole_tokens(&tokens, 0);
}

static PyObject *json(PyObject *self, PyObject *)
{
    struct textmill_error why;
    SCOPED_BY(textmill_texts_free) struct textmill_texts text = { 0 };
    struct textmill_tokenizer *t = tokenizer_of(self);
    if (!t || textmill_json(t, &text, &why) < 0)
        return t ? fail(why.text) : NULL;
    return PyBytes_FromStringAndSize(text.bytes, (Py_ssize_t)text.ends[0]);
}

static PyObject *id_or_none(int64_t id)
{
    return id < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(id);
}

static PyObject *find(PyObject *self, PyObject *object)
{
    struct textmill_tokenizer *t = tokenizer_of(self);
    SCOPED(text) text = { 0 };
    if (!t || read_text(&text, object) < 0)
        return NULL;
    return id_or_none(textmill_find(t, text.bytes, (size_t)text.n));
}

static PyObject *end_of_text(PyObject *self, void *)
{
    struct textmill_tokenizer *t = tokenizer_of(self);
    return t ? id_or_none(textmill_end_of_text(t)) : NULL;
}

static Py_ssize_t length(PyObject *self)
{
    struct textmill_tokenizer *t = tokenizer_of(self);
    return t ? (Py_ssize_t)textmill_vocabulary_size(t) : -1;
}

/* __init__(path, options): both are bytes. */
static int init(PyObject *self, PyObject *args, PyObject *)
{
    const char *path, *options;
    struct textmill_error why;
    struct textmill_tokenizer *made;
    if (!PyArg_ParseTuple(args, "yy", &path, &options))
        return -1;
    if (((struct object *)self)->t) {
        fail("the tokenizer has a vocabulary already");
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS;
    made = textmill_open(path, options, &why);
    Py_END_ALLOW_THREADS;
    if (!made) {
        fail(why.text);
        return -1;
    }
    ((struct object *)self)->t = made;
    return 0;
}

static void tokenizer_free(PyObject *self)
{
    textmill_close(((struct object *)self)->t);
    free_object(self);
}

#define NAMED(name, function)                                                                      \
    {                                                                                              \
        name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS, NULL         \
    }
static PyMethodDef methods[] = { NAMED("encode", encode_one),
                                 NAMED("encode_batch", encode_batch),
                                 NAMED("encode_buffer", encode_buffer),
                                 NAMED("decode", decode_one),
                                 NAMED("decode_bytes", decode_bytes),
                                 NAMED("decode_batch", decode_batch),
                                 NAMED("decode_buffer", decode_buffer),
                                 { "token", token, METH_O, NULL },
                                 { "is_special", is_special, METH_O, NULL },
                                 { "find", find, METH_O, NULL },
                                 { "_chat", chat, METH_VARARGS, NULL },
                                 { "_json", json, METH_NOARGS, NULL },
                                 { NULL, NULL, 0, NULL } };
static PyGetSetDef properties[] = { { "end_of_text", end_of_text, NULL, NULL, NULL },
                                    { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot slots[] = { { Py_tp_init, init },       { Py_tp_dealloc, tokenizer_free },
                               { Py_tp_methods, methods }, { Py_tp_getset, properties },
                               { Py_sq_length, length },   { 0, NULL } };
static PyType_Spec spec = { "textmill_tokenizer._core.Tokenizer", sizeof(struct object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };

/* ---- records --------------------------------------------------------------------------------- */

/* Returns a feature's values as an array of int64 or float32. */
static PyObject *feature(const struct feature_view *f)
{
    enum { STEP = 1 << 10 };
    struct feature_reader r;
    if (f->kind != FEATURE_INTS && f->kind != FEATURE_FLOATS)
        return fail("a feature holds no numbers");
    feature_open(&r, f);
    const int ints = f->kind == FEATURE_INTS;
    SCOPED(numbers) a = { .size = ints ? sizeof(int64_t) : sizeof(float) };
    int64_t got = 0;
    do {
        a.n += (size_t)got;
        if (reserve(&a, STEP) < 0)
            break;
        got = ints ? feature_ints(&r, (int64_t *)a.at + a.n, STEP)
                   : feature_floats(&r, (float *)a.at + a.n, STEP);
    } while (got > 0);
    if (got < 0)
        fail(err_get());
    return got ? NULL : take_array(&a.at, a.n, a.size, ints ? the.int64 : the.float32);
}

/* Adds the features of a tf.Example to a dict. Returns 0, or -1 with an exception. */
static int add_features(PyObject *dict, const struct record *record)
{
    struct example_reader r;
    struct feature_view f;
    int more;
    example_open(&r, record->data, record->bytes);
    while ((more = example_next(&r, &f)) > 0) {
        OWNED *name = PyUnicode_DecodeUTF8(f.name, (Py_ssize_t)f.name_len, "replace");
        OWNED *values = feature(&f);
        if (!name || !values || PyDict_SetItem(dict, name, values) < 0)
            return -1;
    }
    return more < 0 ? (fail(err_get()), -1) : 0;
}

/* record(file, path, number, offset): returns the features of a record as a dict. */
static PyObject *record(PyObject *, PyObject *args)
{
    Py_buffer file;
    const char *path;
    unsigned long long number, offset;
    struct record r;
    if (!PyArg_ParseTuple(args, "y*yKK", &file, &path, &number, &offset))
        return NULL;
    const struct file_map map = { file.buf, (uint64_t)file.len };
    PyObject *dict = NULL;
    const int found = record_read(&map, offset, &r);
    if (found < 1) {
        if (!found)
            err_set("the file ends before it");
        record_where(path, number, offset);
        fail(err_get());
    } else if ((dict = PyDict_New()) && add_features(dict, &r) < 0)
        Py_CLEAR(dict);
    PyBuffer_Release(&file);
    return dict;
}

/* ---- the module ------------------------------------------------------------------------------ */

static PyMethodDef functions[] = { { "record", record, METH_VARARGS, NULL },
                                   { NULL, NULL, 0, NULL } };
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_core", NULL, -1, functions, NULL, NULL, NULL, NULL
};

static int import_numpy(void)
{
    OWNED *numpy = PyImport_ImportModule("numpy");
    if (!numpy)
        return -1;
    the.frombuffer = PyObject_GetAttrString(numpy, "frombuffer");
    the.uint32 = PyObject_CallMethod(numpy, "dtype", "s", "uint32");
    the.uint64 = PyObject_CallMethod(numpy, "dtype", "s", "uint64");
    the.int64 = PyObject_CallMethod(numpy, "dtype", "s", "int64");
    the.float32 = PyObject_CallMethod(numpy, "dtype", "s", "float32");
    the.ndarray = PyObject_GetAttrString(numpy, "ndarray");
    the.dtype = PyUnicode_InternFromString("dtype");
    return PyErr_Occurred() ? -1 : 0;
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    OWNED *m = PyModule_Create(&module), *type = PyType_FromSpec(&spec);
    the.error = PyErr_NewExceptionWithDoc(
        "textmill_tokenizer.TokenizerError",
        "An error of the library about a vocabulary, a text or ids.", PyExc_ValueError, NULL);
    the.memory = PyType_FromSpec(&memory_spec);
    if (m && type && the.error && the.memory && import_numpy() == 0 &&
        PyModule_AddObjectRef(m, "Tokenizer", type) == 0 &&
        PyModule_AddObjectRef(m, "TokenizerError", the.error) == 0 &&
        PyModule_AddStringConstant(m, "version", TEXTMILL_VERSION) == 0)
        return Py_NewRef(m);
    return NULL;
}
