/*
 * choice.h - whether a template call is expanded (expand/expand.h) or rendered (template.h).
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_CHOICE_H
#define TEXTMILL_WIKIPREP_TEXT_CHOICE_H

/* Expansion runs the template's own wikitext. Rendering uses the built-in rules of template.h
 * instead. The value says when the built-in rules apply. */
enum expand_choice {
    EXPAND_ALONE, /* never */
    EXPAND_FIRST, /* if expansion fails */
    EXPAND_NOT,   /* always; the template is not expanded */
};

#endif
