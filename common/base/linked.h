/*
 * linked.h - the list of libraries that a program is linked with, for --version -v.
 *
 * A module that wraps a library registers it at the end of its source file, so no program needs a
 * list:
 *
 *     LINKED_LIBRARY(zlib, "zlib", zlibVersion())
 */
#pragma once

struct linked_library {
    const char *name;
    const char *(*version)(void);
    struct linked_library *next;
};

/* Returns the first library in alphabetical order, or NULL if there are none. */
const struct linked_library *linked_libraries(void);

/* Registers a library; called only before main. `library` is borrowed forever. */
void linked_add(struct linked_library *library);

#define LINKED_LIBRARY(id, called, version_)                                                       \
    static const char *linked_version_of_##id(void)                                                \
    {                                                                                              \
        return version_;                                                                           \
    }                                                                                              \
    __attribute__((constructor)) static void linked_add_##id(void)                                 \
    {                                                                                              \
        static struct linked_library library = { called, linked_version_of_##id, NULL };           \
        linked_add(&library);                                                                      \
    }
