#include "luminal/compiler/kernel_notes.h"

#include <algorithm>

#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/codegen/llvm/cpu_schedules.h"
#include "luminal/codegen/llvm/scan_kernel.h"
#include "luminal/codegen/llvm/schedule_cost.h"
#include "luminal/compiler/fusion_notes.h"

namespace luminal::compiler {
KernelNotes::KernelNotes(PlannedProgram& planned, const kernel::CutSearchOptions& cut,
                         const Options& options, const std::vector<std::vector<std::string>>& words)
    : planned_(planned), cut_(cut), options_(options), words_(words) {}

KernelNotes::~KernelNotes() = default;

KernelNote KernelNotes::note(size_t number, const KernelSet& kernels, const KernelUse& use) {
  const kernel::PlannedKernel& planned = planned_.plan().kernels[number];
  KernelNote note;
  note.words = words_[number];
  note.label = label_of(note.words);
  note.nodes = nodes_inside(planned_.program(), planned.nodes, planned.reads).size();
  note_work(planned, note);
  note_algorithm(kernels.code(use), note);
  const search::TuningKey key = kernels.key(use.kernel, "");
  note.identity = support::to_hex(key.kernel);
  note.shapes = key.shapes;
  for (const codegen::TemplateRefusal& refused : kernels.code(use).refused)
    note.refused.push_back({refused.name, refused.why});
  if (!options_.explain) return note;
  note_others(kernels, use, note);
  note.loops = kernels.text(use);
  if (!fusion_) fusion_ = std::make_unique<FusionNotes>(planned_, cut_, options_, words_);
  note.boundaries = fusion_->boundaries(number);
  return note;
}

void KernelNotes::note_work(const kernel::PlannedKernel& planned, KernelNote& note) {
  note.estimated_us = planned.estimate.microseconds;
  note.memory_bytes = planned.estimate.memory_bytes;
  note.flops = planned.estimate.vector_flops + planned.estimate.matrix_flops;
  if (options_.round_each || planned.kernel.roots.empty()) return;
  auto work = codegen::scan_work(planned_.arena(), planned.kernel, cut_.machine, cut_.estimate);
  if (!work)
    work = codegen::attention_work(planned_.arena(), planned.kernel, cut_.machine, cut_.estimate);
  if (!work) return;
  note.estimated_us = work->microseconds;
  note.memory_bytes = work->memory_bytes;
  note.flops = work->flops;
}

void KernelNotes::note_algorithm(const codegen::CpuKernel& code, KernelNote& note) {
  if (code.defined_flops <= 0) return;
  note.defined_flops = note.flops;
  note.flops = std::max(0.0, note.flops - code.defined_flops) + code.own_flops;
}

void KernelNotes::note_others(const KernelSet& kernels, const KernelUse& use,
                              KernelNote& note) const {
  const search::KernelTask task = kernels.task(use.kernel);
  const codegen::Schedule& used = kernels.code(use).schedule;
  const auto cost_of = [&](const codegen::Schedule& schedule) {
    return codegen::schedule_cost(*task.arena, task.kernel, schedule, task.target, task.options,
                                  cut_.machine);
  };
  // The estimate of the kernel stays what it is: others are to it as their costs are.
  const auto own = cost_of(used);
  const double scale = std::holds_alternative<double>(own) && std::get<double>(own) > 0
                           ? note.estimated_us / std::get<double>(own)
                           : 1.0;
  for (const codegen::Schedule& start :
       codegen::cpu_family_schedules(*task.arena, task.kernel, task.target, task.options)) {
    if (start == used) continue;
    const auto cost = cost_of(start);
    if (const auto* refusal = std::get_if<codegen::ScheduleRefusal>(&cost))
      note.others.push_back({start.to_string(), 0.0, refusal->why});
    else
      note.others.push_back({start.to_string(), scale * std::get<double>(cost), ""});
  }
}

}  // namespace luminal::compiler
