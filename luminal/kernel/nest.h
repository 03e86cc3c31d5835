// The loop nest of a kernel: which loops run in which order, where each reduction is computed and
// where results are stored. Values are bodies; a statement says when one is needed, and a reduction
// inside it stands for its accumulator. The builder chooses by free axes alone: what does not
// depend on a loop is computed outside of it.
//
//   softmax                                  attention (prefill), per head and query
//   for i0<4096:                             for i0<8, i1<4, i2<s:
//     m1 = -inf; s2 = 0                        m1 = -inf; s2 = 0; s3[i3] = 0
//     for r<1024:  # online                    for t<p + s:  # online
//       m1 = max(m1, x[i0, r])                   s4 = 0; for a<128: s4 += q[..] * k[..]
//       s2 = s2 * rescale + exp(x - m1)          m1 = max(m1, s4); s2 = ...; for i3: s3[i3] = ...
//     for i1<1024:                             for i3<128:
//       y[i0, i1] = exp(x[i0, i1] - m1) / s2     y[i0, i1, i2, i3] = s3[i3] / s2
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "luminal/graph/program.h"
#include "luminal/kernel/body.h"
#include "luminal/kernel/evaluate.h"

namespace luminal::kernel {

/// What a loop is for.
enum class LoopRole : uint8_t {
  kRow,        // output axes that reductions below depend on; iterations are independent
  kReduction,  // axes of reductions; iterations accumulate
  kVector,     // output axes inside of a reduction loop, over a vector accumulator; independent
  kOutput,     // the innermost output axes; iterations are independent and store
};
/// What a statement does.
enum class StatementKind : uint8_t {
  kLoop,        // for axes: body
  kReset,       // accumulator = identity of its op, in every element
  kAccumulate,  // accumulator = accumulator op value; after an online step of `rescale_by` first
                // multiplied by its rescaling factor
  kOnlineStep,  // accumulator (a maximum) takes in value; the rescaling factor becomes
                // exp(old - new), where -inf - -inf counts as 0
  kFinish,      // accumulator is complete: rounded to its dtype. A sum that was rescaled is NaN if
                // the maximum still is -inf (and there was an element), as exp(-inf - -inf) is
  kKeep,        // row buffer [position of its axis] = value
  kLet,         // value is computed here, once, for the statements that follow in this block
  kStore,       // root
  kUnless,      // where value holds, accumulators take what `shortcuts` say; else the body runs
};

/// One statement; which fields mean anything follows from the kind.
struct Statement {
  StatementKind kind;  ///< which fields count
  // kLoop
  LoopRole role = LoopRole::kOutput;  ///< what the loop is for
  bool online = false;                ///< rescales what came before as its maximum grows
  std::vector<Expr> axes = {};        ///< one loop each, outermost first
  std::vector<Statement> body = {};   ///< in order
  // the others
  size_t accumulator = 0;                                 ///< which of Nest::accumulators
  std::optional<size_t> rescale_by = {};                  ///< the accumulator of the maximum
  size_t buffer = 0;                                      ///< which of Nest::buffers
  size_t root = 0;                                        ///< which of the kernel's roots
  BodyId value = {};                                      ///< what is added, kept, stored or tested
  std::vector<std::pair<size_t, BodyId>> shortcuts = {};  ///< accumulators and what they take
};

/// Where a reduction is collected. `vector_axes` are output axes; empty for a scalar.
struct Accumulator {
  BodyId reduction;               ///< what it collects
  Op op;                          ///< how two values are combined
  DType dtype;                    ///< of the result
  std::vector<Expr> vector_axes;  ///< empty for a scalar
  /// kExp or kExp2, if other accumulators are relative to this one.
  Op exponential = Op::kExp;
};

/// A value kept for a whole row by one pass and read again in the output loop.
struct RowBuffer {
  BodyId written;     ///< the value in the pass
  Expr written_axis;  ///< the axis of that pass
  BodyId read;        ///< the same value in the output loop
  Expr read_axis;     ///< the axis of that loop
};

/// The schedule bits of the builder.
struct NestOptions {
  /// Use the online law where it applies.
  bool online = true;
  /// Move the axis of a reduction outside of output axes that something inside does not need.
  bool interchange = true;
  /// Keep costly values of a pass for the output loop. Excludes online for that pass.
  bool keep_rows = false;
  /// Place kLet statements.
  bool lets = true;
  /// Find sums and the squares around their mean in one pass (nest_spread.h). Rounds otherwise.
  bool spreads = false;
};

/// A kernel as loops.
struct Nest {
  Kernel kernel;                          ///< what is computed
  std::vector<Accumulator> accumulators;  ///< of all reductions
  std::vector<RowBuffer> buffers;         ///< of all rows that are kept
  std::vector<Statement> body;            ///< the outermost statements

  /// The accumulator of a reduction, if it has one.
  std::optional<size_t> accumulator_of(BodyId reduction) const;
};

/// The loop nest of a kernel. New bodies (renamed axes) go to the arena.
Nest build_nest(Arena& arena, const Kernel& kernel, const NestOptions& options = {});

/// Text as above. Tensors are t<id> unless named.
std::string to_string(const Arena& arena, const Nest& nest,
                      const std::map<NodeId, std::string>& tensor_names = {});

/// Runs a nest statement by statement and stores the results in `tensors`: the reference for code
/// generators. Reading an accumulator that was not computed in this iteration is an InternalError.
void run_nest(const Arena& arena, const Nest& nest, const graph::DimValues& dims, Tensors& tensors);

}  // namespace luminal::kernel
