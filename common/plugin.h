/*
 * plugin.h - a part of the program that is a library of its own, opened when it is asked for,
 * because it needs what few machines have.
 *
 * Plug-in NAME is the file libtextmill-NAME.so in ../lib/textmill, seen from the folder of the
 * running program. It defines textmill_plugin. It may call the program's functions that the
 * Makefile names in PLUGIN_CALLS.
 */
#ifndef TEXTMILL_COMMON_PLUGIN_H
#define TEXTMILL_COMMON_PLUGIN_H

struct plugin {
    unsigned layout;   /* of the table: program and plug-in must agree on it */
    const void *table; /* of functions */
};

/* The table of a plug-in, which stays open until the program ends. NULL with an error when it is
 * not installed, needs a library that is not there, or was built for another layout. */
const void *plugin_open(const char *name, unsigned layout);

#endif
