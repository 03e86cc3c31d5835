// Every primitive as a node of its own: odd shapes, a dim, every kind of view and special values.
#include "luminal/graph/npy.h"
#include "luminal/tensor/build.h"
#include "random_values.h"
#include "rows.h"
#include "scratch.h"

namespace luminal::device_ops {
namespace {

using graph::Op;
using graph::OpInfo;
using test::primitive_bound;

/// Applies the op to operands of equal shape; the condition of a choice is bool.
using Operands = std::function<Tensor(DType dtype, int k)>;

Tensor applied(Op op, DType dtype, const Operands& operand) {
  std::vector<Tensor> operands;
  for (int k = 0; k < graph::info(op).arity; ++k)
    operands.push_back(operand(op == Op::kSelect && k == 0 ? boolean : dtype, k));
  return build::apply(op, operands);
}

void write_elementwise(Op op, Cell& cell) {
  const test::Tolerance bound = primitive_bound(op, cell.dtype());
  const auto add = [&](const std::string& what, const Operands& operand) {
    cell.add(what, applied(op, cell.dtype(), operand), bound);
  };
  for (const int v : cell.ways())
    add(name(seen_number(v, 0)),
        [&](DType dtype, int k) { return cell.seen(dtype, seen_number(v, k), Fill::kAny); });
  if (cell.thorough())
    add("a scalar", [&](DType dtype, int) { return cell.input(dtype, {}, Fill::kAny); });
  add("n", [&](DType dtype, int) { return cell.input(dtype, {cell.n()}, Fill::kAny); });
  if (cell.thorough())
    add("n across", [&](DType dtype, int k) {
      const Tensor x = cell.input(dtype, {cell.n(), 3}, Fill::kAny);
      return k == 0 ? transpose(x) : reshape(x, {3, cell.n()});
    });
  add("every pair of special values", [&](DType dtype, int k) {
    const Tensor x = cell.input(dtype, {24}, Fill::kSpecial);
    return expand(unsqueeze(x, k == 0 ? 1 : 0), {24, 24});
  });
}

void write_cast(Op op, Cell& cell) {
  for (const graph::DTypeInfo& to : graph::kDTypes) {
    const bool same_bits = graph::bits(to.dtype) == graph::bits(cell.dtype()) &&
                           (!graph::is_bool(to.dtype) || graph::is_bool(cell.dtype()));
    if (to.dtype == cell.dtype() || (op == Op::kBitcast && !same_bits)) continue;
    const auto convert = [&](const Tensor& x) {
      return op == Op::kCast ? cast(x, to.dtype) : bitcast(x, to.dtype);
    };
    cell.add(fmt::format("to {}", to.name), convert(cell.input({cell.n()})), {});
    cell.add(fmt::format("to {}, seen across", to.name),
             convert(cell.seen(static_cast<Seen>(static_cast<int>(to.dtype) % kSeenCount))), {});
  }
  if (op == Op::kBitcast) {
    const Tensor x = cell.seen(Seen::kSliced);
    cell.add("to itself", bitcast(x, cell.dtype()), {});
  }
}

void write_reduction(Op op, Cell& cell) {
  const Fill fill = op == Op::kProd ? Fill::kNearOne : Fill::kRare;
  const auto add = [&](const std::string& what, const Tensor& x, int axes) {
    cell.add(what, build::apply(op, {x}, graph::ReduceAttribute{axes}),
             primitive_bound(op, cell.dtype()));
  };
  for (const int v : cell.ways()) {
    const auto seen = static_cast<Seen>(v);
    add(name(seen), cell.seen(seen, fill), 1);
    add(fmt::format("{}, both axes", name(seen)), cell.seen(seen, fill), 2);
    add(fmt::format("{}, the first axis", name(seen)), transpose(cell.seen(seen, fill)), 1);
  }
  if (cell.thorough()) {
    add("no axis", cell.seen(Seen::kPermuted, fill), 0);
    add("a scalar", cell.input({}, fill), 0);
  }
  add("of n", cell.input({3, cell.n()}, fill), 1);
  add("of n, across", transpose(cell.input({cell.n(), 19}, fill)), 1);
  add("of n and another", cell.input({2, cell.n(), 3}, fill), 2);
  add("n of 3", cell.input({cell.n(), 3}, fill), 1);
  add("special values", cell.input({24}, Fill::kSpecial), 1);
}

constexpr std::array kIndexDTypes{i64, i32, i16, i8, u32, u16, u8, u4};

void write_gather(Cell& cell) {
  const auto add = [&](const std::string& what, const Tensor& index, const Tensor& data) {
    cell.add(what, build::apply(Op::kGather, {index, data}), {});
  };
  for (const int v : cell.ways()) {
    const auto seen = static_cast<Seen>(v);
    const DType index = kIndexDTypes[static_cast<size_t>(v)];
    add(fmt::format("{}, at {}", name(seen), index), cell.input(index, {4, 7}, Fill::kIndex),
        expand(unsqueeze(cell.seen(seen), 1), {4, 7, 65}));
    add(fmt::format("at {}, {}", name(seen), index), cell.seen(index, seen, Fill::kIndex),
        expand(cell.input({9}), {4, 65, 9}));
  }
  add("a scalar", cell.input(i64, {}, Fill::kIndex), cell.input({5}));
  add("n of n + 4", cell.input(i32, {cell.n()}, Fill::kIndex),
      expand(cell.input({cell.n() + 4}), {cell.n(), cell.n() + 4}));
  add("rows", expand(unsqueeze(cell.input(i64, {cell.n()}, Fill::kIndex), 1), {cell.n(), 6}),
      expand(transpose(cell.input({4, 6})), {cell.n(), 6, 4}));
}

void write_scatter(Cell& cell) {
  for (const ScatterMode mode : {ScatterMode::kSet, ScatterMode::kAdd, ScatterMode::kMul,
                                 ScatterMode::kMax, ScatterMode::kMin}) {
    const auto add = [&](const std::string& what, const Tensor& base, const Tensor& index,
                         const Tensor& updates) {
      cell.add(fmt::format("{}, {}", graph::name(mode), what),
               build::apply(Op::kScatter, {base, index, updates}, graph::ScatterAttribute{mode}),
               {});
    };
    const int v = static_cast<int>(mode);
    add("views", cell.seen(seen_number(v, 0)),
        cell.seen(kIndexDTypes[static_cast<size_t>(v)], seen_number(v, 1), Fill::kIndex),
        cell.seen(seen_number(v, 2)));
    add("n", cell.input({2, cell.n() + 4}), cell.input(i64, {2, cell.n()}, Fill::kIndex),
        cell.input({2, cell.n()}));
  }
}

void write_argsort(Cell& cell) {
  for (const bool descending : {false, true}) {
    const auto add = [&](const std::string& what, const Tensor& x) {
      cell.add(what + (descending ? ", descending" : ""),
               build::apply(Op::kArgSort, {x}, graph::ArgSortAttribute{descending}), {});
    };
    for (int v = 0; v < kSeenCount; ++v)
      add(name(static_cast<Seen>(v)), cell.seen(static_cast<Seen>(v)));
    add("n", cell.input({2, cell.n()}));
  }
}

/// Identities of data: what is seen must be what is there.
void write_identity(Cell& cell, const std::function<Tensor(const Tensor&)>& identity) {
  for (const int v : cell.ways())
    cell.add(name(static_cast<Seen>(v)), identity(cell.seen(static_cast<Seen>(v))), {});
  cell.add("a scalar", identity(cell.input({})), {});
  cell.add("n", identity(cell.input({cell.n()})), {});
  cell.add("n across", identity(transpose(cell.input({cell.n(), 33}))), {});
}

/// An array of the dtype with values that tell positions apart.
Array numbered(DType dtype, const Extents& extents) {
  Array array(dtype, extents);
  for (int64_t i = 0; i < array.size(); ++i) array.set(i, Scalar::of(dtype, i * 5 % 13));
  return array;
}

void write_constant(Cell& cell) {
  const Tensor x = cell.graph().constant(numbered(cell.dtype(), {5, 7}));
  cell.add("an array", x, {});
  cell.add("an array across", contiguous(transpose(x)), {});
  cell.add("an array padded", contiguous(pad(x, {{1, 2}, {0, 9}})), {});
  cell.add("an empty array", cell.graph().constant(numbered(cell.dtype(), {0, 3})), {});
  const Tensor one = cell.graph().constant(Scalar::of(cell.dtype(), 1));
  cell.add("a number", one, {});
  cell.add("a number n times", contiguous(expand(one, {cell.n()})), {});
  std::vector<Tensor> specials;
  for (const Scalar& special : test::special_scalars(cell.dtype()))
    specials.push_back(cell.graph().constant(special));
  cell.add("special numbers", stack(specials), {});
}

void write_iota(Cell& cell) {
  const auto add = [&](const std::string& what, const Shape& shape,
                       const std::function<Dim(std::span<const Dim>)>& element) {
    cell.add(what, iota(cell.graph(), shape, element, cell.dtype()), {});
  };
  add("positions", {5, 67}, [](auto i) { return i[0] * 67 + i[1]; });
  add("negative positions", {65}, [](auto i) { return -3 * i[0] + 40; });
  add("divided", {130},
      [](auto i) { return symbolic::min(symbolic::floor_div(i[0], 7), symbolic::mod(i[0], 5)); });
  add("n", {cell.n()}, [](auto i) { return i[0]; });
  add("of n", {cell.n(), 3}, [&](auto i) { return i[0] * 3 + i[1] - cell.n(); });
  add("nothing", {0, 3}, [](auto i) { return i[0]; });
}

/// A .npy file of the values of `numbered`, for comparisons.
std::string reference_file(DType dtype) {
  const auto path = test::scratch_folder() / fmt::format("{}.npy", dtype);
  graph::save_npy(path.string(), numbered(f32, {5, 7}));
  return path.string();
}

Tensor copied_by_function(const Tensor& x) {
  return custom("copy_bytes", {x}, x.dtype(), x.shape(),
                [](std::span<const Array> operands, Array& result) {
                  std::copy(operands[0].bytes().begin(), operands[0].bytes().end(),
                            result.mutable_bytes().begin());
                });
}

/// How a primitive's cases are written.
std::function<void(Cell&)> writer_of(const OpInfo& op) {
  switch (op.op) {
    case Op::kInput:
      return [](Cell& cell) { write_identity(cell, [](const Tensor& x) { return x; }); };
    case Op::kConstant:
      return write_constant;
    case Op::kIota:
      return write_iota;
    case Op::kCast:
    case Op::kBitcast:
      return [op](Cell& cell) { write_cast(op.op, cell); };
    case Op::kGather:
      return write_gather;
    case Op::kScatter:
      return write_scatter;
    case Op::kArgSort:
      return write_argsort;
    case Op::kPrint:
      return
          [](Cell& cell) { write_identity(cell, [](const Tensor& x) { return print(x, "x"); }); };
    case Op::kDiff:
      return [](Cell& cell) {
        const Tensor x = cell.graph().constant(numbered(cell.dtype(), {5, 7}));
        cell.add("compared", diff(x, reference_file(cell.dtype())), {});
      };
    case Op::kGraphBreak:
      return [](Cell& cell) { write_identity(cell, graph_break); };
    case Op::kCustom:
      return [](Cell& cell) { write_identity(cell, copied_by_function); };
    default:
      break;
  }
  if (graph::is_reduction(op.op)) return [op](Cell& cell) { write_reduction(op.op, cell); };
  return [op](Cell& cell) { write_elementwise(op.op, cell); };
}

}  // namespace

void add_primitives(std::vector<Row>& rows) {
  for (const OpInfo& op : graph::kOps) {
    const bool slow = op.op == Op::kArgSort || op.op == Op::kGather;
    rows.push_back(
        {"Primitives", std::string(op.name), writer_of(op), slow ? kShortLengths : kLengths});
  }
}

}  // namespace luminal::device_ops
