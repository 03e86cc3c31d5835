#include "luminal/egraph/dag_extract.h"

#include <algorithm>
#include <queue>

#include "luminal/egraph/extract.h"

namespace luminal::egraph {
namespace {

/// Prepared costs and child lists without literals and repetitions.
class Problem {
 public:
  Problem(const SerializedGraph& graph, const DagOptions& options) : graph_(graph) {
    first_child_.push_back(0);
    for (uint32_t n = 0; n < graph.num_nodes(); ++n) {
      bool usable = graph.node_subsumed[n] == 0 && !(options.forbidden && options.forbidden(n));
      std::vector<uint32_t> list;
      for (uint32_t c = graph.node_children[n]; c < graph.node_children[n + 1]; ++c) {
        const uint32_t child = graph.children[c];
        if (child == kNone) {
          usable = false;
        } else if ((child & SerializedGraph::kLiteralBit) == 0) {
          list.push_back(child);
        }
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      child_classes_.insert(child_classes_.end(), list.begin(), list.end());
      first_child_.push_back(static_cast<uint32_t>(child_classes_.size()));
      allowed.push_back(usable);
      cost.push_back(options.node_cost ? options.node_cost(n) : graph.node_cost[n]);
    }
  }

  std::span<const uint32_t> children(uint32_t node) const {
    return {child_classes_.data() + first_child_[node],
            first_child_[node + 1] - first_child_[node]};
  }
  uint32_t first_node(uint32_t c) const { return graph_.class_nodes[c]; }
  uint32_t end_node(uint32_t c) const { return graph_.class_nodes[c + 1]; }
  uint32_t num_classes() const { return graph_.num_classes(); }
  uint32_t num_nodes() const { return graph_.num_nodes(); }

  std::vector<uint64_t> cost;
  std::vector<bool> allowed;

 private:
  const SerializedGraph& graph_;
  std::vector<uint32_t> first_child_;
  std::vector<uint32_t> child_classes_;
};

using Choice = std::vector<uint32_t>;

/// The cheapest tree of every class: a start that has no cycles.
Choice cheapest_trees(const Problem& problem) {
  struct Entry {
    uint64_t cost;
    uint32_t node;
    uint32_t owner;
    bool operator>(const Entry& o) const { return std::tie(cost, node) > std::tie(o.cost, o.node); }
  };
  Choice choice(problem.num_classes(), kNone);
  std::vector<uint64_t> total(problem.num_classes(), 0);
  std::vector<uint32_t> waiting(problem.num_nodes(), 0), owner(problem.num_nodes(), 0);
  std::vector<std::vector<uint32_t>> users(problem.num_classes());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (uint32_t c = 0; c < problem.num_classes(); ++c) {
    for (uint32_t n = problem.first_node(c); n < problem.end_node(c); ++n) {
      owner[n] = c;
      if (!problem.allowed[n]) continue;
      waiting[n] = static_cast<uint32_t>(problem.children(n).size());
      for (const uint32_t child : problem.children(n)) users[child].push_back(n);
      if (waiting[n] == 0) queue.push({problem.cost[n], n, c});
    }
  }
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    if (choice[entry.owner] != kNone) continue;
    choice[entry.owner] = entry.node;
    total[entry.owner] = entry.cost;
    for (const uint32_t user : users[entry.owner]) {
      if (--waiting[user] != 0) continue;
      uint64_t sum = problem.cost[user];
      for (const uint32_t child : problem.children(user))
        sum = Extractor::add_costs(sum, total[child]);
      queue.push({sum, user, owner[user]});
    }
  }
  return choice;
}

/// Classes a choice needs, children before parents; empty if it has a cycle or a gap.
std::vector<uint32_t> needed_classes(const Problem& problem, const Choice& choice,
                                     std::span<const uint32_t> roots) {
  enum : uint8_t { kNew, kOpen, kClosed };
  std::vector<uint8_t> state(problem.num_classes(), kNew);
  std::vector<uint32_t> order;
  std::vector<std::pair<uint32_t, uint32_t>> stack;
  for (const uint32_t root : roots) {
    if (state[root] == kNew) stack.push_back({root, 0});
    while (!stack.empty()) {
      auto& [c, next] = stack.back();
      if (choice[c] == kNone) return {};
      state[c] = kOpen;
      const auto children = problem.children(choice[c]);
      if (next == children.size()) {
        state[c] = kClosed;
        order.push_back(c);
        stack.pop_back();
        continue;
      }
      const uint32_t child = children[next++];
      if (state[child] == kOpen) return {};
      if (state[child] == kNew) stack.push_back({child, 0});
    }
  }
  return order;
}

uint64_t total_cost(const Problem& problem, const Choice& choice,
                    std::span<const uint32_t> classes) {
  uint64_t total = 0;
  for (const uint32_t c : classes) total = Extractor::add_costs(total, problem.cost[choice[c]]);
  return total;
}

/// Local search: a class takes another node whenever that makes the whole cheaper.
void improve(const Problem& problem, std::span<const uint32_t> roots, Choice& choice) {
  constexpr uint32_t kMaxPasses = 8;
  constexpr uint64_t kMaxWork = 200000000;
  uint64_t work = 0;
  std::vector<uint32_t> classes = needed_classes(problem, choice, roots);
  uint64_t best = total_cost(problem, choice, classes);
  for (uint32_t pass = 0; pass < kMaxPasses; ++pass) {
    bool improved = false;
    // Parents first: a better root makes questions further down disappear.
    const std::vector<uint32_t> order(classes.rbegin(), classes.rend());
    for (const uint32_t c : order) {
      const uint32_t first = problem.first_node(c), last = problem.end_node(c);
      if (last - first < 2) continue;
      for (uint32_t n = first; n < last; ++n) {
        const uint32_t old = choice[c];
        if (n == old || !problem.allowed[n]) continue;
        if ((work += classes.size()) > kMaxWork) return;
        choice[c] = n;
        std::vector<uint32_t> tried = needed_classes(problem, choice, roots);
        const uint64_t cost = tried.empty() ? UINT64_MAX : total_cost(problem, choice, tried);
        if (tried.empty() || cost >= best) {
          choice[c] = old;
          continue;
        }
        best = cost;
        classes = std::move(tried);
        improved = true;
      }
    }
    if (!improved) return;
  }
}

/// Branch and bound over the classes that become needed.
class ExactSearch {
 public:
  ExactSearch(const Problem& problem, std::span<const uint32_t> roots, Choice& best, uint64_t cost,
              uint64_t steps)
      : problem_(problem), roots_(roots), best_(best), best_cost_(cost), steps_(steps) {
    cheapest_.assign(problem.num_classes(), UINT64_MAX);
    for (uint32_t c = 0; c < problem.num_classes(); ++c)
      for (uint32_t n = problem.first_node(c); n < problem.end_node(c); ++n)
        if (problem.allowed[n]) cheapest_[c] = std::min(cheapest_[c], problem.cost[n]);
  }

  /// True if the search ended within its steps: the best is then the optimum.
  bool run() {
    Choice choice(problem_.num_classes(), kNone);
    std::vector<bool> needed(problem_.num_classes(), false);
    std::vector<uint32_t> open;
    uint64_t bound = 0;
    for (const uint32_t root : roots_) {
      if (needed[root]) continue;
      needed[root] = true;
      open.push_back(root);
      bound = Extractor::add_costs(bound, cheapest_[root]);
    }
    return branch(choice, needed, open, 0, bound);
  }

  uint64_t cost() const { return best_cost_; }

 private:
  /// `bound`: cost of the choices made plus the least each open class can cost.
  bool branch(Choice& choice, std::vector<bool>& needed, std::vector<uint32_t>& open, size_t next,
              uint64_t bound) {
    if (steps_ == 0) return false;
    --steps_;
    if (bound >= best_cost_) return true;
    if (next == open.size()) {
      if (needed_classes(problem_, choice, roots_).empty()) return true;  // a cycle
      best_ = choice;
      best_cost_ = bound;
      return true;
    }
    const uint32_t c = open[next];
    for (uint32_t n = problem_.first_node(c); n < problem_.end_node(c); ++n) {
      if (!problem_.allowed[n]) continue;
      const size_t size = open.size();
      uint64_t cost = Extractor::add_costs(bound, problem_.cost[n] - cheapest_[c]);
      for (const uint32_t child : problem_.children(n)) {
        if (needed[child]) continue;
        needed[child] = true;
        open.push_back(child);
        cost = Extractor::add_costs(cost, cheapest_[child]);
      }
      choice[c] = n;
      const bool ended = branch(choice, needed, open, next + 1, cost);
      choice[c] = kNone;
      while (open.size() > size) {
        needed[open.back()] = false;
        open.pop_back();
      }
      if (!ended) return false;
    }
    return true;
  }

  const Problem& problem_;
  std::span<const uint32_t> roots_;
  Choice& best_;
  uint64_t best_cost_;
  uint64_t steps_;
  std::vector<uint64_t> cheapest_;
};

/// The exact search recurses once per needed class.
constexpr uint32_t kMaxExactClasses = 2000;

}  // namespace

std::optional<DagChoice> extract_dag(const SerializedGraph& graph, std::span<const uint32_t> roots,
                                     const DagOptions& options) {
  const Problem problem(graph, options);
  Choice choice = cheapest_trees(problem);
  for (const uint32_t root : roots)
    if (root >= choice.size() || choice[root] == kNone) return std::nullopt;
  improve(problem, roots, choice);
  DagChoice result;
  result.cost = total_cost(problem, choice, needed_classes(problem, choice, roots));
  if (options.exact_steps > 0 && problem.num_classes() <= kMaxExactClasses) {
    ExactSearch exact(problem, roots, choice, result.cost, options.exact_steps);
    result.optimal = exact.run();
    result.cost = exact.cost();
  }
  result.node_of_class.assign(problem.num_classes(), kNone);
  for (const uint32_t c : needed_classes(problem, choice, roots))
    result.node_of_class[c] = choice[c];
  return result;
}

}  // namespace luminal::egraph
