// The solver behind typecheck.h: type variables, calls with their remaining alternatives, and
// equalities, iterated until nothing changes. Internal to the type checker.
#pragma once

#include <vector>

#include "luminal/egraph/typecheck.h"

namespace luminal::egraph {

/// Collects constraints over TypedExpr nodes, whose addresses must stay put, and solves them.
class TypeSolver {
 public:
  explicit TypeSolver(Database& db) : db_(db) {}

  /// A type variable, known or not yet.
  uint32_t fresh(SortId sort = kNone);
  SortId type(uint32_t variable) const { return types_[variable]; }

  /// Adds a call and its alternatives: `tables_only` leaves out primitives.
  void add_call(TypedExpr& node, Place place, bool tables_only);
  void add_equality(uint32_t a, uint32_t b, const Expr& where);
  /// Assigns every type variable or throws ProgramError (type).
  void solve();

 private:
  struct Alternative {
    bool is_function;
    uint32_t id;
  };
  struct Call {
    TypedExpr* node;
    std::vector<Alternative> alternatives;
    bool resolved = false;
  };
  struct Equality {
    uint32_t a;
    uint32_t b;
    const Expr* where;
  };
  /// The table or primitive a function value names, with the sorts of all its inputs.
  struct NamedTarget {
    FunctionTarget target;
    bool found = false;
  };

  bool assign(uint32_t variable, SortId sort);
  bool fits(uint32_t variable, SortId sort) const {
    return types_[variable] == kNone || types_[variable] == sort;
  }
  SortId out_type(const TypedExpr& node) const { return types_[node.type_variable]; }

  bool possible(const Call& call, const Alternative& alternative) const;
  bool possible(const TypedExpr& node, const Signature& signature) const;
  bool possible_same(const TypedExpr& node, const Signature& signature) const;
  NamedTarget named_target(const TypedExpr& node, SortId fn) const;
  /// The sorts of all inputs with which a primitive takes `inputs`, where kNone stands for a sort
  /// that is not known yet; nullopt if it does not take them.
  std::optional<std::vector<SortId>> completed(const Primitive& primitive,
                                               const std::vector<SortId>& inputs,
                                               SortId output) const;

  bool step(Call& call);
  bool apply(Call& call, const Alternative& alternative);
  bool apply_signature(TypedExpr& node, const Signature& signature);
  bool step(const Equality& equality);
  void make_function_value(TypedExpr& node, SortId fn);
  void finish(Call& call);

  [[noreturn]] void fail(const Call& call, const std::vector<Alternative>& tried) const;
  std::string complaint(const Call& call, const Alternative& alternative) const;

  Database& db_;
  std::vector<SortId> types_;
  std::vector<Call> calls_;
  std::vector<Equality> equalities_;
};

}  // namespace luminal::egraph
