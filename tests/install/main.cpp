// Uses the installed headers and links the installed library.
#include <cstdio>
#include <string>

#include "luminal/support/check.h"

int main() {
  try {
    LUMINAL_CHECK(1 > 2, "{} layers", 3);
  } catch (const luminal::InternalError& error) {
    const bool named = std::string(error.what()).find("3 layers") != std::string::npos;
    std::puts(named ? "installed package works" : error.what());
    return named ? 0 : 1;
  }
  return 1;
}
