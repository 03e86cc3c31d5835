#include "random_program.h"

#include <algorithm>
#include <array>

#include "luminal/graph/dim_binding.h"
#include "luminal/luminal.h"
#include "random_values.h"

namespace luminal::fuzz {
namespace {

using test::Random;

/// No value may have more elements when every dim is at its largest: the oracle runs often.
constexpr int64_t kMostElements = 3000;

constexpr std::array kFloats{f32, f32, f32, bf16, bf16, f16, f64, f8e4m3, f8e5m2};
constexpr std::array kSources{f32, f32, f32, bf16, bf16, f16, f64, f8e4m3, i32, i8, u8};

int64_t most_elements(const Shape& shape) {
  int64_t count = 1;
  for (const Dim& extent : shape) count *= std::max<int64_t>(extent.bounds().hi, 1);
  return count;
}

/// Writes one program, function by function.
class ProgramMaker {
 public:
  explicit ProgramMaker(uint64_t seed)
      : random_(seed),
        n_(graph_.dim("n", 0, 9)),
        m_(graph_.dim("m", 1, 5)),
        batch_(graph_.dim("batch", 2, 4)) {}

  graph::Graph make(int steps) {
    for (int i = 0; i < 2; ++i) keep(source(random_.pick(kSources), random_shape()));
    for (int i = 0; i < steps; ++i) keep(step());
    graph::Graph result = graph_.ir();
    std::vector<bool> read(result.size());
    for (const graph::Node& node : result.nodes())
      for (const graph::Edge& operand : node.operands) read[operand.node.value] = true;
    int count = 0;
    for (const Tensor& value : values_)
      if (!read[value.edge().node.value] || value.is(values_.back()))
        result.add_output(fmt::format("out{}", count++), value.edge());
    return result;
  }

 private:
  void keep(const Tensor& value) {
    if (most_elements(value.shape()) <= kMostElements) values_.push_back(value);
  }

  Dim random_extent() {
    switch (random_.between(0, 9)) {
      case 0:
        return n_;
      case 1:
        return m_;
      case 2:
        return batch_;
      case 3:
        return n_ + 1;
      case 4:
        return m_ * 2;
      default:
        return random_.pick(std::array{1, 2, 3, 4, 5, 8, 17, 33});
    }
  }

  Shape random_shape() {
    Shape shape;
    for (int64_t k = random_.between(1, 4); k > 0; --k) {
      shape.push_back(random_extent());
      if (most_elements(shape) > kMostElements / 4) shape.back() = 2;
    }
    return shape;
  }

  Tensor source(DType dtype, const Shape& shape) {
    const std::string name = fmt::format("x{}", inputs_++);
    return random_.one_in(4) ? graph_.weight(name, shape, dtype) : graph_.input(name, shape, dtype);
  }

  /// Often one of the last, so that functions stand on each other.
  Tensor any() {
    const auto size = static_cast<int64_t>(values_.size());
    return values_[static_cast<size_t>(
        random_.between(random_.one_in(2) ? std::max<int64_t>(0, size - 3) : 0, size - 1))];
  }

  /// A value that is a number, of at least this rank.
  Tensor number(int rank = 0) {
    Tensor x = any();
    if (graph::is_bool(x.dtype())) x = cast(x, f32);
    while (x.rank() < rank) x = unsqueeze(x, static_cast<int>(random_.between(0, x.rank())));
    return x;
  }

  Tensor floating(int rank = 0) {
    const Tensor x = number(rank);
    return graph::is_float(x.dtype()) ? x : cast(x, random_.pick(kFloats));
  }

  int axis_of(const Tensor& x) { return random_.index(static_cast<size_t>(x.rank())); }

  /// Any axes, neighbours or not.
  std::vector<int> some_axes(const Tensor& x) {
    std::vector<int> axes = random_.permutation(x.rank());
    axes.resize(static_cast<size_t>(random_.between(1, x.rank())));
    return axes;
  }

  /// The other operand: another value of the shape, a source that broadcasts to it, a number.
  Tensor other(const Tensor& x) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const Tensor y = any();
      if (y.shape() == x.shape() && y.dtype() == x.dtype()) return y;
    }
    if (random_.one_in(4)) return graph_.constant(Scalar::of(x.dtype(), random_.between(-2, 3)));
    Shape shape = x.shape();
    for (Dim& extent : shape)
      if (random_.one_in(3)) extent = 1;
    return source(x.dtype(), shape);
  }

  Tensor joined(const Tensor& a, const Tensor& b) {
    switch (random_.between(0, 4)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return maximum(a, b);
      default:
        return where(a < b, a, b);
    }
  }

  Tensor pointwise() {
    const Tensor x = floating();
    switch (random_.between(0, 7)) {
      case 0:
        return relu(x);
      case 1:
        return gelu_tanh(x);
      case 2:
        return tanh(x);
      case 3:
        return silu(x);
      case 4:
        return exp(minimum(x, 3));
      case 5:
        return log(abs(x) + 1);
      case 6:
        return cast(x, random_.pick(kFloats));
      default:
        return sqrt(abs(x));
    }
  }

  Tensor statistic(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
    switch (random_.between(0, 6)) {
      case 0:
        return sum(x, axes, keepdims);
      case 1:
        return mean(x, axes, keepdims);
      case 2:
        return max(x, axes, keepdims);
      case 3:
        return min(x, axes, keepdims);
      case 4:
        return var(x, axes, 0, keepdims);
      case 5:
        return norm(x, 2.0, axes, keepdims);
      default:
        return logsumexp(x, axes, keepdims);
    }
  }

  /// x with a statistic of itself over any axes.
  Tensor centred() {
    const Tensor x = floating(2);
    return joined(x, statistic(x, some_axes(x), true));
  }

  Tensor reduced() {
    const Tensor x = random_.one_in(2) ? joined_pair() : number(1);
    return statistic(graph::is_float(x.dtype()) ? x : cast(x, f32), some_axes(x), false);
  }

  Tensor joined_pair() {
    const Tensor x = number(1);
    return joined(x, other(x));
  }

  Tensor normed() {
    const Tensor x = floating(2);
    switch (random_.between(0, 6)) {
      case 0:
        return softmax(x, axis_of(x));
      case 1:
        return log_softmax(x, axis_of(x));
      case 2:
        return mean_norm(x, some_axes(x));
      case 3:
        return std_norm(x, some_axes(x));
      case 4:
        return layer_norm(x, some_axes(x));
      case 5:
        return rms_norm(x, source(x.dtype(), {x.dim(-1)}));
      default:
        return normalize(x, 2.0, some_axes(x), 1e-3);
    }
  }

  /// Statistics of the batch, then the norm: what training does.
  Tensor batch_normed() {
    const Tensor x = floating(3);
    std::vector<int> axes;
    for (int k = 0; k < x.rank(); ++k)
      if (k != 1) axes.push_back(k);
    const auto parameter = [&] { return source(x.dtype(), {x.dim(1)}); };
    if (random_.one_in(3))
      return batch_norm(x, parameter(), abs(parameter()), parameter(), parameter());
    return batch_norm(x, mean(x, axes), var(x, axes, 0), parameter(), parameter());
  }

  /// x with a border of zeros on some axes.
  Tensor padded(Tensor x) {
    for (int k = 0; k < x.rank(); ++k)
      if (random_.one_in(2)) x = pad(x, k, {random_.between(0, 2), random_.between(0, 2)});
    return x;
  }

  /// A product; what stands in the inner axis is padded on either side, or on both.
  Tensor product() {
    Tensor x = floating(2);
    if (random_.one_in(2)) x = padded(x);
    if (random_.one_in(3)) x = transpose(x);
    const Dim columns = random_extent();
    Tensor y = source(x.dtype(), {x.dim(-1), columns});
    if (random_.one_in(3)) {  // the same extents, but of less data and a border
      const int64_t border = random_.between(1, 2);
      if (symbolic::provably_ge(x.dim(-1), border + 1))
        y = pad(source(x.dtype(), {x.dim(-1) - border, columns}), 0,
                random_.one_in(2) ? Padding{border, 0} : Padding{0, border});
    }
    Tensor result = matmul(x, y);
    if (random_.one_in(3)) result = padded(result);
    if (random_.one_in(2)) result = result + source(result.dtype(), {result.dim(-1)});
    return random_.one_in(3) ? relu(result) : result;
  }

  Tensor convolved() {
    const Tensor x = floating(random_.one_in(2) ? 3 : 4);
    if (x.rank() > 4 || !x.dim(1).constant_value()) return padded(x);
    const auto spatial = static_cast<size_t>(x.rank() - 2);
    Shape weight{random_.between(1, 5), x.dim(1)};
    ConvOptions options;
    for (size_t k = 0; k < spatial; ++k) {
      const int64_t size = random_.between(1, 3);
      weight.emplace_back(size);
      options.padding.push_back({size - 1, random_.between(0, 1)});
      options.stride.push_back(random_.between(1, 2));
    }
    Shape bias(static_cast<size_t>(x.rank()), 1);
    bias[1] = weight[0];
    const Tensor result = conv(x, source(x.dtype(), weight), {}, options);
    return random_.one_in(2) ? relu(result + source(result.dtype(), bias)) : result;
  }

  /// Where the extreme of something computed lies, and often the element there.
  Tensor position() {
    Tensor x = random_.one_in(2) ? pointwise() : joined_pair();
    if (x.rank() == 0) x = unsqueeze(x, 0);
    int axis = axis_of(x);
    if (!symbolic::provably_ge(x.dim(axis), 1)) {
      x = concat({x, slice(pad(x, axis, {0, 1}), axis, {.begin = x.dim(axis)})}, axis);
    }
    const Tensor found = random_.one_in(2) ? argmax(x, axis, true) : argmin(x, axis, true);
    return random_.one_in(2) ? found : take_along(x, found, axis);
  }

  /// A part replaced, often at an end of the axis, at a place that may be a dim.
  Tensor updated() {
    const Tensor x = number(1);
    const int axis = axis_of(x);
    const Dim extent = x.dim(axis);
    Dim length = 1;
    if (random_.one_in(3))
      length = extent;
    else if (random_.one_in(2))
      length = m_;
    Shape shape = x.shape();
    shape[static_cast<size_t>(axis)] = length;
    Dim begin = 0;
    if (random_.one_in(3))
      begin = extent - length;
    else if (random_.one_in(3))
      begin = n_;
    else if (random_.one_in(3))
      begin = extent - 1;
    if (begin.bounds().hi < 0 || symbolic::provably_less(extent, begin + length)) return x;
    return update_slice(x, axis, begin, source(x.dtype(), shape));
  }

  Tensor scanned() {
    const Tensor x = floating(1);
    switch (random_.between(0, 3)) {
      case 0:
        return cumsum(x, axis_of(x));
      case 1:
        return cummax(x, axis_of(x));
      case 2:
        return sort(x, axis_of(x), random_.one_in(2)).values;
      default:
        return argsort(x, axis_of(x));
    }
  }

  Tensor moved() {
    const Tensor x = number(2);
    const int axis = axis_of(x);
    switch (random_.between(0, 4)) {
      case 0:
        return permute(x, random_.permutation(x.rank()));
      case 1:
        return concat({x, flip(x, {axis})}, axis);
      case 2:
        return slice(x, axis, {.step = 2});
      case 3:
        return roll(x, random_.between(-2, 2), axis);
      default:
        return padded(x);
    }
  }

  Tensor step() {
    switch (random_.between(0, 15)) {
      case 0:
      case 1:
        return centred();
      case 2:
      case 3:
        return product();
      case 4:
      case 5:
        return position();
      case 6:
        return batch_normed();
      case 7:
        return updated();
      case 8:
        return normed();
      case 9:
        return convolved();
      case 10:
        return reduced();
      case 11:
        return scanned();
      case 12:
        return moved();
      case 13:
        return pointwise();
      default:
        return joined_pair();
    }
  }

  Graph graph_;
  Random random_;
  Dim n_, m_, batch_;  // n may be 0 and m may be 1
  std::vector<Tensor> values_;
  int inputs_ = 0;
};

Scalar ordinary(Random& random, DType dtype) {
  if (graph::is_float(dtype)) return Scalar::of(dtype, (random.unit() - 0.5) * 4);
  return Scalar::of(dtype, random.between(graph::is_unsigned(dtype) ? 0 : -4, 5));
}

}  // namespace

graph::Graph random_program(uint64_t seed, int steps) { return ProgramMaker(seed).make(steps); }

std::map<std::string, Array> program_inputs(Random& random, const graph::Graph& graph,
                                            const graph::DimValues& dims) {
  std::map<std::string, Array> inputs;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    // The ends of i32 as f32 make sums of which nothing but rounding is left.
    const bool special =
        random.one_in(6) && (graph::is_float(node.dtype()) || graph::bits(node.dtype()) <= 16);
    Array array(node.dtype(), graph::extents_of(node.shape(), dims));
    for (int64_t i = 0; i < array.size(); ++i)
      array.set(i, special && random.one_in(10) ? test::random_scalar(random, node.dtype())
                                                : ordinary(random, node.dtype()));
    inputs.emplace(node.attribute<graph::InputAttribute>().name, std::move(array));
  }
  return inputs;
}

}  // namespace luminal::fuzz
