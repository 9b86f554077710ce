#include "common/files/spill.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/files/file.h"
#include "common/files/mapping.h"

void spill_init(struct spill *s, size_t most)
{
    *s = (struct spill){ .fd = -1, .most = most, .held = BUF_INIT };
}

static int cannot_write(void)
{
    return err_set("cannot write a temporary file in '%s': %s", file_temporary_folder(),
                   strerror(errno));
}

static int flush(struct spill *s)
{
    if (s->fd < 0 && (s->fd = file_nameless(file_temporary_folder())) < 0)
        return -1;
    for (size_t done = 0; done < s->held.len;) {
        ssize_t n = AGAIN(write(s->fd, s->held.data + done, s->held.len - done));
        if (n < 0)
            return cannot_write();
        done += (size_t)n;
    }
    buf_clear(&s->held);
    return 0;
}

int spill_add(struct spill *s, const void *bytes, size_t n)
{
    buf_add(&s->held, bytes, n);
    s->bytes += n;
    return s->held.len > s->most ? flush(s) : 0;
}

int spill_finish(struct spill *s)
{
    if (s->fd < 0) {
        s->data = s->held.data;
        return 0;
    }
    if (flush(s) < 0)
        return -1;
    s->data = mapping_new(s->fd, s->bytes, PROT_READ, "a temporary file in '%s'",
                          file_temporary_folder());
    if (!s->data)
        return -1;
    s->mapped = 1;
    int fd = s->fd;
    s->fd = -1;
    return close(fd) < 0 ? cannot_write() : 0; /* the map remains valid */
}

void spill_at_random(struct spill *s)
{
    if (s->mapped)
        madvise((void *)s->data, s->bytes, MADV_RANDOM); /* only a hint: failure does no harm */
}

void spill_forget(struct spill *s, uint64_t n)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (s->mapped) /* only a hint, too: the file has the bytes */
        madvise((void *)s->data, n / page * page, MADV_DONTNEED);
}

void spill_clear(struct spill *s)
{
    if (s->mapped)
        mapping_free((void *)s->data, s->bytes);
    if (s->fd >= 0)
        close(s->fd);
    buf_clear(&s->held);
    *s = (struct spill){ .fd = -1, .most = s->most, .held = s->held };
}

void spill_release(struct spill *s)
{
    spill_clear(s);
    buf_release(&s->held);
}
