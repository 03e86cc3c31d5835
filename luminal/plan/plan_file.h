// Plans in files: written once, loaded by any process on a processor that has what the code needs,
// without compiling anything. A file holds the plan, its code and its constants; data of inputs is
// not part of it. It is there completely or not at all, checked against damage when it is loaded,
// and its constants are mapped, not read. Loading runs the code of the file later: load only files
// that you would run.
#pragma once

#include <string>

#include "luminal/plan/plan.h"

namespace luminal::plan {

/// The format that is written and read. It goes up when a plan comes to hold anything else.
inline constexpr uint32_t kPlanFileFormat = 8;

/// Writes a plan. UserError if it calls a function of the user or the path cannot be used,
/// DeviceError if the disk is full or broken; then the file is as it was.
void save_plan(const Plan& plan, const std::string& path);

/// Reads a plan. UserError if the file is no plan, is damaged or cut short, has another format, or
/// needs more than a processor with these features; the plan's code is not loaded yet.
Plan load_plan_file(const std::string& path,
                    runtime::CpuFeatures available = runtime::host_cpu().features);

/// Whether a file begins as plans do. False for files that cannot be read.
bool is_plan_file(const std::string& path);

}  // namespace luminal::plan
