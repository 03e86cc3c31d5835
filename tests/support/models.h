// Networks that kernels are tried on, written with tensors and brought through the default passes.
// Sizes are parameters: small ones are run, large ones are only planned.
#pragma once

#include <map>
#include <string>

#include "luminal/kernel/test_kernels.h"
#include "luminal/luminal.h"

namespace luminal::kernel::models {

/// A graph ready to be cut, with names of its inputs for printed nests.
using IR = graph::Graph;

IR softmax(const Dim& rows, const Dim& columns);
IR log_softmax(const Dim& rows, const Dim& columns);
IR layer_norm(const Dim& rows, const Dim& columns);
IR rms_norm(const Dim& rows, const Dim& columns);
IR mlp(const Dim& rows, const Dim& in, const Dim& hidden, const Dim& out);
/// One linear layer with gelu.
IR mlp_layer(const Dim& rows, const Dim& in, const Dim& out);
/// conv 3x3, bias, relu, max pool 2, conv, relu, pool, linear.
IR cnn(const Dim& images, const Dim& size, const Dim& channels);
/// conv 3x3, bias, relu, max pool 2.
IR conv_block(const Dim& images, const Dim& size, const Dim& in, const Dim& out);
/// softmax(q k^T) v, causal, grouped heads.
IR attention(const Dim& kv_heads, const Dim& group, const Dim& queries, const Dim& keys,
             const Dim& d);
/// The rms norm, gate and up projections and SwiGLU of one decoded token.
IR gated(const Dim& width, const Dim& hidden);

struct BlockSizes {
  Dim tokens = 3;
  int64_t heads = 2, kv_heads = 1, d = 4, hidden = 6;
  int64_t width() const { return heads * d; }
  /// Length of the key and value caches.
  Dim cache = 8;
};
IR gpt_block(const BlockSizes& sizes, int layers = 1);
/// With key and value caches that are updated in place of `past`, a dim. tokens = 1 is decoding.
IR llama_block(const BlockSizes& sizes, int layers = 1);

/// Names of inputs by node.
std::map<NodeId, std::string> input_names(const IR& graph);
/// Random data for a graph; dims at these values.
test::Sample sample_of(const IR& graph, uint64_t seed, graph::DimValues dims = {});

}  // namespace luminal::kernel::models
