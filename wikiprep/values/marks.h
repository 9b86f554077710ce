/*
 * marks.h - bytes that stand for markup inside a text: XML, and so a dump, cannot contain them.
 *
 * text/markup.h writes them, text/wikitext.h reads them, and at the ends of a value they are space.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_MARKS_H
#define TEXTMILL_WIKIPREP_VALUES_MARKS_H

enum {
    /* 0x01 to 0x08 and 0x0B, 0x0C: characters that must not be read as markup (markup_plain) */
    MARKUP_HOLE = 0x0E,      /* something was dropped here: repair spaces and punctuation */
    MARKUP_BREAK = 0x0F,     /* a new line, from a tag */
    MARKUP_TABLE = 0x10,     /* <table> */
    MARKUP_TABLE_END = 0x11, /* </table> */
    MARKUP_EMPTY = 0x12,     /* nothing, but it parts what stands beside it */
    MARKUP_CELL = 0x13,      /* <td>, <th>, where tables are wanted; else a new line */
    MARKUP_ROW = 0x14,       /* <tr>, <caption>: likewise */
    MARKUP_ASIDE = 0x15,     /* before and after what says nothing by itself: "(in French)" */
};

#endif
