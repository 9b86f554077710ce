/*
 * loss_scale.h - the loss scale: the factor on the loss before its gradients are computed.
 *
 * The update divides the gradients by the same factor. So small gradients do not become 0 in number
 * formats with few exponents.
 *
 * A static scale never changes. An automatic one begins at 65536. It is halved when a gradient
 * overflows (and that update is left out), and doubled after `window` updates without overflow
 * (Micikevicius et al. 2018). With f32 sums the scale is not needed; a power of 2 then does not
 * change any bit of the result.
 */
#ifndef TEXTMILL_TRAIN_STEP_LOSS_SCALE_H
#define TEXTMILL_TRAIN_STEP_LOSS_SCALE_H

#include <stdint.h>

struct loss_scale {
    double scale;
    int automatic;
    int64_t window, good; /* window: updates before the scale is doubled; good: updates
                           * since it last changed */
};

/* Sets *s from `text`, which is "auto" or a number above 0. `window` is for an automatic scale.
 * Returns 0, or -1 with an error if the text is neither. */
int loss_scale_parse(struct loss_scale *s, const char *text, int64_t window);

/* Call it after an update that was done. Counts it, and doubles an automatic scale after `window`
 * such updates. */
void loss_scale_passed(struct loss_scale *s);

/* Call it when gradients are not finite. Halves an automatic scale and returns 1, or returns 0 if
 * the scale is static or already at most 1. */
int loss_scale_overflowed(struct loss_scale *s);

#endif
