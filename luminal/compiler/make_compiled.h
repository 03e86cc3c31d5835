// Compiles and loads in one step.
#pragma once

#include <memory>

#include "luminal/compiler/options.h"
#include "luminal/plan/compiled_program.h"

namespace luminal::compiler {

/// Compiles a graph (after passes) and loads it.
std::unique_ptr<plan::CompiledProgram> make_compiled(const graph::Graph& graph,
                                                     const Options& options = {});

}  // namespace luminal::compiler
