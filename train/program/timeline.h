/*
 * timeline.h - when the stages of a pipeline work and when they wait in a training step.
 *
 * The programs of all stages (program.h) are executed with given durations, in the order in which
 * the engine executes them. The array of a send may be changed when the other stage has begun to
 * receive it; the array of a receive may be used when the other stage has begun to send it.
 * Transfers take no time, and the update is left out.
 */
#pragma once

#include "train/program/program.h"

struct timeline {
    double length; /* from the first phase of any stage to the last one */
    double busy;   /* durations of all phases of all stages */
};

/* The duration of each kind of phase. */
struct timeline_costs {
    double of[PHASE_KINDS];
};

/* Executes programs[stages], where programs[s] is the program of stage s. Returns 0, or -1,
 * without an error set, if stages wait for each other for ever. */
int timeline_run(struct timeline *out, const struct program *programs, int stages,
                 const struct timeline_costs *costs);
