#include "luminal/compiler/joint_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "luminal/support/check.h"

namespace luminal::compiler {
namespace {

using codegen::CpuKernel;
using codegen::CpuLaunch;
using codegen::LaunchBuffer;

/// What a thread does in the time it takes to start others and to wait for them, in values.
constexpr int64_t kShortWork = 4096;
/// The most that a thread does again although another one has done it: more would only be repeated
/// because it cannot be shared either.
constexpr int64_t kMostWork = 32768;
/// Results stay in the nearest caches.
constexpr int64_t kMostBytes = 65536;

bool is_small(const CpuKernel& code, const CpuLaunch& launch) {
  const auto work = launch.work.constant_value();
  if (launch.prepare || !work || *work <= 0 || *work > kMostWork) return false;
  if (*work > kShortWork && !launch.items.is_constant(1)) return false;
  const runtime::EntryInfo& entry = launch.source.entries.front();
  int64_t bytes = 0;
  for (size_t k = 0; k < launch.buffers.size(); ++k) {
    if (entry.buffers[k] == runtime::BufferUse::kRead) continue;
    if (launch.buffers[k].kind != LaunchBuffer::Kind::kTemporary) return false;
    const auto size = code.temporaries[launch.buffers[k].temporary].constant_value();
    if (!size) return false;
    bytes += *size;
  }
  return bytes <= kMostBytes;
}

bool uses(const CpuLaunch& launch, size_t temporary) {
  return std::any_of(launch.buffers.begin(), launch.buffers.end(), [&](const LaunchBuffer& each) {
    return each.kind == LaunchBuffer::Kind::kTemporary && each.temporary == temporary;
  });
}

/// Whether a launch that is not run by every thread, nor the last, needs what this one writes.
bool is_needed_elsewhere(const CpuKernel& code, size_t launch, const std::vector<bool>& small) {
  for (const LaunchBuffer& buffer : code.launches[launch].buffers) {
    if (buffer.kind != LaunchBuffer::Kind::kTemporary) continue;
    for (size_t k = 0; k + 1 < code.launches.size(); ++k)
      if (!small[k] && !code.launches[k].prepare && uses(code.launches[k], buffer.temporary))
        return true;
  }
  return false;
}

bool is_own(const Plan& plan, size_t buffer) {
  return plan.buffers[buffer].place == Place::kThread;
}

/// The same code on the same data, but for where each thread keeps results.
bool is_same(const Plan& plan, const LaunchStep& a, const LaunchStep& b) {
  if (a.kernel != b.kernel || a.scalars != b.scalars || a.items != b.items ||
      a.buffers.size() != b.buffers.size())
    return false;
  for (size_t k = 0; k < a.buffers.size(); ++k)
    if (a.buffers[k] != b.buffers[k] && !(is_own(plan, a.buffers[k]) && is_own(plan, b.buffers[k])))
      return false;
  return true;
}

/// Collects what threads run for themselves, once.
class FirstLaunches {
 public:
  explicit FirstLaunches(const Plan& plan) : plan_(plan) {}

  /// Takes those of a launch; what it reads of them is found where others have stored it.
  void take(LaunchStep& launch) {
    std::map<size_t, size_t> replaced;
    for (LaunchStep first : std::exchange(launch.first, {})) {
      rename(first, replaced);
      const auto known = std::find_if(all_.begin(), all_.end(), [&](const LaunchStep& other) {
        return is_same(plan_, first, other);
      });
      if (known == all_.end()) {
        all_.push_back(std::move(first));
        continue;
      }
      for (size_t k = 0; k < first.buffers.size(); ++k)
        replaced[first.buffers[k]] = known->buffers[k];
    }
    rename(launch, replaced);
  }

  std::vector<LaunchStep> all() { return std::move(all_); }

 private:
  static void rename(LaunchStep& launch, const std::map<size_t, size_t>& replaced) {
    for (size_t& buffer : launch.buffers)
      if (const auto found = replaced.find(buffer); found != replaced.end()) buffer = found->second;
  }

  const Plan& plan_;
  std::vector<LaunchStep> all_;
};

}  // namespace

std::vector<bool> small_launches(const CpuKernel& code) {
  std::vector<bool> small;
  for (const CpuLaunch& launch : code.launches) small.push_back(is_small(code, launch));
  if (!small.empty()) small.back() = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < small.size(); ++k) {
      if (!small[k] || !is_needed_elsewhere(code, k, small)) continue;
      small[k] = false;
      changed = true;
    }
  }
  return small;
}

PlanStep side_by_side(std::vector<PlanStep> steps, const Plan& plan) {
  LUMINAL_CHECK(!steps.empty(), "a step of no launches");
  if (steps.size() == 1) return std::move(steps[0]);
  FirstLaunches first(plan);
  for (PlanStep& step : steps) first.take(std::get<LaunchStep>(step.action));
  PlanStep result = std::move(steps[0]);
  auto& launch = std::get<LaunchStep>(result.action);
  launch.first = first.all();
  for (size_t k = 1; k < steps.size(); ++k) {
    result.label += " | " + steps[k].label;
    result.schedule += " | " + steps[k].schedule;
    result.text += steps[k].text;
    result.estimated_us += steps[k].estimated_us;
    result.notes.insert(result.notes.end(), steps[k].notes.begin(), steps[k].notes.end());
    launch.beside.push_back(std::move(std::get<LaunchStep>(steps[k].action)));
  }
  return result;
}

}  // namespace luminal::compiler
