// The part of an explanation that says where tensors are and how long they are needed.
#pragma once

#include <functional>
#include <vector>

#include "luminal/compiler/explanation.h"

namespace luminal::compiler {

/// Calls visit(buffer, writes) for every buffer that a step uses.
void for_each_buffer(const Plan& plan, const PlanStep& step,
                     const std::function<void(size_t buffer, bool writes)>& visit);

/// The memory of a plan whose buffers have so many bytes.
ExplainedMemory explain_memory(const Plan& plan, const std::vector<int64_t>& bytes);

}  // namespace luminal::compiler
