/*
 * redirect.h - the part of Criterion's interface for what a test prints, which is not compared
 * under an emulator: such tests are skipped there.
 */
#pragma once

#define cr_redirect_stderr()            criterion_skip()
#define cr_assert_stderr_eq_str(s, ...) ((void)(s))
