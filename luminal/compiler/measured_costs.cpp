#include "luminal/compiler/measured_costs.h"

#include "luminal/compiler/kernel_set.h"
#include "luminal/search/tuner.h"

namespace luminal::compiler {
namespace {

/// What a kernel costs that no code computes rightly: more than any other.
constexpr double kNoCode = 1e12;

}  // namespace

std::optional<double> MeasuredCosts::cost(kernel::Arena& arena, const kernel::Kernel& kernel,
                                          const std::vector<NodeId>& constants) const {
  ++asked_;
  const kernel::EstimateOptions how{.dims = options_.dims,
                                    .typical_dim = options_.typical_dim,
                                    .reassociate = options_.reassociate};
  // Times are known of the variant that would be built.
  const kernel::Estimate chosen = kernel::estimate(arena, kernel, machine_, how);
  const KernelIdentity identity =
      identify(arena, chosen.kernel, kNestOfKernels, constants, options_);
  if (!measured_.contains(support::hash128(identity.text))) return std::nullopt;
  search::KernelTask task;
  task.text = identity.text;
  task.options.dims = identity.dims;
  const search::TuningKey key = task.key(device_);
  const auto [place, is_new] = answers_.try_emplace(key.shapes + "\n" + identity.text);
  if (is_new) {
    const std::vector<search::TuningRecord> records = database_.records(key);
    const search::TunedChoice choice = search::choose(records, "");
    if (!choice.schedule.empty())
      place->second = choice.best_us;
    else if (!records.empty())
      place->second = kNoCode;
  }
  hits_ += place->second ? 1 : 0;
  return place->second;
}

}  // namespace luminal::compiler
