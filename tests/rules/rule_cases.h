// One small graph per rule of the tensor e-graph, on which the rule must fire.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "luminal/luminal.h"

namespace luminal::rules {

/// Extents that the graph of a case is made of: 1, odd and larger ones, and a named dim.
struct CaseSizes {
  Dim a, b, c;
  DType dtype = f32;
};

/// A graph for a rule. Rules about one kind of number give a list of dtypes; others are tried on
/// all.
struct RuleCase {
  std::string rule;
  std::function<std::vector<Tensor>(const luminal::Graph&, const CaseSizes&)> outputs;
  std::vector<DType> dtypes = {f32, bf16, i32};
  /// Named dims are fine.
  bool may_be_symbolic = true;
  /// Fires when extents are 1 too.
  bool fires_at_one = false;
};

/// All cases.
const std::vector<RuleCase>& rule_cases();

/// The graph of a case.
graph::Graph graph_of(const RuleCase& rule_case, const CaseSizes& sizes);

}  // namespace luminal::rules
