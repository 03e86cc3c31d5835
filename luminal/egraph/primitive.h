// Primitives: functions computed by code, not stored in tables. A name may have many overloads; a
// signature says which sorts an overload takes, its access says in which places of a program it may
// stand, and its body may refuse to give a value.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "luminal/egraph/container_store.h"
#include "luminal/egraph/sort.h"
#include "luminal/egraph/value_store.h"

namespace luminal::egraph {

/// What a primitive touches besides its arguments.
enum class Access : uint8_t { kPure, kRead, kWrite, kFull };
/// Where an expression stands: a rule body, a rule head or merge, a check or naive body, the top
/// level or a naive head.
enum class Place : uint8_t { kBody, kHead, kQuery, kTop };
/// Whether a primitive may stand there.
bool allowed(Access access, Place place);

/// Which argument and result sorts an overload accepts.
struct Signature {
  enum class Shape : uint8_t {
    kFixed,     // exactly `inputs`
    kVariadic,  // any number of inputs[0]
    kPairs,     // inputs[0], inputs[1], repeated
    kSame,      // `count` inputs of one sort, any; output kNone means that sort too
    kMakeFn     // a name and partial arguments; the result is the sort `output`
  };
  Shape shape = Shape::kFixed;
  std::vector<SortId> inputs;
  SortId output = kNone;
  uint32_t count = 0;
};

/// What a body may use. Everything is reached through it, so bodies hold no state.
class Evaluator {
 public:
  Evaluator(ValueStore& value_store, ContainerStore& container_store, UnionFind& union_find)
      : values(value_store), containers(container_store), ids(union_find) {}
  virtual ~Evaluator() = default;
  /// Calls a table or primitive; kNoValue if it has no value. Inserts only where writes are
  /// allowed.
  virtual Value call(const FunctionTarget& target, std::span<const Value> args) = 0;
  /// Joins two e-classes. Only primitives with write access may.
  virtual void join(Value a, Value b) = 0;
  /// Sets a function's value for some keys. Only primitives with full access may.
  virtual void set(const FunctionTarget& target, std::span<const Value> keys, Value value) = 0;
  /// Deletes a row. Only primitives with write access may.
  virtual void remove(const FunctionTarget& target, std::span<const Value> keys) = 0;

  ValueStore& values;
  ContainerStore& containers;
  UnionFind& ids;
};

using PrimitiveBody = std::function<Value(Evaluator&, std::span<const Value>)>;

/// One overload.
struct Primitive {
  std::string name;
  Signature signature;
  Access access = Access::kPure;
  /// Reads its arguments and creates no value: may run on several threads at once.
  bool is_filter = false;
  PrimitiveBody body;
};

/// All overloads, by name, in order of registration.
class PrimitiveRegistry {
 public:
  uint32_t add(Primitive primitive);
  const std::vector<uint32_t>& overloads(const std::string& name) const;
  const Primitive& operator[](uint32_t id) const { return *primitives_[id]; }
  std::shared_ptr<const Primitive> shared(uint32_t id) const { return primitives_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(primitives_.size()); }

 private:
  std::vector<std::shared_ptr<const Primitive>> primitives_;
  std::unordered_map<std::string, std::vector<uint32_t>> by_name_;
};

/// Registers the primitives of the base sorts.
void add_base_primitives(PrimitiveRegistry& registry);
/// Registers the primitives that come with a container sort, when it is declared.
void add_container_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId sort);

}  // namespace luminal::egraph
