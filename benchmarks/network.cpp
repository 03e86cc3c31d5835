#include "benchmarks/network.h"

#include <fmt/format.h>

namespace luminal::benchmarks {

Tensor Network::input(const Extents& extents, DType dtype) {
  inputs.push_back(graph.input(fmt::format("input{}", inputs.size()),
                               Shape(extents.begin(), extents.end()), dtype));
  return inputs.back();
}

Tensor Network::weight(const Extents& extents, DType dtype) {
  inputs.push_back(graph.weight(fmt::format("input{}", inputs.size()),
                                Shape(extents.begin(), extents.end()), dtype));
  return inputs.back();
}

}  // namespace luminal::benchmarks
