// How far the values of a row lie from their mean, found in the pass that finds the mean. Two
// passes are needed where each value is compared with the mean itself; with any guess k of the mean
// one is,
//
//   t = sum(x - k), q = sum((x - k)^2):  sum(x) = n k + t,  sum((x - mean)^2) = q - t^2 / n
//
// and nothing is lost as long as the guess is good: what is subtracted is then a part of q that is
// not near all of it. The guess is the mean of a few values of the row. Where it turns out to be
// bad, or sums are no numbers, both passes run as they are written.
#pragma once

#include "luminal/kernel/nest.h"

namespace luminal::kernel {

/// Rewrites such pairs of passes over the axis of a row, of a known extent that is worth it. Before
/// lets are placed.
void find_spreads(Arena& arena, Nest& nest);

}  // namespace luminal::kernel
