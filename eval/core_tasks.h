/*
 * core_tasks.h - the tasks of `evaluate core` and their questions, read from files (core.c).
 */
#pragma once

#include "common/formats/js.h"

enum core_kind { CORE_CHOICE, CORE_SCHEMA, CORE_LANGUAGE };

struct core_task {
    char *label, *path;
    char *delimiter; /* between a question and its answer */
    enum core_kind kind;
    int64_t examples;
    double baseline; /* accuracy by chance, 0 to 1 */
};
struct core_tasks {
    struct core_task *tasks;
    size_t count, cap;
};

/* Reads the tasks of the folder `dir`. Returns 0, or -1 with an error; *t is then empty. */
int core_tasks_read(struct core_tasks *t, const char *dir);
void core_tasks_release(struct core_tasks *t);

struct core_questions {
    enum core_kind kind;
    struct js **items; /* each is checked to have the keys of `kind`, with values of their types */
    size_t count, cap;
};

/* Reads the questions of a task. Returns 0, or -1 with an error; *q is then empty. */
int core_questions_read(struct core_questions *q, const struct core_task *task);
void core_questions_release(struct core_questions *q);

/* Returns the index of the right choice or context; 0 for CORE_LANGUAGE. */
size_t core_gold(enum core_kind kind, const struct js *item);
/* Returns the number of prompts of a question: one for each choice or context, 1 for
 * CORE_LANGUAGE. */
size_t core_options(enum core_kind kind, const struct js *item);

/* Append to `out` what prompt `option` has before the delimiter, and what it has after it. */
void core_before(enum core_kind kind, const struct js *item, size_t option, struct buf *out);
void core_answer(enum core_kind kind, const struct js *item, size_t option, struct buf *out);
