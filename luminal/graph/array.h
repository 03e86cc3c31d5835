// Dense, row-major host data of any dtype: what goes into a graph and what comes out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "luminal/graph/dtype.h"
#include "luminal/graph/scalar.h"

namespace luminal::graph {

/// A shape all of whose dims are known.
using Extents = std::vector<int64_t>;

/// Number of elements; throws UserError on overflow or negative extents.
int64_t element_count(const Extents& extents);

/// "[2, 3]"
std::string to_string(const Extents& extents);

/// An owned block of elements, aligned for vectors, and to a huge page where it is large, unless it
/// was made of foreign bytes. Copies share the bytes until one of them is written to (copy on
/// write).
class Array {
 public:
  Array() : Array(DType::kF32, {0}) {}
  /// Zeros.
  Array(DType dtype, Extents extents);
  /// Takes bytes in our layout; throws UserError if their number does not fit. Bytes of bool are
  /// made 0 or 1.
  Array(DType dtype, Extents extents, std::vector<std::byte> bytes);
  /// Takes over memory that somebody else made, of at least as many bytes as the elements take;
  /// what is in it must be values of the dtype.
  static Array adopt(DType dtype, Extents extents, std::shared_ptr<std::byte> memory);
  /// Becomes what adopt() would give. The extents are kept where the old ones were, so that arrays
  /// which are used again and again take no memory for them.
  void rebind(DType dtype, const Extents& extents, std::shared_ptr<std::byte> memory);
  /// Converts values to `dtype` by the cast rules. T is any C++ type that has a dtype
  /// (dispatch.h), but for the narrow floats.
  template <typename T>
  static Array from(DType dtype, Extents extents, std::span<const T> values);

  DType dtype() const { return dtype_; }               ///< of every element
  const Extents& extents() const { return extents_; }  ///< one per axis
  int64_t size() const { return size_; }               ///< number of elements
  std::span<const std::byte> bytes() const { return {data_.get(), byte_count()}; }  ///< row-major
  /// Unshares, then gives the bytes for writing.
  std::span<std::byte> mutable_bytes();
  /// True if others hold the same bytes, which writing would copy.
  bool is_shared() const { return data_.use_count() > 1; }
  /// The bytes with what keeps them alive. For programs that write over data they were given away;
  /// everybody else writes through mutable_bytes().
  const std::shared_ptr<std::byte>& memory() const { return data_; }
  /// Typed access; T must be the storage type of the dtype (not for packed dtypes), or it is a
  /// UserError.
  template <typename T>
  std::span<const T> as() const;
  template <typename T>
  std::span<T> mutable_as();  ///< the same for writing; unshares

  /// Element at a row-major position, any dtype.
  Scalar at(int64_t position) const;
  void set(int64_t position, const Scalar& value);  ///< casts the value to the array's dtype
  /// All elements converted to T by the cast rules.
  template <typename T>
  std::vector<T> to_vector() const;
  /// Converted element by element to another dtype.
  Array cast(DType dtype) const;
  /// The same bytes under other extents of equal element count.
  Array reshaped(Extents extents) const;
  /// Same dtype, extents and bits.
  bool identical(const Array& other) const;

 private:
  size_t byte_count() const { return static_cast<size_t>(byte_size(dtype_, size_)); }

  DType dtype_;
  Extents extents_;
  int64_t size_;
  std::shared_ptr<std::byte> data_;
};

}  // namespace luminal::graph
