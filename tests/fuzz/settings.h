// What the environment says about the fuzzers; fuzz_test.cpp lists the variables.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace luminal::fuzz {

/// The number that an environment variable holds.
inline int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody writes it
  return text == nullptr ? otherwise : std::atoll(text);
}

}  // namespace luminal::fuzz
