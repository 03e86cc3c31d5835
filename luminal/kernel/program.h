// What kernels are derived from: nodes that refer to each other by id, one definition each. A graph
// is such a program; so is an e-graph with one e-node chosen per class (ids are classes then),
// which is why ids need not be in any order. Nothing here is copied per candidate.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "luminal/graph/graph.h"
#include "luminal/support/hash.h"

namespace luminal::kernel {

using graph::NodeId;

/// The nodes between the operands of a named definition and its result.
struct NamedRegion {
  NodeId result;
  std::vector<NodeId> inside;         ///< without the result
  size_t definition = 0;              ///< which of the graph's named definitions it is
  std::vector<NodeId> operands = {};  ///< what it is applied to
};

/// One definition per id, and the ids that must be computed.
class Program {
 public:
  virtual ~Program() = default;
  /// Ids are below this.
  virtual size_t size() const = 0;
  /// The chosen definition. Operands refer to ids of this program.
  virtual const graph::Node& node(NodeId id) const = 0;
  /// What is asked for: outputs, and nodes that run for their effect.
  virtual std::span<const NodeId> roots() const = 0;
  /// Which of its definitions a node has now, where a program can change: equal numbers mean that
  /// kernels found before still stand.
  virtual size_t variant(NodeId /*id*/) const { return 0; }
  /// Definitions that people think of as one thing: hints for a search, never needed.
  virtual std::span<const NamedRegion> named_regions() const { return {}; }
  /// Nodes that are computed before this one although it does not read them: what stands between is
  /// not part of the program.
  virtual std::span<const NodeId> awaited(NodeId /*id*/) const { return {}; }
  /// Which part of the program stores a node, where parts run differently often. One launch never
  /// stores nodes of two parts.
  virtual uint32_t part(NodeId /*id*/) const { return 0; }
  /// How often the kernel that stores a node runs: what its cost counts. One launch never stores
  /// nodes that run differently often.
  virtual double repeats(NodeId /*id*/) const { return 1.0; }
};

/// A graph as a program. Outputs seen through a view become copies, with ids after the graph's.
class GraphProgram : public Program {
 public:
  /// The graph must outlive this.
  explicit GraphProgram(const graph::Graph& graph);

  const graph::Graph& graph() const { return graph_; }
  size_t size() const override { return graph_.size() + copies_.size(); }
  const graph::Node& node(NodeId id) const override;
  std::span<const NodeId> roots() const override { return roots_; }
  std::span<const NamedRegion> named_regions() const override { return regions_; }
  /// The node that holds output k, in the graph's order.
  NodeId output(size_t k) const { return outputs_[k]; }

 private:
  const graph::Graph& graph_;
  std::deque<graph::Node> copies_;
  std::vector<NodeId> roots_;
  std::vector<NodeId> outputs_;
  std::vector<NamedRegion> regions_;
};

/// True for nodes that no kernel looks through: inputs, constant arrays, scatter, argsort, custom
/// functions, effects and graph breaks. They are always materialised.
bool is_opaque(const graph::Node& node);
/// True for opaque nodes that are data before anything runs: inputs and constant arrays.
bool is_source(const graph::Node& node);
/// True for nodes whose operands must be materialised, because whoever runs them reads memory.
bool reads_memory(const graph::Node& node);
/// True for scalar constants and iotas, which are computed where they are needed.
bool is_free_to_compute(const graph::Node& node);

/// What a node does, apart from which nodes it reads and what data it holds. Not for custom
/// functions and the like, which differ in more.
support::Hash128 definition_hash(const graph::Node& node);

/// The nodes that the roots need, operands (and what else is awaited) before users; nothing if the
/// definitions are cyclic.
std::optional<std::vector<NodeId>> topological_order(const Program& program);

/// The nodes that are materialised, by id.
class Cut {
 public:
  explicit Cut(size_t size) : in_(size, false) {}
  bool contains(NodeId id) const { return in_[id.value]; }
  void insert(NodeId id) { in_[id.value] = true; }
  void erase(NodeId id) { in_[id.value] = false; }
  size_t size() const { return in_.size(); }
  bool operator==(const Cut&) const = default;

 private:
  std::vector<bool> in_;
};

/// The nodes that every cut has: roots, opaque nodes, and what those read from memory.
Cut smallest_cut(const Program& program, std::span<const NodeId> order);
/// Everything but scalar constants and iotas.
Cut largest_cut(const Program& program, std::span<const NodeId> order);
/// The nodes that may be in a cut or not.
std::vector<NodeId> optional_nodes(const Program& program, std::span<const NodeId> order);

}  // namespace luminal::kernel
