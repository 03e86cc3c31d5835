#include <fmt/core.h>

#include "luminal/kernel/nest.h"
#include "luminal/kernel/text.h"

namespace luminal::kernel {
namespace {

/// Names for the axes of loops inside of reductions, outermost first.
constexpr std::string_view kBoundNames = "rtuvabcdefgh";

class Printer {
 public:
  Printer(const Arena& arena, const Nest& nest, const std::map<NodeId, std::string>& names)
      : nest_(nest), writer_(arena) {
    for (const auto& [id, name] : names) writer_.name_tensor(id, name);
    for (size_t k = 0; k < nest.accumulators.size(); ++k) {
      const Accumulator& accumulator = nest.accumulators[k];
      const char letter = accumulator.op == Op::kReduceMax ? 'm'
                          : accumulator.op == Op::kProd    ? 'p'
                                                           : 's';
      accumulators_.push_back(fmt::format("{}{}", letter, k + 1));
      writer_.name(accumulator.reduction, read(k));
    }
    for (size_t k = 0; k < nest.buffers.size(); ++k)
      writer_.name(nest.buffers[k].read,
                   fmt::format("row{}[{}]", k, writer_.axis(nest.buffers[k].read_axis)));
  }

  std::string print() {
    block(nest_.body, 0);
    return std::move(text_);
  }

 private:
  std::string read(size_t k) const {
    const Accumulator& accumulator = nest_.accumulators[k];
    if (accumulator.vector_axes.empty()) return accumulators_[k];
    return accumulators_[k] +
           writer_.index({accumulator.vector_axes.begin(), accumulator.vector_axes.end()});
  }

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + text + "\n";
  }

  void block(const std::vector<Statement>& statements, int depth) {
    std::string resets;
    std::vector<BodyId> lets;
    for (const Statement& statement : statements) {
      if (statement.kind == StatementKind::kReset) {
        resets += (resets.empty() ? "" : "; ") + reset_text(statement.accumulator);
        continue;
      }
      if (!resets.empty()) line(depth, resets);
      resets.clear();
      if (statement.kind == StatementKind::kLet) lets.push_back(statement.value);
      print(statement, depth);
    }
    for (BodyId let : lets) writer_.forget(let);
  }

  std::string reset_text(size_t k) const {
    const Accumulator& accumulator = nest_.accumulators[k];
    const std::string identity = accumulator.op == Op::kReduceMax
                                     ? Scalar::lowest(accumulator.dtype).to_string()
                                 : accumulator.op == Op::kProd ? "1"
                                                               : "0";
    return fmt::format("{} = {}", read(k), identity);
  }

  void name_axes(const Statement& statement) {
    for (const Expr& axis : statement.axes) {
      if (!is_bound_axis(axis)) continue;
      const size_t k = bound_++;
      writer_.name_axis(
          axis, k < kBoundNames.size() ? std::string(1, kBoundNames[k]) : fmt::format("r{}", k));
    }
  }

  void print(const Statement& statement, int depth) {
    const std::string name = statement.kind == StatementKind::kLoop || nest_.accumulators.empty()
                                 ? ""
                                 : read(statement.accumulator);
    switch (statement.kind) {
      case StatementKind::kLoop: {
        const size_t outer = bound_;
        name_axes(statement);
        line(depth, fmt::format("for {}:{}", writer_.axes(statement.axes),
                                statement.online ? "  # online" : ""));
        block(statement.body, depth + 1);
        bound_ = outer;
        return;
      }
      case StatementKind::kAccumulate: {
        const Op op = nest_.accumulators[statement.accumulator].op;
        const std::string value = writer_.value(statement.value);
        if (statement.rescale_by)
          return line(depth, fmt::format("{} = {} * rescale({}) + {}", name, name,
                                         accumulators_[*statement.rescale_by], value));
        if (op == Op::kReduceMax)
          return line(depth, fmt::format("{0} = max({0}, {1})", name, value));
        return line(depth, fmt::format("{} {}= {}", name, op == Op::kSum ? "+" : "*", value));
      }
      case StatementKind::kOnlineStep:
        return line(depth,
                    fmt::format("{0} = max({0}, {1})", name, writer_.value(statement.value)));
      case StatementKind::kKeep: {
        const RowBuffer& buffer = nest_.buffers[statement.buffer];
        return line(depth,
                    fmt::format("row{}[{}] = {}", statement.buffer,
                                writer_.axis(buffer.written_axis), writer_.value(statement.value)));
      }
      case StatementKind::kLet: {
        const std::string let = fmt::format("v{}", ++lets_);
        line(depth, fmt::format("{} = {}", let, writer_.value(statement.value)));
        return writer_.name(statement.value, let);
      }
      case StatementKind::kStore: {
        const Root& root = nest_.kernel.roots[statement.root];
        return line(depth, fmt::format("{}{} = {}", writer_.tensor(root.tensor),
                                       writer_.index(root.store), writer_.value(root.value)));
      }
      case StatementKind::kUnless: {
        line(depth, fmt::format("if {}:", writer_.value(statement.value)));
        for (const auto& [accumulator, value] : statement.shortcuts)
          line(depth + 1, fmt::format("{} = {}", read(accumulator), writer_.value(value)));
        line(depth, "else:");
        return block(statement.body, depth + 1);
      }
      case StatementKind::kReset:
      case StatementKind::kFinish:
        return;
    }
  }

  const Nest& nest_;
  TextWriter writer_;
  std::vector<std::string> accumulators_;
  size_t bound_ = 0;
  int lets_ = 0;
  std::string text_;
};

}  // namespace

std::string to_string(const Arena& arena, const Nest& nest,
                      const std::map<NodeId, std::string>& tensor_names) {
  return Printer(arena, nest, tensor_names).print();
}

}  // namespace luminal::kernel
