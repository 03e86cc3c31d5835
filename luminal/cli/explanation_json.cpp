#include "luminal/cli/explanation_json.h"

#include <nlohmann/json.hpp>

namespace luminal::cli {
namespace {

using nlohmann::ordered_json;

/// Values by name, in the order in which they are added; 0 and "" are left out where they mean that
/// there is nothing to say.
class ExplanationWriter {
 public:
  ExplanationWriter(const compiler::Explanation& explanation, bool times)
      : all_(explanation), times_(times) {}

  ordered_json run() const {
    ordered_json result;
    result["format"] = 1;
    result["title"] = all_.title;
    result["device"] = all_.device;
    result["dims"] = ordered_json::object();
    for (const auto& [name, value] : all_.dims) result["dims"][name] = value;
    result["estimates_are_for_these_dims"] = all_.as_estimated;
    text(result, "not_run", all_.not_run);
    time(result, "run_us", all_.run_us);
    time(result, "measured_us", all_.measured_us);
    number(result, "estimated_us", all_.estimated_us);
    time(result, "floor_us", all_.floor_us);
    if (times_ && all_.limits) result["machine"] = machine(*all_.limits);
    result["steps"] = ordered_json::array();
    for (size_t k = 0; k < all_.steps.size(); ++k)
      result["steps"].push_back(step(k + 1, all_.steps[k]));
    result["kernels"] = list(all_.kernels, kernel);
    result["memory"] = memory(all_.memory);
    result["search"] = all_.search ? search(*all_.search, all_.structures) : ordered_json(nullptr);
    result["variants"] = list(all_.variants, [&](const compiler::Explanation& each) {
      return ExplanationWriter(each, times_).run();
    });
    return result;
  }

 private:
  template <typename List, typename Function>
  static ordered_json list(const List& elements, Function function) {
    ordered_json result = ordered_json::array();
    for (const auto& element : elements) result.push_back(function(element));
    return result;
  }

  static void number(ordered_json& row, const char* name, double value) {
    if (value != 0) row[name] = value;
  }
  static void text(ordered_json& row, const char* name, const std::string& value) {
    if (!value.empty()) row[name] = value;
  }
  void time(ordered_json& row, const char* name, double value) const {
    if (times_) number(row, name, value);
  }

  static ordered_json machine(const search::MachineLimits& limits) {
    ordered_json row = {{"threads", limits.threads}};
    number(row, "f32_flops_per_second", limits.f32_flops);
    number(row, "bf16_flops_per_second", limits.bf16_flops);
    number(row, "i8_flops_per_second", limits.i8_flops);
    row["reads"] = list(limits.reads, [](const search::MachineLimits::Reads& each) {
      return ordered_json{{"bytes", each.bytes}, {"bytes_per_second", each.rate}};
    });
    return row;
  }

  ordered_json step(size_t place, const compiler::ExplainedStep& step) const {
    ordered_json row = {{"number", place},   {"label", step.label},
                        {"kind", step.kind}, {"implementation", step.implementation},
                        {"once", step.once}, {"node", step.node},
                        {"type", step.type}, {"kernels", step.kernels}};
    text(row, "schedule", step.schedule);
    if (step.parts > 1) {
      row["part"] = step.part;
      row["parts"] = step.parts;
    }
    number(row, "bytes", step.bytes);
    number(row, "flops", step.flops);
    number(row, "estimated_us", step.estimated_us);
    time(row, "measured_us", step.measured_us);
    time(row, "floor_us", step.floor_us);
    if (times_) text(row, "bound", step.bound);
    text(row, "why", step.why);
    text(row, "no_estimate", step.no_estimate);
    if (times_ && step.measured_us > 0 && step.floor_us > 0)
      row["fraction_of_best"] = step.floor_us / step.measured_us;
    return row;
  }

  static ordered_json refusals(const std::vector<plan::RefusedTemplate>& refused) {
    return list(refused, [](const plan::RefusedTemplate& each) {
      return ordered_json{{"template", each.name}, {"why", each.why}};
    });
  }

  static ordered_json boundary(const plan::Boundary& boundary) {
    ordered_json row = {
        {"value", boundary.value}, {"readers", boundary.readers}, {"why", boundary.why}};
    number(row, "stored_us", boundary.stored_us);
    number(row, "fused_us", boundary.fused_us);
    text(row, "fused_by", boundary.fused_way);
    if (!boundary.refused.empty()) row["refused"] = refusals(boundary.refused);
    return row;
  }

  static ordered_json way(const compiler::ExplainedWay& way) {
    ordered_json row = {{"schedule", way.schedule}, {"used", way.used}};
    number(row, "estimated_us", way.estimated_us);
    number(row, "measured_us", way.measured_us);
    text(row, "rejected", way.rejected);
    text(row, "why", way.why);
    return row;
  }

  static ordered_json kernel(const compiler::ExplainedKernel& kernel) {
    ordered_json row = {{"label", kernel.label},       {"fused", kernel.fused},
                        {"nodes", kernel.nodes},       {"uses", kernel.uses},
                        {"identity", kernel.identity}, {"implementation", kernel.implementation}};
    number(row, "bytes", kernel.bytes);
    number(row, "flops", kernel.flops);
    number(row, "defined_flops", kernel.defined_flops);
    number(row, "estimated_us", kernel.estimated_us);
    row["refused"] = refusals(kernel.refused);
    row["not_fused"] = list(kernel.boundaries, boundary);
    row["ways"] = list(kernel.ways, way);
    text(row, "loops", kernel.loops);
    return row;
  }

  static ordered_json memory(const compiler::ExplainedMemory& memory) {
    return {{"arena_bytes", memory.arena_bytes},
            {"slots", memory.slots},
            {"peak_bytes", memory.peak_bytes},
            {"peak_step", memory.peak_step},
            {"input_bytes", memory.input_bytes},
            {"constant_bytes", memory.constant_bytes},
            {"result_bytes", memory.result_bytes},
            {"prepared_bytes", memory.prepared_bytes},
            {"live_bytes", memory.live},
            {"buffers", list(memory.buffers, buffer)},
            {"aliases", list(memory.aliases, [](const compiler::ExplainedAlias& each) {
               return ordered_json{{"value", each.value}, {"of", each.of}, {"why", each.why}};
             })}};
  }

  static ordered_json buffer(const compiler::ExplainedBuffer& buffer) {
    ordered_json row = {{"name", buffer.name},
                        {"type", buffer.type},
                        {"place", buffer.place},
                        {"slot", buffer.slot},
                        {"bytes", buffer.bytes}};
    if (buffer.used) {
      row["first_step"] = buffer.first;
      row["last_step"] = buffer.last;
    }
    return row;
  }

  static ordered_json search(const compiler::SearchReport& report,
                             const std::vector<compiler::ExplainedWay>& plans) {
    ordered_json row = {{"structures", report.structures},   {"kernels", report.kernels},
                        {"trials", report.measured},         {"known", report.known},
                        {"rejected", report.rejected},       {"finished", report.finished},
                        {"interrupted", report.interrupted}, {"unreliable", report.unreliable},
                        {"untried", report.untried}};
    number(row, "first_plan_us", report.fast_us);
    number(row, "best_us", report.best_us);
    if (report.model.kernels > 1) {  // one alone has no rank
      const auto quality = [](const search::ModelQuality& each) {
        return ordered_json{{"rank_correlation", each.rank_correlation},
                            {"pairs_in_order", each.pairs_in_order},
                            {"typical_factor", each.typical_factor}};
      };
      row["model"] = {{"kernels", report.model.kernels},
                      {"as_it_is", quality(report.model)},
                      {"fitted", quality(report.fitted_model)}};
    }
    row["plans"] = list(plans, [](const compiler::ExplainedWay& each) {
      ordered_json trial = {{"name", each.schedule}, {"used", each.used}};
      number(trial, "kernels_us", each.estimated_us);
      number(trial, "measured_us", each.measured_us);
      text(trial, "rejected", each.rejected);
      text(trial, "why", each.why);
      return trial;
    });
    return row;
  }

  const compiler::Explanation& all_;
  bool times_;
};

}  // namespace

ordered_json to_json(const compiler::Explanation& explanation, bool times) {
  return ExplanationWriter(explanation, times).run();
}

}  // namespace luminal::cli
