// Values of a custom kernel while it is turned into primitives: positions and conditions on them,
// which are expressions, numbers that have no dtype yet, and data. Data has the axes of the output
// and of the loops around it, as many of the first ones as it depends on.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "luminal/tensor/kernel_source.h"
#include "luminal/tensor/tensor.h"

namespace luminal::kernel_source {

/// See above.
struct KernelValue {
  enum class Kind : uint8_t {
    kIndex,      ///< expr
    kCondition,  ///< expr, 0 or 1
    kNumber,     ///< number, a fraction
    kData,       ///< data
  };
  Kind kind = Kind::kIndex;
  Dim expr = {};
  double number = 0.0;
  Tensor data = {};

  static KernelValue index(const Dim& expr) { return {Kind::kIndex, expr, 0.0, {}}; }
  static KernelValue condition(const Dim& expr) { return {Kind::kCondition, expr, 0.0, {}}; }
  static KernelValue fraction(double number) { return {Kind::kNumber, {}, number, {}}; }
  static KernelValue of(Tensor data) { return {Kind::kData, {}, 0.0, std::move(data)}; }

  bool is_expr() const { return kind == Kind::kIndex || kind == Kind::kCondition; }
};

/// Computes with values. Errors are those of the tensor ops.
class KernelArithmetic {
 public:
  explicit KernelArithmetic(std::shared_ptr<GraphState> state) : state_(std::move(state)) {}

  /// The axes around us, outermost first.
  const Shape& domain() const { return domain_; }
  void push_axis(const Dim& extent) { domain_.push_back(extent); }
  void pop_axis() { domain_.pop_back(); }

  KernelValue unary(const std::string& op, const KernelValue& value) const;
  KernelValue binary(const std::string& op, const KernelValue& a, const KernelValue& b) const;
  KernelValue call(const std::string& name, const std::vector<KernelValue>& arguments) const;
  KernelValue select(const KernelValue& condition, const KernelValue& a,
                     const KernelValue& b) const;
  KernelValue cast(const KernelValue& value, DType dtype) const;

  /// The value as data; of dtype `otherwise` if it has none yet and is a fraction.
  Tensor data(const KernelValue& value, DType otherwise = DType::kF32) const;
  /// A truth value as data; UserError for others.
  Tensor truth(const KernelValue& value) const;
  /// With at least `rank` of the axes.
  Tensor expanded(const Tensor& tensor, size_t rank) const;
  /// How many of the axes an expression needs.
  static size_t rank_of(const Dim& expr);
  /// The first `rank` axes.
  Shape domain(size_t rank) const;

 private:
  KernelValue on_exprs(const std::string& op, const KernelValue& a, const KernelValue& b) const;
  KernelValue on_data(const std::string& op, const KernelValue& a, const KernelValue& b) const;
  /// Both as data of one rank; what has no dtype takes that of the other.
  std::pair<Tensor, Tensor> together(const KernelValue& a, const KernelValue& b) const;

  std::shared_ptr<GraphState> state_;
  Shape domain_;
};

}  // namespace luminal::kernel_source
