/*
 * squad.h - questions about paragraphs, with the places of their answers: SQuAD 1.1 and 2.0.
 *
 *     {"version": "1.1", "data": [{"title": "…", "paragraphs": [{"context": "…", "qas": [
 *         {"id": "…", "question": "…", "answers": [{"text": "…", "answer_start": 42}]}]}]}]}
 *
 * answer_start counts code points. 2.0 adds "is_impossible"; an impossible question has no
 * answers. A file without answers (one to be answered) is fine.
 *
 * What is wrong and can be told is mended or marked, and counted:
 *   - an answer that stands at answer_start if that counts UTF-16 units or bytes, or that
 *     stands elsewhere in the context (the place nearest to answer_start is taken);
 *   - an answer that is nowhere in its context: it has no place, and only its text counts;
 *   - an id that occurred before; a paragraph without text or without questions.
 * What is not the format is an error that names the place, as data[3].paragraphs[0].qas[1].
 *
 * This folder's, since training makes windows of them (squad_windows.h) as evaluation does.
 *
 * Source: Rajpurkar et al. 2016 (1.1) and 2018 (2.0).
 */
#ifndef TEXTMILL_SQUAD_SQUAD_H
#define TEXTMILL_SQUAD_SQUAD_H

#include <stddef.h>
#include <stdint.h>

enum squad_fit {
    SQUAD_IN_PLACE, /* at answer_start, as it should be */
    SQUAD_UTF16,    /* answer_start counts UTF-16 units */
    SQUAD_BYTES,    /* answer_start counts bytes */
    SQUAD_MOVED,    /* somewhere else */
    SQUAD_NOWHERE,  /* begin and end are 0 */
    SQUAD_FITS,
};

/* Texts are UTF-8, end with NUL besides, and belong to the struct squad. */
struct squad_text {
    const char *s;
    size_t n;
};

struct squad_answer {
    struct squad_text text;
    enum squad_fit fit;
    uint32_t begin, end; /* code points of the context */
};

struct squad_question {
    const char *id;
    struct squad_text text;
    size_t paragraph;
    size_t answer, answers; /* the first of them, how many */
    int impossible;         /* "is_impossible" */
    size_t same_id;         /* the first question of this id: itself, if the id is its own */
};

struct squad_paragraph {
    struct squad_text context;
    size_t question, questions;
};

struct squad {
    struct squad_paragraph *paragraphs;
    struct squad_question *questions;
    struct squad_answer *answers;
    size_t paragraph_count, question_count, answer_count;
    size_t unanswerable;  /* questions without answers */
    int marks_impossible; /* "is_impossible" occurs, so this is 2.0 */
    /* what was wrong */
    size_t repeated_ids, empty_paragraphs, fits[SQUAD_FITS];
    /* private */
    size_t paragraph_cap, question_cap, answer_cap;
    struct js *json;
};

/* Reads a file ("-": stdin), or a text; `name` stands in errors. -1 with *s released. */
int squad_read(struct squad *s, const char *path);
int squad_parse(struct squad *s, const char *text, size_t n, const char *name);
/* One question about one context, both borrowed. */
void squad_ask(struct squad *s, struct squad_text context, struct squad_text question);
void squad_release(struct squad *s);

/* How many bytes the first `points` code points of s[0..n) take; n if there are fewer. */
size_t squad_bytes(const char *s, size_t n, uint64_t points);

#endif
