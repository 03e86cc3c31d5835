// Processors that code is made for: the instruction sets that may be used, and what follows from
// them for code shapes (vector width, number of registers). Named targets stand for families of
// machines, so that code for a processor that is not at hand can be compiled and, where its
// features are here, run. No LLVM types: anyone may choose a target.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "luminal/runtime/cpu/features.h"

namespace luminal::codegen {

/// See above.
struct CpuTarget {
  std::string name;               ///< as the compiler calls the processor; tunes, allows nothing
  runtime::CpuFeatures features;  ///< all that may be used

  bool has(runtime::CpuFeature feature) const { return features.has(feature); }  ///< may be used
  /// Width of the widest vectors that pay.
  int vector_bytes() const;
  /// How many lanes of that many bits fill a vector.
  int lanes(int bits) const { return vector_bytes() * 8 / bits; }
  /// How many vector registers there are.
  int vector_registers() const { return has(runtime::CpuFeature::kAvx512f) ? 32 : 16; }
  /// Whether results too small for a float take hundreds of cycles, as on all but AMD's.
  bool slow_underflow() const { return !name.starts_with("znver"); }
  /// How many products of whole vectors begin in a cycle, as loads do. Zen 4 has one: its units are
  /// half as wide.
  int products_at_once() const { return name == "znver4" && vector_bytes() == 64 ? 1 : 2; }
  /// Whether what is asked for ahead has to be asked into the first cache. A Zen 5 hardly brings
  /// what is asked into the second one alone: products of few rows take up to 1.3 times as long
  /// with it.
  bool asks_for_first_cache() const { return name == "znver5"; }
  /// Whether a*b+c is one instruction; without it fma would be a library call.
  bool has_fma() const { return has(runtime::CpuFeature::kFma); }

  friend bool operator==(const CpuTarget&, const CpuTarget&) = default;
};

/// The names of the known targets, plainest first: x86-64, haswell, skylake-avx512, znver4,
/// sapphirerapids.
std::span<const std::string_view> cpu_target_names();
/// The target of that name; UserError if it is unknown.
CpuTarget cpu_target(std::string_view name);
/// The machine we run on.
const CpuTarget& host_target();
/// Whether this machine can run code for a target.
bool runs_here(const CpuTarget& target);

}  // namespace luminal::codegen
