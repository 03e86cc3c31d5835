#include "luminal/plan/buffer_memory.h"

#include <algorithm>

#include "luminal/support/check.h"

namespace luminal::plan {
namespace {

using graph::Array;

std::string_view purpose(Place place) {
  switch (place) {
    case Place::kSlot:
      return "values between steps";
    case Place::kResult:
      return "a result";
    default:
      return "prepared weights";
  }
}

std::string with_dims(const graph::DimBindings& dims) {
  std::string text;
  for (const symbolic::Binding& dim : dims)
    text += fmt::format("{}{} = {}", text.empty() ? " with " : ", ", dim.symbol.name(),
                        symbolic::to_string(dim.value));
  return text;
}

}  // namespace

BufferMemory::BufferMemory(const Plan& plan, const PlanValues& values)
    : plan_(plan),
      values_(values),
      prepared_(plan.prepared),
      results_(plan.results),
      addresses_(plan.buffers.size()) {}

/// What `take` gives. Where there is no memory, the error names the largest tensor that it is for
/// (in place number `index`, or in any) and the dims that make it so large.
template <typename Function>
auto BufferMemory::take_named(Place place, std::optional<size_t> index, int64_t bytes,
                              const Function& take) try {
  return take();
} catch (const DeviceError& error) {
  size_t largest = 0;
  int64_t most = -1;
  for (size_t k = 0; k < plan_.buffers.size(); ++k) {
    const PlanBuffer& buffer = plan_.buffers[k];
    if (buffer.place != place || (index && buffer.index != *index) || values_.bytes(k) <= most)
      continue;
    largest = k;
    most = values_.bytes(k);
  }
  const PlanBuffer& buffer = plan_.buffers[largest];
  throw DeviceError(error.call(), error.code(),
                    "run: there is no memory for {} bytes of {}{}; the largest is '{}', {}{}, of "
                    "{} bytes; give smaller dims, or run parts of the graph one after the other",
                    bytes, purpose(place), with_dims(dims_), buffer.name, buffer.type.dtype,
                    graph::to_string(values_.extents(largest)), most);
}

bool BufferMemory::take(const graph::DimBindings& dims, int threads) {
  dims_ = dims;
  take_slots();
  take_scratch(threads);
  result_bytes_.assign(plan_.results, 0);
  for (size_t k = 0; k < plan_.buffers.size(); ++k) {
    const PlanBuffer& buffer = plan_.buffers[k];
    if (buffer.place == Place::kResult)
      result_bytes_[buffer.index] = std::max(result_bytes_[buffer.index], values_.bytes(k));
  }
  return take_prepared();
}

void BufferMemory::take_slots() {
  std::vector<int64_t> slot_bytes(plan_.slots, 0);
  for (size_t k = 0; k < plan_.buffers.size(); ++k) {
    const PlanBuffer& buffer = plan_.buffers[k];
    if (buffer.place == Place::kSlot && plan_.slots > 0)
      slot_bytes[buffer.index] = std::max(slot_bytes[buffer.index], values_.bytes(k));
  }
  slot_offsets_.clear();
  int64_t total = 0;
  for (const int64_t bytes : slot_bytes) {
    slot_offsets_.push_back(total);
    total += runtime::aligned_size(bytes);
  }
  if (slots_.size() < total)
    slots_ = take_named(Place::kSlot, {}, total, [&] { return runtime::HostMemory(total); });
}

void BufferMemory::take_scratch(int threads) {
  int64_t most = 0;
  for (size_t k = 0; k < plan_.steps.size() + plan_.prepare.size(); ++k)
    if (const auto& launch = values_.launch(k))
      most = std::max(most, runtime::aligned_size(launch->thread_bytes));
  if (scratch_.size() < most * threads) scratch_ = runtime::HostMemory(most * threads);
}

bool BufferMemory::take_prepared() {
  bool is_new = false;
  for (size_t k = 0; k < plan_.buffers.size(); ++k) {
    const PlanBuffer& buffer = plan_.buffers[k];
    const int64_t bytes = values_.bytes(k);
    if (buffer.place != Place::kPrepared || prepared_[buffer.index].size() >= bytes) continue;
    prepared_[buffer.index] = take_named(Place::kPrepared, buffer.index, bytes,
                                         [&] { return runtime::HostMemory(bytes); });
    is_new = true;
  }
  return is_new;
}

const Array& BufferMemory::input(size_t buffer) const {
  return *request_->inputs.find(plan_.buffers[buffer].name)->second;
}

/// Makes the memory of an input that was given away that of a result, if nobody else sees it.
void BufferMemory::use_donation(const Donation& donation) {
  std::shared_ptr<std::byte>& result = results_[donation.result];
  if (result != nullptr || !request_->donated.contains(plan_.buffers[donation.input].name)) return;
  const Array& given = input(donation.input);
  const std::byte* data = given.bytes().data();
  const bool fits = values_.bytes(donation.input) == result_bytes_[donation.result] &&
                    reinterpret_cast<uintptr_t>(data) % runtime::kBufferAlignment == 0;
  const auto readers =
      std::count_if(request_->inputs.begin(), request_->inputs.end(), [&](const auto& other) {
        return other.second != nullptr && other.second->bytes().data() == data;
      });
  if (fits && !given.is_shared() && readers == 1) result = given.memory();
}

std::byte* BufferMemory::address(size_t buffer) const {
  const PlanBuffer& info = plan_.buffers[buffer];
  switch (info.place) {
    case Place::kInput:
      return const_cast<std::byte*>(input(buffer).bytes().data());
    case Place::kConstant:
      return const_cast<std::byte*>(info.value.bytes().data());
    case Place::kResult:
      return results_[info.index].get();
    case Place::kSlot:
      return plan_.slots == 0 ? nullptr : slots_.data() + slot_offsets_[info.index];
    case Place::kPrepared:
      return prepared_[info.index].data();
    case Place::kThread:
      return nullptr;
  }
  LUMINAL_CHECK(false, "buffer {} has no place", info.name);
}

void BufferMemory::place(const graph::RunRequest& request) {
  request_ = &request;
  for (std::shared_ptr<std::byte>& result : results_) result.reset();  // of a run that failed
  for (const Donation& donation : plan_.donations) use_donation(donation);
  for (size_t k = 0; k < results_.size(); ++k)
    if (results_[k] == nullptr)
      results_[k] = take_named(Place::kResult, k, result_bytes_[k],
                               [&] { return pool_.take(result_bytes_[k]); });
  for (size_t k = 0; k < plan_.buffers.size(); ++k) addresses_[k] = address(k);
}

Array BufferMemory::array(size_t buffer) const {
  const PlanBuffer& info = plan_.buffers[buffer];
  if (info.place == Place::kInput) return input(buffer);
  if (info.place == Place::kConstant) return info.value;
  const std::shared_ptr<std::byte> not_owned(std::shared_ptr<std::byte>(), addresses_[buffer]);
  return Array::adopt(info.type.dtype, values_.extents(buffer), not_owned);
}

void BufferMemory::give_outputs(std::vector<Array>& outputs) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const size_t buffer = plan_.outputs[k];
    const PlanBuffer& info = plan_.buffers[buffer];
    const auto& memory = info.place == Place::kInput      ? input(buffer).memory()
                         : info.place == Place::kConstant ? info.value.memory()
                                                          : results_[info.index];
    outputs[k].rebind(info.type.dtype, values_.extents(buffer), memory);
  }
  for (std::shared_ptr<std::byte>& result : results_) result.reset();
}

int64_t BufferMemory::kept_bytes() const {
  int64_t total = slots_.size() + scratch_.size();
  for (const runtime::HostMemory& memory : prepared_) total += memory.size();
  return total;
}

}  // namespace luminal::plan
