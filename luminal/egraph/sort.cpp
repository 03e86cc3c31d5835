#include "luminal/egraph/sort.h"

#include "luminal/support/check.h"

namespace luminal::egraph {

SortRegistry::SortRegistry() {
  const std::pair<const char*, SortKind> base[] = {
      {"Unit", SortKind::kUnit},    {"String", SortKind::kString}, {"bool", SortKind::kBool},
      {"i64", SortKind::kI64},      {"f64", SortKind::kF64},       {"BigInt", SortKind::kBigInt},
      {"BigRat", SortKind::kBigRat}};
  for (const auto& [name, kind] : base) add({name, kind, {}, false, nullptr});
}

SortId SortRegistry::add(Sort sort) {
  const auto id = static_cast<SortId>(sorts_.size());
  const bool fresh = by_name_.emplace(sort.name, id).second;
  LUMINAL_CHECK(fresh, "sort {} declared twice", sort.name);
  sorts_.push_back(std::move(sort));
  return id;
}

SortId SortRegistry::find(std::string_view name) const {
  const auto entry = by_name_.find(std::string(name));
  return entry == by_name_.end() ? kNone : entry->second;
}

const std::string& SortRegistry::name(SortId id) const {
  static const std::string unknown = "?";
  return id < sorts_.size() ? sorts_[id].name : unknown;
}

}  // namespace luminal::egraph
