// Which dtype two operands meet in.
#pragma once

#include "luminal/tensor/types.h"

namespace luminal {

/// The smallest dtype that holds values of both. bool < integers < floats; a float with an integer
/// is that float; f16 with bf16 is f32; the two f8 formats meet in f16; integers of different sign
/// meet in the next wider signed one (u8 with i8 is i16), u32 with a signed one in i64.
DType promote(DType first, DType second);

}  // namespace luminal
