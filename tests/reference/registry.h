// Which call of the public interface replays which op of the case files. One file per family adds
// its rows; an op without a row fails its test.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "case_file.h"
#include "luminal/luminal.h"

namespace luminal::reference {

/// What a builder sees of a case.
struct Call {
  const Graph& graph;
  const std::vector<Tensor>& inputs;
  const CaseAttributes& attributes;

  const Tensor& x() const { return inputs.at(0); }
  const Tensor& y() const { return inputs.at(1); }
  int axis(const std::string& key = "axis") const {
    return static_cast<int>(attributes.integer(key));
  }
  std::vector<int> axes(const std::string& key = "axes") const {
    const auto values = attributes.integers(key);
    return {values.begin(), values.end()};
  }
  std::vector<Dim> dims(const std::string& key) const {
    const auto values = attributes.integers(key);
    return {values.begin(), values.end()};
  }
  Shape shape(const std::string& key = "shape") const {
    Shape result;
    for (const int64_t extent : attributes.integers(key)) result.push_back(Dim(extent));
    return result;
  }
  /// A number of the case: an integer unless it is written with a point or is not finite.
  Value value(const std::string& key) const {
    const std::string& text = attributes.text(key);
    if (text == "true" || text == "false") return {attributes.flag(key)};
    if (text.find_first_of(".eni") == std::string::npos) return {attributes.integer(key)};
    return {attributes.number(key)};
  }
};

/// Writes the op into the graph.
using Builder = std::function<std::vector<Tensor>(const Call&)>;

/// Builders by the op's name in the case files.
class Registry {
 public:
  /// The rows of all families.
  static const Registry& all();

  /// The builder of an op, or nullptr.
  const Builder* find(const std::string& op) const {
    const auto found = builders_.find(op);
    return found == builders_.end() ? nullptr : &found->second;
  }

  /// A row whose function gives one tensor, or several.
  template <typename Function>
  void add(const std::string& op, Function function) {
    if constexpr (std::is_convertible_v<std::invoke_result_t<Function, const Call&>, Tensor>) {
      builders_[op] = [function](const Call& call) { return std::vector<Tensor>{function(call)}; };
    } else {
      builders_[op] = function;
    }
  }
  /// A row whose function takes the first tensor.
  void add_unary(const std::string& op, Tensor (*function)(const Tensor&)) {
    add(op, [function](const Call& call) { return function(call.x()); });
  }
  /// A row whose function takes the first two tensors.
  void add_binary(const std::string& op, Tensor (*function)(const Operand&, const Operand&)) {
    add(op, [function](const Call& call) { return function(call.x(), call.y()); });
  }

 private:
  std::map<std::string, Builder> builders_;
};

void add_creation_ops(Registry& registry);
void add_arithmetic_ops(Registry& registry);
void add_unary_ops(Registry& registry);
void add_reduction_ops(Registry& registry);
void add_normalization_ops(Registry& registry);
void add_contraction_ops(Registry& registry);
void add_movement_ops(Registry& registry);
void add_indexing_ops(Registry& registry);

}  // namespace luminal::reference
