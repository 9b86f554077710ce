/*
 * squad.h - questions about paragraphs, with the positions of their answers: SQuAD 1.1 and 2.0.
 *
 *     {"version": "1.1", "data": [{"title": "…", "paragraphs": [{"context": "…", "qas": [
 *         {"id": "…", "question": "…", "answers": [{"text": "…", "answer_start": 42}]}]}]}]}
 *
 * answer_start counts code points. Version 2.0 adds "is_impossible"; the answers of an impossible
 * question, if it has any, are not learned. Answers may be missing. An id may be an integer.
 *
 * Some faults are repaired or marked, and counted:
 *   - an answer whose answer_start counts UTF-16 units or bytes, or whose text is
 *     elsewhere in the context (the occurrence nearest to answer_start is used);
 *   - an answer that does not occur in its context: it has no position, only a text;
 *   - an id that occurred before; a paragraph without text or without questions.
 * Any other deviation from the format is an error that names the place, as
 * data[3].paragraphs[0].qas[1].
 *
 * Source: Rajpurkar et al. 2016 (1.1) and 2018 (2.0).
 */
#pragma once

#include "common/base/base.h"
#include "unicode/whitespace.h"

enum squad_fit {
    SQUAD_IN_PLACE, /* at answer_start, counted in code points */
    SQUAD_UTF16,    /* answer_start counts UTF-16 units */
    SQUAD_BYTES,    /* answer_start counts bytes */
    SQUAD_MOVED,    /* elsewhere in the context */
    SQUAD_NOWHERE,  /* not in the context: begin and end are 0 */
    SQUAD_FITS,
};

/* Texts are in UTF-8. The struct squad owns them; only those given to squad_ask belong to the
 * caller. */
struct squad_answer {
    struct span text;
    enum squad_fit fit;
    uint32_t begin, end; /* position in the context, in code points */
};

struct squad_question {
    char *id;
    struct span text;
    size_t paragraph;
    size_t answer, answers; /* index of the first answer, number of answers */
    int answerable;         /* 1: has answers, and is not marked as impossible */
    size_t same_id;         /* index of the first question with the same id, or its own index */
};

struct squad {
    struct span *paragraphs; /* their contexts */
    struct squad_question *questions;
    struct squad_answer *answers;
    size_t paragraph_count, question_count, answer_count;
    size_t unanswerable;  /* number of questions that are not answerable */
    int marks_impossible; /* 1: "is_impossible" occurs, so the file is SQuAD 2.0 */
    /* counts of faults */
    size_t repeated_ids, empty_paragraphs, fits[SQUAD_FITS];
    /* private */
    size_t paragraph_cap, question_cap, answer_cap;
    struct js *json;
};

/* squad_read reads a file ("-": stdin), squad_parse a text; `name` is its name in errors. Both
 * return 0, or -1 with an error; *s is then already released. */
int squad_read(struct squad *s, const char *path);
int squad_parse(struct squad *s, const char *text, size_t n, const char *name);
/* Makes *s one question about one context. Both texts are borrowed. */
void squad_ask(struct squad *s, struct span context, struct span question);
void squad_release(struct squad *s);
