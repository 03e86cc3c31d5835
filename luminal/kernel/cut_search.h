// Finds a good cut by cost alone: which nodes are materialised, so that the kernels between them
// are together as quick as possible. Starts from two cuts and climbs, one node at a time; a move
// asks again only for the kernels it changes, and equal questions are answered once.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "luminal/kernel/derive.h"
#include "luminal/kernel/estimate.h"
#include "luminal/kernel/rename.h"

namespace luminal::kernel {

/// Which kernel of a plan another one is a copy of.
struct KernelCopy {
  size_t of = 0;  // comes before the copy
  /// The tensors of that kernel, each with the one in its place.
  std::vector<Renaming> tensors;
};

/// A kernel of a plan.
struct PlannedKernel {
  /// What it stores: one node, or several of one shape (store_through.h).
  std::vector<NodeId> nodes;
  /// As derived; the estimate holds the variant that was chosen.
  Kernel kernel;
  Estimate estimate;
  /// Materialised nodes it reads, ascending.
  std::vector<NodeId> reads;
  /// Set if the kernel is another one of the plan on other tensors. It is not written out then:
  /// `kernel` and the kernel of the estimate are empty.
  std::optional<KernelCopy> copy = {};
};

/// A cut and what follows from it.
struct CutPlan {
  Cut cut;
  /// In an order in which they can run. Opaque nodes are not among them.
  std::vector<PlannedKernel> kernels;
  /// Kernels (by position) that go into one launch; members are independent of each other.
  std::vector<std::vector<size_t>> launches;
  double microseconds = 0.0;
  /// How many kernels were estimated, for reports, and how many bodies were looked at for that.
  size_t estimated = 0;
  size_t work = 0;
};

struct CutSearchOptions {
  Machine machine = Machine::h200();
  EstimateOptions estimate = {};
  /// Bodies of more nodes are not tried.
  size_t most_nodes = 256;
  /// Nor kernels with more reductions one after the other.
  int most_nested = 8;
  /// How many bodies a search may look at for each node of the program, about: so many in the climb
  /// from each seed, and so many for choices of definitions. What was looked at before can still be
  /// used then, so that repeated parts are treated alike.
  size_t work_per_node = 150;
  /// Let kernels store values on the way to others.
  bool store_through = true;
  /// Put independent kernels that are alike and read a common tensor into one launch, which counts
  /// once. For devices where a launch is dear.
  bool group_launches = true;
  /// Climbs from random cuts besides the two standard ones.
  int restarts = 0;
  uint64_t seed = 1;
  /// Asks for the cost of a kernel instead of the estimate (a database of measured times).
  std::function<std::optional<double>(Arena&, const Kernel&)> cost = nullptr;
};

/// Costs of the kernels of one program, remembered. Restarts and moves share it.
class CutCosts {
 public:
  CutCosts(Arena& arena, const Program& program, const CutSearchOptions& options);
  ~CutCosts();

  /// The sum over all kernels of a cut; infinite if one of them is rejected. Ends where it is more
  /// than `most`.
  double total(const Cut& cut, double most = std::numeric_limits<double>::infinity());
  /// The kernel of a node under a cut.
  struct Costed {
    double microseconds = 0.0;
    std::vector<NodeId> region;  // nodes computed inside, the node itself included
    std::vector<NodeId> reads;
  };
  const Costed& kernel(const Cut& cut, NodeId id);
  /// The same, but nothing if it was not looked at before.
  const Costed* known(const Cut& cut, NodeId id);
  /// The same, but nothing if that takes work that is not allowed any more.
  const Costed* affordable(const Cut& cut, NodeId id);
  /// Allows so much more work. No work is allowed at first, but `kernel` does what it takes.
  void allow(size_t work);
  bool is_spent() const;
  /// Bodies looked at so far.
  size_t work() const;
  /// The program changed its definitions: finds the new order. False if they are cyclic now, which
  /// leaves the old order.
  bool refresh();
  /// The program has the definitions back with which it had this order.
  void restore(std::vector<NodeId> order);
  const std::vector<NodeId>& order() const;
  size_t estimated() const;

 private:
  struct State;
  bool is_known(const Cut& cut, NodeId id) const;
  std::unique_ptr<State> state_;
};

/// The best cut found.
CutPlan search_cut(Arena& arena, const Program& program, const CutSearchOptions& options = {});

/// The kernels and launches of a given cut; nothing if a kernel is rejected. What has to be stored
/// for kernels to agree (compared_sums.h) is added to the cut.
std::optional<CutPlan> plan_cut(Arena& arena, const Program& program, const Cut& given,
                                const CutSearchOptions& options = {});

/// Kernel k of a plan with what it computes written out, also if it is a copy of another.
PlannedKernel written_out(Arena& arena, const Program& program, const CutPlan& plan, size_t k);

/// The first seed: every contraction is materialised.
Cut contraction_cut(const Program& program, std::span<const NodeId> order);

}  // namespace luminal::kernel
