#include "luminal/plan/variants.h"

#include <algorithm>
#include <optional>

#include "luminal/graph/dim_binding.h"
#include "luminal/support/error.h"

namespace luminal::plan {
namespace {

using graph::Array;
using graph::RunRequest;

const Plan& variant(const Plan& plan, size_t number) {
  return number == 0 ? plan : plan.variants[number - 1];
}

int64_t made_for(const Plan& plan, const std::string& dim) {
  const auto found = plan.made_for.find(dim);
  return found == plan.made_for.end() ? 0 : found->second;
}

/// What some variant was made for, as near above a value as there is.
int64_t bucket_of(const Plan& plan, const std::string& dim, int64_t value) {
  std::optional<int64_t> above;
  int64_t largest = made_for(plan, dim);
  for (size_t k = 0; k <= plan.variants.size(); ++k) {
    const int64_t bucket = made_for(variant(plan, k), dim);
    largest = std::max(largest, bucket);
    if (bucket >= value && (!above || bucket < *above)) above = bucket;
  }
  return above.value_or(largest);
}

class VariantProgram : public CompiledProgram {
 public:
  VariantProgram(Plan plan, int threads) : plan_(std::move(plan)) {
    for (size_t k = 0; k <= plan_.variants.size(); ++k) {
      Plan single = variant(plan_, k);
      single.variants.clear();
      programs_.push_back(load_plan(std::move(single), threads));
    }
  }

  const graph::Graph& graph() const override { return plan_.graph; }
  const Plan& plan() const override { return plan_; }
  int64_t working_bytes() const override {
    int64_t total = 0;
    for (const auto& program : programs_) total += program->working_bytes();
    return total;
  }

  std::vector<Array> run(const RunRequest& request) override {
    return chosen(request).run(request);
  }
  void run_into(const RunRequest& request, std::vector<Array>& outputs) override {
    chosen(request).run_into(request, outputs);
  }
  std::vector<Array> run(const RunRequest& request, StepWatcher& watcher) override {
    return chosen(request).run(request, watcher);
  }
  CompiledProgram& chosen(const RunRequest& request) override {
    const bool told = std::all_of(
        plan_.made_for.begin(), plan_.made_for.end(),
        [&](const auto& dim) { return request.dims.find(dim.first) != request.dims.end(); });
    return *programs_[told ? variant_for(plan_, request.dims) : variant_by_data(request)];
  }

 private:
  size_t variant_by_data(const RunRequest& request) const {
    std::map<std::string, const Array*> inputs;
    for (const auto& [name, value] : request.inputs)
      if (value != nullptr && graph().find_input(name)) inputs.emplace(name, value);
    try {
      return variant_for(plan_, graph::bind_dims(graph(), inputs, request.dims));
    } catch (const UserError&) {
      return 0;  // which will say what is wrong
    }
  }

  Plan plan_;
  std::vector<std::unique_ptr<CompiledProgram>> programs_;
};

}  // namespace

size_t variant_for(const Plan& plan, const graph::DimValues& dims) {
  for (size_t k = 0; k <= plan.variants.size(); ++k) {
    const bool fits = std::all_of(plan.made_for.begin(), plan.made_for.end(), [&](const auto& dim) {
      const auto value = dims.find(dim.first);
      return value == dims.end() ||
             made_for(variant(plan, k), dim.first) == bucket_of(plan, dim.first, value->second);
    });
    if (fits) return k;
  }
  return 0;
}

std::unique_ptr<CompiledProgram> load_variants(Plan plan, int threads) {
  return std::make_unique<VariantProgram>(std::move(plan), threads);
}

}  // namespace luminal::plan
