/*
 * criterion.h - the part of Criterion's interface that tests/unit uses, for processors that run
 * under an emulator. Criterion starts its own program again for each test, which is not possible
 * there. Here each test is a child process of the runner, criterion.c. Emulation is slow, so
 * timeouts are ignored.
 */
#pragma once

#pragma GCC system_header /* its macros compare what the tests give them */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct criterion_case {
    const char *suite, *name;
    void (*run)(void); /* NULL: the options of a suite */
    void (*init)(void), (*fini)(void);
    double timeout;
    struct criterion_case *next;
};

void criterion_add(struct criterion_case *c);
/* Prints that a test failed, if passed is 0, and then ends it if `ends` is 1 (an assertion). */
__attribute__((format(printf, 6, 7))) void criterion_check(int passed, int ends, const char *file,
                                                           int line, const char *what,
                                                           const char *message, ...);
_Noreturn void criterion_skip(void);

#define CRITERION_ADD(id, ...)                                                                     \
    static struct criterion_case id = { __VA_ARGS__ };                                             \
    __attribute__((constructor)) static void id##_add(void)                                        \
    {                                                                                              \
        criterion_add(&id);                                                                        \
    }
#define Test(s, n, ...)                                                                            \
    static void s##_##n##_test(void);                                                              \
    CRITERION_ADD(s##_##n##_case, .suite = #s, .name = #n, .run = s##_##n##_test, __VA_ARGS__)     \
    static void s##_##n##_test(void)
#define TestSuite(s, ...) CRITERION_ADD(s##_suite, .suite = #s, __VA_ARGS__)

/* The message follows a blank, so that it may be absent. */
#define CRITERION(ends, condition, what, ...)                                                      \
    criterion_check((condition) ? 1 : 0, ends, __FILE__, __LINE__, what, " " __VA_ARGS__)
#define CRITERION_TWO(ends, a, op, b, ...) CRITERION(ends, (a)op(b), #a " " #op " " #b, __VA_ARGS__)
#define CRITERION_FLOAT(ends, a, b, e, ...)                                                        \
    CRITERION(ends, fabs((double)(a) - (double)(b)) <= (double)(e), #a " ~ " #b, __VA_ARGS__)
#define CRITERION_STR(ends, a, op, b, ...)                                                         \
    CRITERION(ends, strcmp(a, b) op 0, #a " " #op " " #b, __VA_ARGS__)
#define CRITERION_ARR(ends, a, op, b, n, ...)                                                      \
    CRITERION(ends, memcmp(a, b, n) op 0, #a " " #op " " #b, __VA_ARGS__)

#define cr_assert(c, ...)                CRITERION(1, c, #c, __VA_ARGS__)
#define cr_assert_not(c, ...)            CRITERION(1, !(c), "not " #c, __VA_ARGS__)
#define cr_assert_null(p, ...)           CRITERION_TWO(1, p, ==, NULL, __VA_ARGS__)
#define cr_assert_not_null(p, ...)       CRITERION_TWO(1, p, !=, NULL, __VA_ARGS__)
#define cr_assert_eq(a, b, ...)          CRITERION_TWO(1, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)         CRITERION_TWO(1, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)          CRITERION_TWO(1, a, <, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)         CRITERION_TWO(1, a, <=, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)          CRITERION_TWO(1, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)         CRITERION_TWO(1, a, >=, b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, e, ...) CRITERION_FLOAT(1, a, b, e, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)      CRITERION_STR(1, a, ==, b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...)   CRITERION_ARR(1, a, ==, b, n, __VA_ARGS__)
#define cr_assert_arr_neq(a, b, n, ...)  CRITERION_ARR(1, a, !=, b, n, __VA_ARGS__)
#define cr_assert_fail(...)              CRITERION(1, 0, "fail", __VA_ARGS__)

#define cr_expect(c, ...)                CRITERION(0, c, #c, __VA_ARGS__)
#define cr_expect_not(c, ...)            CRITERION(0, !(c), "not " #c, __VA_ARGS__)
#define cr_expect_null(p, ...)           CRITERION_TWO(0, p, ==, NULL, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)          CRITERION_TWO(0, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)         CRITERION_TWO(0, a, !=, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)          CRITERION_TWO(0, a, <, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...)         CRITERION_TWO(0, a, <=, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)          CRITERION_TWO(0, a, >, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)         CRITERION_TWO(0, a, >=, b, __VA_ARGS__)
#define cr_expect_float_eq(a, b, e, ...) CRITERION_FLOAT(0, a, b, e, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)      CRITERION_STR(0, a, ==, b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...)     CRITERION_STR(0, a, !=, b, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, n, ...)   CRITERION_ARR(0, a, ==, b, n, __VA_ARGS__)

#define cr_skip_test(...) criterion_skip()
