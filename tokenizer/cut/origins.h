/*
 * origins.h - where each byte of a normalized text came from.
 *
 * A normalizer is a list of steps. The origin of a byte of the normalized text is the position of a
 * byte in the text before normalization, by the rules of Hugging Face's tokenizers: A step writes
 * characters one after another. Each of them is inserted, or takes the place of the next character
 * of the step's input; in that case it may also remove some characters after that one. An inserted
 * character has the origin of the last byte of the character before it. So a character that
 * composes several has the origin of the first of them.
 */
#pragma once

#include "common/base/ids.h"
#include "tokenizer/cut/steps.h"

/* The origin, as uint32_t, of bytes that were inserted before the first character. */
enum { ORIGINS_NONE = -1 };

step_follower origins_follow; /* through a step of a normalizer */
