// What a file holds that a user names: a graph in its text form, or a plan that was saved.
#pragma once

#include <memory>
#include <string>

#include "luminal/graph/program.h"

namespace luminal::cli {

/// The file made runnable on "cpu" or "interpreter". UserError if it is neither graph nor plan, or
/// a plan for the interpreter, which runs graphs only.
std::unique_ptr<graph::Program> load_program(const std::string& file, const std::string& device);

}  // namespace luminal::cli
