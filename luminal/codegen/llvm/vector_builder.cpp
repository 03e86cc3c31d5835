#include "luminal/codegen/llvm/vector_builder.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <utility>

#include "luminal/support/check.h"

namespace luminal::codegen {

using llvm::Value;

VectorBuilder::VectorBuilder(llvm::Module& module, const CpuTarget& target)
    : module_(module), target_(target), ir_(module.getContext()) {}

llvm::Type* VectorBuilder::vector(llvm::Type* element, int lanes) {
  if (lanes == 1) return element;
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

int VectorBuilder::lanes_of(Value* value) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type == nullptr ? 1 : static_cast<int>(type->getNumElements());
}

llvm::Constant* VectorBuilder::number(llvm::Type* type, double value) {
  return llvm::ConstantFP::get(type, value);
}

llvm::Constant* VectorBuilder::integer(llvm::Type* type, int64_t value) {
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(value), true);
}

EntryArguments VectorBuilder::begin_entry(std::string_view name) {
  const std::array<llvm::Type*, 5> types{pointer(), pointer(), i64(), i64(), pointer()};
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), types, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                          llvm::StringRef(name.data(), name.size()), module_);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
  return {function,
          function->getArg(0),
          function->getArg(1),
          function->getArg(2),
          function->getArg(3),
          function->getArg(4)};
}

llvm::Function* VectorBuilder::begin_function(std::string_view name, llvm::Type* result,
                                              llvm::ArrayRef<llvm::Type*> arguments) {
  auto* type = llvm::FunctionType::get(result, arguments, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                          llvm::StringRef(name.data(), name.size()), module_);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
  return function;
}

Value* VectorBuilder::buffer(const EntryArguments& entry, int number) {
  return ir_.CreateLoad(pointer(), offset(entry.buffers, number * 8));
}

Value* VectorBuilder::scalar(const EntryArguments& entry, int number) {
  return ir_.CreateLoad(i64(), offset(entry.scalars, number * 8));
}

llvm::BasicBlock* VectorBuilder::new_block(const char* name) {
  return llvm::BasicBlock::Create(module_.getContext(), name, ir_.GetInsertBlock()->getParent());
}

Carried VectorBuilder::loop(
    Value* begin, Value* end, Value* step, llvm::ArrayRef<Value*> initial,
    llvm::function_ref<Carried(Value* index, llvm::ArrayRef<Value*> carried)> body) {
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* turn = new_block("loop");
  llvm::BasicBlock* after = new_block("after");
  ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), turn, after);
  ir_.SetInsertPoint(turn);
  llvm::PHINode* position = ir_.CreatePHI(begin->getType(), 2);
  position->addIncoming(begin, before);
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  Carried current;
  for (Value* value : initial) {
    phis.push_back(ir_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    current.push_back(phis.back());
  }
  const Carried next = body(position, current);
  LUMINAL_CHECK(next.size() == initial.size(), "a loop carries {} values, its body gives {}",
                initial.size(), next.size());
  Value* advanced = ir_.CreateAdd(position, step);
  llvm::BasicBlock* last = ir_.GetInsertBlock();
  ir_.CreateCondBr(ir_.CreateICmpSLT(advanced, end), turn, after);
  position->addIncoming(advanced, last);
  ir_.SetInsertPoint(after);
  Carried result;
  for (size_t i = 0; i < phis.size(); ++i) {
    phis[i]->addIncoming(next[i], last);
    llvm::PHINode* merged = ir_.CreatePHI(initial[i]->getType(), 2);
    merged->addIncoming(initial[i], before);
    merged->addIncoming(next[i], last);
    result.push_back(merged);
  }
  return result;
}

void VectorBuilder::loop(Value* begin, Value* end, Value* step,
                         llvm::function_ref<void(Value* index)> body) {
  loop(begin, end, step, {}, [&](Value* position, llvm::ArrayRef<Value*>) {
    body(position);
    return Carried{};
  });
}

void VectorBuilder::if_then(Value* condition, llvm::function_ref<void()> then) {
  llvm::BasicBlock* inside = new_block("then");
  llvm::BasicBlock* after = new_block("after");
  ir_.CreateCondBr(condition, inside, after);
  ir_.SetInsertPoint(inside);
  then();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

Carried VectorBuilder::if_else(Value* condition, llvm::function_ref<Carried()> then,
                               llvm::function_ref<Carried()> otherwise) {
  llvm::BasicBlock* first = new_block("then");
  llvm::BasicBlock* second = new_block("else");
  llvm::BasicBlock* after = new_block("after");
  ir_.CreateCondBr(condition, first, second);
  ir_.SetInsertPoint(first);
  const Carried left = then();
  first = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(second);
  const Carried right = otherwise();
  second = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  LUMINAL_CHECK(left.size() == right.size(), "branches give {} and {} values", left.size(),
                right.size());
  Carried result;
  for (size_t i = 0; i < left.size(); ++i) {
    llvm::PHINode* merged = ir_.CreatePHI(left[i]->getType(), 2);
    merged->addIncoming(left[i], first);
    merged->addIncoming(right[i], second);
    result.push_back(merged);
  }
  return result;
}

Carried VectorBuilder::if_rare(Value* condition, llvm::function_ref<Carried()> then,
                               llvm::function_ref<Carried()> otherwise) {
  if (!leaves_rare_out_) return if_else(condition, then, otherwise);
  any_rare_ = any_rare_ == nullptr ? condition : ir_.CreateOr(any_rare_, condition);
  return otherwise();
}

Value* VectorBuilder::without_rare(llvm::function_ref<void()> code) {
  const bool outer_leaves_out = std::exchange(leaves_rare_out_, true);
  Value* outer = std::exchange(any_rare_, nullptr);
  code();
  leaves_rare_out_ = outer_leaves_out;
  return std::exchange(any_rare_, outer);
}

void VectorBuilder::behind(Value* value, llvm::function_ref<void()> code) {
  const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  if (auto* defined = llvm::dyn_cast<llvm::Instruction>(value))
    if (const auto place = defined->getInsertionPointAfterDef();
        place && *place != ir_.GetInsertPoint())
      ir_.SetInsertPoint(*place);
  code();
}

Value* VectorBuilder::stack(llvm::Type* type, int align) {
  llvm::BasicBlock& first = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> start(&first, first.begin());
  llvm::AllocaInst* result = start.CreateAlloca(type);
  result->setAlignment(llvm::Align(static_cast<uint64_t>(align)));
  return result;
}

Value* VectorBuilder::offset(Value* pointer, Value* bytes) {
  return ir_.CreateGEP(i8(), pointer, bytes);
}

Value* VectorBuilder::offset(Value* pointer, int64_t bytes) {
  return bytes == 0 ? pointer : offset(pointer, index(bytes));
}

llvm::Align VectorBuilder::alignment(llvm::Type* type, const Access& access) const {
  if (access.align > 0) return llvm::Align(static_cast<uint64_t>(access.align));
  return module_.getDataLayout().getABITypeAlign(type->getScalarType());
}

namespace {

/// Whether a mask is known to have all lanes.
bool is_all(const Value* mask) {
  const auto* known = llvm::dyn_cast<llvm::Constant>(mask);
  return known != nullptr && known->isAllOnesValue();
}

}  // namespace

Value* VectorBuilder::load(llvm::Type* type, Value* pointer, const Access& access) {
  const llvm::Align align = alignment(type, access);
  if (access.mask == nullptr || is_all(access.mask))
    return ir_.CreateAlignedLoad(type, pointer, align);
  Value* other = access.other != nullptr ? access.other : llvm::Constant::getNullValue(type);
  if (type->isVectorTy()) return ir_.CreateMaskedLoad(type, pointer, align, access.mask, other);
  return if_else(
      access.mask, [&] { return Carried{ir_.CreateAlignedLoad(type, pointer, align)}; },
      [&] { return Carried{other}; })[0];
}

void VectorBuilder::store(Value* value, Value* pointer, const Access& access) {
  const llvm::Align align = alignment(value->getType(), access);
  if (access.mask != nullptr && value->getType()->isVectorTy()) {
    ir_.CreateMaskedStore(value, pointer, align, access.mask);
  } else if (access.mask != nullptr) {
    if_then(access.mask, [&] { ir_.CreateAlignedStore(value, pointer, align); });
  } else {
    llvm::StoreInst* store = ir_.CreateAlignedStore(value, pointer, align);
    if (!access.streaming) return;
    llvm::LLVMContext& context = module_.getContext();
    auto* one = llvm::ConstantAsMetadata::get(ir_.getInt32(1));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, {one}));
  }
}

Value* VectorBuilder::gather(llvm::Type* element, Value* base, Value* indices, Value* mask) {
  const int lanes = lanes_of(indices);
  Value* pointers = ir_.CreateGEP(element, base, indices);
  llvm::Type* type = vector(element, lanes);
  return ir_.CreateMaskedGather(type, pointers, alignment(type, {}), mask,
                                llvm::Constant::getNullValue(type));
}

void VectorBuilder::scatter(Value* value, Value* base, Value* indices, Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  ir_.CreateMaskedScatter(value, ir_.CreateGEP(element, base, indices), alignment(element, {}),
                          mask);
}

void VectorBuilder::prefetch(Value* pointer, int locality, bool to_write) {
  constexpr int kFirstCache = 3;
  if (target_.asks_for_first_cache()) locality = kFirstCache;
  call_intrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                 {pointer, ir_.getInt32(to_write ? 1 : 0),
                  ir_.getInt32(static_cast<uint32_t>(locality)), ir_.getInt32(1)});
}

void VectorBuilder::fence() { ir_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent); }

Value* VectorBuilder::splat(Value* scalar, int lanes) {
  return lanes == 1 ? scalar : ir_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

Value* VectorBuilder::iota(llvm::Type* element, int lanes) {
  llvm::SmallVector<llvm::Constant*, 16> values;
  for (int i = 0; i < lanes; ++i) values.push_back(integer(element, i));
  return lanes == 1 ? values[0] : llvm::ConstantVector::get(values);
}

Value* VectorBuilder::lanes_below(Value* count, int lanes) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(count)) {
    Value* bound =
        integer(vector(i32(), lanes), std::clamp<int64_t>(known->getSExtValue(), 0, lanes));
    return ir_.CreateICmpSLT(iota(i32(), lanes), bound);
  }
  // 32-bit lanes make one compare; the count is brought into their range first.
  Value* bounded = ir_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, index(0)),
      index(lanes));
  return ir_.CreateICmpSLT(iota(i32(), lanes), splat(ir_.CreateTrunc(bounded, i32()), lanes));
}

Value* VectorBuilder::any(Value* mask) {
  return mask->getType()->isVectorTy() ? ir_.CreateOrReduce(mask) : mask;
}

Value* VectorBuilder::hidden(llvm::Constant* scalar) {
  const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  ir_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  auto* type = llvm::FunctionType::get(scalar->getType(), {scalar->getType()}, false);
  const char* constraint = scalar->getType()->isIntegerTy() ? "=r,0" : "=v,0";
  return ir_.CreateCall(type, llvm::InlineAsm::get(type, "", constraint, false), {scalar});
}

Value* VectorBuilder::pinned(Value* value) {
  const int lanes = lanes_of(value);
  const int whole =
      target_.vector_bytes() * 8 / static_cast<int>(value->getType()->getScalarSizeInBits());
  if (lanes == 1 || lanes % whole != 0) return value;
  llvm::SmallVector<Value*, 8> registers;
  for (int first = 0; first < lanes; first += whole) {
    Value* each = part(value, first, whole);
    auto* type = llvm::FunctionType::get(each->getType(), {each->getType()}, false);
    registers.push_back(ir_.CreateCall(type, llvm::InlineAsm::get(type, "", "=v,0", true), {each}));
  }
  return join(registers);
}

Value* VectorBuilder::mul_add(Value* a, Value* b, Value* c) {
  if (!target_.has_fma()) return ir_.CreateFAdd(ir_.CreateFMul(a, b), c);
  return call_intrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

Value* VectorBuilder::horizontal_sum(Value* value) {
  if (!value->getType()->isVectorTy()) return value;
  if (value->getType()->isIntOrIntVectorTy()) return ir_.CreateAddReduce(value);
  auto* sum = llvm::cast<llvm::CallInst>(
      ir_.CreateFAddReduce(number(value->getType()->getScalarType(), -0.0), value));
  sum->setHasAllowReassoc(true);  // else lane after lane
  return sum;
}

Value* VectorBuilder::horizontal_max(Value* value) {
  return horizontal(value, [&](Value* a, Value* b) { return maximum(a, b); });
}

Value* VectorBuilder::horizontal(Value* value,
                                 llvm::function_ref<Value*(Value* a, Value* b)> combine) {
  if (!value->getType()->isVectorTy()) return value;
  int lanes = lanes_of(value);
  LUMINAL_CHECK((lanes & (lanes - 1)) == 0, "{} lanes", lanes);
  for (; lanes > 1; lanes /= 2) {
    llvm::SmallVector<int, 16> low;
    llvm::SmallVector<int, 16> high;
    for (int i = 0; i < lanes / 2; ++i) {
      low.push_back(i);
      high.push_back(i + lanes / 2);
    }
    value = combine(ir_.CreateShuffleVector(value, low), ir_.CreateShuffleVector(value, high));
  }
  return ir_.CreateExtractElement(value, uint64_t{0});
}

Value* VectorBuilder::maximum(Value* a, Value* b) {
  return call_intrinsic(llvm::Intrinsic::maximum, {a->getType()}, {a, b});
}

Value* VectorBuilder::part(Value* value, int first, int lanes) {
  if (lanes == lanes_of(value)) return value;
  llvm::SmallVector<int, 64> chosen;
  for (int lane = 0; lane < lanes; ++lane) chosen.push_back(first + lane);
  return ir_.CreateShuffleVector(value, chosen);
}

Value* VectorBuilder::join(llvm::ArrayRef<Value*> parts) {
  if (parts.size() == 1) return parts[0];
  // Halves first: two vectors of one type make one of twice the lanes.
  const size_t half = parts.size() / 2;
  LUMINAL_CHECK(half * 2 == parts.size(), "{} parts", parts.size());
  Value* low = join(parts.take_front(half));
  Value* high = join(parts.drop_front(half));
  llvm::SmallVector<int, 64> all;
  for (int lane = 0; lane < 2 * lanes_of(low); ++lane) all.push_back(lane);
  return ir_.CreateShuffleVector(low, high, all);
}

namespace {

/// The lanes of two vectors in turn, the lower or upper half of every group of `size`.
llvm::SmallVector<int, 64> in_turn(int lanes, int size, bool upper) {
  llvm::SmallVector<int, 64> chosen;
  for (int lane = 0; lane < lanes; ++lane) {
    const int place = lane % size;
    chosen.push_back(place % 2 * lanes + lane - place + place / 2 + (upper ? size / 2 : 0));
  }
  return chosen;
}

}  // namespace

/// By exchanging ever smaller blocks. Rows of 16 bytes are shuffled like cards instead, each with
/// one half a square away: every step is then the cheapest shuffle there is, which stays within 16
/// bytes.
void VectorBuilder::transpose(llvm::SmallVectorImpl<Value*>& rows) {
  constexpr unsigned kCheapBits = 128;
  const int size = static_cast<int>(rows.size());
  const int lanes = lanes_of(rows[0]);
  LUMINAL_CHECK(lanes % size == 0, "{} vectors of {} lanes are no squares", size, lanes);
  const bool cheap =
      rows[0]->getType()->getScalarSizeInBits() * static_cast<unsigned>(size) == kCheapBits;
  for (int step = size / 2; step > 0; step /= 2) {
    if (cheap) {
      const llvm::SmallVector<Value*, 16> before(rows.begin(), rows.end());
      for (size_t i = 0; i < rows.size(); ++i)
        rows[i] = ir_.CreateShuffleVector(before[i / 2], before[i / 2 + before.size() / 2],
                                          in_turn(lanes, size, i % 2 != 0));
      continue;
    }
    llvm::SmallVector<int, 64> upper;
    llvm::SmallVector<int, 64> lower;
    for (int lane = 0; lane < lanes; ++lane) {
      const bool second = (lane & step) != 0;
      upper.push_back(second ? lanes + lane - step : lane);
      lower.push_back(second ? lanes + lane : lane + step);
    }
    for (int i = 0; i < size; ++i) {
      if ((i & step) != 0) continue;
      Value* first = rows[static_cast<size_t>(i)];
      Value* second = rows[static_cast<size_t>(i + step)];
      rows[static_cast<size_t>(i)] = ir_.CreateShuffleVector(first, second, upper);
      rows[static_cast<size_t>(i + step)] = ir_.CreateShuffleVector(first, second, lower);
    }
  }
}

/// Lane i is the element at `place` i of all vectors one after the other.
Value* VectorBuilder::chosen_from(llvm::ArrayRef<Value*> vectors,
                                  llvm::function_ref<int(int lane)> place) {
  const int lanes = lanes_of(vectors[0]);
  Value* result = vectors[0];
  for (int number = 1; number < static_cast<int>(vectors.size()); ++number) {
    llvm::SmallVector<int, 64> chosen;
    for (int lane = 0; lane < lanes; ++lane) {
      const int from = place(lane) / lanes;
      // Lanes of vectors before the second one are in their places already.
      const int before = number == 1 && from == 0 ? place(lane) : lane;
      chosen.push_back(from == number ? lanes + place(lane) % lanes
                                      : (from < number ? before : -1));
    }
    result = ir_.CreateShuffleVector(result, vectors[static_cast<size_t>(number)], chosen);
  }
  return result;
}

/// By halves as long as their number is even: each step then takes one shuffle for a vector.
void VectorBuilder::unzip(llvm::SmallVectorImpl<Value*>& vectors) {
  const int count = static_cast<int>(vectors.size());
  if (count == 1) return;
  if (count % 2 != 0) {
    const llvm::SmallVector<Value*, 16> before(vectors.begin(), vectors.end());
    for (int row = 0; row < count; ++row)
      vectors[static_cast<size_t>(row)] =
          chosen_from(before, [&](int lane) { return lane * count + row; });
    return;
  }
  llvm::SmallVector<Value*, 16> halves[2];
  for (size_t i = 0; i < vectors.size(); i += 2)
    for (const int odd : {0, 1})
      halves[odd].push_back(
          chosen_from({vectors[i], vectors[i + 1]}, [&](int lane) { return 2 * lane + odd; }));
  for (const int odd : {0, 1}) {
    unzip(halves[odd]);
    for (size_t i = 0; i < halves[odd].size(); ++i)
      vectors[2 * i + static_cast<size_t>(odd)] = halves[odd][i];
  }
}

void VectorBuilder::zip(llvm::SmallVectorImpl<Value*>& rows) {
  const int count = static_cast<int>(rows.size());
  const int lanes = lanes_of(rows[0]);
  if (count == 1) return;
  if (count % 2 != 0) {
    const llvm::SmallVector<Value*, 16> before(rows.begin(), rows.end());
    for (int vector = 0; vector < count; ++vector)
      rows[static_cast<size_t>(vector)] = chosen_from(before, [&](int lane) {
        const int at = vector * lanes + lane;
        return at % count * lanes + at / count;
      });
    return;
  }
  llvm::SmallVector<Value*, 16> halves[2];
  for (size_t i = 0; i < rows.size(); ++i) halves[i % 2].push_back(rows[i]);
  for (auto& half : halves) zip(half);
  for (size_t i = 0; i < halves[0].size(); ++i)
    for (const int upper : {0, 1})
      rows[2 * i + static_cast<size_t>(upper)] =
          chosen_from({halves[0][i], halves[1][i]},
                      [&](int lane) { return lane % 2 * lanes + upper * (lanes / 2) + lane / 2; });
}

Value* VectorBuilder::call_intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types,
                                     llvm::ArrayRef<Value*> arguments) {
  return ir_.CreateCall(llvm::Intrinsic::getDeclaration(&module_, id, types), arguments);
}

}  // namespace luminal::codegen
