// How far right kernels are from the oracle and how far wrong ones are, both as parts of what
// KernelCheck allows. Kernels of every schedule there is must stay well below it, and the least
// mistakes that code generators make (a term of a sum left out, a shift by one, wrong lanes at the
// end of rows, a wrong rounding) must be well above.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "luminal/codegen/llvm/cpu_schedules.h"
#include "luminal/kernel/derive.h"
#include "luminal/luminal.h"
#include "luminal/search/kernel_check.h"

namespace luminal::search {
namespace {

using Write = std::function<Tensor(Graph&)>;

/// A graph that is one kernel. Inputs of two graphs that make them in the same order are the same
/// tensors.
class Subject {
 public:
  explicit Subject(const Write& write) {
    Graph g;
    const Tensor y = write(g);
    graph_ = g.ir();
    graph_.add_output("y", y.edge());
    const kernel::GraphProgram program(graph_);
    const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
    kernel_ = std::get<kernel::Kernel>(kernel::derive(arena_, program, cut, program.output(0)));
  }

  /// All that is tried comes to an end, after any time on a slow machine.
  KernelCheck check(uint64_t seed = 1) const {
    constexpr std::chrono::minutes kAmple(5);
    return {arena_, kernel_, {}, {.seed = seed, .limit = kAmple, .least = kAmple}};
  }
  kernel::NodeId result() const { return kernel_.roots[0].tensor; }

  /// The first schedules of every family.
  std::vector<codegen::Schedule> schedules(size_t of_each) {
    std::vector<codegen::Schedule> result;
    for (const codegen::ScheduleSpace& space :
         codegen::cpu_schedule_spaces(arena_, kernel_, codegen::host_target(), {})) {
      result.push_back(space.start);
      std::vector<codegen::Schedule> others = codegen::neighbours(space, space.start);
      others.resize(std::min(others.size(), of_each - 1));
      result.insert(result.end(), others.begin(), others.end());
    }
    return result;
  }

  Candidate candidate(const std::optional<codegen::Schedule>& schedule = {}) {
    codegen::CpuKernelOptions options;
    options.schedule = schedule;
    return std::get<Candidate>(
        load_candidate(codegen::cpu_kernel(arena_, kernel_, codegen::host_target(), options),
                       codegen::KernelCompiler(), {}));
  }

  /// The code of this graph as if it were that of another, which has the same inputs.
  Candidate candidate_for(const Subject& other) {
    Candidate result = candidate();
    for (CandidateLaunch& launch : result.launches)
      for (codegen::LaunchBuffer& buffer : launch.buffers)
        if (buffer.kind == codegen::LaunchBuffer::Kind::kTensor &&
            buffer.tensor == kernel_.roots[0].tensor)
          buffer.tensor = other.result();
    return result;
  }

 private:
  graph::Graph graph_;
  kernel::Arena arena_;
  kernel::Kernel kernel_;
};

/// A kernel and mistakes in it, by name.
struct Study {
  std::string name;
  Write right;
  std::vector<std::pair<std::string, Write>> wrong;
};

/// The bits that a narrow float has no room for, cut off instead of rounded.
Tensor truncated(const Tensor& x, DType dtype) {
  const int64_t mask = dtype == bf16 ? -65536 : -8192;
  const Tensor bits = bitcast(cast(x, f32), i32);
  return cast(bitcast(bits & cast(full(x.graph(), {}, static_cast<double>(mask), f32), i32), f32),
              dtype);
}

/// The last lanes of rows hold what belongs beside them.
Tensor with_wrong_lanes(const Tensor& y, int64_t columns) {
  constexpr int64_t kLanes = 3;
  return concat(
      {slice(y, 1, {0, columns - kLanes}), slice(y, 1, {columns - kLanes - 1, columns - 1})}, 1);
}

Study product_study(int64_t rows, int64_t columns, int64_t terms, DType dtype) {
  const auto written = [=](const std::function<Tensor(const Tensor&, const Tensor&)>& write) {
    return [=](Graph& g) {
      const Tensor a = g.input("a", {rows, terms}, dtype);
      return write(a, g.input("b", {terms, columns}, dtype));
    };
  };
  const auto product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  Study study{fmt::format("product {}x{}x{} {}", rows, columns, terms, graph::name(dtype)),
              written(product),
              {}};
  study.wrong.emplace_back(
      "a term left out", written([=](const Tensor& a, const Tensor& b) {
        return matmul(slice(a, 1, {0, terms - 1}), slice(b, 0, {0, terms - 1}));
      }));
  study.wrong.emplace_back("shifted by one", written([=](const Tensor& a, const Tensor& b) {
                             return matmul(roll(a, 1, 1), b);
                           }));
  study.wrong.emplace_back("wrong lanes", written([=](const Tensor& a, const Tensor& b) {
                             return with_wrong_lanes(matmul(a, b), columns);
                           }));
  study.wrong.emplace_back("wrong rounding", written([=](const Tensor& a, const Tensor& b) {
                             if (dtype == f32) return matmul(cast(truncated(a, bf16), f32), b);
                             return truncated(matmul(cast(a, f32), cast(b, f32)), dtype);
                           }));
  return study;
}

/// Rows of `terms`, of which each has something to do with all others of its row.
Study row_study(const std::string& name, int64_t rows, int64_t terms, DType dtype,
                const std::function<Tensor(const Tensor& x, const Tensor& summed)>& write) {
  const auto written = [=](const std::function<Tensor(const Tensor&)>& of) {
    return [=](Graph& g) { return of(g.input("x", {rows, terms}, dtype)); };
  };
  Study study{fmt::format("{} {}x{} {}", name, rows, terms, graph::name(dtype)),
              written([=](const Tensor& x) { return write(x, x); }),
              {}};
  // Few of very many terms are less than what rounding narrow values inside may cost.
  constexpr int64_t kMany = 100;
  if (dtype == f32 || terms < kMany) {
    study.wrong.emplace_back("a term left out", written([=](const Tensor& x) {
                               return write(x, slice(x, 1, {0, terms - 1}));
                             }));
    study.wrong.emplace_back("the first term left out", written([=](const Tensor& x) {
                               return write(x, slice(x, 1, {1, terms}));
                             }));
  }
  if (dtype == f32 && terms > kMany)
    study.wrong.emplace_back(
        "a vector of terms left out", written([=](const Tensor& x) {
          return write(x,
                       concat({slice(x, 1, {0, terms - 48}), slice(x, 1, {terms - 32, terms})}, 1));
        }));
  study.wrong.emplace_back("shifted by one",
                           written([=](const Tensor& x) { return write(roll(x, 1, 1), x); }));
  study.wrong.emplace_back("wrong lanes", written([=](const Tensor& x) {
                             return with_wrong_lanes(write(x, x), terms);
                           }));
  return study;
}

Study softmax_study(int64_t rows, int64_t terms, DType dtype) {
  return row_study("softmax", rows, terms, dtype, [](const Tensor& x, const Tensor& summed) {
    const Tensor largest = max(x, -1, true);
    return exp(x - largest) / sum(exp(summed - largest), -1, true);
  });
}

Study norm_study(int64_t rows, int64_t terms, DType dtype) {
  return row_study("norm", rows, terms, dtype, [=](const Tensor& x, const Tensor& summed) {
    const float part = 1.0F / static_cast<float>(terms);
    const Tensor mean = sum(summed, -1, true) * part;
    const Tensor centered = summed - mean;
    return (x - mean) / sqrt(sum(centered * centered, -1, true) * part + 1e-5F);
  });
}

/// One function after the other; the mistake is one of a poor approximation.
Study chain_study(int64_t count, DType dtype, float error) {
  const auto written = [=](float factor) {
    return [=](Graph& g) {
      const Tensor x = g.input("x", {count}, dtype);
      return exp(sin(exp(x * 0.5F) * factor)) * tanh(x) + sqrt(abs(x));
    };
  };
  return {fmt::format("chain {} {}", count, graph::name(dtype)),
          written(1.0F),
          {{"poor function", written(1.0F + error)}}};
}

Study convolution_study(int64_t channels, int64_t size) {
  const auto written = [=](const std::function<Tensor(const Tensor&, const Tensor&)>& write) {
    return [=](Graph& g) {
      const Tensor x = g.input("x", {1, channels, size, size});
      return write(x, g.weight("w", {channels, channels, 3, 3}));
    };
  };
  const auto convolved = [](const Tensor& x, const Tensor& w) {
    return conv2d(x, w, {}, {.padding = {{1, 1}}});
  };
  return {fmt::format("conv {} channels {}x{}", channels, size, size),
          written(convolved),
          {{"a term left out", written([=](const Tensor& x, const Tensor& w) {
              return conv2d(slice(x, 1, {0, channels - 1}), slice(w, 1, {0, channels - 1}), {},
                            {.padding = {{1, 1}}});
            })}}};
}

void expect_told_apart(const Study& study) {
  constexpr size_t kOfEach = 3;
  Subject right(study.right);
  KernelCheck check = right.check();
  double farthest = 0;
  for (const codegen::Schedule& schedule : right.schedules(kOfEach)) {
    const auto why = check.check(right.candidate(schedule));
    EXPECT_EQ(why, std::nullopt) << study.name << ", " << schedule.to_string() << ": "
                                 << to_string(Measurement(*why));
    farthest = std::max(farthest, check.farthest());
  }
  EXPECT_LT(farthest, 0.5) << study.name;
  for (const auto& [mistake, write] : study.wrong) {
    Subject wrong(write);
    const auto why = check.check(wrong.candidate_for(right));
    ASSERT_TRUE(why.has_value()) << study.name << ", " << mistake << ": it passed at "
                                 << check.farthest();
    EXPECT_EQ(why->why, Rejected::Why::kWrongResult)
        << study.name << ", " << mistake << ": " << why->detail;
    EXPECT_GT(check.farthest(), 2.0) << study.name << ", " << mistake;
  }
}

TEST(KernelTolerance, ProductsOfAnyLengthAreToldFromWrongOnes) {
  for (const int64_t terms : {16, 129, 784, 8192})
    expect_told_apart(product_study(17, 40, terms, f32));
}

TEST(KernelTolerance, NarrowProductsAreToldFromWrongOnes) {
  for (const DType dtype : {bf16, f16})
    for (const int64_t terms : {16, 784, 4096})
      expect_told_apart(product_study(17, 40, terms, dtype));
}

TEST(KernelTolerance, RowsOfSoftmaxAreToldFromWrongOnes) {
  for (const DType dtype : {f32, bf16, f16})
    for (const int64_t terms : {16, 1000}) expect_told_apart(softmax_study(21, terms, dtype));
}

TEST(KernelTolerance, NormsAreToldFromWrongOnes) {
  for (const DType dtype : {f32, bf16, f16})
    for (const int64_t terms : {16, 768}) expect_told_apart(norm_study(21, terms, dtype));
}

TEST(KernelTolerance, ChainsOfFunctionsAreToldFromPoorOnes) {
  expect_told_apart(chain_study(5000, f32, 1e-4F));
  expect_told_apart(chain_study(5000, f16, 0.5F));
  expect_told_apart(chain_study(5000, bf16, 0.5F));
}

TEST(KernelTolerance, AProductWhoseEpilogueHidesItsErrorsIsRight) {
  const auto inputs = [](Graph& g, int64_t terms) {
    return matmul(relu(g.input("a", {40, terms})), g.input("b", {terms, 64}));
  };
  const std::vector<Study> studies = {
      {"relu", [=](Graph& g) { return relu(inputs(g, 784)); }, {}},
      // Far to the left gelu is 0 as the graph rounds it and next to 0 as it should be.
      {"gelu", [=](Graph& g) { return gelu_tanh(inputs(g, 768)); }, {}},
      {"attention",
       [](Graph& g) {
         const Tensor q = g.input("q", {2, 33, 16});
         const Tensor k = g.input("k", {2, 70, 16});
         return attention(q, k, g.input("v", {2, 70, 16}));
       },
       {}},
      {"attention bf16",
       [](Graph& g) {
         const Tensor q = g.input("q", {2, 33, 16}, bf16);
         const Tensor k = g.input("k", {2, 70, 16}, bf16);
         return attention(q, k, g.input("v", {2, 70, 16}, bf16));
       },
       {}}};
  for (const Study& study : studies) expect_told_apart(study);
}

TEST(KernelTolerance, WhatLargeValuesArePartOfMayBeOffByAsMuchMore) {
  // Values of 1e30 are averaged with weights, each of which is off by some of its last bits.
  Subject right([](Graph& g) {
    const Tensor q = g.input("q", {4, 96, 32});
    const Tensor k = g.input("k", {4, 96, 32});
    return attention(q + 1.0F, k, g.input("v", {4, 96, 32}));
  });
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    KernelCheck check = right.check(seed);
    for (const codegen::Schedule& schedule : right.schedules(6)) {
      if (schedule.to_string().find("attention") == std::string::npos) continue;
      const auto why = check.check(right.candidate(schedule));
      EXPECT_EQ(why, std::nullopt)
          << seed << ", " << schedule.to_string() << ": " << to_string(Measurement(*why));
    }
  }
}

TEST(KernelTolerance, WeightsMayVanishBesideInfinities) {
  // 0 times infinity is NaN, and next to 0 times infinity is not.
  Subject right([](Graph& g) {
    const Tensor q = g.input("q", {4, 128, 64}, bf16);
    const Tensor k = g.input("k", {4, 128, 64}, bf16);
    return attention(q, k, g.input("v", {4, 128, 64}, bf16));
  });
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    KernelCheck check = right.check(seed);
    for (const codegen::Schedule& schedule : right.schedules(2)) {
      const auto why = check.check(right.candidate(schedule));
      EXPECT_EQ(why, std::nullopt)
          << seed << ", " << schedule.to_string() << ": " << to_string(Measurement(*why));
    }
    EXPECT_FALSE(check.revoked()) << seed << ": " << check.revoked()->why.detail;
  }
}

TEST(KernelTolerance, FunctionsOfNarrowFloatsMayBeRoundedToEitherNeighbour) {
  Subject right([](Graph& g) { return gelu_tanh(g.input("x", {64, 512}, bf16)); });
  const Candidate candidate = right.candidate();
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    KernelCheck check = right.check(seed);
    const auto why = check.check(candidate);
    EXPECT_EQ(why, std::nullopt) << seed << ": " << to_string(Measurement(*why));
  }
}

TEST(KernelTolerance, ConvolutionsInSquaresAreToldFromWrongOnes) {
  expect_told_apart(convolution_study(64, 14));
}

}  // namespace
}  // namespace luminal::search
