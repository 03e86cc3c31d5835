// Interners of base values: integers that do not fit inline, floats, strings, big numbers and
// values of host sorts. Interning makes equality a comparison of words; values are never freed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "luminal/egraph/sexp.h"
#include "luminal/egraph/value.h"

namespace luminal::egraph {

struct BigStore;  // big_store.h, so that few files see the big-number library

/// Owns the base values of an e-graph and of all its snapshots.
class ValueStore {
 public:
  ValueStore();
  ~ValueStore();
  ValueStore(const ValueStore&) = delete;
  ValueStore& operator=(const ValueStore&) = delete;

  /// Integers in [0, 2^31) are their own value; others are interned with the top bit set.
  Value from_i64(int64_t number) {
    if (number >= 0 && number < kInlineLimit) return static_cast<Value>(number);
    return intern_i64(number);
  }
  int64_t i64(Value value) const {
    return value < kInlineLimit ? static_cast<int64_t>(value) : wide_[value - kInlineLimit];
  }

  /// All NaNs are one value, and so are the two zeros.
  Value from_f64(double number);
  double f64(Value value) const { return floats_[value]; }

  Value from_string(std::string_view text);
  const std::string& string(Value value) const { return *strings_[value]; }

  static Value from_bool(bool truth) { return truth ? 1 : 0; }
  static bool boolean(Value value) { return value != 0; }

  /// The value of a literal of the text.
  Value from_literal(const Literal& literal);

  BigStore& big() { return *big_; }
  const BigStore& big() const { return *big_; }

 private:
  static constexpr int64_t kInlineLimit = int64_t{1} << 31;
  Value intern_i64(int64_t number);

  std::vector<int64_t> wide_;
  std::unordered_map<int64_t, Value> wide_index_;
  std::vector<double> floats_;
  std::unordered_map<uint64_t, Value> float_index_;
  std::unordered_map<std::string, Value> string_index_;
  std::vector<const std::string*> strings_;
  std::unique_ptr<BigStore> big_;
};

}  // namespace luminal::egraph
