#include "luminal/egraph/value_store.h"

#include <bit>
#include <cmath>

#include "luminal/egraph/big_store.h"
#include "luminal/support/check.h"

namespace luminal::egraph {

ValueStore::ValueStore() : big_(std::make_unique<BigStore>()) {}
ValueStore::~ValueStore() = default;

Value ValueStore::intern_i64(int64_t number) {
  const auto next = static_cast<Value>(wide_.size() + kInlineLimit);
  LUMINAL_CHECK(next != kNoValue, "too many distinct integers");
  const auto [entry, fresh] = wide_index_.try_emplace(number, next);
  if (fresh) wide_.push_back(number);
  return entry->second;
}

Value ValueStore::from_f64(double number) {
  if (std::isnan(number)) number = std::nan("");
  if (number == 0) number = 0.0;
  const auto [entry, fresh] =
      float_index_.try_emplace(std::bit_cast<uint64_t>(number), static_cast<Value>(floats_.size()));
  if (fresh) floats_.push_back(number);
  return entry->second;
}

Value ValueStore::from_string(std::string_view text) {
  const auto [entry, fresh] =
      string_index_.try_emplace(std::string(text), static_cast<Value>(strings_.size()));
  if (fresh) strings_.push_back(&entry->first);
  return entry->second;
}

Value ValueStore::from_literal(const Literal& literal) {
  if (const auto* truth = std::get_if<bool>(&literal)) return from_bool(*truth);
  if (const auto* number = std::get_if<int64_t>(&literal)) return from_i64(*number);
  if (const auto* number = std::get_if<double>(&literal)) return from_f64(*number);
  if (const auto* text = std::get_if<std::string>(&literal)) return from_string(*text);
  return kUnitValue;
}

}  // namespace luminal::egraph
