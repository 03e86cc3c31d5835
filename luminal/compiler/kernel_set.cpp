#include "luminal/compiler/kernel_set.h"

#include <algorithm>
#include <cctype>

#include "luminal/codegen/llvm/loop_text.h"
#include "luminal/compiler/joint_steps.h"
#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/support/thread_pool.h"
#include "luminal/support/trace.h"

namespace luminal::compiler {

struct KernelSet::Unit {
  std::string label;
  std::string identity;
  graph::DimValues dims;
  kernel::Arena arena;
  kernel::Kernel kernel;
  codegen::CpuKernelOptions options;
  codegen::CpuKernel code;
  std::vector<size_t> entries;
  std::string text;
};

Expr KernelUse::renamed(const Expr& expr) const {
  std::vector<symbolic::Binding> bindings;
  for (const Expr& variable : expr.variables()) {
    const std::string name = variable.name();
    bindings.push_back({variable, dims[std::stoul(name.substr(1))]});
  }
  return bindings.empty() ? expr : symbolic::substitute(expr, bindings);
}

std::string KernelUse::renamed(const std::string& text) const {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const auto name_of = [&](const std::string& word) {
    if (word.size() < 2 || word[0] != 'S') return word;
    if (word.find_first_not_of("0123456789", 1) != std::string::npos) return word;
    const Expr& dim = dims[std::stoul(word.substr(1))];
    const bool is_single = dim.is_variable() || dim.is_constant();
    return is_single ? symbolic::to_string(dim) : fmt::format("({})", dim);
  };
  std::string result;
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), is_word);
    result += name_of(std::string(at, end));
    at = end;
    if (at != text.end()) result += *at++;
  }
  return result;
}

int threads_of(const Options& options) {
  return options.threads > 0 ? options.threads : runtime::default_thread_team().size();
}

KernelSet::KernelSet(const Options& options)
    : options_(options), target_(options.target.value_or(codegen::host_target())) {}

KernelSet::~KernelSet() = default;

KernelIdentity identify(const kernel::Arena& arena, const kernel::Kernel& kernel,
                        const kernel::NestOptions& nest, const std::vector<NodeId>& constants,
                        const Options& options) {
  KernelIdentity result;
  result.with_positions = with_positions(arena, kernel);
  result.names = result.with_positions ? kernel::canonicalize(result.with_positions->arena,
                                                              result.with_positions->kernel)
                                       : kernel::canonicalize(arena, kernel);
  const kernel::CanonicalKernel& names = result.names;
  result.options.nest = nest;
  result.options.threads = threads_of(options);
  result.options.reassociate = options.reassociate;
  result.options.round_each = options.round_each;
  result.options.typical_dim = options.typical_dim;
  std::string facts = fmt::format("nest online={} interchange={} keep_rows={} lets={}", nest.online,
                                  nest.interchange, nest.keep_rows, nest.lets);
  if (!options.reassociate) facts += " exact order";
  if (options.round_each) facts += " rounds each";
  for (size_t k = 0; k < names.tensors.size(); ++k)
    if (std::find(constants.begin(), constants.end(), names.tensors[k]) != constants.end()) {
      result.options.constants.push_back(NodeId{static_cast<uint32_t>(k)});
      facts += fmt::format(" constant t{}", k);
    }
  const kernel::EstimateOptions typical{.dims = options.dims, .typical_dim = options.typical_dim};
  for (size_t k = 0; k < names.dims.size(); ++k) {
    const std::string name = fmt::format("S{}", k);
    if (const auto found = options.dims.find(names.dims[k].name()); found != options.dims.end())
      result.options.dims[name] = found->second;
    result.dims[name] = static_cast<int64_t>(kernel::typical_value(names.dims[k], typical));
  }
  result.text = names.text + facts;
  return result;
}

KernelUse KernelSet::add(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         const std::string& label, const kernel::NestOptions& nest,
                         const std::vector<NodeId>& constants) {
  KernelIdentity identity = identify(arena, kernel, nest, constants, options_);
  std::string text = identity.text;
  for (const auto& [name, value] : identity.options.dims)
    text += fmt::format(" {}={}", name, value);
  const auto [place, is_new] = unit_of_.emplace(std::move(text), units_.size());
  if (is_new) {
    auto unit = std::make_unique<Unit>();
    unit->label = label;
    unit->identity = std::move(identity.text);
    unit->dims = std::move(identity.dims);
    unit->kernel =
        identity.with_positions
            ? kernel::rebuild(identity.with_positions->arena, identity.with_positions->kernel,
                              identity.names, unit->arena)
            : kernel::rebuild(arena, kernel, identity.names, unit->arena);
    unit->options = std::move(identity.options);
    if (options_.schedules)
      unit->options.schedule = options_.schedules(
          {identity.names.text, unit->arena, unit->kernel, target_, unit->options});
    units_.push_back(std::move(unit));
  }
  if (identity.with_positions)
    for (Expr& dim : identity.names.dims)
      dim = symbolic::substitute(dim, identity.with_positions->positions);
  return {place->second, std::move(identity.names.tensors), std::move(identity.names.dims)};
}

search::KernelTask KernelSet::task(size_t kernel) const {
  const Unit& unit = *units_[kernel];
  const auto arena = std::make_shared<kernel::Arena>();
  search::KernelTask task;
  task.text = unit.identity;
  task.label = unit.label;
  task.arena = arena;
  // Canonical names of canonical names are the same.
  task.kernel = kernel::rebuild(unit.arena, unit.kernel,
                                kernel::canonicalize(unit.arena, unit.kernel), *arena);
  task.options = unit.options;
  task.options.schedule.reset();
  task.options.dims = unit.dims;
  task.target = target_;
  return task;
}

const std::string& KernelSet::label(size_t kernel) const { return units_[kernel]->label; }
const std::string& KernelSet::identity(size_t kernel) const { return units_[kernel]->identity; }

search::TuningKey KernelSet::key(size_t kernel, const std::string& device) const {
  search::KernelTask task;
  task.text = units_[kernel]->identity;
  task.options.dims = units_[kernel]->dims;
  return task.key(device);
}

void KernelSet::set_schedule(size_t kernel, const std::string& schedule) {
  units_[kernel]->options.schedule = codegen::Schedule::parse(schedule);
}

void KernelSet::write(Unit& unit) const {
  const support::TraceSpan span("kernel schedule", unit.label);
  auto code = codegen::try_cpu_kernel(unit.arena, unit.kernel, target_, unit.options);
  if (std::holds_alternative<codegen::ScheduleRefusal>(code)) {
    unit.options.schedule.reset();
    unit.code = codegen::cpu_kernel(unit.arena, unit.kernel, target_, unit.options);
  } else {
    unit.code = std::move(std::get<codegen::CpuKernel>(code));
  }
  if (options_.keep_text || options_.explain)
    unit.text = codegen::loop_text(unit.arena, unit.kernel, unit.code, small_launches(unit.code),
                                   target_, unit.options);
}

void KernelSet::compile() {
  const support::TraceSpan span("compile", "code");
  support::ThreadPool& pool = support::default_thread_pool();
  const auto each = [&](size_t count, const auto& function) {
    pool.parallel_for(0, static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) function(static_cast<size_t>(k));
    });
  };
  each(units_.size(), [&](size_t k) { write(*units_[k]); });
  // Code that serves several kernels (products of any size) is compiled once.
  std::map<std::string, size_t> known;
  std::vector<const codegen::KernelSource*> sources;
  for (const std::unique_ptr<Unit>& unit : units_) {
    for (codegen::CpuLaunch& launch : unit->code.launches) {
      launch.source.label = unit->label;
      const auto [place, is_new] = known.emplace(launch.source.key, sources.size());
      if (!is_new && !launch.source.key.empty()) {
        unit->entries.push_back(place->second);
        continue;
      }
      unit->entries.push_back(sources.size());
      sources.push_back(&launch.source);
    }
  }
  const codegen::KernelCompiler compiler(
      target_, options_.cache ? &codegen::default_kernel_cache() : nullptr);
  if (options_.on_code)
    for (const codegen::KernelSource* source : sources) options_.on_code(*source, target_);
  kernels_.resize(sources.size());
  each(sources.size(), [&](size_t k) {
    kernels_[k] = {compiler.compile(*sources[k]), sources[k]->entries.front().name};
  });
}

const codegen::CpuKernel& KernelSet::code(const KernelUse& use) const {
  return units_[use.kernel]->code;
}

size_t KernelSet::entry(const KernelUse& use, size_t k) const {
  return units_[use.kernel]->entries[k];
}

std::string KernelSet::text(const KernelUse& use) const {
  return use.renamed(units_[use.kernel]->text);
}

}  // namespace luminal::compiler
