/*
 * again.h - makes a system call again as long as signals interrupt it (EINTR).
 */
#pragma once

#include <errno.h>

/* The value is that of the last call. Some calls are interrupted in spite of SA_RESTART, on network
 * file systems even if no handler runs. Do not use it for close: an interrupted
 * close has ended the descriptor already. */
#define AGAIN(call)                                                                                \
    ({                                                                                             \
        __typeof__(call) value_;                                                                   \
        do                                                                                         \
            value_ = (call);                                                                       \
        while (value_ < 0 && errno == EINTR);                                                      \
        value_;                                                                                    \
    })
