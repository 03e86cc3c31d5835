#include "luminal/kernel/choice.h"

#include <algorithm>
#include <array>
#include <limits>

#include "luminal/kernel/climb.h"
#include "luminal/kernel/neighbourhoods.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

/// How many edges around a change moves are made.
constexpr int kNear = 3;
constexpr int kMostRounds = 4;
/// How much worse than the best a change may begin.
constexpr double kSlack = 1.05, kSlackMicroseconds = 20.0;
/// Smaller gains are noise of the estimate, and the graph as written is the better choice then.
constexpr double kGain = 1.0 - 1e-4;

/// Chooses definitions together with the cut, move by move.
class ChoiceClimber {
 public:
  ChoiceClimber(Arena& arena, ChoiceProgram& program, const CutSearchOptions& options)
      : program_(program), costs_(arena, program, options) {
    best_ = best_cut(costs_, program, options);
    note_order();
    costs_.allow(options.work_per_node * costs_.order().size());
  }

  BestCut climb() {
    for (int round = 0; round < kMostRounds; ++round) {
      bool improved = false;
      for (const std::vector<Pick>& picks : program_.joint_choices())
        improved = attempt(picks) || improved;
      for (uint32_t id = 0; id < program_.size(); ++id)
        for (size_t k = 0; k < program_.definitions(NodeId{id}); ++k)
          improved = attempt(std::array{Pick{NodeId{id}, k}}) || improved;
      if (!improved) break;
    }
    return best_;
  }

  const BestCut& best() const { return best_; }
  size_t estimated() const { return costs_.estimated(); }
  size_t work() const { return costs_.work(); }

 private:
  void note_order() {
    is_needed_.assign(program_.size(), false);
    for (NodeId id : costs_.order()) is_needed_[id.value] = true;
    failed_.look(program_, best_.cut);
  }

  /// Chooses these definitions and keeps them if the program as a whole is quicker then.
  bool attempt(std::span<const Pick> picks) {
    const bool matters = std::any_of(picks.begin(), picks.end(), [&](const Pick& pick) {
      return is_needed_[pick.node.value] && program_.choice(pick.node) != pick.definition;
    });
    if (!matters || costs_.is_spent() || failed_.contains_or_insert(program_, picks)) return false;
    const std::vector<NodeId> order = costs_.order();
    std::vector<Pick> before;
    for (const Pick& pick : picks) {
      if (program_.choice(pick.node) == pick.definition) continue;
      before.push_back({pick.node, program_.choice(pick.node)});
      program_.choose(pick.node, pick.definition);
    }
    if (costs_.refresh()) {
      BestCut candidate{adapted(before), std::numeric_limits<double>::infinity()};
      // What begins far above the best does not climb below it.
      const double most = best_.microseconds * kSlack + kSlackMicroseconds;
      if (costs_.total(candidate.cut, most) <= most)
        candidate.microseconds = climb_near(costs_, program_, candidate.cut, near(before));
      if (candidate.microseconds < best_.microseconds * kGain) {
        best_ = std::move(candidate);
        note_order();
        return true;
      }
    }
    for (const Pick& pick : before) program_.choose(pick.node, pick.definition);
    costs_.restore(order);
    return false;
  }

  /// The cut that is best so far where it still says something; contractions and what changed
  /// definitions read are materialised at first.
  Cut adapted(std::span<const Pick> changed) const {
    const std::vector<NodeId>& order = costs_.order();
    Cut cut = smallest_cut(program_, order);
    const Cut seed = contraction_cut(program_, order);
    for (NodeId id : order)
      if (!is_free_to_compute(program_.node(id)) &&
          (is_needed_[id.value] ? best_.cut.contains(id) : seed.contains(id)))
        cut.insert(id);
    for (const Pick& pick : changed)
      if (is_needed_[pick.node.value] && seed.contains(pick.node)) cut.insert(pick.node);
    return cut;
  }

  /// The nodes within a few edges of a change, and everything that was not needed before.
  std::vector<bool> near(std::span<const Pick> changed) const {
    const std::vector<NodeId>& order = costs_.order();
    std::vector<bool> result(program_.size(), false);
    for (const Pick& pick : changed) result[pick.node.value] = true;
    for (NodeId id : order)
      if (!is_needed_[id.value]) result[id.value] = true;
    for (int step = 0; step < kNear; ++step) {
      std::vector<bool> next = result;
      for (NodeId id : order)
        for (const graph::Edge& edge : program_.node(id).operands) {
          if (result[id.value]) next[edge.node.value] = true;
          if (result[edge.node.value]) next[id.value] = true;
        }
      result = std::move(next);
    }
    return result;
  }

  ChoiceProgram& program_;
  CutCosts costs_;
  BestCut best_{Cut(0), 0.0};
  std::vector<bool> is_needed_;  // as chosen now
  FailedChanges failed_;
};

}  // namespace

ChoiceProgram::ChoiceProgram(const Program& program)
    : ChoiceProgram(program.size(), {program.roots().begin(), program.roots().end()}) {
  for (uint32_t k = 0; k < program.size(); ++k) {
    const NodeId id{k};
    add(id, program.node(id));
    set_part(id, program.part(id), program.repeats(id));
    const std::span<const NodeId> awaited = program.awaited(id);
    if (!awaited.empty()) set_awaited(id, {awaited.begin(), awaited.end()});
  }
  regions_.assign(program.named_regions().begin(), program.named_regions().end());
}

void ChoiceProgram::add(NodeId id, graph::Node node) {
  std::vector<graph::Node>& definitions = definitions_[id.value];
  LUMINAL_CHECK(definitions.empty() || definitions[0].type == node.type,
                "definitions of node {} differ in type", id.value);
  definitions.push_back(std::move(node));
}

NodeId ChoiceProgram::add_node() {
  definitions_.emplace_back();
  choice_.push_back(0);
  parts_.push_back(0);
  return NodeId{static_cast<uint32_t>(definitions_.size() - 1)};
}

void ChoiceProgram::remove_definitions(
    const std::function<bool(NodeId, const graph::Node&)>& unwanted) {
  constexpr size_t kGone = SIZE_MAX;
  std::map<NodeId, std::vector<size_t>> moved;  // where definitions went, of nodes that lose some
  for (uint32_t k = 0; k < definitions_.size(); ++k) {
    std::vector<size_t> to;
    std::vector<graph::Node> kept;
    for (size_t d = 0; d < definitions_[k].size(); ++d) {
      const bool keep = d == 0 || !unwanted(NodeId{k}, definitions_[k][d]);
      to.push_back(keep ? kept.size() : kGone);
      if (keep) kept.push_back(definitions_[k][d]);
    }
    if (kept.size() == to.size()) continue;
    LUMINAL_CHECK(to[choice_[k]] != kGone, "the chosen definition of node {} is taken away", k);
    choice_[k] = to[choice_[k]];
    definitions_[k] = std::move(kept);
    moved.emplace(NodeId{k}, std::move(to));
  }
  std::vector<std::vector<Pick>> joint = std::move(joint_choices_);
  joint_choices_.clear();
  for (std::vector<Pick>& picks : joint) {
    for (Pick& pick : picks)
      if (const auto found = moved.find(pick.node); found != moved.end())
        pick.definition = found->second[pick.definition];
    std::erase_if(picks, [](const Pick& pick) { return pick.definition == kGone; });
    if (picks.size() > 1) joint_choices_.push_back(std::move(picks));
  }
}

std::span<const NodeId> ChoiceProgram::awaited(NodeId id) const {
  const auto found = awaited_.find(id);
  if (found == awaited_.end()) return {};
  return found->second;
}

void ChoiceProgram::set_part(NodeId id, uint32_t part, double repeats) {
  parts_[id.value] = part;
  if (repeats_.size() <= part) repeats_.resize(part + 1, 1.0);
  repeats_[part] = repeats;
}

const graph::Node& ChoiceProgram::node(NodeId id) const {
  LUMINAL_CHECK(choice_[id.value] < definitions_[id.value].size(), "node {} has no definition",
                id.value);
  return definitions_[id.value][choice_[id.value]];
}

CutPlan search_choice(Arena& arena, ChoiceProgram& program, const CutSearchOptions& options) {
  ChoiceClimber climber(arena, program, options);
  const std::vector<size_t> written = program.choice();
  const Cut written_cut = climber.best().cut;
  const BestCut best = climber.climb();
  std::optional<CutPlan> plan = plan_cut(arena, program, best.cut, options);
  LUMINAL_CHECK(plan.has_value(), "the best cut was rejected");
  if (program.choice() != written) {
    // Kernels that store several values and shared launches come after the climb: what they save
    // can turn the scale.
    const std::vector<size_t> chosen = program.choice();
    program.choose(written);
    std::optional<CutPlan> as_written = plan_cut(arena, program, written_cut, options);
    if (as_written && as_written->microseconds <= plan->microseconds)
      plan = std::move(as_written);
    else
      program.choose(chosen);
  }
  plan->estimated = climber.estimated();
  plan->work = climber.work();
  return *plan;
}

}  // namespace luminal::kernel
