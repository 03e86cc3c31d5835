#include "luminal/cli/compile_page.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "luminal/cli/explanation_json.h"
#include "luminal/cli/explanation_page.h"
#include "luminal/cli/page.h"
#include "luminal/graph/drawing.h"
#include "luminal/plan/plan.h"

namespace luminal::cli {
namespace {

using nlohmann::ordered_json;

/// Longer code is cut: nobody reads on, and browsers get slow.
constexpr size_t kMostCode = 400'000;

std::string cut(const std::string& text) {
  if (text.size() <= kMostCode) return text;
  return text.substr(0, kMostCode) +
         fmt::format("\n... {} bytes more are left out\n", text.size() - kMostCode);
}

ordered_json passes_json(const InspectedGraph& graph) {
  ordered_json rows = ordered_json::array();
  for (const graph::PassStep& step : graph.passes().steps)
    if (step.changed)
      rows.push_back({{"name", step.name},
                      {"round", step.round},
                      {"before", step.nodes_before},
                      {"after", step.nodes_after},
                      {"us", step.microseconds}});
  return rows;
}

/// Classes as short arrays: [label, type, names, [[text, rule, reads...]...], readers].
ordered_json classes_json(InspectedGraph& graph) {
  const auto labels = [&](const std::vector<egraph::Value>& classes) {
    ordered_json names = ordered_json::array();
    for (const egraph::Value place : classes) names.push_back(graph.label(place));
    return names;
  };
  ordered_json rows = ordered_json::array();
  for (const egraph::Value place : graph.classes()) {
    ordered_json nodes = ordered_json::array();
    for (const egraph::NodeRef& node : graph.nodes(place))
      nodes.push_back(
          {graph.op(node), graph.text(node), graph.rule(node), labels(graph.operands(node))});
    rows.push_back({graph.label(place), graph.type_text(place), graph.called(place),
                    std::move(nodes), labels(graph.readers(place))});
  }
  return rows;
}

ordered_json rules_json(InspectedGraph& graph) {
  ordered_json rows = ordered_json::array();
  for (const egraph::RuleState& rule : graph.database().rules)
    if (rule.matches > 0)
      rows.push_back({{"name", rule.rule->name},
                      {"ruleset", rule.rule->ruleset},
                      {"matches", rule.matches},
                      {"rows", rule.rows_visited},
                      {"us", rule.seconds * 1e6}});
  return rows;
}

const char* kind_of(const plan::PlanStep& step) {
  if (std::holds_alternative<plan::LaunchStep>(step.action)) return "launch";
  if (std::holds_alternative<plan::HostStep>(step.action)) return "host";
  return std::holds_alternative<plan::CopyStep>(step.action) ? "copy" : "check";
}

/// Loop nests and code are written once, however many steps share them.
class StepWriter {
 public:
  explicit StepWriter(const CompileRecord& record) : record_(record) {}

  void add(const plan::PlanStep& step, bool prepare) {
    ordered_json row = {{"label", step.label},           {"type", graph::to_string(step.type)},
                        {"kind", kind_of(step)},         {"prepare", prepare},
                        {"byRules", step.made_by_rules}, {"node", step.node.value},
                        {"schedule", step.schedule},     {"estimate", step.estimated_us},
                        {"loops", number_of(step.text)}};
    if (const auto* launch = std::get_if<plan::LaunchStep>(&step.action))
      row["code"] = code_of(launch->kernel);
    steps.push_back(std::move(row));
  }

  ordered_json steps = ordered_json::array();
  ordered_json loops = ordered_json::array();
  ordered_json code = ordered_json::array();

 private:
  int number_of(const std::string& text) {
    if (text.empty()) return -1;
    const auto [place, is_new] = loops_.emplace(text, static_cast<int>(loops.size()));
    if (is_new) loops.push_back(text);
    return place->second;
  }

  int code_of(size_t kernel) {
    const runtime::Artifact& artifact = record_.program->plan().kernels[kernel].artifact;
    const auto text = record_.code.find(support::hash128(artifact.code));
    if (text == record_.code.end()) return -1;
    const auto [place, is_new] = code_.emplace(text->first, static_cast<int>(code.size()));
    if (is_new)
      code.push_back({{"ir", cut(text->second.ir)},
                      {"assembly", cut(text->second.assembly)},
                      {"bytes", artifact.code.size()}});
    return place->second;
  }

  const CompileRecord& record_;
  std::map<std::string, int> loops_;
  std::map<support::Hash128, int> code_;
};

ordered_json run_json(const CompileRecord& record) {
  ordered_json rows = ordered_json::array();
  for (const graph::StepReport& step : record.run)
    rows.push_back(
        {{"name", step.name},
         {"type", fmt::format("{}[{}]", graph::name(step.dtype), fmt::join(step.extents, ", "))},
         {"us", step.microseconds}});
  return rows;
}

/// Kernels, and trials as short arrays that name them by number: [kernel, seconds (null: known
/// before), us (0: rejected), spread, way, reason, details, is it the default].
class TrialWriter {
 public:
  void add(const TimedTrial& each) {
    const compiler::SearchTrial& trial = each.trial;
    const auto [place, is_new] =
        kernels_.emplace(std::pair(trial.identity, trial.shapes), static_cast<int>(kernels.size()));
    if (is_new)
      kernels.push_back(
          {{"label", trial.label}, {"identity", trial.identity}, {"shapes", trial.shapes}});
    ordered_json row = {place->second, nullptr, 0, 0, trial.schedule, "", "", trial.is_default};
    if (!trial.known) row[1] = each.seconds;
    if (const auto* timing = std::get_if<search::Timing>(&trial.result)) {
      row[2] = timing->median_us;
      row[3] = timing->spread_us;
    } else {
      const auto& rejected = std::get<search::Rejected>(trial.result);
      row[5] = search::to_string(rejected.why);
      row[6] = rejected.detail;
    }
    trials.push_back(std::move(row));
  }

  ordered_json kernels = ordered_json::array();
  ordered_json trials = ordered_json::array();

 private:
  std::map<std::pair<std::string, std::string>, int> kernels_;
};

ordered_json search_json(const CompileRecord& record) {
  if (!record.search) return nullptr;
  const compiler::SearchReport& report = *record.search;
  TrialWriter writer;
  for (const TimedTrial& trial : record.trials) writer.add(trial);
  ordered_json gains = ordered_json::array();
  for (const compiler::KernelGain& gain : report.gains)
    gains.push_back({{"label", gain.label},
                     {"schedule", gain.schedule},
                     {"before", gain.default_us},
                     {"after", gain.best_us},
                     {"uses", gain.uses}});
  return {{"text", compiler::to_string(report)},
          {"fast", report.fast_us},
          {"best", report.best_us},
          {"structures", report.structures},
          {"recalled", report.recalled},
          {"finished", report.finished},
          {"interrupted", report.interrupted},
          {"unreliable", report.unreliable},
          {"kernels", std::move(writer.kernels)},
          {"trials", std::move(writer.trials)},
          {"gains", std::move(gains)}};
}

constexpr const char* kSavedPlan =
    "This is a saved plan, as its file has it. A plan holds the graph after passes, its steps and "
    "their machine code; it holds neither the graph as written nor the e-graph nor LLVM IR and "
    "assembly. They are on the page of the graph that the plan was made of.";

/// What came before the kernels.
ordered_json stages_json(const std::string& title, CompileRecord& record) {
  const auto drawing = [&](const graph::Graph& graph, const char* stage) {
    return graph::to_html(graph, {.title = title + stage});
  };
  if (record.graph == nullptr) {
    const graph::Graph& graph = record.program->plan().graph;
    return {{"saved", kSavedPlan},
            {"nodesSimplified", graph.size()},
            {"passes", ordered_json::array()},
            {"rules", ordered_json::array()},
            {"classes", ordered_json::array()},
            {"drawings", {{"simplified", drawing(graph, ", after passes")}}}};
  }
  InspectedGraph& graph = *record.graph;
  return {{"nodesWritten", graph.written().size()},
          {"nodesSimplified", graph.simplified().size()},
          {"egraphNodes", graph.egraph().num_nodes()},
          {"passes", passes_json(graph)},
          {"rules", rules_json(graph)},
          {"classes", classes_json(graph)},
          {"drawings",
           {{"written", drawing(graph.written(), ", as written")},
            {"simplified", drawing(graph.simplified(), ", after passes")}}}};
}

ordered_json page_json(const std::string& title, CompileRecord& record) {
  StepWriter writer(record);
  for (const plan::PlanStep& step : record.program->plan().prepare) writer.add(step, true);
  for (const plan::PlanStep& step : record.program->plan().steps) writer.add(step, false);
  ordered_json dims = ordered_json::object();
  for (const auto& [name, value] : record.dims) dims[name] = value;
  ordered_json data = {{"title", title},
                       {"dims", std::move(dims)},
                       {"compileSeconds", record.compile_seconds},
                       {"steps", std::move(writer.steps)},
                       {"loops", std::move(writer.loops)},
                       {"code", std::move(writer.code)},
                       {"run", run_json(record)},
                       {"runMicroseconds", record.run_us},
                       {"search", search_json(record)},
                       {"explanation", to_json(record.explanation, true)}};
  data.update(stages_json(title, record));
  return data;
}

}  // namespace

std::string compile_page(const std::string& title, CompileRecord& record) {
  const std::string_view scripts[] = {kExplanationScript, kSearchPageScript, kCompilePageScript};
  return page_of(title, page_json(title, record), scripts);
}

}  // namespace luminal::cli
