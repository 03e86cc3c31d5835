// What the loops of a user's kernel may carry from one turn to the next: a variable is added to,
// multiplied, or kept the largest, in any order. Each way is a reduction of tensors.
#pragma once

#include <optional>

#include "luminal/tensor/kernel_source.h"
#include "luminal/tensor/tensor.h"

namespace luminal::kernel_source {

/// How a loop carries a variable.
enum class Carry : uint8_t { kSum, kProduct, kLargest, kSmallest, kAny, kAll };

/// How an assignment carries its variable, and by which expression.
struct Carried {
  Carry carry;
  const Expression* value;
};

/// The same for s += e, s = max(s, e), s = s + e and the like; nothing for other assignments.
std::optional<Carried> carried(const Statement& statement);

/// What changes nothing when it is carried.
Scalar neutral(Carry carry, DType dtype);
/// Two values carried together.
Tensor combined(Carry carry, const Tensor& a, const Tensor& b);
/// All values along the last axis carried together.
Tensor reduced(Carry carry, const Tensor& value);

}  // namespace luminal::kernel_source
