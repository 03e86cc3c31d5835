// What this processor can do: instruction sets, caches and cores, found at run time. A feature is
// reported only if the operating system saves its registers too, and AMX only if the kernel grants
// it and a tile instruction really runs, because some machines announce it and refuse.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace luminal::runtime {

/// An instruction set that generated code may need. Below the first row is plain x86-64 (SSE2).
enum class CpuFeature : uint8_t {
  kSse42,
  kAvx,
  kAvx2,
  kFma,
  kF16c,
  kBmi2,
  kAvx512f,
  kAvx512bw,
  kAvx512vl,
  kAvx512dq,
  kAvx512vnni,
  kAvx512bf16,
  kAvx512fp16,
  kAvxVnni,
  kAmxTile,
  kAmxInt8,
  kAmxBf16,
};

/// One row per feature, named as the compiler names it.
struct CpuFeatureInfo {
  CpuFeature feature;     ///< the row's own
  std::string_view name;  ///< "avx2"
};
/// All features, in the order of the enum.
inline constexpr std::array kCpuFeatures{
    CpuFeatureInfo{CpuFeature::kSse42, "sse4.2"},
    CpuFeatureInfo{CpuFeature::kAvx, "avx"},
    CpuFeatureInfo{CpuFeature::kAvx2, "avx2"},
    CpuFeatureInfo{CpuFeature::kFma, "fma"},
    CpuFeatureInfo{CpuFeature::kF16c, "f16c"},
    CpuFeatureInfo{CpuFeature::kBmi2, "bmi2"},
    CpuFeatureInfo{CpuFeature::kAvx512f, "avx512f"},
    CpuFeatureInfo{CpuFeature::kAvx512bw, "avx512bw"},
    CpuFeatureInfo{CpuFeature::kAvx512vl, "avx512vl"},
    CpuFeatureInfo{CpuFeature::kAvx512dq, "avx512dq"},
    CpuFeatureInfo{CpuFeature::kAvx512vnni, "avx512vnni"},
    CpuFeatureInfo{CpuFeature::kAvx512bf16, "avx512bf16"},
    CpuFeatureInfo{CpuFeature::kAvx512fp16, "avx512fp16"},
    CpuFeatureInfo{CpuFeature::kAvxVnni, "avxvnni"},
    CpuFeatureInfo{CpuFeature::kAmxTile, "amx-tile"},
    CpuFeatureInfo{CpuFeature::kAmxInt8, "amx-int8"},
    CpuFeatureInfo{CpuFeature::kAmxBf16, "amx-bf16"},
};

/// The name of a feature, such as "avx512f".
constexpr std::string_view name(CpuFeature feature) {
  return kCpuFeatures[static_cast<size_t>(feature)].name;
}

/// A set of features.
class CpuFeatures {
 public:
  constexpr CpuFeatures() = default;
  constexpr CpuFeatures(std::initializer_list<CpuFeature> features) {
    for (const CpuFeature feature : features) insert(feature);
  }  ///< these
  /// The set whose bit number i stands for the feature of value i.
  static constexpr CpuFeatures from_bits(uint64_t bits) {
    CpuFeatures result;
    result.bits_ = bits & ((uint64_t{1} << kCpuFeatures.size()) - 1);
    return result;
  }

  constexpr bool has(CpuFeature feature) const {
    return (bits_ >> static_cast<int>(feature) & 1) != 0;
  }  ///< whether it is in the set
  constexpr void insert(CpuFeature feature) { bits_ |= uint64_t{1} << static_cast<int>(feature); }
  constexpr void remove(CpuFeature feature) {
    bits_ &= ~(uint64_t{1} << static_cast<int>(feature));
  }                                                  ///< takes it out
  constexpr uint64_t bits() const { return bits_; }  ///< one per feature; from_bits reads them

  /// The features of this set that the other one lacks.
  constexpr CpuFeatures without(CpuFeatures other) const { return from_bits(bits_ & ~other.bits_); }
  constexpr bool empty() const { return bits_ == 0; }  ///< no feature
  friend constexpr bool operator==(CpuFeatures, CpuFeatures) = default;

  /// The names, separated by a space; "none" if empty.
  std::string to_string() const;

 private:
  uint64_t bits_ = 0;
};

/// The set that to_string() gave this text; nothing if a name is unknown.
std::optional<CpuFeatures> parse_cpu_features(std::string_view text);

/// What is worth knowing about the machine.
struct CpuInfo {
  std::string model = "unknown";  ///< the name the processor gives itself
  CpuFeatures features;           ///< what this processor can do
  int64_t l1_bytes = 32 << 10;    ///< data cache of one core
  int64_t l2_bytes = 1 << 20;     ///< of one core
  int64_t l3_bytes = 0;           ///< shared by cores; 0 if there is none
  int cores = 1;                  ///< processors that this process may use
};

/// The machine we run on, looked at once.
const CpuInfo& host_cpu();

}  // namespace luminal::runtime
