#include "luminal/codegen/llvm/kernel_compiler.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <memory>
#include <mutex>

#include "luminal/codegen/llvm/code_version.h"
#include "luminal/codegen/llvm/instruction_order.h"
#include "luminal/support/check.h"
#include "luminal/support/trace.h"

namespace luminal::codegen {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
// Of the layout of cached files; what is in them is keyed by code_version().
constexpr uint32_t kCacheVersion = 1;

/// The backend gives up by ending the process. An exception leaves behind what it had allocated,
/// and no more: everything it works on is the caller's.
void throw_fatal_error(void*, const char* reason, bool) {
  throw InternalError(fmt::format("the backend gives up: {}", reason));
}

/// Registers the x86 backend, once per process.
const llvm::Target& x86_target() {
  static const llvm::Target* target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // Loop strength reduction takes a third of the time and finds nothing: emitters advance
    // pointers themselves. The switch exists only as a command-line option of the library.
    auto& options = llvm::cl::getRegisteredOptions();
    const auto found = options.find("disable-lsr");
    if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
    use_instruction_order();
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(throw_fatal_error);
    std::string error;
    return llvm::TargetRegistry::lookupTarget(kTriple, error);
  }();
  LUMINAL_CHECK(target != nullptr, "LLVM has no x86 backend");
  return *target;
}

std::string feature_text(const CpuTarget& target) {
  std::string result;
  // f16 is computed in f32, so its own instructions would gain nothing; where the backend may use
  // them it does not know how to select some values that tests have become.
  for (const runtime::CpuFeatureInfo& row : runtime::kCpuFeatures)
    if (target.has(row.feature) && row.feature != runtime::CpuFeature::kAvx512fp16)
      result += (result.empty() ? "+" : ",+") + std::string(row.name);
  return result;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const CpuTarget& target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The plainest processor plus the features we know: the name of a processor would allow
  // instructions that a virtual machine may hide.
  std::unique_ptr<llvm::TargetMachine> machine(x86_target().createTargetMachine(
      kTriple, "x86-64", feature_text(target), options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Less));
  LUMINAL_CHECK(machine != nullptr, "LLVM refuses the target {}", target.name);
  return machine;
}

/// Writes the IR of a source into a module and completes what every function needs.
void emit_module(const KernelSource& source, const CpuTarget& target,
                 const llvm::TargetMachine& machine, llvm::Module& module) {
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine.createDataLayout());
  source.emit(module, target);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("tune-cpu", target.name);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // Without these the backend halves 512-bit vectors on some processors.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    throw InternalError(fmt::format("invalid IR for {}: {}", source.label, stream.str()));
}

std::string generate(const KernelSource& source, const CpuTarget& target,
                     llvm::CodeGenFileType type) {
  llvm::LLVMContext context;
  context.setDiscardValueNames(type == llvm::CodeGenFileType::ObjectFile);
  const std::unique_ptr<llvm::TargetMachine> machine = make_machine(target);
  llvm::Module module("kernel", context);
  emit_module(source, target, *machine, module);
  llvm::SmallString<0> output;
  llvm::raw_svector_ostream stream(output);
  llvm::legacy::PassManager passes;
  LUMINAL_CHECK(!machine->addPassesToEmitFile(passes, stream, nullptr, type, true),
                "LLVM cannot write this kind of file");
  passes.run(module);
  return std::string(output.data(), output.size());
}

}  // namespace

std::string KernelCompiler::cache_key(const KernelSource& source) const {
  std::string key = fmt::format("{}\n{} {}\n{}\n", compiler_version(), target_.name,
                                target_.features.to_string(), source.key);
  for (const runtime::EntryInfo& entry : source.entries) key += entry.name + "\n";
  return key;
}

runtime::Artifact KernelCompiler::compile(const KernelSource& source) const {
  support::TraceSpan span("kernel code", source.label);
  const bool cached = cache_ != nullptr && !source.key.empty();
  if (cached) {
    if (const auto bytes = cache_->get(cache_key(source))) {
      // The cache checks its files; bytes of another layout are of another version of ours.
      try {
        runtime::Artifact found = runtime::artifact_from_bytes(*bytes);
        span.note("from", "cache");
        return found;
      } catch (const UserError&) {
        cache_->remove(cache_key(source));
      }
    }
  }
  span.note("from", "compiler");
  runtime::Artifact artifact;
  artifact.label = source.label;
  artifact.compiler = compiler_version();
  artifact.needed = target_.features;
  artifact.code = generate(source, target_, llvm::CodeGenFileType::ObjectFile);
  artifact.entries = source.entries;
  if (cached) cache_->put(cache_key(source), runtime::to_bytes(artifact));
  return artifact;
}

std::string KernelCompiler::ir_text(const KernelSource& source) const {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::TargetMachine> machine = make_machine(target_);
  llvm::Module module("kernel", context);
  emit_module(source, target_, *machine, module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return stream.str();
}

std::string KernelCompiler::assembly_text(const KernelSource& source) const {
  return generate(source, target_, llvm::CodeGenFileType::AssemblyFile);
}

std::string_view compiler_version() {
  static const std::string version =
      fmt::format("llvm {} luminal {}", LLVM_VERSION_STRING, code_version());
  return version;
}

support::FileCache& default_kernel_cache() {
  static support::FileCache cache(support::default_cache_options("kernels", kCacheVersion));
  return cache;
}

}  // namespace luminal::codegen
