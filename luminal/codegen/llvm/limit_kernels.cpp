#include "luminal/codegen/llvm/limit_kernels.h"

#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "luminal/codegen/llvm/gemm_amx.h"
#include "luminal/codegen/llvm/vector_builder.h"

namespace luminal::codegen {
namespace {

using runtime::BufferUse;
using runtime::CpuFeature;

/// As many sums at once as registers and latencies ask for.
int sums_of(const CpuTarget& target) { return target.vector_registers() == 32 ? 16 : 10; }

llvm::Value* next_sum(VectorBuilder& builder, PeakKind kind, llvm::Value* x, llvm::Value* sum) {
  if (kind == PeakKind::kF32) return builder.mul_add(x, x, sum);
  if (kind == PeakKind::kI8)
    return builder.call_intrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {sum, x, x});
  llvm::IRBuilder<>& ir = builder.ir();
  const int lanes = builder.target().lanes(32);
  llvm::Value* pairs = ir.CreateBitCast(x, VectorBuilder::vector(ir.getBFloatTy(), 2 * lanes));
  return builder.call_intrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                {sum, pairs, pairs});
}

GemmMode mode_of_matrices(PeakKind kind) {
  return kind == PeakKind::kBf16 ? GemmMode::kAmxBf16 : GemmMode::kAmxI8;
}

void emit_peak(VectorBuilder& builder, const EntryArguments& entry, PeakKind kind) {
  if (is_peak_of_matrices(kind, builder.target()))
    return emit_amx_rounds(builder, mode_of_matrices(kind), entry.begin, entry.end,
                           builder.buffer(entry, 0));
  llvm::IRBuilder<>& ir = builder.ir();
  const int lanes = builder.target().lanes(32);
  llvm::Type* type =
      VectorBuilder::vector(kind == PeakKind::kI8 ? builder.i32() : builder.f32(), lanes);
  llvm::Value* memory = builder.buffer(entry, 0);
  llvm::Value* x = builder.load(type, memory);
  Carried sums(static_cast<size_t>(sums_of(builder.target())), llvm::Constant::getNullValue(type));
  sums = builder.loop(entry.begin, entry.end, builder.index(1), sums,
                      [&](llvm::Value*, llvm::ArrayRef<llvm::Value*> now) {
                        Carried next;
                        for (llvm::Value* sum : now)
                          next.push_back(next_sum(builder, kind, x, sum));
                        return next;
                      });
  llvm::Value* total = sums[0];
  for (size_t i = 1; i < sums.size(); ++i)
    total = kind == PeakKind::kI8 ? ir.CreateAdd(total, sums[i]) : ir.CreateFAdd(total, sums[i]);
  builder.store(total, builder.offset(memory, 64));
}

void emit_read(VectorBuilder& builder, const EntryArguments& entry) {
  const int lanes = builder.target().lanes(32);
  llvm::Type* type = VectorBuilder::vector(builder.i32(), lanes);
  llvm::Value* memory = builder.buffer(entry, 0);
  const Carried zeros(4, llvm::Constant::getNullValue(type));
  const Carried sums = builder.loop(
      entry.begin, entry.end, builder.index(4), zeros,
      [&](llvm::Value* line, llvm::ArrayRef<llvm::Value*> now) {
        Carried next(now.begin(), now.end());
        llvm::Value* at = builder.offset(memory, builder.ir().CreateMul(line, builder.index(64)));
        for (int i = 0; i < 256; i += lanes * 4) {
          llvm::Value*& sum = next[static_cast<size_t>(i / 64)];
          sum = builder.ir().CreateXor(sum, builder.load(type, builder.offset(at, i)));
        }
        return next;
      });
  llvm::Value* total = sums[0];
  for (size_t i = 1; i < 4; ++i) total = builder.ir().CreateXor(total, sums[i]);
  builder.store(total, builder.buffer(entry, 1));
}

KernelSource source_of(std::string name, std::vector<BufferUse> buffers,
                       std::function<void(VectorBuilder&, const EntryArguments&)> emit) {
  KernelSource result;
  result.label = name;
  result.key = "limit " + std::move(name);
  result.entries = {{"kernel", std::move(buffers), 0, 0}};
  result.emit = [emit = std::move(emit)](llvm::Module& module, const CpuTarget& target) {
    VectorBuilder builder(module, target);
    const EntryArguments entry = builder.begin_entry("kernel");
    emit(builder, entry);
    builder.ir().CreateRetVoid();
  };
  return result;
}

}  // namespace

bool has_peak(PeakKind kind, const CpuTarget& target) {
  if (kind == PeakKind::kF32) return true;
  return target.has(kind == PeakKind::kBf16 ? CpuFeature::kAvx512bf16 : CpuFeature::kAvx512vnni);
}

bool is_peak_of_matrices(PeakKind kind, const CpuTarget& target) {
  if (kind == PeakKind::kF32) return false;
  return target.has(kind == PeakKind::kBf16 ? CpuFeature::kAmxBf16 : CpuFeature::kAmxInt8);
}

KernelSource peak_source(PeakKind kind) {
  static constexpr const char* kNames[] = {"f32", "bf16", "i8"};
  return source_of(fmt::format("peak of {}", kNames[static_cast<int>(kind)]),
                   {BufferUse::kReadWrite},
                   [kind](VectorBuilder& builder, const EntryArguments& entry) {
                     emit_peak(builder, entry, kind);
                   });
}

double peak_operations(PeakKind kind, const CpuTarget& target) {
  const double group = kind == PeakKind::kF32 ? 1 : kind == PeakKind::kBf16 ? 2 : 4;
  if (is_peak_of_matrices(kind, target))
    return 2 * group * kAmxRows * kAmxRows * kAmxColumns * kAmxRoundProducts;
  return 2 * group * target.lanes(32) * sums_of(target);
}

KernelSource read_source() {
  return source_of("read", {BufferUse::kRead, BufferUse::kWrite}, emit_read);
}

}  // namespace luminal::codegen
