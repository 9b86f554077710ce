/*
 * again.h - makes a system call again as long as signals interrupt it (EINTR).
 */
#pragma once

#include <errno.h>

/* Calls `call` again while it fails with EINTR. Its value is that of the last call. SA_RESTART is
 * not enough: some calls ignore it, and network file systems interrupt calls even if no handler
 * runs. Do not use it for close: an interrupted close has already closed the descriptor. */
#define AGAIN(call)                                                                                \
    ({                                                                                             \
        __typeof__(call) value_;                                                                   \
        do                                                                                         \
            value_ = (call);                                                                       \
        while (value_ < 0 && errno == EINTR);                                                      \
        value_;                                                                                    \
    })
