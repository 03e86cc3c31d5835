// The host values of the tensor e-graph: what stands on an edge, types, the fixed part of an op,
// and plans, the answers of primitives that find several views at once. All are interned, so that
// equal values are one word in the tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "luminal/egraph/host_sort.h"
#include "luminal/graph/named.h"
#include "luminal/graph/node.h"

namespace luminal::rules {

using graph::DType;
using graph::Expr;
using graph::Scalar;
using graph::Shape;
using graph::TensorType;
using graph::View;

/// A view together with the dtype of what it reads: sort View. Knowing the dtype on the edge saves
/// every rule a look at the producer.
struct Access {
  View view;
  DType dtype = DType::kF32;
  bool operator==(const Access&) const = default;

  const Shape& domain() const { return view.domain(); }
  /// The type of what the reader sees.
  TensorType seen() const { return {dtype, view.domain()}; }
};

/// An op and its attributes, for nodes that no rule takes apart: sort Head. Nodes that must not be
/// merged with equal ones (effects, custom functions) have a serial number of their own.
struct Head {
  graph::Op op = graph::Op::kInput;
  graph::Attributes attributes;
  uint32_t serial = 0;
  bool operator==(const Head&) const = default;
};

/// The parameters of a named definition: sort Parameters.
struct Parameters {
  std::map<std::string, graph::NamedValue> values;
  bool operator==(const Parameters&) const = default;
};

/// The answer to a question about views that has several parts: sort Plan. Rules read it by
/// position: (view-of p 0), (type-of p 0), (count-of p 0).
struct Plan {
  std::vector<Access> views;
  std::vector<TensorType> types;
  std::vector<int64_t> counts;
  bool operator==(const Plan&) const = default;
};

}  // namespace luminal::rules

namespace luminal::egraph {

template <>
struct HostTraits<rules::Access> {
  static size_t hash(const rules::Access& access);
  static bool equal(const rules::Access& a, const rules::Access& b) { return a == b; }
  static std::string to_text(const rules::Access& access);
};

template <>
struct HostTraits<graph::TensorType> {
  static size_t hash(const graph::TensorType& type);
  static bool equal(const graph::TensorType& a, const graph::TensorType& b) { return a == b; }
  static std::string to_text(const graph::TensorType& type);
};

template <>
struct HostTraits<graph::Scalar> {
  static size_t hash(const graph::Scalar& scalar);
  static bool equal(const graph::Scalar& a, const graph::Scalar& b) { return a == b; }
  static std::string to_text(const graph::Scalar& scalar);
};

template <>
struct HostTraits<rules::Head> {
  static size_t hash(const rules::Head& head);
  static bool equal(const rules::Head& a, const rules::Head& b) { return a == b; }
  static std::string to_text(const rules::Head& head);
};

template <>
struct HostTraits<rules::Parameters> {
  static size_t hash(const rules::Parameters& parameters);
  static bool equal(const rules::Parameters& a, const rules::Parameters& b) { return a == b; }
  static std::string to_text(const rules::Parameters& parameters);
};

template <>
struct HostTraits<rules::Plan> {
  static size_t hash(const rules::Plan& plan);
  static bool equal(const rules::Plan& a, const rules::Plan& b) { return a == b; }
  static std::string to_text(const rules::Plan& plan);
};

}  // namespace luminal::egraph
