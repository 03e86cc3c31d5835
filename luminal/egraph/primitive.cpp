#include "luminal/egraph/primitive.h"

#include "luminal/egraph/primitive_families.h"

namespace luminal::egraph {

bool allowed(Access access, Place place) {
  switch (place) {
    case Place::kBody:
      return access == Access::kPure;
    case Place::kHead:
      return access == Access::kPure || access == Access::kWrite;
    case Place::kQuery:
      return access == Access::kPure || access == Access::kRead;
    case Place::kTop:
      return true;
  }
  return false;
}

uint32_t PrimitiveRegistry::add(Primitive primitive) {
  const auto id = static_cast<uint32_t>(primitives_.size());
  by_name_[primitive.name].push_back(id);
  primitives_.push_back(std::make_shared<const Primitive>(std::move(primitive)));
  return id;
}

const std::vector<uint32_t>& PrimitiveRegistry::overloads(const std::string& name) const {
  static const std::vector<uint32_t> none;
  const auto entry = by_name_.find(name);
  return entry == by_name_.end() ? none : entry->second;
}

void add_base_primitives(PrimitiveRegistry& registry) {
  add_generic_primitives(registry);
  add_string_primitives(registry);
  add_bool_primitives(registry);
  add_i64_primitives(registry);
  add_f64_primitives(registry);
  add_bigint_primitives(registry);
  add_bigrat_primitives(registry);
}

void add_container_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId sort) {
  switch (sorts[sort].kind) {
    case SortKind::kVec:
      return add_vec_primitives(registry, sorts, sort);
    case SortKind::kSet:
      return add_set_primitives(registry, sorts, sort);
    case SortKind::kMap:
      return add_map_primitives(registry, sorts, sort);
    case SortKind::kMultiSet:
      return add_multiset_primitives(registry, sorts, sort);
    case SortKind::kPair:
      return add_pair_primitives(registry, sorts, sort);
    case SortKind::kFn:
      return add_fn_primitives(registry, sorts, sort);
    default:
      return;
  }
}

}  // namespace luminal::egraph
