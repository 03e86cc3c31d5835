#include "luminal/compiler/prepared_launches.h"

#include <fmt/format.h>

namespace luminal::compiler {
namespace {

using codegen::CpuKernel;
using codegen::CpuLaunch;
using codegen::LaunchBuffer;

/// The one temporary that a launch ahead writes, if no other launch does.
std::optional<size_t> written_by(const CpuKernel& code, size_t number) {
  std::optional<size_t> result;
  if (!code.launches[number].prepare) return std::nullopt;
  for (const LaunchBuffer& each : code.launches[number].buffers) {
    if (each.kind != LaunchBuffer::Kind::kTemporary) continue;
    for (size_t k = 0; k < code.launches.size(); ++k) {
      if (!writes(code.launches[k], each)) continue;
      if (k != number || result) return std::nullopt;
      result = each.temporary;
    }
  }
  return result;
}

}  // namespace

bool writes(const CpuLaunch& launch, const LaunchBuffer& buffer) {
  for (size_t k = 0; k < launch.buffers.size(); ++k)
    if (launch.buffers[k] == buffer)
      return launch.source.entries.front().buffers[k] != runtime::BufferUse::kRead;
  return false;
}

/// What a launch ahead does: which code, on which data. Nothing if it reads temporaries that no
/// kernel has yet.
std::optional<std::string> PreparedLaunches::text(
    const KernelUse& use, const CpuKernel& code, size_t number,
    const std::vector<std::optional<size_t>>& temporaries) const {
  const auto written = written_by(code, number);
  if (!written) return std::nullopt;
  const CpuLaunch& launch = code.launches[number];
  std::string text =
      fmt::format("{} items {}", kernels_.entry(use, number), use.renamed(launch.items));
  for (const Expr& scalar : launch.scalars) text += fmt::format(" with {}", use.renamed(scalar));
  for (const LaunchBuffer& each : launch.buffers) {
    if (each.kind == LaunchBuffer::Kind::kTensor)
      text += fmt::format(" of {}", buffer_(use.renamed(each.tensor)));
    else if (each.temporary == *written)
      text += " to";
    else if (temporaries[each.temporary])
      text += fmt::format(" of {}", *temporaries[each.temporary]);
    else
      return std::nullopt;
  }
  return text;
}

std::vector<bool> PreparedLaunches::known(const KernelUse& use, const CpuKernel& code,
                                          std::vector<std::optional<size_t>>& temporaries) const {
  std::vector<bool> result(code.launches.size(), false);
  for (size_t k = 0; k < code.launches.size(); ++k) {
    const auto what = text(use, code, k, temporaries);
    if (!what) continue;
    const auto found = buffer_of_.find(*what);
    if (found == buffer_of_.end()) continue;
    result[k] = true;
    temporaries[*written_by(code, k)] = found->second;
  }
  return result;
}

void PreparedLaunches::note(const KernelUse& use, const CpuKernel& code, size_t launch,
                            const std::vector<std::optional<size_t>>& temporaries) {
  if (const auto what = text(use, code, launch, temporaries))
    buffer_of_.emplace(*what, *temporaries[*written_by(code, launch)]);
}

}  // namespace luminal::compiler
