#include "luminal/rules/simplify_index.h"

#include <map>
#include <utility>

#include "luminal/rules/index_host.h"
#include "luminal/rules/plain_program.h"
#include "luminal/rules/rule_files.h"
#include "luminal/support/check.h"

namespace luminal::rules {
namespace {

using egraph::FunctionId;
using egraph::Value;

constexpr const char* kRuleFile = "index_expressions.egg";

/// Every step of the search is followed by what makes its new values computable.
egraph::Schedule full_schedule() {
  return egraph::saturate({egraph::saturate({egraph::run("form")}), egraph::run("search")});
}

}  // namespace

class IndexSimplifier::Impl {
 public:
  Impl() : host_(egraph_) {
    egraph_.run_program(rule_file(kRuleFile), kRuleFile);
    value_ = function("Value");
    wanted_ = function("Wanted");
    for (const IndexOpInfo& info : kIndexOps) ops_.push_back(function(std::string(info.name)));
  }

  IndexChoices explore(std::span<const Expr> exprs, const SimplifyOptions& options) {
    egraph_.push();
    host_.forget_lists();
    try {
      IndexChoices choices = explore_once(exprs, options);
      leave();
      return choices;
    } catch (...) {
      leave();
      throw;
    }
  }

  const egraph::RunReport& report() const { return report_; }
  uint64_t rows() const { return rows_; }

  std::string statistics() const {
    std::string text;
    for (const auto& [name, matches] : matches_) text += fmt::format("{:>10}  {}\n", matches, name);
    return text;
  }

 private:
  FunctionId function(const std::string& name) const {
    const FunctionId id = egraph_.database().find_function(name);
    LUMINAL_CHECK(id != egraph::kNone, "{} declares no {}", kRuleFile, name);
    return id;
  }

  void leave() {
    for (const egraph::RuleState& state : egraph_.database().rules)
      matches_[state.rule->name] += state.matches;
    egraph_.pop();
  }

  IndexChoices explore_once(std::span<const Expr> exprs, const SimplifyOptions& options) {
    std::vector<Value> roots;
    for (const Expr& expr : exprs) {
      const Value form = host_.intern(expr);
      roots.push_back(egraph_.engine().stage_constructor(value_, std::span(&form, 1)));
      egraph_.engine().stage_constructor(wanted_, std::span(&form, 1));
    }
    egraph_.engine().flush();
    egraph_.set_budget(options.budget);
    report_ = egraph_.run(full_schedule());
    rows_ = egraph_.database().num_rows();
    return read_out(roots);
  }

  IndexChoices read_out(std::span<const Value> roots) {
    IndexChoices choices;
    std::map<Value, uint32_t> classes;  // by leader
    egraph::Database& db = egraph_.database();
    const auto class_of = [&](Value id) {
      return classes.try_emplace(db.ids.find(id), static_cast<uint32_t>(classes.size()))
          .first->second;
    };
    for_each_row(value_, [&](const Value* row) {
      if (class_of(row[1]) == choices.classes.size())
        choices.classes.push_back({host_.form(row[0]), {}});
    });
    for (const IndexOpInfo& info : kIndexOps) {
      for_each_row(ops_[static_cast<size_t>(info.op)], [&](const Value* row) {
        IndexAlternative alternative{info.op, {}};
        for (uint32_t k = 0; k < info.arity; ++k) alternative.operands[k] = class_of(row[k]);
        // A leaf has its form where others have operands.
        const Value id = row[info.op == IndexOp::kLeaf ? 1 : info.arity];
        choices.classes[class_of(id)].alternatives.push_back(alternative);
      });
    }
    LUMINAL_CHECK(classes.size() == choices.classes.size(), "a class has no normal form");
    for (const Value root : roots) choices.roots.push_back(class_of(root));
    return choices;
  }

  template <typename Visit>
  void for_each_row(FunctionId id, Visit visit) const {
    const egraph::Table& table = egraph_.database().functions[id].table;
    for (uint32_t row = 0; row < table.end_row(); ++row)
      if (table.visible(row)) visit(table.row(row));
  }

  egraph::EGraph egraph_;
  IndexHost host_;
  FunctionId value_ = egraph::kNone;
  FunctionId wanted_ = egraph::kNone;
  std::vector<FunctionId> ops_;
  egraph::RunReport report_;
  uint64_t rows_ = 0;
  std::map<std::string, uint64_t> matches_;
};

IndexSimplifier::IndexSimplifier() : impl_(std::make_unique<Impl>()) {}
IndexSimplifier::~IndexSimplifier() = default;

IndexChoices IndexSimplifier::explore(std::span<const Expr> exprs, const SimplifyOptions& options) {
  return impl_->explore(exprs, options);
}

std::string IndexSimplifier::statistics() const { return impl_->statistics(); }

Simplified IndexSimplifier::simplify(std::span<const Expr> exprs, const SimplifyOptions& options) {
  Simplified result;
  result.program = plain_program(exprs);
  result.cost_before = result.cost_after = result.program.cost();
  const IndexChoices choices = explore(exprs, options);
  result.stop = impl_->report().stop;
  result.iterations = impl_->report().iterations;
  result.rows = impl_->rows();
  auto program = choose_program(choices);
  if (!program) return result;  // the budget ended before every part had a way to be computed
  const int64_t cost = program->cost();
  if (cost > result.cost_before) return result;
  result.cost_after = cost;
  result.program = *std::move(program);
  return result;
}

Simplified simplify_index(std::span<const Expr> exprs, const SimplifyOptions& options) {
  return IndexSimplifier().simplify(exprs, options);
}

}  // namespace luminal::rules
