#include "luminal/compiler/labels.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace luminal::compiler {
namespace {

using graph::NodeId;

constexpr size_t kMostWords = 6;

bool contains(std::span<const NodeId> nodes, NodeId id) {
  return std::binary_search(nodes.begin(), nodes.end(), id);
}

/// Ops that move data or are known before anything runs say nothing of a kernel.
bool is_silent(graph::Op op) {
  return op == graph::Op::kConstant || op == graph::Op::kIota || op == graph::Op::kCopy ||
         op == graph::Op::kCast;
}

bool is_in(const kernel::NamedRegion& region, NodeId id) {
  return std::find(region.inside.begin(), region.inside.end(), id) != region.inside.end();
}

/// The product that a sum of products adds up.
std::optional<NodeId> product_summed(const kernel::Program& program, NodeId id) {
  const graph::Node& node = program.node(id);
  if (node.op != graph::Op::kSum) return std::nullopt;
  const NodeId summed = node.operands[0].node;
  if (program.node(summed).op != graph::Op::kMul) return std::nullopt;
  return summed;
}

/// The one product of two values that a definition is about: that of a convolution or a matmul, not
/// the squares of a norm. Nothing if there are several, or none.
std::optional<NodeId> product_of(const kernel::Program& program,
                                 const kernel::NamedRegion& region) {
  std::optional<NodeId> found;
  const auto look_at = [&](NodeId id) {
    const std::optional<NodeId> product = product_summed(program, id);
    if (!product) return true;
    const std::vector<graph::Edge>& factors = program.node(*product).operands;
    if (factors[0].node == factors[1].node) return true;
    return !std::exchange(found, id).has_value();
  };
  const bool single =
      look_at(region.result) && std::all_of(region.inside.begin(), region.inside.end(), look_at);
  return single ? found : std::nullopt;
}

/// Finds the words of one kernel, in the order of the graph.
class KernelWords {
 public:
  KernelWords(const kernel::Program& program, std::span<const NodeId> inside,
              const GraphTerms& terms)
      : program_(program), inside_(inside), terms_(terms), regions_(program.named_regions()) {}

  std::vector<std::string> run() {
    // The widest definition says most about a node.
    std::vector<size_t> order;
    for (size_t k = regions_.size(); k-- > 0;)  // of equal ones the last has the others inside
      if (contains(inside_, regions_[k].result)) order.push_back(k);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return regions_[a].inside.size() > regions_[b].inside.size();
    });
    for (const bool whole : {true, false})
      for (const size_t k : order) add_definition(regions_[k], whole);
    add_products();
    for (const NodeId id : inside_)
      if (covered_.count(id) == 0 && !is_silent(program_.node(id).op)) add_rest(id);
    if (words_.empty())
      for (const NodeId id : inside_) add_op(id);
    return sorted();
  }

 private:
  void add_op(NodeId id) {
    words_.emplace_back(id, std::string(graph::name(program_.node(id).op)));
  }

  /// Whether nothing is computed by these nodes: other kernels did, and left the result in pieces.
  bool is_moved_only(const std::set<NodeId>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) { return is_silent(program_.node(id).op); });
  }

  /// What a kernel has of a definition whose result it has.
  struct Reach {
    std::set<NodeId> nodes;
    bool whole = true;  ///< nothing of it is read from memory
  };

  /// Up to values that are not of the definition. Rules may have written it in other words.
  Reach reach_of(const kernel::NamedRegion& region) const {
    Reach reach{{region.result}, true};
    std::vector<NodeId> pending{region.result};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      for (const graph::Edge& edge : program_.node(id).operands) {
        const bool of_it = is_in(region, edge.node);
        if (!contains(inside_, edge.node)) {
          if (of_it && !kernel::is_source(program_.node(edge.node))) reach.whole = false;
        } else if ((of_it || terms_.is_new(edge.node)) && reach.nodes.insert(edge.node).second) {
          pending.push_back(edge.node);
        }
      }
    }
    return reach;
  }

  /// A definition whose result is here, if all of it is, or if something of it is elsewhere.
  void add_definition(const kernel::NamedRegion& region, bool whole) {
    const bool is_known = covered_.count(region.result) != 0;
    if (is_known && (whole || begun_.count(region.result) != 0)) return;
    const Reach reach = reach_of(region);
    if (reach.whole != whole || (is_moved_only(reach.nodes) && !region.inside.empty())) return;
    if (!whole && only_ends(region)) return;
    const std::string name = terms_.name(region.definition);
    words_.emplace_back(region.result, whole ? name : "part of " + name);
    if (!is_known) covered_.insert(reach.nodes.begin(), reach.nodes.end());
    if (whole) return;
    begun_.insert(region.result);
    parts_.insert(&region);
  }

  /// Whether the product of a definition is computed elsewhere, and its kernel has the name: here
  /// is what is done to the sums, such as a bias.
  bool only_ends(const kernel::NamedRegion& region) const {
    if (!contains(inside_, region.result)) return false;
    const std::optional<NodeId> product = product_of(program_, region);
    if (!product || contains(inside_, *product)) return false;
    const auto reduces_here = [&](NodeId id) {
      return contains(inside_, id) && graph::is_reduction(program_.node(id).op);
    };
    return !reduces_here(region.result) &&
           std::none_of(region.inside.begin(), region.inside.end(), reduces_here);
  }

  /// The narrowest definition that has a node within, not as its result.
  const kernel::NamedRegion* narrowest_around(NodeId id) const {
    const kernel::NamedRegion* narrowest = nullptr;
    for (const kernel::NamedRegion& region : regions_)
      if (is_in(region, id) &&
          (narrowest == nullptr || region.inside.size() < narrowest->inside.size()))
        narrowest = &region;
    return narrowest;
  }

  /// The narrowest definition that something made by rules is needed for.
  const kernel::NamedRegion* region_of_origin(NodeId id) const {
    const NodeId origin = terms_.origin(id);
    const kernel::NamedRegion* narrowest = nullptr;
    for (const kernel::NamedRegion& region : regions_) {
      if (narrowest != nullptr && region.inside.size() >= narrowest->inside.size()) continue;
      const bool is_for_it =
          terms_.origin(region.result) == origin ||
          std::any_of(region.inside.begin(), region.inside.end(),
                      [&](NodeId each) { return terms_.origin(each) == origin; });
      if (is_for_it) narrowest = &region;
    }
    return narrowest;
  }

  /// Sums of products whose definition ends elsewhere, or that no definition has as they are: rules
  /// made them, for one or for several.
  void add_products() {
    for (const NodeId id : inside_) {
      const std::optional<NodeId> product = product_summed(program_, id);
      if (!product || covered_.count(id) != 0 || covered_.count(*product) != 0) continue;
      if (!contains(inside_, *product)) continue;
      const bool is_new = terms_.is_new(id);
      const kernel::NamedRegion* region = is_new ? region_of_origin(id) : narrowest_around(id);
      // A piece of something that is about more than this product is told as one.
      if (!is_new && region != nullptr && product_of(program_, *region) != id) continue;
      words_.emplace_back(id, region == nullptr ? "product" : terms_.name(region->definition));
      covered_.insert({id, *product});
      if (!is_new && region != nullptr) parts_.insert(region);
    }
  }

  /// An op beside the definitions, or a piece of one that another kernel ends.
  void add_rest(NodeId id) {
    const kernel::NamedRegion* narrowest = narrowest_around(id);
    if (narrowest == nullptr || only_ends(*narrowest)) return add_op(id);
    if (parts_.insert(narrowest).second)
      words_.emplace_back(id, "part of " + terms_.name(narrowest->definition));
  }

  std::vector<std::string> sorted() {
    for (auto& [id, word] : words_) id = terms_.origin(id);
    std::sort(words_.begin(), words_.end());
    std::vector<std::string> result;
    for (auto& [id, word] : words_) result.push_back(std::move(word));
    return result;
  }

  const kernel::Program& program_;
  std::span<const NodeId> inside_;
  const GraphTerms& terms_;
  std::span<const kernel::NamedRegion> regions_;
  std::vector<std::pair<NodeId, std::string>> words_;
  std::set<NodeId> covered_;
  std::set<NodeId> begun_;  // results of definitions that other kernels have parts of
  std::set<const kernel::NamedRegion*> parts_;  // definitions that are named as such
};

}  // namespace

std::vector<NodeId> nodes_inside(const kernel::Program& program, std::span<const NodeId> stored,
                                 std::span<const NodeId> read) {
  std::set<NodeId> inside(stored.begin(), stored.end());
  std::vector<NodeId> pending(stored.begin(), stored.end());
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    for (const graph::Edge& edge : program.node(id).operands) {
      const bool border = std::find(read.begin(), read.end(), edge.node) != read.end();
      if (!border && inside.insert(edge.node).second) pending.push_back(edge.node);
    }
  }
  return {inside.begin(), inside.end()};
}

std::vector<std::string> words_of(const kernel::Program& program, std::span<const NodeId> inside,
                                  const GraphTerms& terms) {
  return KernelWords(program, inside, terms).run();
}

std::string label_of(std::span<const std::string> words) {
  std::string text;
  for (size_t k = 0; k < words.size() && k < kMostWords; ++k)
    text += (k > 0 ? " + " : "") + words[k];
  return words.size() > kMostWords ? text + " + ..." : text;
}

}  // namespace luminal::compiler
