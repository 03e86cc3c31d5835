// Checks of our own invariants. They stay on in release builds and throw InternalError.
#pragma once

#include "luminal/support/error.h"

namespace luminal::support {

/// Throws the InternalError of a failed check.
[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             const std::string& message);

}  // namespace luminal::support

/// LUMINAL_CHECK(condition) or LUMINAL_CHECK(condition, "format {}", values...): our invariants, on
/// in every build.
#define LUMINAL_CHECK(condition, ...)                                                      \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::luminal::support::fail_check(#condition, __FILE__, __LINE__,                       \
                                     std::string{__VA_OPT__(::fmt::format(__VA_ARGS__))}); \
  } while (false)
