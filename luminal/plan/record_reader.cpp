#include "luminal/plan/record_reader.h"

#include <bit>

#include "luminal/symbolic/text.h"

namespace luminal::plan {

using graph::Op;
using symbolic::Expr;

void RecordReader::reject(std::string_view why) { throw UserError("read plan", "{}", why); }

RecordReader::RecordReader(std::span<const std::byte> bytes, std::string_view file)
    : reader_(bytes, file) {
  for (size_t k = count(); k-- > 0;) {
    const std::string name = text();
    const symbolic::Interval interval{signed_number(), signed_number()};
    if (interval.lo > interval.hi) reject("the interval of a dim is empty");
    dims_.emplace(name, Expr::variable(name, interval));
  }
  const auto resolve = [&](std::string_view name) -> std::optional<Expr> {
    const auto found = dims_.find(name);
    if (found == dims_.end()) return std::nullopt;
    return found->second;
  };
  exprs_ = list([&] { return symbolic::parse(text_view(), resolve); });
}

uint64_t RecordReader::number_below(uint64_t limit, std::string_view what) {
  const uint64_t result = number();
  if (result >= limit) reject(fmt::format("{} is {}, not below {}", what, result, limit));
  return result;
}

double RecordReader::real() { return std::bit_cast<double>(number()); }

size_t RecordReader::count() {
  const uint64_t result = number();
  if (result > reader_.remaining() / 8) reject("a list is longer than the file");
  return static_cast<size_t>(result);
}

std::vector<size_t> RecordReader::numbers() {
  return list([&] { return static_cast<size_t>(number()); });
}

Expr RecordReader::expr() { return exprs_[number_below(exprs_.size(), "an expression")]; }

graph::Shape RecordReader::shape() {
  const std::vector<Expr> extents = list([&] { return expr(); });
  for (const Expr& extent : extents)
    if (extent.bounds().hi < 0) reject("an extent is negative");
  return {extents.begin(), extents.end()};
}

graph::DType RecordReader::dtype() {
  const std::string_view name = text_view();
  const std::optional<graph::DType> found = graph::dtype_from_name(name);
  if (!found) reject(fmt::format("there is no dtype '{}'", name));
  return *found;
}

graph::TensorType RecordReader::type() {
  const graph::DType element = dtype();
  return {element, shape()};
}

graph::Edge RecordReader::edge() {
  const graph::NodeId node{static_cast<uint32_t>(number_below(uint64_t{1} << 32, "a node"))};
  graph::Shape source = shape();
  graph::Shape domain = shape();
  const graph::DType fill = dtype();
  const auto resolve = [&](std::string_view name) -> std::optional<Expr> {
    const auto found = dims_.find(name);
    if (found == dims_.end()) return std::nullopt;
    return found->second;
  };
  return {graph::View::parse(text_view(), std::move(source), std::move(domain), fill, resolve),
          node};
}

graph::Attributes RecordReader::attributes(Op op) {
  switch (op) {
    case Op::kScatter:
      return graph::ScatterAttribute{static_cast<graph::ScatterMode>(number_below(5, "a mode"))};
    case Op::kArgSort:
      return graph::ArgSortAttribute{number_below(2, "an order") == 1};
    case Op::kPrint:
      return graph::PrintAttribute{text()};
    case Op::kDiff: {
      graph::DiffAttribute diff{text(), 0, 0};
      diff.absolute_tolerance = real();
      diff.relative_tolerance = real();
      return diff;
    }
    default:
      return {};
  }
}

graph::Node RecordReader::node() {
  const std::string_view name = text_view();
  const std::optional<Op> op = graph::op_from_name(name);
  if (!op) reject(fmt::format("there is no op '{}'", name));
  graph::Node result;
  result.op = *op;
  result.operands = list([&] { return edge(); });
  result.type = type();
  result.name = text();
  result.attributes = attributes(*op);
  return result;
}

void RecordReader::finish() const {
  if (reader_.remaining() != 0) reject("it goes on past its end");
}

}  // namespace luminal::plan
