/*
 * std.h - the headers of the C library that most files use. Other ones a file includes itself.
 */
#pragma once

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
