// Host sorts: values of a user's C++ type inside the e-graph. A value is interned once, compared by
// its interned word from then on, and printed through HostTraits, which a user may specialise.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

#include "luminal/egraph/sort.h"

namespace luminal::egraph {

/// How values of T are hashed, compared and printed. Specialise it, or give T a std::hash, an
/// operator== and a function text_of(const T&) (or std::to_string) found by its namespace.
template <typename T>
struct HostTraits {
  static size_t hash(const T& value) { return std::hash<T>{}(value); }
  static bool equal(const T& a, const T& b) { return a == b; }
  static std::string to_text(const T& value) {
    using std::to_string;
    if constexpr (requires { text_of(value); }) {
      return text_of(value);
    } else {
      return to_string(value);
    }
  }
};

/// The interner behind one host sort. Values live as long as the e-graph and its snapshots. Locked,
/// because primitives of rule bodies may create values while several threads match.
template <typename T>
class HostSort : public HostSortBase {
 public:
  /// The word of a value.
  Value intern(const T& value) {
    const std::lock_guard lock(mutex_);
    const size_t key = HostTraits<T>::hash(value);
    const auto [first, last] = index_.equal_range(key);
    for (auto at = first; at != last; ++at)
      if (HostTraits<T>::equal(values_[at->second], value)) return at->second;
    const auto word = static_cast<Value>(values_.size());
    values_.push_back(value);
    index_.emplace(key, word);
    return word;
  }
  /// The value of a word. References stay good: values never move.
  const T& get(Value word) const {
    const std::lock_guard lock(mutex_);
    return values_[word];
  }
  std::string to_text(Value word) const override { return HostTraits<T>::to_text(get(word)); }

 private:
  mutable std::mutex mutex_;
  std::deque<T> values_;
  std::unordered_multimap<size_t, Value> index_;
};

}  // namespace luminal::egraph
