/*
 * preprocess.h - parses wikitext into a tree of calls and parameters.
 *
 *     {{name|first|key=second}}   a call: its name and each argument are parts
 *     {{{name|default}}}          a parameter
 *     <ref>…</ref>                a tag whose content is not wikitext of the enclosing page
 *
 * It follows MediaWiki's preprocessor (www.mediawiki.org/wiki/Preprocessor_ABNF). Braces match
 * innermost first, and the longest possible match is taken. Links and headings are recognised only
 * because braces cannot match across their ends. Comments are removed, and so is text that
 * <noinclude>, <includeonly> and <onlyinclude> hide in the chosen mode. An unclosed element is
 * text, and so is everything after MediaWiki's limit of a million nodes.
 *
 * A tree stores positions in its source, not the text itself.
 */
#pragma once

#include "common/base/base.h"

enum { PREPROCESS_DROPPED = 0x01 }; /* XML cannot contain this byte; no text node has it */

enum node_kind {
    NODE_TEXT,      /* source[begin..end) */
    NODE_CALL,      /* children: parts; the first is the name */
    NODE_PARAMETER, /* children: parts; the first is the name */
    /* A name or an argument. Its children are its nodes; with NODE_NAMED only those after '='. */
    NODE_PART,
    /* source[begin..end) from '<' to '>'. The child is a text node with the content. */
    NODE_TAG,
};

enum {
    NODE_LINE_START = 1, /* NODE_CALL: the call begins a line */
    NODE_NAMED = 2,      /* NODE_PART: it has a '='; node.begin is the first node before it, or 0 */
    NODE_REFERENCE = 4,  /* NODE_TAG: it is <ref> */
    NODE_WIKITEXT = 8,   /* NODE_TAG: its content is wikitext, as in <poem> */
    NODE_BOOK = 16,      /* NODE_TAG: it is <pages> */
};

struct node {
    uint32_t next, child; /* indices; 0: none */
    uint32_t begin, end;
    uint8_t kind, flags;
};

struct tree {
    const char *source; /* borrowed */
    struct node *nodes; /* nodes[0] is a part that holds the whole text */
    size_t count, cap;
    int is_cut; /* over the node limit: the rest is one text node */
};

enum preprocess_mode {
    PREPROCESS_PAGE,     /* a page that is shown */
    PREPROCESS_INCLUDED, /* a page included by another */
};

/* Working memory for one thread. `variants` 1: the wiki's language has several scripts; the markup
 * -{ … }- then gives the spelling of a word in each script. */
struct preprocessor;
struct preprocessor *preprocessor_new(int variants);
void preprocessor_free(struct preprocessor *p);

/* Parses source[0..n), n < 4 GiB, into `tree`, whose old nodes are dropped. It borrows `source`.
 * Time is linear in n. */
void preprocess(struct preprocessor *p, struct tree *tree, const char *source, size_t n,
                enum preprocess_mode mode);

void tree_release(struct tree *tree);
