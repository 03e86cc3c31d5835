#include <fmt/core.h>

#include <set>

#include "luminal/graph/repeat.h"
#include "luminal/support/error.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/graph.h"

namespace luminal {
namespace {

/// The name, with a number if the graph has such a repeat already.
std::string unused(const graph::Graph& graph, const std::string& name) {
  std::set<std::string> used;
  for (const graph::NamedDefinition& definition : graph.named())
    if (const auto mark = graph::repeat_mark(definition)) used.insert(mark->repeat);
  std::string candidate = name;
  for (int k = 2; used.contains(candidate); ++k) candidate = fmt::format("{} {}", name, k);
  return candidate;
}

/// What an instance gives must be what the next one can take.
void check(const std::string& name, int64_t instance, const std::vector<Tensor>& taken,
           const std::vector<Tensor>& given) {
  if (given.size() != taken.size())
    throw UserError("repeat", "instance {} of '{}' takes {} values and gives {}", instance, name,
                    taken.size(), given.size());
  for (size_t k = 0; k < given.size(); ++k) {
    const graph::TensorType from{taken[k].dtype(), taken[k].shape()};
    const graph::TensorType to{given[k].dtype(), given[k].shape()};
    if (from != to)
      throw UserError(
          "repeat", "instance {} of '{}' takes {} and gives {}, which the next one could not take",
          instance, name, to_string(from), to_string(to));
  }
}

}  // namespace

std::vector<Tensor> Graph::repeat(
    const std::string& name, int64_t count, std::vector<Tensor> values,
    const std::function<std::vector<Tensor>(int64_t, const std::vector<Tensor>&)>& body) const {
  if (count < 0) throw UserError("repeat", "'{}' cannot be repeated {} times", name, count);
  if (values.empty()) throw UserError("repeat", "'{}' has no value to begin with", name);
  build::check_same_graph("repeat", values);
  if (values[0].state() != state_)
    throw UserError("repeat", "the values of '{}' belong to another graph", name);
  const std::string unique = unused(state_->graph, name);
  for (int64_t k = 0; k < count; ++k) {
    std::vector<Tensor> next = body(k, values);
    check(name, k, values, next);
    std::vector<Tensor> all = values;
    all.insert(all.end(), next.begin(), next.end());
    build::check_same_graph("repeat", all);
    for (size_t v = 0; v < next.size(); ++v)
      graph::add_repeat_mark(
          state_->graph, {unique, k, static_cast<int64_t>(v), values[v].edge(), next[v].edge()});
    values = std::move(next);
  }
  return values;
}

Tensor Graph::repeat(const std::string& name, int64_t count, const Tensor& x,
                     const std::function<Tensor(int64_t, const Tensor&)>& body) const {
  return repeat(name, count, std::vector<Tensor>{x},
                [&](int64_t k, const std::vector<Tensor>& values) {
                  return std::vector<Tensor>{body(k, values[0])};
                })[0];
}

}  // namespace luminal
