/*
 * window.h - memory that arrays use in turn: slots, each of the size of the arrays that it is for.
 */
#pragma once

#include "model/compute/ops_exchange.h"

struct slot {
    struct slot *next;
    struct ops_array memory; /* U8 */
    uint64_t bytes;
    int array;               /* the array in the slot; -1: none */
    uint64_t used;           /* time of the last use (window.clock) */
    struct ops_mark arrived; /* these three are for the owner: a copy in has ended; */
    struct ops_mark done;    /* the arithmetic with the array has ended; */
    struct ops_mark left;    /* a copy out has ended */
};

struct window {
    struct ops *ops; /* borrowed, like `owner` */
    struct slot *slots;
    uint64_t limit_bytes, taken_bytes, clock;
    void *owner;
    /* Returns what it costs to take the array out of a slot, for an array of `bytes` bytes: 1 or
     * more; 0: it must stay. */
    int (*cost)(void *owner, const struct slot *s, uint64_t bytes);
    /* Takes the array out of a slot. */
    void (*evict)(void *owner, int array);
};

/* Returns an empty slot of `bytes` bytes. If there is none, and no room for another one, takes out
 * arrays that cost at most `most`: those that cost least, and of these the one that was used
 * longest ago. Frees their slots if they have another size, and waits for all work before that:
 * in every step, if arrays of several sizes take turns. Returns NULL if that makes too little room.
 */
struct slot *window_take(struct window *w, uint64_t bytes, int most);
struct slot *window_new_slot(struct window *w, uint64_t bytes); /* even if there is no room */
void window_release(struct window *w);                          /* fine on a zeroed struct */
