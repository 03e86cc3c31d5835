// Reading an e-graph: its classes, the nodes of a class, and the nodes that use it, all in a fixed
// order. The compact array form is what searches outside the engine work on.
#pragma once

#include <string>
#include <vector>

#include "luminal/egraph/database.h"
#include "luminal/egraph/extract.h"

namespace luminal::egraph {

/// Rows of constructor tables whose value is the class, subsumed ones included.
std::vector<NodeRef> nodes_of(Database& db, SortId sort, Value id);
/// Rows of constructor tables that have the class among their inputs.
std::vector<NodeRef> parents_of(Database& db, Value id);
/// Every class of a sort that has a node, ascending.
std::vector<Value> classes_of(const Database& db, SortId sort);

/// An e-graph as arrays. Nodes of one class lie together; children are indexes of classes, or of
/// literals where the top bit is set.
struct SerializedGraph {
  static constexpr uint32_t kLiteralBit = uint32_t{1} << 31;
  struct Literal {
    SortId sort;
    Value value;
  };

  std::vector<Value> class_ids;           // ascending: class index -> id
  std::vector<SortId> class_sorts;        // per class
  std::vector<uint32_t> class_nodes;      // per class, and one past the end: first node
  std::vector<FunctionId> node_function;  // per node; kNone: a container
  std::vector<uint32_t> node_row;         // per node: its row, or the container's id
  std::vector<uint64_t> node_cost;        // per node, without children
  std::vector<uint8_t> node_subsumed;     // per node
  std::vector<uint32_t> node_children;    // per node, and one past the end: first child
  std::vector<uint32_t> children;
  std::vector<Literal> literals;
  std::vector<uint32_t> roots;  // classes of globals, in the order of their declaration
  std::vector<std::string> root_names;

  uint32_t num_classes() const { return static_cast<uint32_t>(class_ids.size()); }
  uint32_t num_nodes() const { return static_cast<uint32_t>(node_function.size()); }
  /// Index of a class by id, kNone if it has no node.
  uint32_t class_index(Value id) const;
};

/// The arrays of a database. Unextractable constructors and plain functions are left out.
SerializedGraph serialize(Database& db);
/// JSON in the shape that e-graph viewers and extraction tools read: nodes, root_eclasses,
/// class_data.
std::string to_json(Database& db);
/// Everything as a program that builds the same e-graph: sorts, tables, rules, rows. It runs in the
/// original too if there are no host sorts.
std::string to_program(Database& db);

}  // namespace luminal::egraph
