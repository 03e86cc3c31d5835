// The host side of the tensor rules: the sorts View, Type, Head, Parameters, Number and Plan, and
// the primitives that the rule files call. Everything a rule must know about views, dims or numbers
// is asked here and decided by `graph` and `symbolic`, never by rewriting.
#pragma once

#include "luminal/egraph/builder.h"
#include "luminal/rules/tensor_values.h"

namespace luminal::rules {

/// Declares the sorts and primitives in an e-graph; interns values. Must live as long as the
/// e-graph runs rules.
class TensorHost {
 public:
  explicit TensorHost(egraph::EGraph& egraph);
  TensorHost(const TensorHost&) = delete;
  TensorHost& operator=(const TensorHost&) = delete;

  /// The word of a value, and the value of a word, for each host type.
  template <typename T>
  egraph::Value intern(const T& value) {
    return builder_.host<T>().intern(value);
  }
  template <typename T>
  const T& get(egraph::Value word) {
    return builder_.host<T>().get(word);
  }

 private:
  egraph::Builder builder_;
};

}  // namespace luminal::rules
