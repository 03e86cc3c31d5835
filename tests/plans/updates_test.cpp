// Inputs that are given away: the new value lies where the old one was, and only there.
#include <gtest/gtest.h>

#include "luminal/compiler/build_plan.h"
#include "luminal/plan/compiled_program.h"
#include "plan_samples.h"

namespace luminal::test {
namespace {

/// A cache of 8 rows that gets one more.
struct Cache {
  Graph g;
  Dim past = g.dim("past", 0, 7);
  Tensor cache = g.input("cache", {8, 32});
  Tensor row = g.input("row", {1, 32});
  Tensor next = update_slice(cache, 0, past, row).named("next");
  Tensor sums = sum(next, -1).named("sums");

  /// The same in plain loops.
  static void write(Array& rows, const Array& row, int64_t past) {
    std::copy_n(row.as<float>().begin(), 32, rows.mutable_as<float>().begin() + 32 * past);
  }
};

const std::byte* address(const Executable& exe, const Tensor& tensor) {
  return exe.get(tensor).bytes().data();
}

/// Steps that copy a whole buffer of the plan.
int64_t copies(const Graph& g, const std::vector<Tensor>& outputs) {
  graph::Graph graph = g.ir();
  for (const Tensor& output : outputs)
    graph.add_output(fmt::format("o{}", graph.outputs().size()), output.edge());
  const plan::Plan plan = compiler::build_plan(std::move(graph));
  return std::count_if(plan.steps.begin(), plan.steps.end(), [](const plan::PlanStep& step) {
    return std::holds_alternative<plan::CopyStep>(step.action);
  });
}

TEST(Updates, ACacheThatIsGivenAwayStaysWhereItIs) {
  Cache c;
  Executable exe = compile(c.g, {c.next, c.sums});
  exe.set(c.cache, numbers({8, 32}, 1));
  exe.update(c.cache, c.next);
  Array expected = numbers({8, 32}, 1);
  const std::byte* memory = address(exe, c.cache);
  for (int64_t step = 0; step < 8; ++step) {
    exe.set(c.row, numbers({1, 32}, static_cast<int>(step)));
    exe.set_dim("past", step);
    exe.run();
    Cache::write(expected, numbers({1, 32}, static_cast<int>(step)), step);
    EXPECT_TRUE(exe.get(c.next).identical(expected)) << "step " << step;
    EXPECT_EQ(address(exe, c.next), memory) << "step " << step;
    EXPECT_EQ(address(exe, c.cache), memory) << "both are one value";
  }
  Executable oracle = compile(c.g, {c.sums}, {.backend = Backend::kInterpreter});
  oracle.set(c.cache, expected);
  oracle.set(c.row, numbers({1, 32}, 7));
  oracle.set_dim("past", 7);
  oracle.run();
  const std::vector<float> sums = exe.get<float>(c.sums), correct = oracle.get<float>(c.sums);
  for (size_t k = 0; k < 8; ++k) EXPECT_NEAR(sums[k], correct[k], 1e-5);
}

/// The cache after an update at `begin`, by loops.
std::vector<float> updated(std::vector<float> cache, int64_t columns, int64_t begin,
                           const std::vector<float>& piece, int64_t width) {
  const auto rows = static_cast<int64_t>(piece.size()) / width;  // the cache may have no columns
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < width; ++k)
      if (begin + k >= 0 && begin + k < columns)
        cache[static_cast<size_t>(r * columns + begin + k)] =
            piece[static_cast<size_t>(r * width + k)];
  return cache;
}

TEST(Updates, LeaveOutWhatWouldLieOutsideOfTheAxis) {
  const std::vector<float> before{1, 2, 3, 4, 5, 6}, piece{10, 11, 20, 21};
  Graph g;
  const Dim at = g.dim("at", 0, 1000000000);
  const Tensor cache = g.input("cache", {2, 3}), columns = g.input("columns", {2, 2});
  const Tensor next = update_slice(cache, 1, at - 2, columns);
  for (const bool given_away : {false, true}) {
    Executable exe = compile(g, {next});
    if (given_away) exe.update(cache, next);
    for (const int64_t begin : {-2, -1, 0, 1, 2, 3, 900000000}) {
      SCOPED_TRACE(fmt::format("at {}, given away {}", begin, given_away));
      exe.set(cache, before);
      exe.set(columns, piece);
      exe.set_dim("at", begin + 2);
      exe.run();
      EXPECT_EQ(exe.get<float>(next), updated(before, 3, begin, piece, 2));
    }
  }
}

TEST(Updates, LeaveOutWhatASymbolicAxisDoesNotHave) {
  Graph g;
  const Dim length = g.dim("length", 0, 16);
  const Tensor cache = g.input("cache", {2, length}), columns = g.input("columns", {2, 1});
  const Tensor next = update_slice(cache, 1, 2, columns);
  Executable exe = compile(g, {next});
  for (const int64_t extent : {0, 1, 2, 3, 16}) {
    const std::vector<float> before(static_cast<size_t>(2 * extent), 5.0F);
    exe.set(cache, Array::from<float>(DType::kF32, {2, extent}, before));
    exe.set(columns, std::vector<float>{10, 20});
    exe.run();
    EXPECT_EQ(exe.get<float>(next), updated(before, extent, 2, {10, 20}, 1)) << extent;
  }
}

TEST(Updates, WithoutGivingAwayTheOldValueStays) {
  Cache c;
  EXPECT_EQ(copies(c.g, {c.next}), 1);
  Executable exe = compile(c.g, {c.next});
  const Array before = numbers({8, 32}, 1);
  exe.set(c.cache, before);
  exe.set(c.row, numbers({1, 32}, 2));
  exe.set_dim("past", 3);
  exe.run();
  EXPECT_NE(address(exe, c.next), address(exe, c.cache));
  EXPECT_TRUE(exe.get(c.cache).identical(numbers({8, 32}, 1)));
}

TEST(Updates, ArraysThatTheCallerStillHoldsAreLeftAlone) {
  Cache c;
  Executable exe = compile(c.g, {c.next});
  const Array mine = numbers({8, 32}, 1);
  exe.set(c.cache, mine);
  exe.update(c.cache, c.next);
  exe.set(c.row, numbers({1, 32}, 2));
  exe.set_dim("past", 3);
  exe.run();
  EXPECT_TRUE(mine.identical(numbers({8, 32}, 1)));
  const Array held = exe.get(c.next);
  Array expected = mine;
  Cache::write(expected, numbers({1, 32}, 2), 3);
  EXPECT_TRUE(held.identical(expected));
  exe.set_dim("past", 4);
  exe.run();
  EXPECT_TRUE(held.identical(expected)) << "a result that is held does not change";
  Cache::write(expected, numbers({1, 32}, 2), 4);
  EXPECT_TRUE(exe.get(c.next).identical(expected));
}

TEST(Updates, AnInputThatIsNeededLaterIsNotWrittenOver) {
  Cache c;
  const Tensor difference = c.next - c.cache;
  Executable exe = compile(c.g, {c.next, difference});
  exe.set(c.cache, numbers({8, 32}, 1));
  exe.update(c.cache, c.next);
  exe.set(c.row, numbers({1, 32}, 2));
  exe.set_dim("past", 5);
  exe.run();
  Array expected = numbers({8, 32}, 1);
  Cache::write(expected, numbers({1, 32}, 2), 5);
  EXPECT_TRUE(exe.get(c.next).identical(expected));
  const std::vector<float> before = numbers({8, 32}, 1).to_vector<float>();
  const std::vector<float> after = expected.to_vector<float>();
  const std::vector<float> actual = exe.get<float>(difference);
  for (size_t k = 0; k < actual.size(); ++k) EXPECT_EQ(actual[k], after[k] - before[k]) << k;
}

TEST(Updates, WhatIsReadOfTheOldValueIsReadBeforeItIsWrittenOver) {
  Cache c;
  const Tensor before = sum(c.cache, -1), turned = permute(c.cache, {1, 0});
  const Tensor last = slice(c.cache, 0, {.begin = 6});
  Executable exe = compile(c.g, {c.next, before, turned, last});
  exe.set(c.cache, numbers({8, 32}, 1));
  exe.update(c.cache, c.next);
  Array held = numbers({8, 32}, 1);
  for (int64_t past = 0; past < 8; ++past) {
    exe.set(c.row, numbers({1, 32}, static_cast<int>(past + 5)));
    exe.set_dim("past", past);
    exe.run();
    const std::vector<float> old = held.to_vector<float>();
    const std::vector<float> sums = exe.get<float>(before), other = exe.get<float>(turned);
    for (size_t row = 0; row < 8; ++row) {
      float total = 0;
      for (size_t k = 0; k < 32; ++k) {
        total += old[row * 32 + k];
        ASSERT_EQ(other[k * 8 + row], old[row * 32 + k]) << "step " << past;
      }
      EXPECT_NEAR(sums[row], total, 1e-5) << "step " << past;
    }
    EXPECT_EQ(exe.get<float>(last), std::vector<float>(old.begin() + 192, old.end()));
    Cache::write(held, numbers({1, 32}, static_cast<int>(past + 5)), past);
    EXPECT_TRUE(exe.get(c.next).identical(held)) << "step " << past;
  }
}

TEST(Updates, AValueThatMovesToAnotherInputIsNotWrittenOver) {
  // The next a is b as it is, while the next b could be computed in the memory of b.
  for (const Backend backend : {Backend::kCpu, Backend::kInterpreter}) {
    const Graph g;
    const Tensor a = g.input("a", {64}), b = g.input("b", {64});
    const Tensor next_a = b * 1.0, next_b = a + b;
    Executable exe = compile(g, {next_a, next_b}, {.backend = backend});
    exe.update(a, next_a);
    exe.update(b, next_b);
    exe.set(a, std::vector<float>(64, 0));
    exe.set(b, std::vector<float>(64, 1));
    std::vector<float> numbers;
    for (int step = 0; step < 8; ++step) {
      exe.run();
      numbers.push_back(exe.get<float>(a)[step]);
    }
    EXPECT_EQ(numbers, (std::vector<float>{1, 1, 2, 3, 5, 8, 13, 21}));
  }
}

TEST(Updates, TwoValuesMayChangePlaces) {
  const Graph g;
  const Tensor a = g.input("a", {64}), b = g.input("b", {64});
  const Tensor next_a = b * 2.0, next_b = a + 1;
  Executable exe = compile(g, {next_a, next_b});
  exe.update(a, next_a);
  exe.update(b, next_b);
  std::vector<float> first(64, 3), second(64, 5);
  exe.set(a, first);
  exe.set(b, second);
  for (int step = 0; step < 5; ++step) {
    exe.run();
    std::swap(first, second);
    for (size_t k = 0; k < 64; ++k) {
      first[k] *= 2;
      second[k] += 1;
    }
    EXPECT_EQ(exe.get<float>(a), first) << "step " << step;
    EXPECT_EQ(exe.get<float>(b), second) << "step " << step;
  }
}

TEST(Updates, RowsPastTheEndAreLeftOutHoweverFarTheyLie) {
  for (const Backend backend : {Backend::kCpu, Backend::kInterpreter}) {
    const Graph g;
    const Dim past = g.dim("past");
    const Tensor cache = g.input("cache", {8, 3}), rows = g.input("rows", {2, 3});
    const Tensor next = update_slice(cache, 0, past, rows);
    Executable exe = compile(g, {next}, {.backend = backend});
    exe.update(cache, next);
    exe.set(rows, std::vector<float>{-1, -2, -3, -4, -5, -6});
    for (const int64_t position : {int64_t{6}, int64_t{7}, int64_t{8}, int64_t{9}, int64_t{1000},
                                   int64_t{1} << 31, int64_t{1} << 56}) {
      exe.set(cache, numbers({8, 3}, 1));
      exe.set_dim("past", position);
      exe.run();
      std::vector<float> expected = numbers({8, 3}, 1).to_vector<float>();
      for (int64_t k = 3 * position; k < std::min<int64_t>(24, 3 * position + 6); ++k)
        expected[static_cast<size_t>(k)] = static_cast<float>(3 * position - k - 1);
      EXPECT_EQ(exe.get<float>(next), expected) << position;
    }
    exe.set_dim("past", INT64_MAX);
    EXPECT_EQ(error_of([&] { exe.run(); }),
              "run: the dim 'past' is 9223372036854775807, more than the 72057594037927936 "
              "elements that a tensor can have; give it a smaller value");
  }
}

TEST(Updates, OneArrayForTwoInputsIsNotWrittenOver) {
  Graph g;
  const Tensor a = g.input("a", {4});
  g.input("b", {4});
  const Tensor next = a + 1;
  graph::Graph graph = g.ir();
  graph.add_output("next", next.edge());
  const auto program = plan::load_plan(compiler::build_plan(std::move(graph)));
  const Array data(f32, {4});
  graph::RunRequest request;
  request.inputs = {{"a", &data}, {"b", &data}};
  request.donated = {"a"};
  EXPECT_NE(program->run(request)[0].bytes().data(), data.bytes().data());
  request.inputs.erase("b");
  EXPECT_EQ(program->run(request)[0].bytes().data(), data.bytes().data()) << "now it is alone";
}

TEST(Updates, ElementwiseStepsWriteOverWhatTheyRead) {
  Graph g;
  const Tensor w = g.input("w", {1000}), gradient = g.input("gradient", {1000});
  const Tensor next = w - gradient * 0.5;
  Executable exe = compile(g, {next});
  exe.set(w, numbers({1000}, 1));
  exe.set(gradient, numbers({1000}, 2));
  exe.update(w, next);
  const std::byte* memory = address(exe, w);
  std::vector<float> expected = numbers({1000}, 1).to_vector<float>();
  const std::vector<float> change = numbers({1000}, 2).to_vector<float>();
  for (int step = 0; step < 3; ++step) {
    exe.run();
    for (size_t k = 0; k < expected.size(); ++k) expected[k] -= change[k] * 0.5F;
    EXPECT_EQ(exe.get<float>(w), expected);
    EXPECT_EQ(address(exe, w), memory);
  }
}

TEST(Updates, SavedPlansUpdateToo) {
  const Folder folder;
  Cache c;
  compile(c.g, {c.next}).save(folder.file("plan"));
  Executable exe = load(folder.file("plan"));
  exe.set("cache", numbers({8, 32}, 1));
  exe.set("row", numbers({1, 32}, 2));
  exe.update(exe.input("cache"), exe.output("next"));
  const std::byte* memory = exe.get(exe.input("cache")).bytes().data();
  for (int64_t past = 0; past < 8; ++past) {
    exe.set_dim("past", past);
    exe.run();
    EXPECT_EQ(exe.get("next").bytes().data(), memory);
  }
}

TEST(Updates, TheInterpreterUpdatesByItsOwnMeans) {
  Cache c;
  Executable exe = compile(c.g, {c.next}, {.backend = Backend::kInterpreter});
  exe.set(c.cache, numbers({8, 32}, 1));
  exe.update(c.cache, c.next);
  Array expected = numbers({8, 32}, 1);
  for (int64_t past = 0; past < 3; ++past) {
    exe.set(c.row, numbers({1, 32}, 4));
    exe.set_dim("past", past);
    exe.run();
    Cache::write(expected, numbers({1, 32}, 4), past);
    EXPECT_TRUE(exe.get(c.cache).identical(expected));
  }
}

TEST(Updates, WhatCannotBeTheNextValueIsSaid) {
  Cache c;
  const Tensor other = c.cache * 2;
  Executable exe = compile(c.g, {c.next, c.sums});
  EXPECT_EQ(error_of([&] { exe.update(c.cache, c.sums); }),
            "update: 'cache' is f32[8, 32] and 'sums' is f32[8]; a value and its next are of one "
            "type");
  EXPECT_NE(error_of([&] { exe.update(c.cache, other); }).find("is no output"), std::string::npos);
  EXPECT_NE(error_of([&] { exe.update(c.next, c.next); }).find("only inputs take data"),
            std::string::npos);
  exe.update(c.cache, c.next);
  EXPECT_EQ(error_of([&] { exe.update(c.cache, c.next); }),
            "update: 'cache' has a next value already");
}

}  // namespace
}  // namespace luminal::test
