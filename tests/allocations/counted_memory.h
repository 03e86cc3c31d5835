// Counts what this process takes from the system: malloc and its kin, and mappings. The program's
// own definitions stand in for those of the C library.
#pragma once

#include <cstdint>

namespace luminal::test {

/// Whether counting works: sanitizers have their own malloc.
bool can_count();

/// How often memory was taken since the last call of this.
int64_t take_count();

}  // namespace luminal::test
