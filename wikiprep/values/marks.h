/*
 * marks.h - marker bytes: bytes that stand for markup inside a text. XML cannot contain them, so
 * they never occur in a dump.
 *
 * text/markup.h writes them and text/wikitext.h reads them. Like spaces, they are trimmed from both
 * ends of the value of a template argument.
 */
#pragma once

enum {
    /* 0x01 to 0x08, 0x0B and 0x0C stand for characters that are text, not markup (markup_plain) */
    MARKUP_APOSTROPHE = 1,
    MARKUP_PIPE = 7,
    MARKUP_HOLE = 0x0E,      /* something was removed here: repair spaces and punctuation */
    MARKUP_BREAK = 0x0F,     /* a line break made by a tag */
    MARKUP_TABLE = 0x10,     /* <table> */
    MARKUP_TABLE_END = 0x11, /* </table> */
    MARKUP_EMPTY = 0x12,     /* nothing, but it separates the text before and after it */
    MARKUP_CELL = 0x13,      /* <td>, <th> if tables are wanted, else MARKUP_BREAK */
    MARKUP_ROW = 0x14,       /* <tr>, <caption> if tables are wanted, else MARKUP_BREAK */
    MARKUP_ASIDE = 0x15,     /* around text such as "(in French)": a line of only that is dropped */
    MARKUP_LINKED = 0x16,    /* a link ends here; only if tables are wanted */
    MARKUP_CELL_END = 0x1C,  /* between the cells of a row (table.h) */
    MARKUP_CAPTION = 0x1D,   /* before the caption of a table (table.h) */
    MARKUP_FIXED = 0x1E,     /* begins and ends text that is not converted (converter.h) */
    MARKUP_RULE = 0x1F,      /* around a count: so many of the page's words apply (converter.h) */
    /* Only for Markdown: */
    MARKUP_CODE = 0x17,    /* begins and ends code in a line */
    MARKUP_FORMULA = 0x18, /* begins and ends a formula */
    MARKUP_BLOCK = 0x19,   /* around the offset of a block of code in another buffer */
    MARKUP_QUOTE = 0x1A,   /* begins a quotation */
    MARKUP_QUOTE_END = 0x1B,
};

/* Strings of the bytes that show nothing and break no line. After those of MARKUP_REMOVED, at the
 * start of a line, list and heading markup still counts. */
#define MARKUP_REMOVED "\x0E\x16"
#define MARKUP_UNSEEN  MARKUP_REMOVED "\x12"
