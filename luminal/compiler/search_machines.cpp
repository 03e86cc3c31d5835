#include "luminal/compiler/search_machines.h"

#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/search/space.h"

namespace luminal::compiler {

void note_works(search::TuningDatabase& database, const KernelTuning& tuning,
                const Options& options, const kernel::Machine& machine) {
  for (size_t k = 0; k < tuning.size(); ++k) {
    if (tuning.choice(k).best_us <= 0) continue;
    const search::KernelTask& task = tuning.task(k);
    const kernel::EstimateOptions how{.dims = task.options.dims,
                                      .typical_dim = options.typical_dim,
                                      .reassociate = options.reassociate};
    std::string work;
    if (!codegen::attention_cost(*task.arena, task.kernel, machine, how))
      work = search::to_text(kernel::estimate(*task.arena, task.kernel, machine, how).work);
    database.note_work(tuning.key(k), tuning.default_schedule(k), work);
  }
}

kernel::Machine guessed_machine(const kernel::Machine& fitted, uint64_t seed, int number) {
  constexpr double kOptimism = 0.6;
  constexpr double kFactors[] = {0.5, 0.7, 1.0, 1.4, 2.0};
  kernel::Machine machine = fitted;
  if (number == 0) return machine;
  search::Random random(support::hash_combine(seed, static_cast<uint64_t>(number)));
  for (const auto& [name, constant] : search::machine_constants()) {
    const bool is_time = name.ends_with("_us");
    const double optimism = is_time ? kOptimism : 1 / kOptimism;
    if (number % 2 == 1) machine.*constant *= name == "transcendental_flops" ? 1.0 : optimism;
    if (number > 1) machine.*constant *= kFactors[random.below(std::size(kFactors))];
  }
  return machine;
}

Options exploring(const Options& options, const kernel::Machine& fitted, uint64_t seed,
                  int number) {
  constexpr int kRestarts = 2;
  Options result = options;
  result.machine = guessed_machine(fitted, seed, number);
  result.restarts = kRestarts;
  result.restart_seed = support::hash_combine(seed, static_cast<uint64_t>(number));
  return result;
}

}  // namespace luminal::compiler
