/* Maps of files. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/files/mapping.h"
#include "tests/unit/dir.h"

TestSuite(mapping, .init = make_dir, .fini = remove_dir);

#ifndef SANITIZED /* a sanitizer ends the process when memory runs out */
/* Maps a file while there is memory for the map alone, and again with all memory. Returns 0 if the
 * first call escapes and the second one succeeds, otherwise the number of the step that failed. */
static int map_without_memory(int fd)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *volatile taken, *room = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rlimit before, least;
    long pages = 0;
    jmp_buf here;
    alarm(10); /* for a lock that nobody gives back */
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1 || getrlimit(RLIMIT_AS, &before) < 0)
        return 1;
    least = (struct rlimit){ (rlim_t)pages * page, before.rlim_max };
    if (setrlimit(RLIMIT_AS, &least) < 0)
        return 2;
    for (int i = 0; i < 1 << 20 && (taken = malloc(512)); i++)
        continue;
    munmap(room, page);
    if (!setjmp(here)) {
        mem_escape(&here);
        mapping_new(fd, 1, PROT_READ, "'a'");
        return 3;
    }
    if (setrlimit(RLIMIT_AS, &before) < 0)
        return 4;
    return mapping_new(fd, 1, PROT_READ, "'a'") ? 0 : 5;
}

Test(mapping, goes_on_after_memory_ran_out)
{
    int status;
    put_text("a", "a");
    const int fd = open(in_dir("a"), O_RDONLY);
    cr_assert_geq(fd, 0);
    const pid_t child = fork();
    if (!child)
        _exit(map_without_memory(fd));
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
    close(fd);
}
#endif

Test(mapping, many_maps_take_little_time, .timeout = 4)
{
    enum { MAPS = 40000 }; /* steps in the square of it would take longer */
    static void *maps[MAPS];
    put_text("a", "a");
    const int fd = open(in_dir("a"), O_RDONLY);
    cr_assert_geq(fd, 0);
    for (int i = 0; i < MAPS; i++)
        cr_assert((maps[i] = mapping_new(fd, 1, PROT_READ, "'%d'", i)));
    cr_expect_str_eq(mapping_at(maps[1234]), "'1234'");
    for (int i = 0; i < MAPS; i++)
        mapping_free(maps[i], 1);
    cr_expect_null(mapping_at(maps[1234]));
    close(fd);
}
