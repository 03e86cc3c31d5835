// The structures that a search compares: each costs what its kernels are known to take, less the
// launches that they share, so kernels that several of them have are measured once. A structure
// with other launches (other_launches.h) is one that needs no measurements of kernels at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_tuning.h"

namespace luminal::compiler {

/// A draft and its kernels.
struct Structure {
  PlanDraft draft;
  support::Hash128 id;            ///< PlanDraft::structure()
  std::string choice;             ///< choice_cache.h
  std::vector<size_t> kernels;    ///< numbers of the tuning, by kernel of the draft
  std::optional<size_t> of = {};  ///< the structure that it is with other launches, by number
  std::string launches = {};      ///< which these are, for people
};

/// A structure with or without the schedules that were found.
struct Finalist {
  size_t structure = 0;                ///< by number in the set
  std::vector<std::string> schedules;  ///< by kernel of the draft; empty: the default
  std::string structure_text = {};     ///< its id
  std::string structure_title = {};    ///< for people
  bool from_before = false;            ///< an earlier search found these schedules
  std::string fault = {};              ///< StructureSet::fault_of

  /// Equal for equal plans.
  std::string name() const;
  /// Whether some kernel runs by another schedule than the default.
  bool is_tuned() const;
  /// For people.
  std::string title() const;
};

/// The largest first, by what they make of a run.
void sort_gains(std::vector<KernelGain>& gains);

/// See above. The first is the one that the cost model chose.
class StructureSet {
 public:
  /// The tuning must outlive it.
  explicit StructureSet(KernelTuning& tuning) : tuning_(tuning) {}

  /// Adds a draft, and its kernels to the tuning.
  void add(PlanDraft draft);
  /// Adds a structure that is there already, with other launches.
  void add_launches(size_t of, const std::string& how, PlanDraft draft);
  /// What a launch costs that kernels need not share; nothing at first.
  void set_launch_cost(double microseconds) { launch_us_ = microseconds; }
  bool contains(support::Hash128 id) const;
  size_t size() const { return structures_.size(); }
  Structure& operator[](size_t number) { return structures_[number]; }
  const Structure& operator[](size_t number) const { return structures_[number]; }
  const Structure& front() const { return structures_.front(); }
  const Structure& back() const { return structures_.back(); }

  /// What a run takes by what is known of its kernels, each of which was measured with a launch of
  /// its own; infinite if some of them is not known.
  double total(const Structure& structure, bool by_default = false) const;
  double best_total() const;
  /// What a run saves because kernels share launches.
  double saved(const Structure& structure) const;
  /// Numbers of structures, the quickest first, each with its first launches.
  std::vector<size_t> ranked(size_t most) const;
  /// What the kernels of a structure take that are known.
  double known_part(const Structure& structure) const;
  /// What a run of a structure spends in a kernel.
  double time_in(const Structure& structure, size_t kernel) const;
  /// Whether the default of a kernel is wrong, and no schedule is known that is right.
  bool needs_another(size_t kernel) const;
  /// Kernels that take next to nothing of a run are not, unless they need another schedule.
  bool is_worth_trials(const Structure& structure, size_t kernel) const;

  /// Plans to be timed: that of the cost model first, then the best `most` with their schedules,
  /// then the first structure with its schedules if it is not among them and more than one was
  /// asked for, then all that have other launches. If something is known to be wrong with each of
  /// them, then some of which nothing is known.
  std::vector<Finalist> finalists(size_t most) const;
  /// The first kernel of a plan that is known to be wrong (KernelTuning::fault) and what was wrong
  /// with it, for people; empty: there is none.
  std::string fault_of(const Finalist& finalist) const;
  /// A structure of the set with default schedules.
  Finalist plain(support::Hash128 id) const;
  /// Whole plans with what timing them gave, by the key of plans, then structures that did not come
  /// so far.
  std::vector<StructureTrial> trials(const std::vector<Finalist>& all, size_t winner,
                                     const search::TuningDatabase& database,
                                     const search::TuningKey& plans) const;
  /// What kernels gain by the schedules of a plan, the largest first.
  std::vector<KernelGain> gains(const Finalist& finalist) const;

 private:
  Finalist finalist(size_t number, bool tuned) const;
  std::string title(size_t number) const;

  KernelTuning& tuning_;
  double launch_us_ = 0.0;
  std::vector<Structure> structures_;
};

}  // namespace luminal::compiler
