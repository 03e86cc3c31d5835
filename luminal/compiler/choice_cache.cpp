#include "luminal/compiler/choice_cache.h"

#include "luminal/support/check.h"
#include "luminal/support/text.h"
#include "luminal/support/trace.h"

namespace luminal::compiler {
namespace {

using kernel::ChoiceProgram;
using kernel::Cut;
using kernel::CutPlan;
using kernel::CutSearchOptions;
using kernel::NodeId;

// Of the text of entries.
constexpr uint32_t kEntryVersion = 1;

void add_options(support::Hasher& hasher, const CutSearchOptions& options) {
  const kernel::Machine& machine = options.machine;
  hasher.add(std::string_view(machine.name));
  for (const double rate : {machine.launch_us, machine.pass_us, machine.memory_bytes,
                            machine.cache_bytes, machine.vector_flops, machine.matrix_flops,
                            machine.transcendental_flops, machine.nested_step})
    hasher.add(rate);
  for (const int64_t size : {machine.units, machine.tile, machine.row_threads,
                             machine.smallest_matrix, machine.matrix_nesting})
    hasher.add(size);
  hasher.add(machine.persistent).add(machine.matrix_in_online).add(machine.stores_operands);
  for (const auto& [name, value] : options.estimate.dims)
    hasher.add(std::string_view(name)).add(value);
  hasher.add(options.estimate.typical_dim).add(options.estimate.reassociate);
  hasher.add(options.most_nodes).add(options.most_nested).add(options.work_per_node);
  hasher.add(options.store_through).add(options.group_launches).add(options.restarts);
  hasher.add(options.seed).add(options.cost != nullptr);
}

void add_node(support::Hasher& hasher, const ChoiceProgram& program, NodeId id) {
  hasher.add(program.definitions(id)).add(program.choice(id)).add(program.part(id));
  hasher.add(program.repeats(id));
  for (size_t k = 0; k < program.definitions(id); ++k) {
    const graph::Node& node = program.definition(id, k);
    hasher.add(kernel::definition_hash(node)).add(node.operands.size());
    for (const graph::Edge& edge : node.operands) hasher.add(edge.node.value);
  }
  const auto awaited = program.awaited(id);
  hasher.add(awaited.size());
  for (const NodeId other : awaited) hasher.add(other.value);
}

struct Entry {
  std::vector<size_t> choice;
  Cut cut;
  std::optional<kernel::LaunchGroups> groups = {};  // nothing: those of the rule
};

/// Nothing if the text does not fit the program.
std::optional<Entry> parse(const std::string& text, const ChoiceProgram& program) {
  const auto parts = support::split(text, ';');
  if (parts.size() < 2 || parts.size() > 3 || parts[1].size() != program.size())
    return std::nullopt;
  Entry entry{{}, Cut(program.size())};
  for (const std::string_view word : support::split_words(parts[0])) {
    const auto number = support::parse_int64(word);
    const NodeId id{static_cast<uint32_t>(entry.choice.size())};
    if (id.value >= program.size() || !number || *number < 0 ||
        static_cast<size_t>(*number) >= program.definitions(id))
      return std::nullopt;
    entry.choice.push_back(static_cast<size_t>(*number));
  }
  if (entry.choice.size() != program.size()) return std::nullopt;
  for (uint32_t k = 0; k < program.size(); ++k)
    if (parts[1][k] == '1') entry.cut.insert(NodeId{k});
  if (parts.size() == 3) {
    entry.groups = kernel::parse_launch_groups(parts[2]);
    if (!entry.groups) return std::nullopt;
  }
  return entry;
}

/// Everything that has to be materialised is.
bool is_complete(const ChoiceProgram& program, std::span<const NodeId> order, const Cut& cut) {
  const Cut smallest = kernel::smallest_cut(program, order);
  for (const NodeId id : order)
    if (smallest.contains(id) && !cut.contains(id)) return false;
  return true;
}

std::optional<CutPlan> planned(kernel::Arena& arena, ChoiceProgram& program, const Entry& entry,
                               const CutSearchOptions& options) {
  const std::vector<size_t> before = program.choice();
  program.choose(entry.choice);
  const auto order = kernel::topological_order(program);
  if (order && is_complete(program, *order, entry.cut)) {
    auto plan = kernel::plan_cut(arena, program, entry.cut, options);
    if (plan && !entry.groups) return plan;
    if (plan && !kernel::refusal(program, *plan, *entry.groups)) {
      kernel::set_launch_groups(program, *plan, *entry.groups, options.machine);
      return plan;
    }
  }
  program.choose(before);
  return std::nullopt;
}

}  // namespace

/// "choice of node 0, choice of node 1, ...;1 for each node that is materialised, else 0", and
/// ";groups" (launch_groups.h) where those of the rule are not used.
std::string choice_text(const ChoiceProgram& program, const Cut& cut) {
  std::string text = support::join(program.choice(), " ");
  text += ";";
  for (uint32_t k = 0; k < program.size(); ++k) text += cut.contains(NodeId{k}) ? '1' : '0';
  return text;
}

std::string with_launch_groups(const std::string& choice,
                               const std::optional<kernel::LaunchGroups>& groups) {
  const auto parts = support::split(choice, ';');
  LUMINAL_CHECK(parts.size() >= 2, "'{}' is no choice", choice);
  const std::string plain = fmt::format("{};{}", parts[0], parts[1]);
  return groups ? fmt::format("{};{}", plain, kernel::to_text(*groups)) : plain;
}

std::optional<CutPlan> plan_choice(kernel::Arena& arena, ChoiceProgram& program,
                                   const std::string& text, const CutSearchOptions& options) {
  const auto entry = parse(text, program);
  return entry ? planned(arena, program, *entry, options) : std::nullopt;
}

support::Hash128 choice_key(const ChoiceProgram& program, const CutSearchOptions& options) {
  support::Hasher hasher;
  hasher.add(cost_version()).add(program.size());
  add_options(hasher, options);
  for (uint32_t k = 0; k < program.size(); ++k) add_node(hasher, program, NodeId{k});
  for (const NodeId id : program.roots()) hasher.add(id.value);
  for (const kernel::NamedRegion& region : program.named_regions()) {
    hasher.add(region.result.value).add(region.inside.size());
    for (const NodeId id : region.inside) hasher.add(id.value);
    for (const NodeId id : region.operands) hasher.add(id.value);
  }
  for (const std::vector<kernel::Pick>& picks : program.joint_choices()) {
    hasher.add(picks.size());
    for (const kernel::Pick& pick : picks) hasher.add(pick.node.value).add(pick.definition);
  }
  return hasher.finish128();
}

CutPlan search_choice(kernel::Arena& arena, ChoiceProgram& program, const CutSearchOptions& options,
                      support::FileCache* cache) {
  support::TraceSpan span("compile", "choose kernels");
  support::Hash128 key;
  if (cache != nullptr) {
    key = choice_key(program, options);
    if (const auto text = cache->get(key)) {
      if (auto plan = plan_choice(arena, program, *text, options)) {
        span.note("from", "cache");
        return std::move(*plan);
      }
      cache->remove(key);
    }
  }
  // In which order operands stand follows from what was derived before. Kernels are derived anew
  // from what was chosen, so that they are the same whether they were searched for or not.
  kernel::Arena searched;
  const CutPlan found = kernel::search_choice(searched, program, options);
  if (cache != nullptr) cache->put(key, choice_text(program, found.cut));
  std::optional<CutPlan> plan = kernel::plan_cut(arena, program, found.cut, options);
  LUMINAL_CHECK(plan.has_value(), "what was chosen is rejected");
  plan->estimated = found.estimated;
  plan->work = found.work;
  return std::move(*plan);
}

support::FileCache& default_choice_cache() {
  static support::FileCache cache(support::default_cache_options("choices", kEntryVersion));
  return cache;
}

}  // namespace luminal::compiler
