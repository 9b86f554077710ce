/*
 * stop.h - the signals that end a training: SIGINT, SIGTERM, SIGHUP, and SIGUSR2, by which
 * schedulers tell a job that its time is up.
 *
 * The first one asks the run to end after its update, the second after its micro-batch. Then the
 * handlers from before the run act again: the next one kills the process. A run of several ranks
 * cannot leave an update, so there the second one kills. SIGUSR2 counts as the first signal only.
 * Signals that are ignored when stop_catch is called, as nohup asks for, stay ignored. A run of one
 * rank ignores SIGPIPE.
 */
#pragma once

/* Catches the signals. `alone`: the run has one rank. `said`: each signal is answered by a line on
 * standard error, unless messages are off. */
void stop_catch(int alone, int said);

/* Return pointers to the number of the last signal, 0 before any, and to the number of signals. */
const volatile int *stop_signal(void);
const volatile int *stop_count(void);

/* Returns the name of one of these signals, such as "SIGINT". */
const char *stop_name(int number);
