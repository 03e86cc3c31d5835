// Climbing from one cut to better ones, for the searches of this folder.
#pragma once

#include "luminal/kernel/cut_search.h"

namespace luminal::kernel {

/// Improves a cut until no move does, and gives its cost.
double climb(CutCosts& costs, const Program& program, Cut& cut);

/// The same with moves at some nodes only: what a change of definitions there can have touched.
double climb_near(CutCosts& costs, const Program& program, Cut& cut, const std::vector<bool>& near);

/// A cut and what its kernels cost together.
struct BestCut {
  Cut cut;
  double microseconds = 0.0;
};

/// The best of the climbs from both seeds and from random cuts.
BestCut best_cut(CutCosts& costs, const Program& program, const CutSearchOptions& options);

}  // namespace luminal::kernel
