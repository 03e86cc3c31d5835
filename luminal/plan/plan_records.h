// A plan as bytes and back. The data of constants is kept beside the bytes, so that a file can be
// mapped instead of read; everything else is in them. What is read is checked (verify.h), so that
// bytes of any origin give a plan that can be loaded or an error.
#pragma once

#include <functional>
#include <string>

#include "luminal/plan/plan.h"

namespace luminal::plan {

/// Bytes and the constants that they name by number, each once.
struct PlanRecords {
  std::string bytes;
  std::vector<graph::Array> constants;
};

/// UserError if the plan calls a function of the user, which no file can hold.
PlanRecords to_records(const Plan& plan);

/// Finds the data of constants: `bytes` of them at `offset` from the first.
using ConstantData = std::function<std::shared_ptr<std::byte>(uint64_t offset, uint64_t bytes)>;

/// Where constant data of so many bytes ends, and the next may begin.
uint64_t next_constant_offset(uint64_t offset, uint64_t bytes);

/// The plan of these bytes; UserError if they are anything else. `file` is for errors.
Plan from_records(std::span<const std::byte> bytes, const ConstantData& data,
                  std::string_view file);

}  // namespace luminal::plan
