// Which values of dims a kernel is tried with beside those it is tuned for: the plan is right for
// all of them.
#pragma once

#include <vector>

#include "luminal/graph/program.h"
#include "luminal/kernel/body.h"

namespace luminal::search {

/// One set of values.
struct TrialDims {
  graph::DimValues values;
  bool special = false;  ///< on data with infinities and NaNs, too
  bool once = false;     ///< one run will do: it takes about as long as with the typical ones
};

/// The least values, of which whole tiles have none and which are 0 for positions; odd ones that no
/// tile fits; small ones: a multiple of four each, a few, and a multiple of sixteen, which has
/// whole vectors and nothing else; even ones between these and the typical ones; odd ones above
/// those; and each dim at its least beside typical others, as one row is in decoding. All are such
/// that the graph might run with them: in the range of each dim, and no extent is negative, or 0
/// where it is not with `typical`; but a dim by itself is 0 where only what is read has nothing
/// then, as the cache of the first step. Where that is not so for what is wanted, the next values
/// up to some hundreds are taken; sets that take much longer than `typical` are left out, as are
/// those that come to the same. So there are no more than seven sets and one for each of four dims,
/// and only odd and least ones, which take little time as a rule, run more than once.
std::vector<TrialDims> other_dims(const kernel::Arena& arena, const kernel::Kernel& kernel,
                                  const graph::DimValues& typical);

}  // namespace luminal::search
