#include "luminal/compiler/labels.h"

#include <algorithm>
#include <optional>
#include <set>

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

/// The product that a sum of products adds up.
std::optional<NodeId> product_summed(const kernel::Program& program, NodeId id) {
  const graph::Node& node = program.node(id);
  if (node.op != graph::Op::kSum) return std::nullopt;
  const NodeId summed = node.operands[0].node;
  if (program.node(summed).op != graph::Op::kMul) return std::nullopt;
  return summed;
}

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
  // Which regions are whole inside; the widest one says most about a node.
  std::vector<std::pair<NodeId, std::string>> words;
  std::set<NodeId> covered;
  const std::span<const kernel::NamedRegion> regions = program.named_regions();
  std::vector<size_t> order;
  for (size_t k = 0; k < regions.size(); ++k) order.push_back(k);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return regions[a].inside.size() > regions[b].inside.size();
  });
  for (const size_t k : order) {
    const kernel::NamedRegion& region = regions[k];
    const bool whole = contains(inside, region.result) && covered.count(region.result) == 0 &&
                       std::all_of(region.inside.begin(), region.inside.end(),
                                   [&](NodeId id) { return contains(inside, id); });
    if (!whole) continue;
    words.push_back({region.result, terms.name(region.definition)});
    covered.insert(region.result);
    covered.insert(region.inside.begin(), region.inside.end());
  }
  // A sum of products that has no name was made by rules.
  for (const NodeId id : inside) {
    const std::optional<NodeId> product = product_summed(program, id);
    if (!product || covered.count(id) != 0 || covered.count(*product) != 0) continue;
    if (!contains(inside, *product)) continue;
    words.push_back({id, "product"});
    covered.insert({id, *product});
  }
  for (const NodeId id : inside)
    if (covered.count(id) == 0 && !is_silent(program.node(id).op))
      words.push_back({id, std::string(graph::name(program.node(id).op))});
  if (words.empty())
    for (const NodeId id : inside)
      words.push_back({id, std::string(graph::name(program.node(id).op))});
  for (auto& [id, word] : words) id = terms.origin(id);
  std::sort(words.begin(), words.end());
  std::vector<std::string> result;
  for (auto& [id, word] : words) result.push_back(std::move(word));
  return result;
}

std::string label_of(std::span<const std::string> words) {
  std::string text;
  for (size_t k = 0; k < words.size() && k < kMostWords; ++k)
    text += (k > 0 ? " + " : "") + words[k];
  return words.size() > kMostWords ? text + " + ..." : text;
}

}  // namespace luminal::compiler
