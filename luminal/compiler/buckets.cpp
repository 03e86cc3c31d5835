#include "luminal/compiler/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/planned_program.h"
#include "luminal/support/error.h"

namespace luminal::compiler {
namespace {

void check(const graph::Graph& graph, const Options& options) {
  size_t plans = 1;
  for (const auto& [name, values] : options.buckets) {
    const auto dim = graph.dims().find(name);
    if (dim == graph.dims().end())
      throw UserError("compile", "buckets are for the dim '{}', which the graph does not have",
                      name);
    if (values.empty()) throw UserError("compile", "the dim '{}' has no values of buckets", name);
    for (const int64_t value : values)
      if (!dim->second.contains(value))
        throw UserError("compile", "the bucket {} = {} is outside the dim's range [{}, {}]", name,
                        value, dim->second.lo, dim->second.hi);
    plans *= values.size();
    if (plans > kMostBuckets)
      throw UserError("compile", "buckets ask for more than {} plans; name fewer values",
                      kMostBuckets);
  }
}

/// Every combination of values, in ascending order.
std::vector<graph::DimValues> combinations(
    const std::map<std::string, std::vector<int64_t>>& buckets) {
  std::vector<graph::DimValues> result{{}};
  for (const auto& [name, unsorted] : buckets) {
    std::vector<int64_t> values = unsorted;
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    std::vector<graph::DimValues> longer;
    for (const graph::DimValues& before : result)
      for (const int64_t value : values) {
        longer.push_back(before);
        longer.back()[name] = value;
      }
    result = std::move(longer);
  }
  return result;
}

}  // namespace

size_t bucket_count(const Options& options) {
  size_t count = 1;
  for (const auto& [name, values] : options.buckets) {
    const std::set<int64_t> distinct(values.begin(), values.end());
    count = std::min(count * std::max<size_t>(distinct.size(), 1), kMostBuckets);
  }
  return count;
}

Plan build_buckets(const graph::Graph& graph, const Options& options) {
  return build_buckets(graph, options, [&](const Options& for_values, FoundDefinitions& found) {
    return build_plan(graph, for_values, &found);
  });
}

Plan build_buckets(const graph::Graph& graph, const Options& options, const BucketBuilder& build) {
  check(graph, options);
  std::vector<Plan> plans;
  FoundDefinitions found;
  for (const graph::DimValues& values : combinations(options.buckets)) {
    Options for_values = options;
    for (const auto& [name, value] : values) for_values.dims[name] = value;
    plans.push_back(build(for_values, found));
    plans.back().made_for = values;
  }
  Plan result = std::move(plans.front());
  for (size_t k = 1; k < plans.size(); ++k) result.variants.push_back(std::move(plans[k]));
  return result;
}

}  // namespace luminal::compiler
