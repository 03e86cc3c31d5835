// Kernels that do one thing as fast as the processor can: multiply and add in registers, or read
// memory. What others are compared with.
#pragma once

#include <cstdint>

#include "luminal/codegen/llvm/kernel_compiler.h"

namespace luminal::codegen {

/// What is multiplied.
enum class PeakKind : uint8_t { kF32, kBf16, kI8 };

/// Whether the target has instructions for it.
bool has_peak(PeakKind kind, const CpuTarget& target);
/// Whether matrix registers do it, and not vectors.
bool is_peak_of_matrices(PeakKind kind, const CpuTarget& target);

/// Bytes of the buffer of the kernel below.
inline constexpr int64_t kPeakBytes = 1024;
/// Its entry "kernel" multiplies and adds vectors or matrix registers, one round per item. It has
/// one buffer.
KernelSource peak_source(PeakKind kind);
/// Operations (two per product) of one round.
double peak_operations(PeakKind kind, const CpuTarget& target);

/// Its entry "kernel" reads the lines (of 64 bytes) of its first buffer, one per item, in fours,
/// and writes 64 bytes to its second.
KernelSource read_source();

}  // namespace luminal::codegen
