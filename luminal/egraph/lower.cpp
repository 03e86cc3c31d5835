#include "luminal/egraph/lower.h"

#include <algorithm>
#include <map>

#include "luminal/support/check.h"

namespace luminal::egraph {
namespace {

/// Builds a query: unknowns are pattern variables and the results of calls, joined by equalities.
class QueryBuilder {
 public:
  QueryBuilder(Database& db, const TypedRule& typed, GlobalUse globals)
      : db_(db), typed_(typed), globals_(globals) {
    for (uint32_t i = 0; i < typed.variables.size(); ++i) fresh();
  }

  void add_facts() {
    bool calls_table = false;
    for (const TypedFact& fact : typed_.facts) {
      const Term left = flatten(fact.lhs);
      if (fact.rhs) unify(left, flatten(*fact.rhs));
      const bool calls = is_table_call(fact.lhs) || (fact.rhs && is_table_call(*fact.rhs));
      if (&fact == &typed_.facts[0] || (calls && !calls_table)) query_.root = left;
      calls_table |= calls;
    }
  }

  /// The unknown that holds a global, with its table atom.
  Term global(uint32_t index) {
    if (globals_ == GlobalUse::kValue) {
      const Global& global = db_.globals[index];
      return Term::constant(db_.canonical(global.sort, global.value));
    }
    const FunctionId function = db_.global_table(index);
    for (const TableAtom& atom : query_.atoms)
      if (atom.function == function) return atom.terms[0];
    const Term out = fresh();
    query_.atoms.push_back({function, {out}});
    return out;
  }

  void add_globals_of(const TypedExpr& expr) {
    if (expr.kind == TypedExpr::Kind::kGlobal) global(expr.target);
    for (const TypedExpr& arg : expr.args) add_globals_of(arg);
  }

  /// Settles equalities, merges equal calls, refuses ungrounded variables and numbers the slots.
  Query finish(std::vector<Term>& variables) {
    while (merge_equal_calls()) {
    }
    check_grounded();
    number_slots();
    if (!typed_.facts.empty()) query_.root = renumbered(query_.root);
    variables.clear();
    for (uint32_t i = 0; i < typed_.variables.size(); ++i)
      variables.push_back(bound_by_facts(i) ? renumbered(Term::slot(i)) : Term::slot(kNone));
    return std::move(query_);
  }

 private:
  Term fresh() {
    const auto id = static_cast<uint32_t>(parent_.size());
    parent_.push_back(Term::slot(id));
    return Term::slot(id);
  }

  static bool is_table_call(const TypedExpr& expr) {
    return expr.kind == TypedExpr::Kind::kFunction;
  }

  Term resolve(Term term) const {
    while (!term.is_constant && parent_[term.word] != term) term = parent_[term.word];
    return term;
  }

  void unify(Term a, Term b) {
    a = resolve(a);
    b = resolve(b);
    if (a == b) return;
    if (a.is_constant && b.is_constant) {  // never holds; kept as a test that fails at run time
      const uint32_t id = db_.primitives.overloads("value-eq")[0];
      query_.primitives.push_back({db_.primitives.shared(id), {a, b}, Term::constant(kUnitValue)});
      return;
    }
    if (a.is_constant) std::swap(a, b);
    // Older unknowns stay: they are the named variables.
    if (!b.is_constant && a.word < b.word) std::swap(a, b);
    parent_[a.word] = b;
  }

  Term flatten(const TypedExpr& expr) {
    switch (expr.kind) {
      case TypedExpr::Kind::kVariable:
        bound_.insert(bound_.end(), expr.variable);
        return Term::slot(expr.variable);
      case TypedExpr::Kind::kLiteral:
        return Term::constant(expr.literal);
      case TypedExpr::Kind::kGlobal:
        return global(expr.target);
      default:
        break;
    }
    std::vector<Term> terms;
    for (const TypedExpr& arg : expr.args) terms.push_back(flatten(arg));
    const Term out = fresh();
    if (expr.kind == TypedExpr::Kind::kFunction) {
      terms.push_back(out);
      query_.atoms.push_back({expr.target, std::move(terms)});
    } else {
      query_.primitives.push_back({expr.primitive, std::move(terms), out});
    }
    return out;
  }

  /// A call seen before: its head, where its inputs stand, and its output.
  struct Call {
    uint64_t hash;
    uint64_t head;
    std::vector<Term> inputs;
    Term output;
  };

  /// The call with this head and these inputs if there is one among `seen`; else it is added.
  const Call* find_or_add(std::vector<Call>& seen, uint64_t head, const Term* first,
                          const Term* last, Term output) const {
    Call call{mix_hash(0, head), head, {first, last}, output};
    for (Term& input : call.inputs) {
      input = resolve(input);
      call.hash = mix_hash(call.hash, (uint64_t{input.is_constant} << 32) | input.word);
    }
    for (const Call& other : seen)
      if (other.hash == call.hash && other.head == head && other.inputs == call.inputs)
        return &other;
    seen.push_back(std::move(call));
    return nullptr;
  }

  /// One pass of "same head, same inputs: same output". True if it changed something.
  bool merge_equal_calls() {
    bool changed = false;
    std::vector<Call> seen;
    seen.reserve(query_.atoms.size() + query_.primitives.size());
    std::erase_if(query_.atoms, [&](const TableAtom& atom) {
      const Term* terms = atom.terms.data();
      const size_t inputs = atom.terms.size() - 1;
      const Call* same = find_or_add(seen, atom.function, terms, terms + inputs, atom.terms.back());
      if (same == nullptr) return false;
      unify(same->output, atom.terms.back());
      changed = true;
      return true;
    });
    if (query_.primitives.empty()) return changed;
    std::vector<PrimitiveAtom> kept;
    std::vector<PrimitiveAtom> atoms = std::move(query_.primitives);
    query_.primitives.clear();
    std::map<const Primitive*, uint64_t> heads;
    for (PrimitiveAtom& atom : atoms) {
      const uint64_t head =
          (uint64_t{1} << 40) + heads.try_emplace(atom.primitive.get(), heads.size()).first->second;
      const Term* inputs = atom.inputs.data();
      const Call* same = find_or_add(seen, head, inputs, inputs + atom.inputs.size(), atom.output);
      if (same == nullptr) {
        kept.push_back(std::move(atom));
      } else {
        if (resolve(same->output) != resolve(atom.output)) changed = true;
        unify(same->output, atom.output);
      }
    }
    // Contradictions found on the way were appended to query_.primitives.
    query_.primitives.insert(query_.primitives.begin(), std::make_move_iterator(kept.begin()),
                             std::make_move_iterator(kept.end()));
    return changed;
  }

  void check_grounded() const {
    std::vector<bool> grounded(parent_.size(), false);
    const auto is_grounded = [&](Term term) {
      term = resolve(term);
      return term.is_constant || grounded[term.word];
    };
    const auto ground = [&](Term term) {
      term = resolve(term);
      if (!term.is_constant) grounded[term.word] = true;
    };
    for (const TableAtom& atom : query_.atoms)
      for (const Term term : atom.terms) ground(term);
    bool changed = true;
    while (changed) {
      changed = false;
      for (const PrimitiveAtom& atom : query_.primitives) {
        if (is_grounded(atom.output)) continue;
        if (!std::all_of(atom.inputs.begin(), atom.inputs.end(), is_grounded)) continue;
        ground(atom.output);
        changed = true;
      }
    }
    const auto is_computed = [&](uint32_t variable) {
      return std::any_of(query_.primitives.begin(), query_.primitives.end(),
                         [&](const PrimitiveAtom& atom) {
                           return resolve(atom.output) == resolve(Term::slot(variable));
                         });
    };
    // What a primitive would compute is ungrounded because of its inputs: name those first, and
    // names of the text before names that desugaring made.
    for (const bool made : {false, true})
      for (const bool computed : {false, true})
        for (uint32_t i = 0; i < typed_.variables.size(); ++i)
          if (bound_by_facts(i) && !is_grounded(Term::slot(i)) && is_computed(i) == computed &&
              is_made(typed_.variables[i]) == made)
            throw_ungrounded(i);
    for (const PrimitiveAtom& atom : query_.primitives)
      for (const Term input : atom.inputs)
        LUMINAL_CHECK(is_grounded(input), "input of {} is ungrounded", atom.primitive->name);
  }

  /// Whether desugaring gave the name.
  static bool is_made(const std::string& name) { return name != as_written(name); }

  [[noreturn]] void throw_ungrounded(uint32_t variable) const {
    Span span;
    const auto search = [&](const TypedExpr& expr, const auto& self) -> void {
      if (expr.kind == TypedExpr::Kind::kVariable && expr.variable == variable &&
          span.file == nullptr)
        span = expr.source->span;
      for (const TypedExpr& arg : expr.args) self(arg, self);
    };
    for (const TypedFact& fact : typed_.facts) {
      search(fact.lhs, search);
      if (fact.rhs) search(*fact.rhs, search);
    }
    throw type_error(span, "Variable {} is ungrounded", as_written(typed_.variables[variable]));
  }

  bool bound_by_facts(uint32_t variable) const {
    return std::find(bound_.begin(), bound_.end(), variable) != bound_.end();
  }

  Term renumbered(Term term) {
    term = resolve(term);
    if (term.is_constant) return term;
    slots_.resize(parent_.size(), kNone);
    uint32_t& slot = slots_[term.word];
    if (slot == kNone) {
      slot = query_.num_slots++;
      const bool named = term.word < typed_.variables.size();
      query_.names.push_back(named ? typed_.variables[term.word] : "");
    }
    return Term::slot(slot);
  }

  void number_slots() {
    for (TableAtom& atom : query_.atoms)
      for (Term& term : atom.terms) term = renumbered(term);
    for (PrimitiveAtom& atom : query_.primitives) {
      for (Term& term : atom.inputs) term = renumbered(term);
      atom.output = renumbered(atom.output);
    }
  }

  Database& db_;
  const TypedRule& typed_;
  GlobalUse globals_;
  Query query_;
  std::vector<Term> parent_;
  std::vector<uint32_t> bound_;
  std::vector<uint32_t> slots_;  // per unknown, kNone before it has one
};

/// Builds a program from typed actions and expressions.
class ProgramBuilder {
 public:
  /// `variables` maps variables to terms; those bound by lets are filled in on the way.
  ProgramBuilder(Database& db, std::vector<Term> variables, uint32_t num_slots)
      : db_(db), variables_(std::move(variables)) {
    program_.num_slots = num_slots;
  }

  std::map<uint32_t, Term> global_terms;

  Term compile(const TypedExpr& expr) {
    using Op = Instruction::Op;
    switch (expr.kind) {
      case TypedExpr::Kind::kVariable:
        return variables_[expr.variable];
      case TypedExpr::Kind::kLiteral:
        return Term::constant(expr.literal);
      case TypedExpr::Kind::kGlobal:
        return compile_global(expr.target);
      case TypedExpr::Kind::kFunction: {
        const bool is_function = db_.functions[expr.target].is_function();
        return emit(is_function ? Op::kLookup : Op::kLookupOrInsert, expr.target,
                    compile_args(expr), *expr.source);
      }
      case TypedExpr::Kind::kPrimitive:
        break;
    }
    std::vector<Term> args = compile_args(expr);
    const auto index = static_cast<uint32_t>(program_.primitives.size());
    program_.primitives.push_back(expr.primitive);
    return emit(Op::kPrimitive, index, std::move(args), *expr.source);
  }

  void compile(const TypedAction& action) {
    using Op = Instruction::Op;
    switch (action.kind) {
      case Action::Kind::kLet:
        variables_[action.variable] = compile(action.lhs);
        return;
      case Action::Kind::kSet: {
        std::vector<Term> args = compile_args(action.lhs);
        args.push_back(compile(action.rhs));
        emit(Op::kSet, action.lhs.target, std::move(args), *action.lhs.source);
        return;
      }
      case Action::Kind::kUnion:
        compile_union(action);
        return;
      case Action::Kind::kDelete:
        emit(Op::kDelete, action.lhs.target, compile_args(action.lhs), *action.lhs.source);
        return;
      case Action::Kind::kSubsume:
        emit(Op::kSubsume, action.lhs.target, compile_args(action.lhs), *action.lhs.source);
        return;
      case Action::Kind::kPanic: {
        const auto message = static_cast<uint32_t>(program_.messages.size());
        program_.messages.push_back(action.message);
        emit(Op::kPanic, message, {}, Expr{});
        return;
      }
      case Action::Kind::kExpr:
        compile(action.lhs);
        return;
    }
  }

  Program take() { return std::move(program_); }

 private:
  Term compile_global(uint32_t index) {
    if (const auto known = global_terms.find(index); known != global_terms.end())
      return known->second;
    const Global& global = db_.globals[index];
    return Term::constant(db_.canonical(global.sort, global.value));
  }

  std::vector<Term> compile_args(const TypedExpr& expr) {
    std::vector<Term> terms;
    terms.reserve(expr.args.size() + 1);
    for (const TypedExpr& arg : expr.args) terms.push_back(compile(arg));
    return terms;
  }

  bool is_constructor_call(const TypedExpr& expr) const {
    return expr.kind == TypedExpr::Kind::kFunction && !db_.functions[expr.target].is_function();
  }

  /// `(union x (C …))` writes the row C(…) = x: no id is made only to be joined away.
  void compile_union(const TypedAction& action) {
    using Kind = TypedExpr::Kind;
    const bool left_is_name =
        action.lhs.kind == Kind::kVariable || action.lhs.kind == Kind::kGlobal;
    const bool right_is_name =
        action.rhs.kind == Kind::kVariable || action.rhs.kind == Kind::kGlobal;
    const TypedExpr* name = left_is_name ? &action.lhs : right_is_name ? &action.rhs : nullptr;
    const TypedExpr* call = left_is_name ? &action.rhs : &action.lhs;
    if (name != nullptr && is_constructor_call(*call)) {
      std::vector<Term> args = compile_args(*call);
      args.push_back(compile(*name));
      emit(Instruction::Op::kInsert, call->target, std::move(args), *call->source);
      return;
    }
    const Term left = compile(action.lhs);
    const Term right = compile(action.rhs);
    emit(Instruction::Op::kUnion, 0, {left, right}, Expr{});
  }

  Term emit(Instruction::Op op, uint32_t target, std::vector<Term> args, const Expr& source) {
    const auto first = static_cast<uint32_t>(program_.terms.size());
    program_.terms.insert(program_.terms.end(), args.begin(), args.end());
    const uint32_t result = program_.num_slots++;
    program_.code.push_back({op, target, first, static_cast<uint32_t>(args.size()), result});
    const bool may_fail = op == Instruction::Op::kLookup || op == Instruction::Op::kPrimitive;
    program_.error_sites.push_back(may_fail ? failure_text(op, source) : "");
    return Term::slot(result);
  }

  static std::string failure_text(Instruction::Op op, const Expr& source) {
    const std::string where = source.span.file == nullptr ? "" : source.span.describe() + "\n";
    if (op == Instruction::Op::kLookup)
      return where + "lookup of function " + source.name + " failed: no row for its arguments";
    return where + "call of primitive " + source.name +
           " failed: it has no value for its arguments";
  }

  Database& db_;
  std::vector<Term> variables_;
  Program program_;
};

/// Finds the slots of the query that the program reads and renumbers the program's slots so that
/// these come first: a match is then just their values.
void connect(Query& query, Program& program) {
  query.needed.assign(query.num_slots, false);
  for (const Term& term : program.terms)
    if (!term.is_constant && term.word < query.num_slots) query.needed[term.word] = true;
  std::vector<uint32_t> position(query.num_slots, kNone);
  for (uint32_t slot = 0; slot < query.num_slots; ++slot) {
    if (!query.needed[slot]) continue;
    position[slot] = static_cast<uint32_t>(query.outputs.size());
    query.outputs.push_back(slot);
  }
  const auto shift = [&](uint32_t slot) {
    if (slot < query.num_slots) return position[slot];
    return slot - query.num_slots + static_cast<uint32_t>(query.outputs.size());
  };
  for (Term& term : program.terms)
    if (!term.is_constant) term.word = shift(term.word);
  for (Instruction& step : program.code) step.result = shift(step.result);
  program.num_slots = shift(program.num_slots);
}

}  // namespace

void lower_rule(Database& db, const TypedRule& typed, GlobalUse globals, Query& query,
                Program& program) {
  QueryBuilder builder(db, typed, globals);
  builder.add_facts();
  std::map<uint32_t, FunctionId> used_globals;
  const auto collect = [&](const TypedExpr& expr, const auto& self) -> void {
    if (expr.kind == TypedExpr::Kind::kGlobal && globals == GlobalUse::kTable)
      used_globals.emplace(expr.target, db.global_table(expr.target));
    for (const TypedExpr& arg : expr.args) self(arg, self);
  };
  for (const TypedAction& action : typed.actions) {
    builder.add_globals_of(action.lhs);
    builder.add_globals_of(action.rhs);
    collect(action.lhs, collect);
    collect(action.rhs, collect);
  }
  std::vector<Term> variables;
  query = builder.finish(variables);
  ProgramBuilder compiler(db, std::move(variables), query.num_slots);
  for (const auto& [global, function] : used_globals)
    for (const TableAtom& atom : query.atoms)
      if (atom.function == function) compiler.global_terms[global] = atom.terms[0];
  for (const TypedAction& action : typed.actions) compiler.compile(action);
  program = compiler.take();
  connect(query, program);
  for (const Instruction& step : program.code)
    if (step.op == Instruction::Op::kDelete) db.functions[step.target].deletable = true;
}

Query lower_query(Database& db, const TypedRule& typed) {
  QueryBuilder builder(db, typed, GlobalUse::kValue);
  builder.add_facts();
  std::vector<Term> variables;
  Query query = builder.finish(variables);
  query.needed.assign(query.num_slots, false);
  query.include_subsumed = true;
  return query;
}

Program lower_actions(Database& db, const TypedRule& typed) {
  ProgramBuilder compiler(db, std::vector<Term>(typed.variables.size()), 0);
  for (const TypedAction& action : typed.actions) compiler.compile(action);
  return compiler.take();
}

Program lower_expression(Database& db, const TypedExpr& expr, Term& result) {
  ProgramBuilder compiler(db, {}, 0);
  result = compiler.compile(expr);
  return compiler.take();
}

void lower_merge(Database& db, const TypedRule& typed, Function& function) {
  std::vector<Term> variables(typed.variables.size());
  variables[0] = Term::slot(0);
  variables[1] = Term::slot(1);
  ProgramBuilder compiler(db, std::move(variables), 2);
  function.merge_result = compiler.compile(typed.actions[0].lhs);
  function.merge_is_table_call = typed.actions[0].lhs.kind == TypedExpr::Kind::kFunction;
  function.merge_program = std::make_shared<const Program>(compiler.take());
}

}  // namespace luminal::egraph
