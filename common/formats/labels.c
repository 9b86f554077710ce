#include "common/formats/labels.h"

#include "common/base/utf8.h"

const char *labels_name(const struct labels *c, int64_t i)
{
    const char *name = c->names;
    while (i--)
        name += strlen(name) + 1;
    return name;
}

const char *labels_bare(const char *name)
{
    return strncmp(name, "LABEL_", 6) ? name : name + 6;
}

int64_t labels_find(const struct labels *c, const char *name, size_t n)
{
    const char *at = c->names;
    for (int64_t i = 0; i < c->count; i++, at += strlen(at) + 1)
        if (bytes_are(name, n, at) || bytes_are(name, n, labels_bare(at)))
            return i;
    return -1;
}

int labels_add(struct labels *c, const char *name, size_t n)
{
    if (memchr(name, 0, n))
        return err_set("the name of a class holds U+0000");
    if (utf8_valid(name, n) < n) /* the JSON of the model could not be read */
        return err_set("the name of a class is not UTF-8");
    if (labels_find(c, name, n) >= 0)
        return err_set("the class '%.*s' is there twice", (int)n, name);
    if (n >= sizeof c->names - c->used)
        return err_set("the names of the classes take more than %d bytes", LABELS_BYTES);
    memcpy(c->names + c->used, name, n);
    c->used += n;
    c->names[c->used++] = '\0';
    c->count++;
    return 0;
}

void labels_set_regression(struct labels *c)
{
    *c = (struct labels){ .regression = 1 };
    labels_add(c, "LABEL_0", 7);
}

/* Returns whether x comes before y. */
static int comes_before(const char *x, const char *y)
{
    char *x_end, *y_end;
    const double p = strtod(x, &x_end), q = strtod(y, &y_end);
    const int x_is = *x && !*x_end, y_is = *y && !*y_end; /* numbers */
    return x_is && y_is && p != q ? p < q : x_is != y_is ? x_is : strcmp(x, y) < 0;
}

void labels_sort(struct labels *c)
{
    struct labels from = *c;
    *c = (struct labels){ .regression = from.regression };
    for (int64_t left = from.count; left--;) {
        const char *first = NULL, *at = from.names;
        for (int64_t i = 0; i < from.count; i++, at += strlen(at) + 1)
            if (labels_find(c, at, strlen(at)) < 0 && (!first || comes_before(at, first)))
                first = at;
        labels_add(c, first, strlen(first));
    }
}
