// Sorts: the types of values. A registry owns them in declaration order; the seven base sorts come
// first, so that their ids are constants.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "luminal/egraph/value.h"

namespace luminal::egraph {

enum class SortKind : uint8_t {
  kUnit,
  kString,
  kBool,
  kI64,
  kF64,
  kBigInt,
  kBigRat,
  kEq,
  kVec,
  kSet,
  kMap,
  kMultiSet,
  kPair,
  kFn,
  kHost
};

/// Ids of the base sorts, in the order in which they are registered.
inline constexpr SortId kUnitSort = 0, kStringSort = 1, kBoolSort = 2, kI64Sort = 3, kF64Sort = 4,
                        kBigIntSort = 5, kBigRatSort = 6;

/// How the engine prints and rebuilds a value of a user's C++ type; see host_sort.h.
class HostSortBase {
 public:
  virtual ~HostSortBase() = default;
  /// Text of a value for people; it need not parse.
  virtual std::string to_text(Value value) const = 0;
};

/// One sort. `args`: the element sorts of a container; for kFn the inputs, then the result.
struct Sort {
  std::string name;
  SortKind kind = SortKind::kEq;
  std::vector<SortId> args;
  bool unionable = true;  // eq-sorts only: relations have a hidden sort that is not
  std::shared_ptr<HostSortBase> host;

  bool is_eq() const { return kind == SortKind::kEq; }
  bool is_container() const { return kind >= SortKind::kVec && kind <= SortKind::kFn; }
  /// Values are ids that a union can displace.
  bool is_id() const { return is_eq() || is_container(); }
};

/// All sorts of an e-graph, by id and by name.
class SortRegistry {
 public:
  /// Starts with the base sorts.
  SortRegistry();

  SortId add(Sort sort);
  const Sort& operator[](SortId id) const { return sorts_[id]; }
  /// Id of a name, or kNone.
  SortId find(std::string_view name) const;
  const std::string& name(SortId id) const;
  uint32_t size() const { return static_cast<uint32_t>(sorts_.size()); }

 private:
  std::vector<Sort> sorts_;
  std::unordered_map<std::string, SortId> by_name_;
};

}  // namespace luminal::egraph
