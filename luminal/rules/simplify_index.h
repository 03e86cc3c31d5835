// Simplification of index expressions for code generation. The rules of index_expressions.egg run
// on the e-graph engine and propose cheaper ways to compute what the normal forms of `symbolic`
// denote: common factors put back, remainders from quotients, shifts and masks, comparisons for
// small quotients, sums that several expressions share. The cheapest program found is the result.
//
// Promises: the program gives the values of the expressions for all values of their symbols, as
// long as intermediate values fit into 64 bits; it never costs more than plain_program(); without a
// limit of time the same expressions give the same program in every process.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "luminal/egraph/scheduler.h"
#include "luminal/rules/index_choice.h"
#include "luminal/rules/index_program.h"

namespace luminal::rules {

/// What a simplification may use.
struct SimplifyOptions {
  /// Zero means no limit. Seconds make the result depend on the speed of the machine.
  egraph::RunBudget budget{.iterations = 64, .rows = 3000, .seconds = 0};
};

/// A simplified program and what it took.
struct Simplified {
  IndexProgram program;
  int64_t cost_before = 0;  // of plain_program()
  int64_t cost_after = 0;   // of `program`, at most cost_before
  egraph::StopReason stop = egraph::StopReason::kFinished;
  uint64_t iterations = 0;
  uint64_t rows = 0;  // of the e-graph at the end
};

/// Holds the rules ready, for many simplifications. Not for several threads at once.
class IndexSimplifier {
 public:
  IndexSimplifier();
  ~IndexSimplifier();

  /// One program for all expressions together, an output for each.
  Simplified simplify(std::span<const Expr> exprs, const SimplifyOptions& options = {});
  /// Everything the rules found for the expressions, each way a claim that can be tested.
  IndexChoices explore(std::span<const Expr> exprs, const SimplifyOptions& options = {});
  /// How often each rule matched since the simplifier was made, one line per rule.
  std::string statistics() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same for one call, rules loaded anew.
Simplified simplify_index(std::span<const Expr> exprs, const SimplifyOptions& options = {});

}  // namespace luminal::rules
