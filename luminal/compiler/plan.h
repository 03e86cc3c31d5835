// The plan and its parts under the names by which the compiler, which builds them, speaks of them.
#pragma once

#include "luminal/plan/index_checks.h"
#include "luminal/plan/plan.h"

namespace luminal::compiler {

using graph::NodeId;
using plan::CheckStep;
using plan::CopyStep;
using plan::HostStep;
using plan::index_checks;
using plan::IndexCheck;
using plan::KernelDefinition;
using plan::KernelNote;
using plan::LaunchStep;
using plan::Place;
using plan::Plan;
using plan::PlanBuffer;
using plan::PlanKernel;
using plan::PlanStep;
using symbolic::Expr;

}  // namespace luminal::compiler
