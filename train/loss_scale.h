/*
 * loss_scale.h - what the loss is multiplied by before its gradients are taken, and these divided
 * by in the update, so that small ones do not vanish where numbers have few exponents.
 *
 * A static scale stays. An automatic one begins at 65536, is halved when a gradient overflows (that
 * update is left out), and doubled after `window` updates without (Micikevicius et al. 2018). With
 * f32 sums it changes nothing, and a power of 2 not one bit.
 */
#ifndef TEXTMILL_TRAIN_LOSS_SCALE_H
#define TEXTMILL_TRAIN_LOSS_SCALE_H

#include <stdint.h>

struct loss_scale {
    double scale;
    int automatic;
    int64_t window, good; /* updates since the scale has changed */
};

/* From "auto" or a number above 0. -1 with an error. */
int loss_scale_parse(struct loss_scale *s, const char *text, int64_t window);

/* An update was taken. */
void loss_scale_passed(struct loss_scale *s);

/* Gradients are not finite: 1 when a smaller scale may mend that, and is set. */
int loss_scale_overflowed(struct loss_scale *s);

#endif
