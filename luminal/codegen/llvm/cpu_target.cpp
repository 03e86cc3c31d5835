#include "luminal/codegen/llvm/cpu_target.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

#include "luminal/support/error.h"

namespace luminal::codegen {
namespace {

using runtime::CpuFeature;
using runtime::CpuFeatures;

constexpr std::array kNames = std::to_array<std::string_view>(
    {"x86-64", "haswell", "skylake-avx512", "znver4", "sapphirerapids"});

constexpr CpuFeatures with(CpuFeatures base, std::initializer_list<CpuFeature> more) {
  for (const CpuFeature feature : more) base.insert(feature);
  return base;
}

constexpr CpuFeatures kAvx2Features{CpuFeature::kSse42, CpuFeature::kAvx,  CpuFeature::kAvx2,
                                    CpuFeature::kFma,   CpuFeature::kF16c, CpuFeature::kBmi2};
constexpr CpuFeatures kAvx512Features = with(
    kAvx2Features,
    {CpuFeature::kAvx512f, CpuFeature::kAvx512bw, CpuFeature::kAvx512vl, CpuFeature::kAvx512dq});

CpuFeatures features_of(std::string_view name) {
  if (name == "x86-64") return {};
  if (name == "haswell") return kAvx2Features;
  if (name == "skylake-avx512") return kAvx512Features;
  if (name == "znver4")
    return with(kAvx512Features, {CpuFeature::kAvx512vnni, CpuFeature::kAvx512bf16});
  return with(kAvx512Features, {CpuFeature::kAvx512vnni, CpuFeature::kAvx512bf16,
                                CpuFeature::kAvx512fp16, CpuFeature::kAvxVnni, CpuFeature::kAmxTile,
                                CpuFeature::kAmxInt8, CpuFeature::kAmxBf16});
}

}  // namespace

int CpuTarget::vector_bytes() const {
  if (has(CpuFeature::kAvx512f)) return 64;
  return has(CpuFeature::kAvx2) ? 32 : 16;
}

std::span<const std::string_view> cpu_target_names() { return kNames; }

CpuTarget cpu_target(std::string_view name) {
  for (const std::string_view known : kNames)
    if (known == name) return {std::string(name), features_of(name)};
  std::string all;
  for (const std::string_view known : kNames) all += (all.empty() ? "" : ", ") + std::string(known);
  throw UserError("compile", "there is no processor named {}; known are {}", name, all);
}

const CpuTarget& host_target() {
  static const CpuTarget target{llvm::sys::getHostCPUName().str(), runtime::host_cpu().features};
  return target;
}

bool runs_here(const CpuTarget& target) {
  return target.features.without(runtime::host_cpu().features).empty();
}

}  // namespace luminal::codegen
