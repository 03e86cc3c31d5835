// The structures that a search compares: each costs what its kernels are known to take, so kernels
// that several of them share are measured once.
#pragma once

#include <string>
#include <vector>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_tuning.h"

namespace luminal::compiler {

/// A draft and its kernels.
struct Structure {
  PlanDraft draft;
  support::Hash128 id;          ///< PlanDraft::structure()
  std::string choice;           ///< choice_cache.h
  std::vector<size_t> kernels;  ///< numbers of the tuning, by kernel of the draft
};

/// A structure with or without the schedules that were found.
struct Finalist {
  size_t structure = 0;                ///< by number in the set
  std::vector<std::string> schedules;  ///< by kernel of the draft; empty: the default
  std::string structure_text = {};     ///< its id

  /// Equal for equal plans.
  std::string name() const;
  /// Whether some kernel runs by another schedule than the default.
  bool is_tuned() const;
  /// For people.
  std::string title() const;
};

/// See above. The first is the one that the cost model chose.
class StructureSet {
 public:
  /// The tuning must outlive it.
  explicit StructureSet(KernelTuning& tuning) : tuning_(tuning) {}

  /// Adds a draft, and its kernels to the tuning.
  void add(PlanDraft draft);
  bool contains(support::Hash128 id) const;
  size_t size() const { return structures_.size(); }
  Structure& operator[](size_t number) { return structures_[number]; }
  const Structure& operator[](size_t number) const { return structures_[number]; }
  const Structure& front() const { return structures_.front(); }
  const Structure& back() const { return structures_.back(); }

  /// What a run takes by what is known of its kernels; infinite if some of them is not known.
  double total(const Structure& structure, bool by_default = false) const;
  double best_total() const;
  /// Numbers of structures, the quickest first.
  std::vector<size_t> ranked(size_t most) const;
  /// What the kernels of a structure take that are known.
  double known_part(const Structure& structure) const;
  /// What a run of a structure spends in a kernel.
  double time_in(const Structure& structure, size_t kernel) const;
  /// Kernels that take next to nothing of a run are not.
  bool is_worth_trials(const Structure& structure, size_t kernel) const;

  /// Plans to be timed: that of the cost model first, then the best `most` with their schedules,
  /// then the first structure with its schedules if it is not among them and more than one was
  /// asked for.
  std::vector<Finalist> finalists(size_t most) const;
  /// Whole plans with what timing them gave, by the key of plans, then structures that did not come
  /// so far.
  std::vector<StructureTrial> trials(const std::vector<Finalist>& all, size_t winner,
                                     const search::TuningDatabase& database,
                                     const search::TuningKey& plans) const;

 private:
  Finalist finalist(size_t number, bool tuned) const;

  KernelTuning& tuning_;
  std::vector<Structure> structures_;
};

}  // namespace luminal::compiler
