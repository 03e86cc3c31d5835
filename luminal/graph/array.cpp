#include "luminal/graph/array.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "luminal/graph/dispatch.h"
#include "luminal/graph/elements.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

/// So that the number of bits still fits 64 bits.
constexpr int64_t kMostElements = int64_t{1} << 56;

/// Equal values have equal bytes: bool is 0 or 1, and the unused half of a last byte is zero.
void normalize_bytes(DType dtype, int64_t size, std::span<std::byte> bytes) {
  if (is_bool(dtype))
    for (std::byte& byte : bytes)
      if (byte != std::byte{0}) byte = std::byte{1};
  if (bits(dtype) == 4 && size % 2 != 0) bytes.back() &= std::byte{15};
}

/// Memory for elements, as vector code likes it. Large arrays lie on huge pages of their own where
/// the system has them, as memory of plans does (runtime/cpu/arena.h): what streams through small
/// ones is a quarter slower, and products whose rows are far apart a tenth. One of a megabyte then
/// takes two.
std::shared_ptr<std::byte> make_bytes(size_t count) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = count >= kHugePage / 2;
  const std::align_val_t alignment{huge ? kHugePage : 64};
  // The last page is taken as a whole, or the system takes small ones for what lies on it.
  const size_t taken = huge ? (count + kHugePage - 1) / kHugePage * kHugePage : count;
  const auto release = [alignment](std::byte* data) { ::operator delete(data, alignment); };
  auto* data = static_cast<std::byte*>(::operator new(taken, alignment));
  // Only advice: without huge pages everything still works.
  if (huge) madvise(data, taken, MADV_HUGEPAGE);
  return {data, release};
}

template <typename T>
void check_storage(DType dtype) {
  if (dtype != dtype_of<T>())
    throw UserError("array", "elements of {} asked for as {}; cast first", dtype, dtype_of<T>());
}

}  // namespace

std::string to_string(const Extents& extents) {
  std::string text = "[";
  for (size_t k = 0; k < extents.size(); ++k)
    text += fmt::format("{}{}", k > 0 ? ", " : "", extents[k]);
  return text + "]";
}

int64_t element_count(const Extents& extents) {
  // One empty extent makes the whole empty, however large the others are.
  bool empty = false;
  for (const int64_t extent : extents) {
    if (extent < 0) throw UserError("array", "negative extent in {}", to_string(extents));
    empty = empty || extent == 0;
  }
  if (empty) return 0;
  int64_t count = 1;
  for (const int64_t extent : extents)
    if (__builtin_mul_overflow(count, extent, &count) || count > kMostElements)
      throw UserError("array", "too many elements in {}", to_string(extents));
  return count;
}

Array::Array(DType dtype, Extents extents)
    : dtype_(dtype), extents_(std::move(extents)), size_(element_count(extents_)) {
  try {
    data_ = make_bytes(byte_count());
  } catch (const std::bad_alloc&) {
    throw UserError("array", "there is no memory for the {} bytes of {}{}", byte_count(), dtype,
                    to_string(extents_));
  }
  std::memset(data_.get(), 0, byte_count());
}

Array Array::adopt(DType dtype, Extents extents, std::shared_ptr<std::byte> memory) {
  Array result(dtype, {0});
  result.size_ = element_count(extents);
  result.extents_ = std::move(extents);
  LUMINAL_CHECK(memory != nullptr || result.size_ == 0, "an array of no memory");
  result.data_ = std::move(memory);
  return result;
}

void Array::rebind(DType dtype, const Extents& extents, std::shared_ptr<std::byte> memory) {
  const int64_t size = element_count(extents);
  LUMINAL_CHECK(memory != nullptr || size == 0, "an array of no memory");
  dtype_ = dtype;
  extents_ = extents;
  size_ = size;
  data_ = std::move(memory);
}

Array::Array(DType dtype, Extents extents, std::vector<std::byte> bytes)
    : dtype_(dtype), extents_(std::move(extents)), size_(element_count(extents_)) {
  if (static_cast<int64_t>(bytes.size()) != byte_size(dtype, size_))
    throw UserError("array", "{}{} takes {} bytes, not {}", dtype, to_string(extents_),
                    byte_size(dtype, size_), bytes.size());
  normalize_bytes(dtype, size_, bytes);
  const auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  data_ = {owner, owner->data()};
}

template <typename T>
Array Array::from(DType dtype, Extents extents, std::span<const T> values) {
  Array result(dtype, std::move(extents));
  if (static_cast<int64_t>(values.size()) != result.size())
    throw UserError("array", "{}{} takes {} values, not {}", dtype, to_string(result.extents()),
                    result.size(), values.size());
  cast_elements(dtype_of<T>(), reinterpret_cast<const std::byte*>(values.data()), dtype,
                result.data_.get(), result.size());
  return result;
}

std::span<std::byte> Array::mutable_bytes() {
  if (data_.use_count() > 1) {
    const std::shared_ptr<std::byte> shared = std::exchange(data_, make_bytes(byte_count()));
    if (size_ > 0) std::memcpy(data_.get(), shared.get(), byte_count());
  }
  return {data_.get(), byte_count()};
}

template <typename T>
std::span<const T> Array::as() const {
  check_storage<T>(dtype_);
  return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(size_)};
}

template <typename T>
std::span<T> Array::mutable_as() {
  check_storage<T>(dtype_);
  return {reinterpret_cast<T*>(mutable_bytes().data()), static_cast<size_t>(size_)};
}

Scalar Array::at(int64_t position) const {
  LUMINAL_CHECK(position >= 0 && position < size_, "element {} of {}", position, size_);
  const ElementRun run{position, 1, 1};
  if (is_float(dtype_)) {
    double value = 0.0;
    load(dtype_, data_.get(), run, &value);
    return Scalar::of(dtype_, value);
  }
  int64_t value = 0;
  load(dtype_, data_.get(), run, &value);
  return Scalar::of(dtype_, value);
}

void Array::set(int64_t position, const Scalar& value) {
  LUMINAL_CHECK(position >= 0 && position < size_, "element {} of {}", position, size_);
  const Scalar stored = value.cast(dtype_);
  std::byte* data = mutable_bytes().data();
  if (is_float(dtype_)) {
    const double number = stored.as_double();
    store(dtype_, data, position, std::span(&number, 1));
  } else {
    const int64_t number = stored.as_int64();
    store(dtype_, data, position, std::span(&number, 1));
  }
}

template <typename T>
std::vector<T> Array::to_vector() const {
  std::vector<T> result(static_cast<size_t>(size_));
  cast_elements(dtype_, data_.get(), dtype_of<T>(), reinterpret_cast<std::byte*>(result.data()),
                size_);
  return result;
}

/// std::vector<bool> has no elements to write to.
template <>
std::vector<bool> Array::to_vector<bool>() const {
  const Array flags = cast(DType::kBool);
  const std::span<const bool> values = flags.as<bool>();
  return {values.begin(), values.end()};
}

Array Array::cast(DType dtype) const {
  if (dtype == dtype_) return *this;
  Array result(dtype, extents_);
  cast_elements(dtype_, data_.get(), dtype, result.data_.get(), size_);
  return result;
}

Array Array::reshaped(Extents extents) const {
  if (element_count(extents) != size_)
    throw UserError("reshape", "{} has {} elements, {} has {}", to_string(extents_), size_,
                    to_string(extents), element_count(extents));
  Array result = *this;
  result.extents_ = std::move(extents);
  return result;
}

bool Array::identical(const Array& other) const {
  return dtype_ == other.dtype_ && extents_ == other.extents_ &&
         (data_ == other.data_ || std::ranges::equal(bytes(), other.bytes()));
}

template Array Array::from<double>(DType, Extents, std::span<const double>);
template Array Array::from<float>(DType, Extents, std::span<const float>);
template Array Array::from<int64_t>(DType, Extents, std::span<const int64_t>);
template Array Array::from<int32_t>(DType, Extents, std::span<const int32_t>);
template Array Array::from<int16_t>(DType, Extents, std::span<const int16_t>);
template Array Array::from<int8_t>(DType, Extents, std::span<const int8_t>);
template Array Array::from<uint8_t>(DType, Extents, std::span<const uint8_t>);
template Array Array::from<uint16_t>(DType, Extents, std::span<const uint16_t>);
template Array Array::from<uint32_t>(DType, Extents, std::span<const uint32_t>);
template Array Array::from<bool>(DType, Extents, std::span<const bool>);

template std::vector<double> Array::to_vector() const;
template std::vector<float> Array::to_vector() const;
template std::vector<int64_t> Array::to_vector() const;
template std::vector<int32_t> Array::to_vector() const;
template std::vector<int16_t> Array::to_vector() const;
template std::vector<int8_t> Array::to_vector() const;
template std::vector<uint8_t> Array::to_vector() const;
template std::vector<uint16_t> Array::to_vector() const;
template std::vector<uint32_t> Array::to_vector() const;

template std::span<const double> Array::as() const;
template std::span<const float> Array::as() const;
template std::span<const Half> Array::as() const;
template std::span<const BFloat16> Array::as() const;
template std::span<const F8E4M3> Array::as() const;
template std::span<const F8E5M2> Array::as() const;
template std::span<const int64_t> Array::as() const;
template std::span<const int32_t> Array::as() const;
template std::span<const int16_t> Array::as() const;
template std::span<const int8_t> Array::as() const;
template std::span<const uint8_t> Array::as() const;
template std::span<const uint16_t> Array::as() const;
template std::span<const uint32_t> Array::as() const;
template std::span<const bool> Array::as() const;

template std::span<double> Array::mutable_as();
template std::span<float> Array::mutable_as();
template std::span<Half> Array::mutable_as();
template std::span<BFloat16> Array::mutable_as();
template std::span<F8E4M3> Array::mutable_as();
template std::span<F8E5M2> Array::mutable_as();
template std::span<int64_t> Array::mutable_as();
template std::span<int32_t> Array::mutable_as();
template std::span<int16_t> Array::mutable_as();
template std::span<int8_t> Array::mutable_as();
template std::span<uint8_t> Array::mutable_as();
template std::span<uint16_t> Array::mutable_as();
template std::span<uint32_t> Array::mutable_as();
template std::span<bool> Array::mutable_as();

}  // namespace luminal::graph
