#define _GNU_SOURCE /* O_TMPFILE */
#include "wikiprep/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"

enum { HELD_MAX = 16 << 20 };

void spill_init(struct spill *s)
{
    *s = (struct spill) { .fd = -1, .held = BUF_INIT };
}

static const char *folder(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

static int open_unnamed(void)
{
    int fd = open(folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    struct buf path = BUF_INIT; /* a file system without O_TMPFILE */
    buf_addf(&path, "%s/textmill-XXXXXX", folder());
    fd = mkstemp(path.data);
    if (fd >= 0)
        unlink(path.data);
    else
        err_set("cannot make a temporary file in '%s': %s", folder(), strerror(errno));
    buf_release(&path);
    return fd;
}

static int flush(struct spill *s)
{
    if (s->fd < 0 && (s->fd = open_unnamed()) < 0)
        return -1;
    for (size_t done = 0; done < s->held.len;) {
        ssize_t n = write(s->fd, s->held.data + done, s->held.len - done);
        if (n < 0 && errno != EINTR)
            return err_set("cannot write a temporary file in '%s': %s", folder(), strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    buf_clear(&s->held);
    return 0;
}

int spill_add(struct spill *s, const void *bytes, size_t n)
{
    buf_add(&s->held, bytes, n);
    s->bytes += n;
    return s->held.len > HELD_MAX ? flush(s) : 0;
}

int spill_finish(struct spill *s)
{
    if (s->fd < 0) {
        s->data = s->held.data;
        return 0;
    }
    if (flush(s) < 0)
        return -1;
    void *map = mmap(NULL, s->bytes, PROT_READ, MAP_SHARED, s->fd, 0);
    if (map == MAP_FAILED)
        return err_set("cannot map a temporary file of %llu bytes: %s",
                       (unsigned long long)s->bytes, strerror(errno));
    s->data = map;
    s->mapped = 1;
    return 0;
}

void spill_release(struct spill *s)
{
    if (s->mapped)
        munmap((void *)s->data, s->bytes);
    if (s->fd >= 0)
        close(s->fd);
    buf_release(&s->held);
    spill_init(s);
}
