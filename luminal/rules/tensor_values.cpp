#include "luminal/rules/tensor_values.h"

#include "luminal/support/hash.h"

namespace luminal::egraph {
namespace {

void add(support::Hasher& hasher, const graph::TensorType& type) {
  hasher.add(static_cast<uint64_t>(type.dtype)).add(type.shape.size());
  for (const graph::Expr& extent : type.shape) hasher.add(extent.hash());
}

void add(support::Hasher& hasher, const rules::Access& access) {
  hasher.add(static_cast<uint64_t>(access.dtype));
  access.view.add_to(hasher);
}

size_t digest(const support::Hasher& hasher) { return hasher.finish64(); }

}  // namespace

size_t HostTraits<rules::Access>::hash(const rules::Access& access) {
  support::Hasher hasher;
  add(hasher, access);
  return digest(hasher);
}

std::string HostTraits<rules::Access>::to_text(const rules::Access& access) {
  return access.view.to_string();
}

size_t HostTraits<graph::TensorType>::hash(const graph::TensorType& type) {
  support::Hasher hasher;
  add(hasher, type);
  return digest(hasher);
}

std::string HostTraits<graph::TensorType>::to_text(const graph::TensorType& type) {
  return graph::to_string(type);
}

size_t HostTraits<graph::Scalar>::hash(const graph::Scalar& scalar) {
  support::Hasher hasher;
  scalar.add_to(hasher);
  return digest(hasher);
}

std::string HostTraits<graph::Scalar>::to_text(const graph::Scalar& scalar) {
  return scalar.to_string();
}

// Attributes take part through their kind only, but for what tells inputs, scalars and iotas
// apart: large constants would be hashed for nothing, equality compares them in full.
size_t HostTraits<rules::Head>::hash(const rules::Head& head) {
  support::Hasher hasher;
  hasher.add(static_cast<uint64_t>(head.op)).add(head.serial).add(head.attributes.index());
  if (const auto* input = std::get_if<graph::InputAttribute>(&head.attributes))
    hasher.add(input->name);
  if (const auto* iota = std::get_if<graph::IotaAttribute>(&head.attributes))
    hasher.add(iota->value.hash());
  if (const auto* constant = std::get_if<graph::ConstantAttribute>(&head.attributes)) {
    hasher.add(static_cast<uint64_t>(constant->value.size()));
    if (constant->value.size() > 0) constant->value.at(0).add_to(hasher);
  }
  return digest(hasher);
}

std::string HostTraits<rules::Head>::to_text(const rules::Head& head) {
  if (const auto* input = std::get_if<graph::InputAttribute>(&head.attributes)) return input->name;
  const auto* constant = std::get_if<graph::ConstantAttribute>(&head.attributes);
  if (constant != nullptr && constant->value.size() == 1) return constant->value.at(0).to_string();
  return std::string(graph::name(head.op));
}

size_t HostTraits<rules::Parameters>::hash(const rules::Parameters& parameters) {
  support::Hasher hasher;
  for (const auto& [key, value] : parameters.values) hasher.add(key).add(value.index());
  return digest(hasher);
}

std::string HostTraits<rules::Parameters>::to_text(const rules::Parameters& parameters) {
  return graph::to_string(graph::NamedDefinition{"", parameters.values, {}, {}});
}

size_t HostTraits<rules::Plan>::hash(const rules::Plan& plan) {
  support::Hasher hasher;
  for (const rules::Access& view : plan.views) add(hasher, view);
  for (const graph::TensorType& type : plan.types) add(hasher, type);
  for (int64_t count : plan.counts) hasher.add(count);
  return digest(hasher);
}

std::string HostTraits<rules::Plan>::to_text(const rules::Plan& plan) {
  std::string text = "plan";
  for (const rules::Access& view : plan.views) text += " " + view.view.to_string();
  return text;
}

}  // namespace luminal::egraph
