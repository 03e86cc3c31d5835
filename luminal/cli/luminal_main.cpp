// luminal: the command of the project. `luminal --help` lists what it does.
#include <exception>
#include <iostream>

#include "luminal/cli/command_line.h"

int main(int argc, char** argv) {
  try {
    return luminal::cli::run_command_line({argv + 1, argv + argc}, std::cout, std::cerr);
  } catch (const std::exception& error) {
    std::cerr << "luminal: " << error.what() << '\n';
    return luminal::cli::kFailed;
  }
}
