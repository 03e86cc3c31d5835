#include "luminal/tensor/custom_kernel.h"

#include <set>

#include "luminal/support/error.h"
#include "luminal/support/hash.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/kernel_lowering.h"

namespace luminal {
namespace {

using kernel_source::KernelInputs;

void check_inputs(const std::string& name, const KernelInputs& inputs) {
  if (inputs.empty()) throw UserError(name, "a custom kernel needs at least one input");
  std::vector<Tensor> tensors;
  std::set<std::string> names;
  for (const auto& [each, tensor] : inputs) {
    if (!names.insert(each).second || each == kernel_source::kResult)
      throw UserError(name, "the name '{}' of an input is taken", each);
    if (kernel_source::is_reserved(each))
      throw UserError(name, "an input cannot be called '{}', which is a word of the language",
                      each);
    tensors.push_back(tensor);
  }
  build::check_same_graph(name, tensors);
}

/// Tells kernels of one name apart: what has equal names, parameters and operands is taken for one
/// value. The same source computes another one when names are given to other operands.
std::string identity(std::string_view source, const KernelInputs& inputs) {
  support::Hasher hasher;
  hasher.add(source);
  for (const auto& [each, unused] : inputs) hasher.add(each);
  return support::to_hex(hasher.finish128());
}

}  // namespace

Tensor custom_kernel(const std::string& name, std::string_view source,
                     const std::vector<std::pair<std::string, Tensor>>& inputs,
                     const graph::TensorType& result) {
  if (name.empty()) throw UserError("custom_kernel", "a custom kernel needs a name");
  check_inputs(name, inputs);
  try {
    const Tensor output = kernel_source::lower(kernel_source::parse(source), inputs, result);
    std::vector<Tensor> operands;
    bool is_input = false;
    for (const auto& [unused, tensor] : inputs) {
      operands.push_back(tensor);
      is_input = is_input || tensor.edge().node == output.edge().node;
    }
    return is_input ? output
                    : build::named(name, operands, {{"source", identity(source, inputs)}}, output);
  } catch (const kernel_source::SourceError& error) {
    throw UserError(name, "line {}, column {}: {}", error.position.line, error.position.column,
                    error.message);
  }
}

}  // namespace luminal
