#include "luminal/search/candidate.h"

#include <algorithm>

#include "luminal/codegen/llvm/contraction_kernel.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::search {

std::variant<Candidate, Rejected> load_candidate(const codegen::CpuKernel& code,
                                                 const codegen::KernelCompiler& compiler,
                                                 const graph::DimValues& dims) try {
  Candidate candidate;
  candidate.schedule = code.schedule.to_string();
  candidate.mixes_neighbours = code.schedule.family() == "winograd";
  candidate.takes_offsets_out = code.schedule.family() == codegen::kGemmBlocksFamily;
  auto form = std::make_shared<CandidateForm>();
  form->temporaries = code.temporaries;
  for (const codegen::CpuLaunch& launch : code.launches) {
    auto module = std::make_shared<const runtime::CpuModule>(compiler.compile(launch.source));
    CandidateLaunch loaded;
    loaded.entry = module->entry(launch.source.entries[0].name);
    loaded.buffers = launch.buffers;
    loaded.size = {0, launch.chunk, launch.threads};
    loaded.prepare = launch.prepare;
    candidate.launches.push_back(std::move(loaded));
    candidate.modules.push_back(std::move(module));
    form->launches.push_back({launch.scalars, launch.items, launch.scratch_bytes});
  }
  candidate.form = std::move(form);
  return candidate.with_dims(dims);
} catch (const Error& error) {
  return Rejected{Rejected::Why::kCompile, error.what()};
}

Candidate Candidate::with_dims(const graph::DimValues& dims) const {
  const symbolic::Values values(dims.begin(), dims.end());
  Candidate result = *this;
  if (form == nullptr) return result;
  result.temporaries.clear();
  for (const symbolic::Expr& bytes : form->temporaries)
    result.temporaries.push_back(symbolic::evaluate(bytes, values));
  for (size_t k = 0; k < launches.size(); ++k) {
    const CandidateForm::Launch& launch = form->launches[k];
    CandidateLaunch& loaded = result.launches[k];
    loaded.scalars.clear();
    for (const symbolic::Expr& scalar : launch.scalars)
      loaded.scalars.push_back(symbolic::evaluate(scalar, values));
    loaded.size.items = symbolic::evaluate(launch.items, values);
    loaded.scratch_bytes = runtime::aligned_size(symbolic::evaluate(launch.scratch_bytes, values));
  }
  return result;
}

CandidateRunner::CandidateRunner(const Candidate& candidate, const TensorPlaces& tensors,
                                 runtime::ThreadTeam& team, int threads)
    : candidate_(candidate), team_(team), threads_(threads > 0 ? threads : team.size()) {
  for (const int64_t bytes : candidate.temporaries) temporaries_.emplace_back(bytes);
  int64_t scratch = 0;
  for (const CandidateLaunch& launch : candidate.launches) {
    scratch = std::max(scratch, launch.scratch_bytes);
    std::vector<void*> buffers;
    for (const codegen::LaunchBuffer& buffer : launch.buffers)
      buffers.push_back(buffer.kind == codegen::LaunchBuffer::Kind::kTensor
                            ? tensors.at(buffer.tensor)
                            : temporaries_[buffer.temporary].data());
    buffers_.push_back(std::move(buffers));
  }
  scratch_ = runtime::HostMemory(scratch * team.size());
}

void CandidateRunner::run(bool prepare) {
  for (size_t k = 0; k < candidate_.launches.size(); ++k) {
    const CandidateLaunch& each = candidate_.launches[k];
    if (each.prepare != prepare) continue;
    runtime::Launch launch;
    launch.buffers = buffers_[k];
    launch.scalars = each.scalars;
    launch.size = each.size;
    launch.size.threads = each.size.threads > 0 ? std::min(each.size.threads, threads_) : threads_;
    launch.scratch = scratch_.data();
    runtime::launch_on_team(team_, each.entry, launch, each.scratch_bytes);
  }
}

}  // namespace luminal::search
