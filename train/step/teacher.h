/*
 * teacher.h - runs a trained model beside the model in training, which learns the trained model's
 * probabilities of each next token, too (train --teacher; struct ops_teacher in ops.h).
 */
#pragma once

#include "model/network/forward.h"

struct teacher {
    struct forward forward; /* set by the caller, like out.share */
    struct ops_teacher out;
    struct ops_room x; /* memory of out.x */
};
void teacher_release(struct teacher *t); /* fine on a zeroed struct */

/* Runs the teacher, with the dropout of its model's configuration, on the tokens of `in`, which may
 * be the inputs of another model. Returns what ops_labels.teacher takes; it is valid until the next
 * run. */
const struct ops_teacher *teacher_run(struct teacher *t, const struct inputs *in);

/* Returns the bytes of memory that the teacher m needs for `rows` rows, without scratch memory. */
uint64_t teacher_bytes(const struct model *m, int64_t rows);
