#include "luminal/compiler/kernel_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace luminal::compiler {
namespace {

using graph::Edge;
using graph::Node;
using graph::NodeId;

class DefinitionBuilder {
 public:
  DefinitionBuilder(const kernel::Program& program, std::span<const NodeId> stored,
                    std::span<const NodeId> read)
      : program_(program), stored_(stored), read_(read) {}

  Definition run() {
    for (const NodeId id : stored_) add_with_operands(id);
    for (const NodeId id : stored_)
      result_.graph.add_output(name_of(id), result_.graph.whole(added_.at(id)));
    return std::move(result_);
  }

 private:
  bool is_border(NodeId id) const {
    if (std::find(stored_.begin(), stored_.end(), id) != stored_.end()) return false;
    return std::find(read_.begin(), read_.end(), id) != read_.end() ||
           kernel::is_opaque(program_.node(id));
  }

  /// Operands first. Programs need not be in any order, and may be too deep to recurse.
  void add_with_operands(NodeId root) {
    std::vector<NodeId> pending{root};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      if (added_.contains(id)) {
        pending.pop_back();
        continue;
      }
      const size_t before = pending.size();
      if (!is_border(id))
        for (const Edge& edge : program_.node(id).operands)
          if (!added_.contains(edge.node)) pending.push_back(edge.node);
      if (pending.size() > before) continue;
      pending.pop_back();
      add(id);
    }
  }

  void add(NodeId id) {
    const Node& node = program_.node(id);
    if (is_border(id)) {
      added_[id] = result_.graph.add_input(name_of(id), node.dtype(), node.shape());
      result_.inputs.push_back(id);
      return;
    }
    std::vector<Edge> operands = node.operands;
    for (Edge& edge : operands) edge.node = added_.at(edge.node);
    added_[id] = result_.graph.add_like(node, std::move(operands));
  }

  /// Inputs keep their names; a name that is taken already gets marks after it.
  std::string name_of(NodeId id) const {
    const Node& node = program_.node(id);
    std::string name = node.op == graph::Op::kInput ? node.attribute<graph::InputAttribute>().name
                                                    : fmt::format("value_{}", id.value);
    while (result_.graph.find_input(name)) name += '_';
    return name;
  }

  const kernel::Program& program_;
  std::span<const NodeId> stored_;
  std::span<const NodeId> read_;
  Definition result_;
  std::map<NodeId, NodeId> added_;
};

}  // namespace

Definition definition_of(const kernel::Program& program, std::span<const NodeId> stored,
                         std::span<const NodeId> read) {
  return DefinitionBuilder(program, stored, read).run();
}

}  // namespace luminal::compiler
