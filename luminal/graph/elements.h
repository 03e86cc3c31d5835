// Elements in bulk: from the bytes of any dtype to numbers that C++ computes with, and back. Floats
// are handled as double, integers and bool as int64_t; both hold every value of their dtypes
// exactly, so whatever is computed is rounded once, by the functions here. They are the cast rules
// of dtype.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "luminal/graph/dtype.h"

namespace luminal::graph {

/// Elements position, position + stride, ... of an array.
struct ElementRun {
  int64_t position = 0;  ///< of the first
  int64_t stride = 1;    ///< from one to the next
  int64_t count = 0;     ///< how many
};

// Loading and storing. Float dtypes take double, integers and bool take int64_t; stored numbers are
// rounded (floats) or wrapped (integers, by their low bits; bool is != 0).

void load(DType dtype, const std::byte* data, const ElementRun& run, double* numbers);  ///< floats
void load(DType dtype, const std::byte* data, const ElementRun& run, int64_t* numbers);
void store(DType dtype, std::byte* data, int64_t position, std::span<const double> numbers);
void store(DType dtype, std::byte* data, int64_t position, std::span<const int64_t> numbers);

/// Copies the bits of a run of elements of `width` bits (4, 8, 16, 32 or 64) to consecutive
/// elements from `target_position`: NaN payloads survive.
void copy_bits(int width, const std::byte* data, const ElementRun& run, std::byte* target,
               int64_t target_position);

// Casts between numbers of the two kinds. The results are values of `dtype`.

/// Rounds to the nearest values of a float dtype, in place.
void round_floats(DType dtype, std::span<double> numbers);
/// Keeps the low bits of an integer dtype, in place; bool becomes != 0.
void wrap_integers(DType dtype, std::span<int64_t> numbers);
/// To an integer dtype or bool: truncates, saturates, NaN gives 0 (bool: != 0, NaN is true).
void floats_to_integers(DType dtype, std::span<const double> numbers, int64_t* results);
/// To a float dtype, with one rounding.
void integers_to_floats(DType dtype, std::span<const int64_t> numbers, double* results);

/// Casts `count` consecutive elements of one array to another dtype.
void cast_elements(DType from, const std::byte* data, DType to, std::byte* target, int64_t count);

}  // namespace luminal::graph
