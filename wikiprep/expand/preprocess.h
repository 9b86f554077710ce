/*
 * preprocess.h - wikitext as a tree of calls and parameters.
 *
 *     {{name|first|key=second}}   a call: its name is a part, and so is each argument
 *     {{{name|default}}}          a parameter
 *     <ref>…</ref>                a tag whose content is no wikitext for its surroundings
 *
 * What MediaWiki's preprocessor does (www.mediawiki.org/wiki/Preprocessor_ABNF): the longest of
 * the braces that match, innermost first; links and headings are looked at only because braces do
 * not close over their ends. Comments are left out, and of pages and templates what <noinclude>,
 * <includeonly> and <onlyinclude> hide. What is not closed is text, and so is what comes behind
 * MediaWiki's bound of a million nodes.
 *
 * A tree says where things are in its source and holds no text itself.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_PREPROCESS_H
#define TEXTMILL_WIKIPREP_EXPAND_PREPROCESS_H

#include <stddef.h>
#include <stdint.h>

enum { PREPROCESS_DROPPED = 0x01 }; /* this byte, which XML cannot contain, is in no text node */

enum node_kind {
    NODE_TEXT,      /* source[begin..end) */
    NODE_CALL,      /* children: parts, the first is the name */
    NODE_PARAMETER, /* likewise */
    NODE_PART,      /* children: its nodes; of one with '=' those behind it */
    NODE_TAG,       /* source[begin..end), from '<' to '>'; child: a text node, the content */
};

enum {
    NODE_LINE_START = 1, /* CALL: begins a line */
    NODE_NAMED = 2,      /* PART: has '='; `begin` is the first node before it, if any */
    NODE_REFERENCE = 4,  /* TAG: <ref> */
    NODE_POEM = 8,       /* TAG: <poem>, whose content is wikitext after all */
};

struct node {
    uint32_t next, child; /* indices; 0: none */
    uint32_t begin, end;
    uint8_t kind, flags;
};

struct tree {
    const char *source; /* borrowed */
    struct node *nodes; /* nodes[0] is a part: the whole text */
    size_t count, cap;
    int is_cut; /* it had too many: the rest is one text */
};

enum preprocess_mode {
    PREPROCESS_PAGE,     /* a page that is shown */
    PREPROCESS_INCLUDED, /* a page that another calls */
};

/* Working memory for one thread. `variants`: the wiki is in a language with several scripts, in
 * which
 * -{ … }- says how a word is written in each. */
struct preprocessor;
struct preprocessor *preprocessor_new(int variants);
void preprocessor_free(struct preprocessor *p);

/* Replaces the tree's nodes; source[0..n) is borrowed by it, n < 4 GiB. Time is linear in n. */
void preprocess(struct preprocessor *p, struct tree *tree, const char *source, size_t n,
                enum preprocess_mode mode);

void tree_release(struct tree *tree);

#endif
