#include "luminal/egraph/extract.h"

#include <algorithm>
#include <queue>

#include "luminal/support/check.h"

namespace luminal::egraph {
namespace {

uint64_t multiply_costs(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

constexpr uint64_t kBaseValueCost = 1;

}  // namespace

Extractor::Extractor(Database& db, ExtractOptions options)
    : db_(db), options_(std::move(options)), used_by_(db.ids.size()), classes_(db.ids.size()) {
  collect();
  settle();
}

bool Extractor::usable(const NodeRef& node) const {
  const Function& function = db_.functions[node.function];
  if (!function.table.visible(node.row)) return false;
  return !options_.forbidden || !options_.forbidden(node);
}

template <typename Visit>
void Extractor::for_each_child(Value id, const NodeRef& node, Visit visit) const {
  if (node.function != kNone) {
    const Function& function = db_.functions[node.function];
    const Value* row = function.table.row(node.row);
    for (size_t i = 0; i < function.inputs.size(); ++i)
      visit(function.inputs[i], row[i], uint64_t{1});
    return;
  }
  const auto words = db_.containers.words(id);
  const bool counted = db_.sorts[db_.containers.sort_of(id)].kind == SortKind::kMultiSet;
  size_t position = 0;
  db_.containers.for_each_element(db_.sorts, id, [&](SortId sort, Value value) {
    const uint64_t times = counted ? words[position + 1] : 1;
    position += 2;
    visit(sort, value, times);
  });
}

void Extractor::collect_row(const NodeRef& node) {
  const Function& function = db_.functions[node.function];
  const uint64_t own = options_.node_cost ? options_.node_cost(node) : function.cost;
  candidates_.push_back({function.table.value(node.row), node, own, 0});
}

void Extractor::collect() {
  for (FunctionId f = 0; f < db_.functions.size(); ++f) {
    const Function& function = db_.functions[f];
    if (function.is_function() || function.unextractable || function.hidden) continue;
    for (uint32_t row = 0; row < function.table.end_row(); ++row)
      if (usable({f, row})) collect_row({f, row});
  }
  for (Value id = 0; id < db_.ids.size(); ++id)
    if (std::as_const(db_.ids).find(id) == id && db_.containers.contains(id))
      candidates_.push_back({id, NodeRef{}, 0, 0});
  for (uint32_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    for_each_child(candidate.id, candidate.node, [&](SortId sort, Value value, uint64_t times) {
      if (db_.sorts[sort].is_id()) {
        used_by_[value].push_back(i);
        ++candidate.waiting;
      } else {
        candidate.cost = add_costs(candidate.cost, multiply_costs(kBaseValueCost, times));
      }
    });
  }
}

/// Dijkstra over classes: a node enters the queue when its last child is settled, so the first node
/// of a class to leave it is the cheapest, and of equal ones the first in table and row order.
void Extractor::settle() {
  struct Entry {
    uint64_t cost;
    FunctionId function;
    uint32_t row;
    uint32_t candidate;
    bool operator>(const Entry& other) const {
      return std::tie(cost, function, row, candidate) >
             std::tie(other.cost, other.function, other.row, other.candidate);
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto enqueue = [&](uint32_t index) {
    const Candidate& candidate = candidates_[index];
    uint64_t cost = candidate.cost;
    for_each_child(candidate.id, candidate.node, [&](SortId sort, Value value, uint64_t times) {
      if (db_.sorts[sort].is_id())
        cost = add_costs(cost, multiply_costs(classes_[value].cost, times));
    });
    queue.push({cost, candidate.node.function, candidate.node.row, index});
  };
  for (uint32_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i].waiting == 0) enqueue(i);
  uint32_t rank = 0;
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    const Candidate& candidate = candidates_[entry.candidate];
    ClassState& state = classes_[candidate.id];
    if (state.settled) continue;
    state = {entry.cost, rank++, candidate.node, true};
    for (const uint32_t user : used_by_[candidate.id])
      if (--candidates_[user].waiting == 0) enqueue(user);
  }
}

std::optional<uint64_t> Extractor::cost(SortId sort, Value value) const {
  if (!db_.sorts[sort].is_id()) return kBaseValueCost;
  const Value id = std::as_const(db_.ids).find(value);
  if (id >= classes_.size() || !classes_[id].settled) return std::nullopt;
  return classes_[id].cost;
}

std::optional<NodeRef> Extractor::chosen(Value id) const {
  id = std::as_const(db_.ids).find(id);
  if (id >= classes_.size() || !classes_[id].settled) return std::nullopt;
  return classes_[id].node;
}

TermId Extractor::build_value(SortId sort, Value value) {
  if (db_.sorts[sort].is_id()) return built_.at(value);
  return terms_.add({value_text(db_, sort, value), true, {}});
}

/// Keys and values of a map, in the order of the keys' terms.
void Extractor::sort_entries(std::vector<TermId>& args) const {
  std::vector<std::pair<TermId, TermId>> entries;
  for (size_t i = 0; i + 1 < args.size(); i += 2) entries.push_back({args[i], args[i + 1]});
  std::sort(entries.begin(), entries.end(),
            [&](const auto& a, const auto& b) { return terms_.less(a.first, b.first); });
  args.clear();
  for (const auto& [key, value] : entries) args.insert(args.end(), {key, value});
}

/// The term of a node whose children are all built.
TermId Extractor::build_node(Value id, const NodeRef& node) {
  TermDag::Node term;
  for_each_child(id, node, [&](SortId sort, Value value, uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) term.args.push_back(build_value(sort, value));
  });
  if (node.function != kNone) {
    term.head = db_.functions[node.function].name;
    return terms_.add(std::move(term));
  }
  switch (db_.sorts[db_.containers.sort_of(id)].kind) {
    case SortKind::kVec:
      term.head = term.args.empty() ? "vec-empty" : "vec-of";
      break;
    case SortKind::kSet:
      term.head = "set-of";
      break;
    case SortKind::kMultiSet:
      term.head = "multiset-of";
      break;
    case SortKind::kMap:
      term.head = "map-of";
      sort_entries(term.args);
      break;
    case SortKind::kPair:
      term.head = "pair";
      break;
    default: {
      term.head = "unstable-fn";
      const FunctionTarget& target = db_.containers.target(db_.containers.words(id)[0]);
      term.args.insert(term.args.begin(), terms_.add({quoted(target.name), true, {}}));
    }
  }
  if (term.head == "set-of" || term.head == "multiset-of")
    std::sort(term.args.begin(), term.args.end(),
              [&](TermId a, TermId b) { return terms_.less(a, b); });
  return terms_.add(std::move(term));
}

/// Builds everything a node needs, children before parents, without recursion.
void Extractor::build_below(Value id, const NodeRef& node) {
  std::vector<Value> needed;
  const auto need_children = [&](Value of, const NodeRef& from) {
    for_each_child(of, from, [&](SortId sort, Value value, uint64_t) {
      if (!db_.sorts[sort].is_id() || built_.count(value) != 0) return;
      built_.emplace(value, kNone);
      needed.push_back(value);
    });
  };
  need_children(id, node);
  for (size_t i = 0; i < needed.size(); ++i) need_children(needed[i], classes_[needed[i]].node);
  std::sort(needed.begin(), needed.end(),
            [&](Value a, Value b) { return classes_[a].rank < classes_[b].rank; });
  for (const Value value : needed) built_[value] = build_node(value, classes_[value].node);
}

std::optional<Extracted> Extractor::best(SortId sort, Value value) {
  const auto total = cost(sort, value);
  if (!total) return std::nullopt;
  if (!db_.sorts[sort].is_id()) return Extracted{*total, build_value(sort, value)};
  const Value id = db_.ids.find(value);
  const NodeRef node = classes_[id].node;
  build_below(id, node);
  return Extracted{*total, build_node(id, node)};
}

std::vector<Extracted> Extractor::variants(SortId sort, Value value, uint64_t count) {
  std::vector<Extracted> result;
  if (!db_.sorts[sort].is_eq()) {
    if (const auto only = best(sort, value); only && count > 0) result.push_back(*only);
    return result;
  }
  const Value id = db_.ids.find(value);
  std::vector<std::pair<uint64_t, NodeRef>> nodes;
  for (const Candidate& candidate : candidates_) {
    if (candidate.id != id || candidate.waiting != 0) continue;
    uint64_t total = candidate.cost;
    for_each_child(id, candidate.node, [&](SortId child_sort, Value child, uint64_t times) {
      if (db_.sorts[child_sort].is_id())
        total = add_costs(total, multiply_costs(classes_[child].cost, times));
    });
    nodes.push_back({total, candidate.node});
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (nodes.size() > count) nodes.resize(count);
  for (const auto& [total, node] : nodes) {
    build_below(id, node);
    result.push_back({total, build_node(id, node)});
  }
  return result;
}

}  // namespace luminal::egraph
