// How far the cores of a team are from each other. Cores that share a last cache hand a word over
// in some tens of nanoseconds, others take five times as long, but have the memory bandwidth of two
// caches together. A virtual machine may be moved from one kind of place to the other at any time,
// so what was measured says which it was.
#pragma once

namespace luminal::runtime {

class ThreadTeam;

/// From here on cores share no cache: those that do took 50 to 150 ns, others 500 to 600 (a Zen 5).
/// `APART` of tools/bench_bars.py is the same.
inline constexpr double kLeastOfApart = 300e-9;

/// Seconds that a word takes from the first thread to another and back, the longest of all others,
/// the median of a few trials; 0 if there is no other, or if it never ran beside the first. Takes
/// some tens of microseconds for each thread, some milliseconds on a busy machine.
double round_trip_seconds(ThreadTeam& team);

}  // namespace luminal::runtime
