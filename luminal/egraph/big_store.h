// Interned big integers and rationals (GMP). Only the files that compute with them include this.
#pragma once

#include <gmpxx.h>

#include <deque>
#include <string>
#include <unordered_map>

#include "luminal/egraph/value.h"

namespace luminal::egraph {

/// Interner of one big-number type, keyed by its canonical text in base 62.
template <typename Number>
class BigInterner {
 public:
  Value add(const Number& number) {
    const auto [entry, fresh] =
        index_.try_emplace(number.get_str(62), static_cast<Value>(numbers_.size()));
    if (fresh) numbers_.push_back(number);
    return entry->second;
  }
  const Number& operator[](Value value) const { return numbers_[value]; }

 private:
  std::deque<Number> numbers_;
  std::unordered_map<std::string, Value> index_;
};

/// The big numbers of a ValueStore. Rationals are added in lowest terms.
struct BigStore {
  BigInterner<mpz_class> integers;
  BigInterner<mpq_class> rationals;
};

}  // namespace luminal::egraph
