// A vector that keeps its first N elements inside itself. Shapes, axes and operand lists are short
// and made by the million; this keeps them off the heap and behaves like std::vector otherwise.
// Unlike std::vector, moving one that is still inline moves its elements, so references to them do
// not survive the move.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "luminal/support/check.h"
#include "luminal/support/hash.h"

namespace luminal::support {

/// The vector described above. T must be complete and nothrow-movable, which makes growing safe
/// against exceptions without a second code path. Indexing is unchecked; at() is checked. Converts
/// to std::span like any contiguous range.
template <typename T, std::size_t N>
class SmallVector {
  static_assert(N > 0, "use std::vector where nothing is to be kept inline");
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>);

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  SmallVector() noexcept : data_(inline_data()) {}
  /// `count` value-initialised elements.
  explicit SmallVector(size_type count) : SmallVector() { resize(count); }
  /// `count` copies of a value.
  SmallVector(size_type count, const T& value) : SmallVector() { resize(count, value); }
  SmallVector(std::initializer_list<T> values) : SmallVector() {
    append(values.begin(), values.end());
  }
  template <std::input_iterator Iterator>
  SmallVector(Iterator first, Iterator last) : SmallVector() {
    append(first, last);
  }
  /// Copies any range, such as a std::span or std::vector.
  template <typename Range>
  requires(!std::same_as<Range, SmallVector> && std::ranges::input_range<const Range> &&
           std::convertible_to<std::ranges::range_reference_t<const Range>,
                               T>) explicit SmallVector(const Range& range)
      : SmallVector() {
    append(range);
  }

  SmallVector(const SmallVector& other) : SmallVector() { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept : SmallVector() { take(other); }
  ~SmallVector() { release(); }

  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    data_ = inline_data();
    size_ = 0;
    capacity_ = N;
    take(other);
    return *this;
  }
  SmallVector& operator=(std::initializer_list<T> values) {
    assign(values.begin(), values.end());
    return *this;
  }

  /// Replaces the contents. The new values must not be elements of this vector.
  template <std::input_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    append(first, last);
  }
  void assign(size_type count, const T& value) {
    T copy = value;  // the value may be an element
    clear();
    resize(count, copy);
  }
  void assign(std::initializer_list<T> values) { assign(values.begin(), values.end()); }

  iterator begin() noexcept { return data_; }
  iterator end() noexcept { return data_ + size_; }
  const_iterator begin() const noexcept { return data_; }
  const_iterator end() const noexcept { return data_ + size_; }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  bool empty() const noexcept { return size_ == 0; }
  size_type size() const noexcept { return size_; }
  size_type capacity() const noexcept { return capacity_; }
  /// Whether the elements are inside the object, not on the heap.
  bool is_inline() const noexcept { return data_ == inline_data(); }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }

  T& operator[](size_type index) noexcept { return data_[index]; }
  const T& operator[](size_type index) const noexcept { return data_[index]; }
  /// The element at an index; an InternalError if there is none.
  T& at(size_type index) { return data_[checked(index)]; }
  const T& at(size_type index) const { return data_[checked(index)]; }
  T& front() noexcept { return data_[0]; }
  const T& front() const noexcept { return data_[0]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }

  void clear() noexcept {
    std::destroy_n(data_, size_);
    size_ = 0;
  }
  /// Makes room for `count` elements in all.
  void reserve(size_type count) {
    if (count > capacity_) move_to(Block(count));
  }
  /// Grows with value-initialised elements, or shrinks.
  void resize(size_type count) {
    if (count <= size_) return truncate(count);
    reserve_for(count);
    std::uninitialized_value_construct(end(), data_ + count);
    size_ = static_cast<std::uint32_t>(count);
  }
  /// Grows with copies of a value, or shrinks.
  void resize(size_type count, const T& value) {
    if (count <= size_) return truncate(count);
    T copy = value;  // growing may move the element it refers to
    reserve_for(count);
    std::uninitialized_fill(end(), data_ + count, copy);
    size_ = static_cast<std::uint32_t>(count);
  }

  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  /// Constructs an element at the end; the arguments may refer to elements of this vector.
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) return emplace_back_growing(std::forward<Args>(args)...);
    T* element = std::construct_at(end(), std::forward<Args>(args)...);
    ++size_;
    return *element;
  }
  void pop_back() noexcept { truncate(size_ - 1); }

  /// Adds values at the end. They must not be elements of this vector.
  template <std::input_iterator Iterator>
  void append(Iterator first, Iterator last) {
    if constexpr (std::forward_iterator<Iterator>) {
      const auto count = static_cast<size_type>(std::distance(first, last));
      reserve_for(size_ + count);
      std::uninitialized_copy(first, last, end());
      size_ += static_cast<std::uint32_t>(count);
    } else {
      for (; first != last; ++first) emplace_back(*first);
    }
  }
  template <std::ranges::input_range Range>
  void append(Range&& range) {
    if constexpr (std::ranges::sized_range<Range>) reserve_for(size_ + std::ranges::size(range));
    for (auto&& value : range) emplace_back(std::forward<decltype(value)>(value));
  }
  void append(std::initializer_list<T> values) { append(values.begin(), values.end()); }

  /// Inserts before a position; returns where the first new element is.
  iterator insert(const_iterator position, const T& value) { return emplace(position, value); }
  iterator insert(const_iterator position, T&& value) {
    return emplace(position, std::move(value));
  }
  iterator insert(const_iterator position, size_type count, const T& value) {
    const size_type index = position - begin(), old_size = size_;
    resize(size_ + count, value);
    return rotate_into_place(index, old_size);
  }
  template <std::input_iterator Iterator>
  iterator insert(const_iterator position, Iterator first, Iterator last) {
    const size_type index = position - begin(), old_size = size_;
    append(first, last);
    return rotate_into_place(index, old_size);
  }
  iterator insert(const_iterator position, std::initializer_list<T> values) {
    return insert(position, values.begin(), values.end());
  }
  template <typename... Args>
  iterator emplace(const_iterator position, Args&&... args) {
    const size_type index = position - begin(), old_size = size_;
    emplace_back(std::forward<Args>(args)...);
    return rotate_into_place(index, old_size);
  }

  /// Removes elements; returns where the next one is now.
  iterator erase(const_iterator position) { return erase(position, position + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const iterator hole = begin() + (first - begin());
    // Nothing to remove must not become a self-move of everything after.
    if (first == last) return hole;
    std::move(begin() + (last - begin()), end(), hole);
    truncate(size_ - static_cast<size_type>(last - first));
    return hole;
  }

  void swap(SmallVector& other) noexcept {
    SmallVector kept = std::move(other);
    other = std::move(*this);
    *this = std::move(kept);
  }
  friend void swap(SmallVector& left, SmallVector& right) noexcept { left.swap(right); }

  /// Vectors are equal if their elements are, whatever their inline capacity.
  template <std::size_t M>
  friend bool operator==(const SmallVector& left, const SmallVector<T, M>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
  }
  /// Lexicographic order.
  template <std::size_t M>
  requires std::three_way_comparable<T>
  friend auto operator<=>(const SmallVector& left, const SmallVector<T, M>& right) {
    return std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(),
                                                  right.end());
  }

 private:
  // Raw memory on the heap, freed unless it is handed over.
  struct Block {
    explicit Block(size_type count) : capacity(count) {
      LUMINAL_CHECK(count <= std::numeric_limits<std::uint32_t>::max(),
                    "SmallVector of {} elements", count);
      data = std::allocator<T>().allocate(count);
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block() {
      if (data != nullptr) std::allocator<T>().deallocate(data, capacity);
    }
    T* data = nullptr;
    size_type capacity;
  };

  T* inline_data() noexcept { return reinterpret_cast<T*>(storage_); }
  const T* inline_data() const noexcept { return reinterpret_cast<const T*>(storage_); }

  size_type checked(size_type index) const {
    LUMINAL_CHECK(index < size_, "index {} in a vector of {} elements", index, size_);
    return index;
  }

  void truncate(size_type count) noexcept {
    std::destroy(data_ + count, end());
    size_ = static_cast<std::uint32_t>(count);
  }

  // Destroys everything; the object must be re-initialised or die.
  void release() noexcept {
    std::destroy_n(data_, size_);
    if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
  }

  // Moves the contents of another vector here; this one must be empty and inline.
  void take(SmallVector& other) noexcept {
    if (other.is_inline()) {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.clear();
      return;
    }
    data_ = std::exchange(other.data_, other.inline_data());
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
  }

  void move_to(Block&& block) noexcept {
    std::uninitialized_move(begin(), end(), block.data);
    release();
    data_ = std::exchange(block.data, nullptr);
    capacity_ = static_cast<std::uint32_t>(block.capacity);
  }

  // Doubles at least, so that adding one element at a time takes linear time in all.
  size_type grown_capacity(size_type count) const {
    const size_type most = std::numeric_limits<std::uint32_t>::max();
    return std::max(count, std::min(most, size_type{capacity_} * 2));
  }
  void reserve_for(size_type count) {
    if (count > capacity_) move_to(Block(grown_capacity(count)));
  }

  template <typename... Args>
  T& emplace_back_growing(Args&&... args) {
    Block block(grown_capacity(size_type{size_} + 1));
    // Built before the others move: the arguments may refer to one of them.
    T* element = std::construct_at(block.data + size_, std::forward<Args>(args)...);
    move_to(std::move(block));
    ++size_;
    return *element;
  }

  iterator rotate_into_place(size_type index, size_type old_size) {
    std::rotate(begin() + index, begin() + old_size, end());
    return begin() + index;
  }

  T* data_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  alignas(T) std::byte storage_[N * sizeof(T)];
};

/// Removes the elements that satisfy a predicate; returns how many they were.
template <typename T, std::size_t N, typename Predicate>
std::size_t erase_if(SmallVector<T, N>& vector, Predicate predicate) {
  const auto kept_end = std::remove_if(vector.begin(), vector.end(), std::move(predicate));
  const auto removed = static_cast<std::size_t>(vector.end() - kept_end);
  vector.erase(kept_end, vector.end());
  return removed;
}

}  // namespace luminal::support

template <typename T, std::size_t N>
struct std::hash<luminal::support::SmallVector<T, N>> {
  std::size_t operator()(const luminal::support::SmallVector<T, N>& vector) const {
    std::uint64_t seed = vector.size();
    for (const T& element : vector)
      seed = luminal::support::hash_combine(seed, std::hash<T>{}(element));
    return static_cast<std::size_t>(seed);
  }
};
