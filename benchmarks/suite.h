// Suites of whole graphs, written with the tensor API and run the way a user runs them. Every case
// is timed in turn with what the machine can do (bytes moved, products in registers) and with peers
// where they are asked for, so that a disturbance hits all of them alike. Rows go to the terminal
// and to JSON.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/network.h"

namespace luminal::benchmarks {

/// The program of a suite; its options are in the usage text.
int run_suite(const std::string& suite, const std::vector<Case>& cases, int argc, char** argv);

}  // namespace luminal::benchmarks
