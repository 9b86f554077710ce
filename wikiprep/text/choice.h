/*
 * choice.h - whether a call is expanded (expand/expand.h) or rendered (template.h).
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_CHOICE_H
#define TEXTMILL_WIKIPREP_TEXT_CHOICE_H

/* How a call of the template is rendered without its page, if it is. */
enum expand_choice {
    EXPAND_ALONE, /* it is not */
    EXPAND_FIRST, /* where expansion fails */
    EXPAND_NOT,   /* always */
};

#endif
