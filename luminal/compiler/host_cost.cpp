#include "luminal/compiler/host_cost.h"

namespace luminal::compiler {
namespace {

using graph::Op;

/// Nanoseconds that one core takes for an element: sorted by its digits, looked at where only the
/// first of a row are wanted, and scattered. Measured on a Zen 4 of 3.7 GHz.
constexpr double kSortNs = 13;
constexpr double kFirstNs = 0.8;
constexpr double kScatterNs = 4;

double elements_of(const graph::Shape& shape, const kernel::EstimateOptions& options) {
  double elements = 1;
  for (const graph::Expr& extent : shape) elements *= kernel::typical_value(extent, options);
  return elements;
}

/// So many elements on all cores.
double spread(double elements, double nanoseconds, const kernel::Machine& machine) {
  return machine.launch_us + elements * nanoseconds * 1e-3 / static_cast<double>(machine.units);
}

}  // namespace

double read_cost(double bytes, const kernel::Machine& machine) {
  return machine.launch_us + 1e6 * bytes / machine.memory_bytes;
}

double copy_cost(double bytes, const kernel::Machine& machine) {
  return read_cost(2 * bytes, machine);
}

double host_cost(const graph::Node& node, int64_t sorted, const kernel::Machine& machine,
                 const kernel::EstimateOptions& options) {
  switch (node.op) {
    case Op::kArgSort:
      return spread(elements_of(node.shape(), options), sorted > 0 ? kFirstNs : kSortNs, machine);
    case Op::kScatter: {
      const double bytes = elements_of(node.shape(), options) * graph::bits(node.dtype()) / 8.0;
      return copy_cost(bytes, machine) +
             spread(elements_of(node.operands.back().view.domain(), options), kScatterNs, machine) -
             machine.launch_us;
    }
    default:
      return 0.0;
  }
}

std::string why_on_host(Op op) {
  switch (op) {
    case Op::kArgSort:
      return "where an element goes depends on all others of its row, which no loop nest says";
    case Op::kScatter:
      return "which elements it writes is known only as it runs, and several may be the same";
    case Op::kCustom:
      return "it is a function of the user's, which nothing is known of";
    case Op::kPrint:
    case Op::kDiff:
      return "it shows a value to people";
    default:
      return "no kernel computes it";
  }
}

std::string why_no_estimate(Op op) {
  switch (op) {
    case Op::kArgSort:
    case Op::kScatter:
      return "";
    case Op::kCustom:
      return "what the user's function takes is not known";
    default:
      return "what it takes depends on where its text goes";
  }
}

}  // namespace luminal::compiler
