/*
 * converter.h - shows a page in the chosen variant of its language, as MediaWiki's
 * LanguageConverter does (www.mediawiki.org/wiki/Writing_systems/Syntax).
 *
 * The first pass over the page replaces each markup -{flags|rules}- by its text, between two
 * MARKUP_FIXED: this text is not converted again. A markup can also add words to convert in the
 * text after it, or remove words. They form a list; a number between two MARKUP_RULE says how many
 * of them apply from there on. The second pass converts line by line.
 *
 * Unlike in MediaWiki, words are found across the ends of links and of tags.
 */
#pragma once

#include "common/base/buf.h"
#include "wikiprep/site/variant.h"

struct converter;

struct converter *converter_new(void);
void converter_free(struct converter *c);

/* Begins a page. v is borrowed; NULL: the language has no variants, and "-{" is text. */
void converter_begin(struct converter *c, const struct variants *v);

/* Returns 1 if "-{" is markup, else 0. */
int converter_reads(const struct converter *c);

/* Appends the text that the markup -{inner}- shows, with the marks described above. nested 1: it is
 * in another markup, so its text is converted at once, without the words of the page. */
void converter_rule(struct converter *c, struct span inner, int nested, struct buf *out);

/* If text that is dropped has MARKUP_RULE marks, appends one that makes all words so far apply. */
void converter_keep(const struct converter *c, struct span dropped, struct buf *out);

/* Appends the mark that begins or ends text that is not converted, MARKUP_FIXED. */
void converter_fix(const struct converter *c, struct buf *out);

/* Leaves the text of this page as it is, except for its markup. */
void converter_stop(struct converter *c);

/* Does as converter_stop if the marked text is mostly in the chosen variant's alphabet. */
void converter_judge(struct converter *c, struct span marked);

/* Converts the line, except what stands between two MARKUP_CODE in it, and removes the marks
 * described above. */
void converter_line(struct converter *c, struct buf *line);

/* Reads the MARKUP_RULE marks in `marked`, which is not shown, and makes their words apply. */
void converter_pass(struct converter *c, struct span marked);
