// Random networks of what kernels are hard on: reductions of reductions, softmaxes, products, all
// kinds of views between them; in f64, so that laws that round elsewhere stay near the oracle.
// FUZZ_ITERATIONS and FUZZ_SEED widen the search, as in tests/fuzz.
#include <gtest/gtest.h>

#include <cstdlib>

#include "checks.h"
#include "luminal/kernel/canonical.h"
#include "luminal/kernel/cut_search.h"

namespace luminal::kernel {
namespace {

using luminal::Graph;

class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : random_(seed), seq_(graph_.dim("seq", 1, 4)) {
    const std::vector<Shape> shapes{{2, 3}, {3, seq_}, {seq_, 4}, {4}, {2, seq_, 3}};
    for (size_t k = 0; k < shapes.size(); ++k)
      values_.push_back(graph_.input("x" + std::to_string(k), shapes[k], f64));
  }

  graph::Graph build(int steps) {
    for (int k = 0; k < steps; ++k) {
      const Tensor next = step(any());
      if (next.rank() <= 4 && next.size().bounds().hi <= 600) values_.push_back(next);
    }
    std::vector<Tensor> outputs{values_.back()};
    for (int k = 0; k < 2; ++k) outputs.push_back(any());
    return graph_of(outputs);
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  const Tensor& any() { return values_[values_.size() - 1 - pick_recent()]; }
  size_t pick_recent() {
    return static_cast<size_t>(pick(static_cast<int>(std::min<size_t>(values_.size(), 6))));
  }

  Tensor step(const Tensor& x) {
    if (x.rank() == 0) return x * any();
    const int axis = pick(x.rank());
    const bool known = x.dim(axis).is_constant();
    switch (pick(20)) {
      case 0:
        return sum(x, axis, pick(2) == 0) * 0.5;
      case 1:
        return max(x, axis, pick(2) == 0);
      case 2:
        return luminal::softmax(x, axis);
      case 3:
        return luminal::log_softmax(x, axis);
      case 4:
        return luminal::rms_norm(x);
      case 5:
        return tanh(x);
      case 6:
        return x * sigmoid(x);
      case 7:
      case 8:
        return combined(x, any());
      case 9:
        return transpose(x, axis, pick(x.rank()));
      case 10:
        return flip(x, {axis});
      case 11:
        return pad(x, axis, {pick(2), pick(2)}, PadMode::kConstant, pick(2) * 0.5);
      case 12:
        return x.rank() > 1 ? merge_dims(x, 0, 2) : unsqueeze(x, 0);
      case 13:
        return known && *x.dim(axis).constant_value() % 2 == 0 && *x.dim(axis).constant_value() > 0
                   ? split_dims(x, axis, {2, -1})
                   : unsqueeze(x, axis);
      case 14:
        return concat({x, flip(x, {axis}) * 0.25}, axis);
      case 15:
        return slice(x, axis,
                     {.begin = 0, .end = x.dim(axis) - (x.dim(axis).bounds().lo > 1 ? 1 : 0)});
      case 16:
        return product(x, any());
      case 17:
        return roll(x, 1, axis);
      case 18:
        return x.dim(axis).bounds().lo >= 2 ? sum(unfold(x, axis, 2), -1) : x * 2.0;
      default:
        return looked_up(x, axis);
    }
  }

  /// Both seen in one shape, if they fit; else a number of one of them.
  Tensor combined(const Tensor& x, const Tensor& y) {
    if (y.shape() == x.shape()) return pick(2) == 0 ? x + y * 0.5 : x * y;
    if (y.rank() > 0 && x.dim(-1) == y.dim(-1))
      return x * max(y.rank() > 1 ? sum_leading(y) : y, 0, false);
    return x + mean(y);
  }
  static Tensor sum_leading(Tensor y) {
    while (y.rank() > 1) y = sum(y, 0) * 0.3;
    return y;
  }

  Tensor product(const Tensor& x, const Tensor& y) {
    if (x.rank() >= 2 && y.rank() == 2 && x.dim(-1) == y.dim(-1))
      return tanh(matmul(x, transpose(y)));
    if (x.rank() == 2) return tanh(matmul(x, transpose(x)));
    return x * 0.5;
  }

  Tensor looked_up(const Tensor& x, int axis) {
    const Dim n = x.dim(axis);
    // Positions that depend on data, and are in range whatever it is.
    Tensor position = cast(abs(sum(x) * 7.0), i64);
    Tensor index =
        iota(graph_, {3}, [&](std::span<const Dim> i) { return symbolic::mod(i[0], n); });
    Tensor shifted = fmod(index + position * 0, 5);
    return index_select(x, axis, shifted);
  }

  std::mt19937_64 random_;
  Graph graph_;
  Dim seq_;
  std::vector<Tensor> values_;
};

using Check = std::function<void(const test::Sample&, const GraphProgram&,
                                 const std::vector<NodeId>&, const Tensors&, uint64_t)>;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody writes it
  return text == nullptr ? otherwise : static_cast<uint64_t>(std::atoll(text));
}

void fuzz(uint64_t standard_seed, uint64_t standard_count, const Check& check) {
  const uint64_t first = setting("FUZZ_SEED", standard_seed);
  const uint64_t count = setting("FUZZ_ITERATIONS", standard_count);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const test::Sample sample = models::sample_of(RandomNetwork(seed).build(14), seed,
                                                  {{"seq", static_cast<int64_t>(1 + seed % 4)}});
    const GraphProgram program(sample.graph);
    const std::vector<NodeId> order = *topological_order(program);
    check(sample, program, order, test::oracle_values(sample, program, order), seed);
    if (::testing::Test::HasFailure()) return;
  }
}

constexpr test::Closeness kClose{1e-9, 1e-7};

/// Random cuts, every kernel by `run`.
Check with_random_cuts(const test::RunKernel& run, bool merge) {
  return [=](const test::Sample& sample, const GraphProgram& program,
             const std::vector<NodeId>& order, const Tensors& oracle, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (double probability : {0.2, 0.6}) {
      Arena arena({.merge_reductions = merge});
      const Cut cut = test::random_cut(program, order, random, probability);
      test::check_cut(arena, sample, program, order, cut, oracle, run,
                      merge ? kClose : test::Closeness{});
    }
  };
}

TEST(KernelFuzz, BodiesAreExact) { fuzz(1, 150, with_random_cuts(test::run_by_body, false)); }

TEST(KernelFuzz, PlainNestsAreExact) {
  fuzz(1000, 150, with_random_cuts(test::run_by_nest({.online = false}), false));
}

TEST(KernelFuzz, OnlineNestsAreClose) {
  fuzz(2000, 150, with_random_cuts(test::run_by_nest({}), true));
}

TEST(KernelFuzz, NestsThatKeepRowsAreClose) {
  fuzz(3000, 100, with_random_cuts(test::run_by_nest({.keep_rows = true}), true));
}

TEST(KernelFuzz, LawsOneAfterTheOtherAreClose) {
  const auto run = [](Arena& arena, const Kernel& kernel, const graph::DimValues& dims,
                      Tensors& tensors) {
    Kernel changed = kernel;
    for (const Law& law : all_laws()) changed = law.apply(arena, changed).value_or(changed);
    test::run_by_nest({})(arena, changed, dims, tensors);
  };
  fuzz(4000, 150, with_random_cuts(run, true));
}

TEST(KernelFuzz, PlansAreClose) {
  fuzz(5000, 25,
       [](const test::Sample& sample, const GraphProgram& program, const std::vector<NodeId>& order,
          const Tensors& oracle, uint64_t seed) {
         Arena arena;
         CutSearchOptions options;
         if (seed % 2 == 0) options.machine = Machine::cpu(2);
         const CutPlan plan = search_cut(arena, program, options);
         Tensors tensors;
         for (NodeId id : order)
           if (is_source(program.node(id))) tensors.emplace(id, oracle.at(id));
         for (const PlannedKernel& planned : plan.kernels) {
           const Kernel& kernel =
               planned.estimate.in_place_of ? planned.kernel : planned.estimate.kernel;
           test::run_by_nest(planned.estimate.nest)(arena, kernel, sample.dims, tensors);
         }
         for (NodeId id : program.roots())
           EXPECT_TRUE(test::near(tensors.at(id), oracle.at(id), kClose))
               << graph::to_text(sample.graph);
       });
}

TEST(KernelFuzz, IdentityDoesNotDependOnTheArena) {
  fuzz(6000, 60,
       [](const test::Sample&, const GraphProgram& program, const std::vector<NodeId>& order,
          const Tensors&, uint64_t seed) {
         std::mt19937_64 random(seed);
         const Cut cut = test::random_cut(program, order, random, 0.5);
         Arena forward, backward;
         std::map<NodeId, std::string> texts;
         const auto text = [&](Arena& arena, NodeId id) -> std::string {
           if (!cut.contains(id) || is_opaque(program.node(id))) return "";
           const auto derived = derive(arena, program, cut, id);
           if (std::holds_alternative<Rejected>(derived)) return "";
           return canonicalize(arena, std::get<Kernel>(derived)).text;
         };
         for (NodeId id : order) texts[id] = text(forward, id);
         for (size_t k = order.size(); k-- > 0;)
           EXPECT_EQ(text(backward, order[k]), texts[order[k]]);
       });
}

}  // namespace
}  // namespace luminal::kernel
