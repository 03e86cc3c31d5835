// Extraction: the cheapest term of a class, where a term costs its own cost plus the sum of its
// children's (a tree: shared parts count each time). Cycles are never chosen. For costs that count
// shared parts once see dag_extract.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "luminal/egraph/database.h"

namespace luminal::egraph {

/// A term in a TermDag.
using TermId = uint32_t;

/// Terms with shared parts: each distinct term is stored once.
class TermDag {
 public:
  struct Node {
    std::string head;  // a literal's text or a function's name
    bool is_literal = false;
    std::vector<TermId> args;
  };
  TermId add(Node node);
  const Node& operator[](TermId id) const { return nodes_[id]; }
  /// The term in program text.
  std::string text(TermId id) const;
  /// Order by text shape: how sets are printed.
  bool less(TermId a, TermId b) const;
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }

 private:
  std::vector<Node> nodes_;
  std::unordered_map<std::string, TermId> index_;
};

/// One row of a constructor table: what a class can be made of.
struct NodeRef {
  FunctionId function = kNone;
  uint32_t row = kNone;
  bool operator==(const NodeRef&) const = default;
};

/// What extraction may change: own costs of nodes, and nodes it must not use.
struct ExtractOptions {
  /// Cost of a row without its children; the declared cost if absent.
  std::function<uint64_t(const NodeRef&)> node_cost;
  /// Rows that must not be chosen.
  std::function<bool(const NodeRef&)> forbidden;
};

/// A term and its cost.
struct Extracted {
  uint64_t cost = 0;
  TermId term = 0;
};

/// Costs of all classes of a database; lives as long as the database does not change.
class Extractor {
 public:
  explicit Extractor(Database& db, ExtractOptions options = {});

  /// The cheapest term of a value; nullopt if the class has none.
  std::optional<Extracted> best(SortId sort, Value value);
  /// Up to `count` terms of a class, one per node, cheapest first.
  std::vector<Extracted> variants(SortId sort, Value value, uint64_t count);
  /// The chosen node of a class, if it has one.
  std::optional<NodeRef> chosen(Value id) const;
  /// Cost of a value, nullopt if it cannot be extracted.
  std::optional<uint64_t> cost(SortId sort, Value value) const;
  TermDag& terms() { return terms_; }

  /// Adding that stops at the largest number instead of wrapping around.
  static uint64_t add_costs(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
  }

 private:
  /// Something a class can be made of: a row, or a container with its elements.
  struct Candidate {
    Value id;          // the class
    NodeRef node;      // function kNone: the container `id`
    uint64_t cost;     // own cost, base-value children included
    uint32_t waiting;  // id children not settled yet
  };
  struct ClassState {
    uint64_t cost = 0;
    uint32_t rank = kNone;  // order of settling: children come before parents
    NodeRef node;
    bool settled = false;
  };
  void collect();
  void collect_row(const NodeRef& node);
  void collect_container(Value id);
  void settle();
  bool usable(const NodeRef& node) const;
  /// Calls visit(sort, value, times) for each child.
  template <typename Visit>
  void for_each_child(Value id, const NodeRef& node, Visit visit) const;
  TermId build_value(SortId sort, Value value);
  TermId build_node(Value id, const NodeRef& node);
  void sort_entries(std::vector<TermId>& args) const;
  void build_below(Value id, const NodeRef& node);

  Database& db_;
  ExtractOptions options_;
  TermDag terms_;
  std::vector<Candidate> candidates_;
  std::vector<std::vector<uint32_t>> used_by_;  // per id: candidates that wait for it, per use
  std::vector<ClassState> classes_;
  std::unordered_map<Value, TermId> built_;
};

/// Text of a base value, such as `3`, `"a"` or `(bigint 5)`.
std::string value_text(const Database& db, SortId sort, Value value);

}  // namespace luminal::egraph
