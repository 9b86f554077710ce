/*
 * dir.h - a temporary folder for the tests of a suite.
 *
 *     TestSuite(checkpoint, .init = make_dir, .fini = remove_dir);
 */
#pragma once

extern char dir[]; /* the path of the folder */

void make_dir(void);
void remove_dir(void);

/* Returns the path of a file in the folder; valid until the fourth call after this one. */
const char *in_dir(const char *name);

/* Writes a file of the folder. */
void put_text(const char *name, const char *text);
