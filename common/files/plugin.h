/*
 * plugin.h - opens plug-ins: parts of the program in separate libraries, for features that few
 * machines support.
 *
 * Plug-in NAME is the file libtextmill-NAME.so in ../lib/textmill, relative to the folder of the
 * running program. It defines the symbol textmill_plugin. It may call those functions of the
 * program that the Makefile names in PLUGIN_CALLS.
 */
#pragma once

struct plugin {
    unsigned layout;   /* layout number of the table; program and plug-in must have the same */
    const void *table; /* table of functions */
};

/* Opens a plug-in, which stays open until the program ends, and returns its table. Returns NULL
 * with an error if it is not installed, needs a missing library, or has another layout number. */
const void *plugin_open(const char *name, unsigned layout);

/* Returns 1 if a plug-in's file was ever opened, else 0. */
int plugin_opened(void);
