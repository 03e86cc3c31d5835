#include "luminal/tensor/executable.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <set>
#include <span>
#include <sstream>

#include "luminal/graph/npy.h"
#include "luminal/support/error.h"
#include "luminal/support/trace.h"
#include "luminal/tensor/activation.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/creation.h"
#include "luminal/tensor/effects.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/normalization.h"

namespace luminal {
namespace {

using Floats = std::vector<float>;

template <typename Function>
void expect_user_error(Function function, const std::string& message) {
  try {
    function();
    FAIL() << "nothing was thrown; expected: " << message;
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), message);
  }
}

/// A folder that is gone when the test is over.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "luminal_executable_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

TEST(Executable, TakesDataInEveryForm) {
  TemporaryFolder folder;
  Graph g;
  Tensor x = g.input("x", {2, 2});
  Tensor y = x + 1;
  Executable exe = compile(g, {y});
  const Floats expected{2, 3, 4, 5};
  auto expect_result = [&](const char* how) {
    exe.run();
    EXPECT_EQ(exe.get<float>(y), expected) << how;
    exe.set(x, Floats{0, 0, 0, 0});
  };
  exe.set(x, {{1, 2}, {3, 4}});
  expect_result("braces");
  exe.set(x, Floats{1, 2, 3, 4});
  expect_result("vector");
  exe.set(x, std::vector<double>{1, 2, 3, 4});
  expect_result("vector of another type");
  const std::array<int, 4> integers{1, 2, 3, 4};
  exe.set(x, std::span<const int>(integers));
  expect_result("span");
  const std::array<float, 4> floats{1, 2, 3, 4};
  exe.set_bytes(x, f32, std::as_bytes(std::span(floats)));
  expect_result("bytes");
  Array array = Array::from<double>(bf16, {2, 2}, std::vector<double>{1, 2, 3, 4});
  exe.set(x, array);
  expect_result("array of another dtype");
  exe.set("x", array);
  expect_result("by name");
  exe.set("x", {{1, 2}, {3, 4}});
  expect_result("braces by name");
  graph::save_npy(folder.file("x.npy"), array.cast(f32));
  exe.set_file(x, folder.file("x.npy"));
  expect_result("npy");
  graph::save_npz(folder.file("x.npz"), {{"weights", array.cast(f64)}}, true);
  exe.set_file(x, folder.file("x.npz"), "weights");
  expect_result("npz");
  exe.set_loader(x, [&] { return array; });
  expect_result("loader");
}

TEST(Executable, TakesBooleans) {
  Graph g;
  Tensor mask = g.input("mask", {3}, boolean);
  Tensor y = where(mask, 1, 2);
  Executable exe = compile(g, {y});
  exe.set(mask, std::vector<bool>{true, false, true});
  exe.run();
  EXPECT_EQ(exe.get<int64_t>(y), (std::vector<int64_t>{1, 2, 1}));
}

TEST(Executable, CallsALoaderOnceAndOnlyWhenNeeded) {
  Graph g;
  Tensor x = g.input("x", {1});
  Tensor y = x * 2;
  Executable exe = compile(g, {y});
  int calls = 0;
  exe.set_loader(x, [&] {
    ++calls;
    return Array::from<float>(f32, {1}, Floats{3});
  });
  EXPECT_EQ(calls, 0);
  exe.run();
  exe.run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(exe.get<float>(y), Floats{6});
}

TEST(Executable, LeavesALoaderAloneWhoseDataNothingNeeds) {
  Graph g;
  Dim n = g.dim("n");
  Tensor used = g.input("used", {1}), unused = g.input("unused", {g.dim("m")});
  Tensor tells_n = g.input("tells_n", {n});
  Tensor y = used + full(g, {n}, 1);
  Executable exe = compile(g, {y});
  exe.set(used, {2});
  int calls = 0;
  exe.set_loader(unused, [&] {
    ++calls;
    return Array(f32, {1});
  });
  exe.set_loader(tells_n, [] { return Array(f32, {3}); });
  exe.run();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(exe.get<float>(y), (Floats{3, 3, 3}));
}

TEST(Executable, NamesEveryMissingInputBeforeTheDimsTheyWouldTell) {
  Graph g;
  Dim n = g.dim("n");
  Tensor a = g.input("a", {n}), b = g.input("b", {n}, i64);
  Executable exe = compile(g, {a + b});
  expect_user_error([&] { exe.run(); },
                    "run: inputs 'a' of type f32[n], 'b' of type i64[n] have no data");
  exe.set(a, {1});
  expect_user_error([&] { exe.run(); }, "run: input 'b' of type i64[n] has no data");
}

TEST(Executable, FindsDimsOfFlatDataInWhateverOrderTheyFollow) {
  Graph g;
  Dim rows = g.dim("rows"), columns = g.dim("columns");
  Tensor a = g.input("a", {rows, columns}), z = g.input("z", {columns});
  Tensor y = sum(a * z, 1);
  Executable exe = compile(g, {y});
  exe.set(a, Floats{1, 2, 3, 4, 5, 6});
  exe.set(z, Floats{1, 1, 1});
  exe.run();
  EXPECT_EQ(exe.get<float>(y), (Floats{6, 15}));
  exe.set_dim("columns", 3);
  exe.set(a, Floats{1, 2, 3});
  exe.run();
  EXPECT_EQ(exe.get<float>(y), Floats{6});
}

TEST(Executable, KeepsInputsAcrossRuns) {
  Graph g;
  Tensor a = g.input("a", {1}), b = g.input("b", {1});
  Tensor y = a + b;
  Executable exe = compile(g, {y});
  exe.set(a, {1});
  exe.set(b, {10});
  exe.run();
  exe.set(b, {20});
  exe.run();
  EXPECT_EQ(exe.get<float>(y), Floats{21});
  EXPECT_EQ(exe.get<float>(a), Floats{1});
}

TEST(Executable, FindsDimsFromDataOrByName) {
  Graph g;
  Dim n = g.dim("n", 0, 100), m = g.dim("m", 1, 100);
  Tensor x = g.input("x", {n, m * 2});
  Tensor y = x * 2;
  Executable exe = compile(g, {y});
  exe.set(x, Array::from<float>(f32, {1, 4}, Floats{1, 2, 3, 4}));
  exe.run();
  EXPECT_EQ(exe.get(y).extents(), (Extents{1, 4}));
  exe.set(x, Floats{1, 2, 3, 4});
  expect_user_error([&] { exe.run(); },
                    "run: input 'x' of shape [n, 2*m] was given 4 values; set the dims, or give "
                    "data with extents");
  exe.set_dim("m", 1);
  exe.run();
  EXPECT_EQ(exe.get(y).extents(), (Extents{2, 2}));
  exe.set(x, Floats{});
  exe.run();
  EXPECT_EQ(exe.get(y).extents(), (Extents{0, 2}));
}

TEST(Executable, FlatDataFollowsDimsThatChangeLater) {
  Graph g;
  Dim n = g.dim("n", 1, 100);
  Tensor x = g.input("x", {n, g.dim("m", 1, 100)});
  Executable exe = compile(g, {x * 2});
  exe.set(x, Floats{1, 2, 3, 4, 5, 6});
  exe.set_dim("n", 2);
  exe.run();
  EXPECT_EQ(exe.get(x).extents(), (Extents{2, 3}));
  exe.set_dim("n", 3);
  exe.run();
  EXPECT_EQ(exe.get(x).extents(), (Extents{3, 2}));
}

TEST(Executable, ReadsViewsAsContiguousData) {
  Graph g;
  Tensor x = g.input("x", {2, 3});
  Tensor transposed = transpose(x);
  Tensor padded = pad(x, 1, {1, 0}, PadMode::kConstant, 9);
  Executable exe = compile(g, {transposed, padded});
  exe.set(x, {{1, 2, 3}, {4, 5, 6}});
  exe.run();
  EXPECT_EQ(exe.get<float>(transposed), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(exe.get<float>(padded), (Floats{9, 1, 2, 3, 9, 4, 5, 6}));
}

TEST(Executable, ReadsKeptValuesUntilTheyAreDropped) {
  Graph g;
  Tensor x = g.input("x", {1});
  Tensor middle = x + 1, other = x + 2;
  keep(std::vector{middle, other});
  Tensor y = middle * other;
  Executable exe = compile(g, {y});
  exe.set(x, {1});
  exe.run();
  EXPECT_EQ(exe.get<float>(middle), Floats{2});
  EXPECT_EQ(exe.get<float>(other), Floats{3});
  drop(std::vector{middle, other});
  Executable without = compile(g, {y});
  expect_user_error(
      [&] { without.get(middle); },
      "get: %2 is neither an input nor an output; pass it to compile() or keep() it before");
}

TEST(Executable, RetrieveTakesValuesOutAndDropFreesThem) {
  Graph g;
  Tensor x = g.input("x", {1});
  Tensor y = (x + 1).named("y"), z = (x + 2).named("z");
  Executable exe = compile(g, {y, z});
  exe.set(x, {1});
  exe.run();
  std::vector<Array> taken = exe.retrieve(std::vector{y, z});
  EXPECT_EQ(taken[0].to_vector<float>(), Floats{2});
  EXPECT_EQ(taken[1].to_vector<float>(), Floats{3});
  expect_user_error([&] { exe.get(y); }, "get: 'y' has no value: run() first, or it was dropped");
  expect_user_error([&] { exe.retrieve(y); },
                    "retrieve: 'y' has no value: run() first, or it was dropped");
  exe.drop(x);
  expect_user_error([&] { exe.get(x); }, "get: 'x' has no data: set it first, or it was dropped");
  exe.set_loader(x, [] { return Array(f32, {1}); });
  expect_user_error([&] { exe.get(x); }, "get: 'x' is not loaded yet: run() calls its loader");
}

TEST(Executable, TakesOrFreesAllOfAListOrNone) {
  Graph g;
  Tensor x = g.input("x", {1});
  Tensor y = x + 1, unknown = x * 5;
  Executable exe = compile(g, {y});
  exe.set(x, {1});
  exe.run();
  EXPECT_THROW(exe.retrieve(std::vector{y, unknown}), UserError);
  EXPECT_THROW(exe.drop(std::vector{y, unknown}), UserError);
  EXPECT_EQ(exe.get<float>(y), Floats{2});
}

TEST(Executable, SwapFeedsAResultBack) {
  Graph g;
  Tensor state = g.input("state", {2});
  Tensor next = state * 2;
  Executable exe = compile(g, {next});
  exe.set(state, {1, 3});
  for (int step = 0; step < 4; ++step) {
    exe.run();
    exe.swap(state, next);
  }
  EXPECT_EQ(exe.get<float>(state), (Floats{16, 48}));
  Tensor other = g.input("other", {3});
  Executable wider = compile(g, {next});
  expect_user_error([&] { wider.swap(other, next); },
                    "swap: 'other' is f32[3] and %2 is f32[2]; only equal types can be exchanged");
}

TEST(Executable, SwapFeedsBackAnInputThatIsAnOutputToo) {
  Graph g;
  Tensor state = g.input("state", {1}).keep();
  Tensor next = state * 2;
  Executable exe = compile(g, {next});
  exe.set(state, {1});
  for (int step = 0; step < 3; ++step) {
    exe.run();
    exe.swap(state, next);
  }
  EXPECT_EQ(exe.get<float>(state), Floats{8});
  exe.drop(state);
  expect_user_error([&] { exe.run(); }, "run: input 'state' of type f32[1] has no data");
}

TEST(Executable, SwapExchangesHowInputsAreGiven) {
  Graph g;
  Dim n = g.dim("n");
  Tensor a = g.input("a", {n, 2}), b = g.input("b", {n, 2});
  Tensor y = a - b;
  Executable exe = compile(g, {y});
  exe.set(a, Floats{1, 2, 3, 4});  // flat
  exe.set(b, {{0, 0}, {5, 5}});
  exe.swap(a, b);
  exe.run();
  EXPECT_EQ(exe.get<float>(y), (Floats{-1, -2, 2, 1}));
  exe.set_loader(a, [] { return Array(f32, {2, 2}); });
  exe.swap(a, b);
  exe.run();
  EXPECT_EQ(exe.get<float>(y), (Floats{1, 2, 3, 4}));
}

TEST(Executable, TransfersBetweenGraphs) {
  Graph g, h;
  Tensor x = g.input("x", {2}), z = h.input("z", {2}, f64);
  Tensor y = x + 1, w = z * 10;
  Executable first = compile(g, {y}), second = compile(h, {w});
  first.set(x, {1, 2});
  first.run();
  transfer(first, y, second, z);
  second.run();
  EXPECT_EQ(second.get<double>(w), (std::vector<double>{20, 30}));
}

TEST(Executable, SavesResultsAsNpy) {
  TemporaryFolder folder;
  Graph g;
  Tensor x = g.input("x", {2});
  Tensor y = x + 1;
  Executable exe = compile(g, {y});
  exe.set(x, {1, 2});
  exe.run();
  exe.save(y, folder.file("y.npy"));
  EXPECT_TRUE(graph::load_npy(folder.file("y.npy")).identical(exe.get(y)));
}

TEST(Executable, TracesEveryStepWithShapeAndTime) {
  Graph g;
  Tensor x = g.input("x", {2, 2});
  Executable exe = compile(g, {relu(x)});
  exe.set(x, {{1, 2}, {3, 4}});
  std::ostringstream text;
  exe.run({.trace = true, .text = &text});
  EXPECT_NE(text.str().find("relu"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("f32[2, 2]"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(" us "), std::string::npos) << text.str();
}

TEST(Executable, ExplainsWhatRuns) {
  Graph g;
  Tensor x = g.input("x", {2, 3});
  const Tensor y = softmax(relu(x));
  const std::string fused = compile(g, {y}).explain();
  EXPECT_NE(fused.find("relu + softmax"), std::string::npos) << fused;
  EXPECT_NE(fused.find("1 launch of 1 kernel"), std::string::npos) << fused;
  const std::string text = compile(g, {y}, {.backend = Backend::kInterpreter}).explain();
  EXPECT_NE(text.find("= softmax(axis=1)"), std::string::npos) << text;
  EXPECT_NE(text.find("| softmax(axis=1)"), std::string::npos) << text;
  EXPECT_NE(text.find("x                            f32[2, 3]"), std::string::npos) << text;
}

TEST(Executable, PassesDoNotChangeResults) {
  Graph g;
  Dim n = g.dim("n", 0, 9);
  Tensor x = g.input("x", {n, 3});
  Tensor y = softmax(x * 1 + zeros_like(x)) - softmax(x);
  Executable plain = compile(g, {y}, {.simplify = false});
  Executable simplified = compile(g, {y}, {.verify = true});
  EXPECT_LT(simplified.ir().size(), plain.ir().size());
  for (Executable* exe : {&plain, &simplified}) {
    exe->set(x, {{1, 2, 3}, {-4, 0, 4}});
    exe->run();
  }
  EXPECT_TRUE(plain.get(y).identical(simplified.get(y)));
}

TEST(Executable, EffectsRunThoughNothingReadsThem) {
  Graph g;
  Tensor x = g.input("x", {2});
  print(x * 2, "doubled");
  Executable exe = compile(g, {x + 1});
  exe.set(x, {1, 2});
  std::ostringstream text;
  exe.run({.text = &text});
  EXPECT_NE(text.str().find("doubled"), std::string::npos);
}

TEST(Executable, TheGraphOutlivesItsHandle) {
  Tensor y;
  {
    Graph g;
    y = full(g, {2}, 3);
  }
  Executable exe = compile(y.graph(), {y});
  exe.run();
  EXPECT_EQ(exe.get<float>(y), (Floats{3, 3}));
}

TEST(Executable, NamesWhatIsWrong) {
  Graph g, other;
  Tensor x = g.input("x", {2, 2});
  Tensor y = (x + 1).named("y");
  Executable exe = compile(g, {y});
  expect_user_error([&] { compile(other, {y}); }, "compile: output 'y' belongs to another graph");
  expect_user_error(
      [&] {
        exe.set(y, {1, 2});
      },
      "set: 'y' is the result of add, not an input; only inputs take data");
  expect_user_error(
      [&] {
        exe.set(transpose(x), {1, 2});
      },
      "set: 'x' is seen through a view; set the input itself");
  expect_user_error([&] { exe.set("w", Array(f32, {1})); },
                    "set: there is no input 'w'; inputs are 'x'");
  expect_user_error(
      [&] {
        exe.set(x, {{1, 2}, {3}});
      },
      "set: rows have different lengths 2 and 1 at depth 1 of the braces");
  expect_user_error([&] { exe.set_dim("n", 3); }, "set_dim: the graph has no dim 'n'");
  expect_user_error([&] { exe.set_bytes(x, f32, std::vector<std::byte>(5)); },
                    "set_bytes: 5 bytes are no whole number of f32 elements");
  exe.set(x, Floats{1, 2, 3});
  expect_user_error([&] { exe.run(); }, "run: input 'x' of shape [2, 2] holds 4 values, got 3");
}

TEST(Executable, TakesSpansOfAnyExtentAndIntegersOfAnyType) {
  Graph g;
  Tensor x = g.input("x", {3}, i64);
  Executable exe = compile(g, {x});
  auto expect_result = [&](const char* how) {
    exe.run();
    EXPECT_EQ(exe.get<int64_t>(x), (std::vector<int64_t>{1, 2, 3})) << how;
    exe.set(x, {0, 0, 0});
  };
  std::array<int, 3> numbers{1, 2, 3};
  exe.set(x, std::span(numbers));
  expect_result("a span of fixed extent, to write");
  exe.set(x, std::span<int>(numbers));
  expect_result("a span to write");
  exe.set(x, std::span<const int>(numbers));
  expect_result("a span to read");
  exe.set(x, std::vector<size_t>{1, 2, 3});
  expect_result("size_t");
  exe.set(x, std::vector<long long>{1, 2, 3});
  expect_result("long long");
  exe.set(x, std::vector<char>{1, 2, 3});
  expect_result("char");
  exe.set(x, {1, 2, 3});
  exe.run();
  EXPECT_EQ(exe.get<size_t>(x), (std::vector<size_t>{1, 2, 3}));
  EXPECT_EQ(exe.get<long long>(x), (std::vector<long long>{1, 2, 3}));
  expect_user_error(
      [&] {
        exe.set(x, std::vector<uint64_t>{~uint64_t{0}, 0, 0});
      },
      "symbolic: 18446744073709551615 does not fit into 64 bits with a sign");
}

TEST(Executable, InputOfRankZeroTakesOneNumber) {
  Graph g;
  Tensor x = g.input("x", {});
  Executable exe = compile(g, {x});
  exe.set(x, {5});
  exe.run();
  EXPECT_EQ(exe.get(x).extents(), Extents{});
  EXPECT_EQ(exe.get<float>(x), Floats{5});
  exe.set(x, {5, 6});
  expect_user_error([&] { exe.run(); }, "run: input 'x' has shape [], but the data has 1 axes");
}

TEST(Executable, KeyOfANpzFileMayBeLeftOutIfThereIsOneArray) {
  TemporaryFolder folder;
  Graph g;
  Tensor x = g.input("x", {2});
  Executable exe = compile(g, {x});
  const Array array = Array::from<float>(f32, {2}, Floats{1, 2});
  graph::save_npz(folder.file("one.npz"), {{"a", array}});
  exe.set_file(x, folder.file("one.npz"));
  exe.run();
  EXPECT_EQ(exe.get<float>(x), (Floats{1, 2}));
  const std::string two = folder.file("two.npz");
  graph::save_npz(two, {{"a", array}, {"b", array}});
  expect_user_error([&] { exe.set_file(x, two); },
                    "set_file: " + two + " has no array ''; it has 'a', 'b'");
}

TEST(Executable, ReadingOutsideIsAnErrorForEveryExtent) {
  Graph g;
  const Dim n = g.dim("n");
  Tensor x = g.input("x", {n, 2});
  Tensor y = select(x, 0, 2);
  Tensor z = pad(x, 0, {1, 0}, PadMode::kReflect);
  Executable second = compile(g, {y});
  Executable reflected = compile(g, {z});
  for (const int64_t extent : {1, 2}) {
    second.set(x, Array(f32, {extent, 2}));
    expect_user_error([&] { second.run(); },
                      "output: an operand is read at index 2 of its axis 0, which has extent " +
                          std::to_string(extent) +
                          " in this run; check the dims against the slices and windows taken");
  }
  reflected.set(x, Array(f32, {1, 2}));
  expect_user_error([&] { reflected.run(); },
                    "output: an operand is read at index -1 of its axis 0, which has extent 1 in "
                    "this run; check the dims against the slices and windows taken");
  second.set(x, Array::from<float>(f32, {3, 2}, Floats{1, 2, 3, 4, 5, 6}));
  second.run();
  EXPECT_EQ(second.get<float>(y), (Floats{5, 6}));
}

TEST(Executable, OptionsThatNameWhatIsNotThereAreMistakes) {
  Graph g;
  const Tensor x = g.input("x", {g.dim("n"), 3});
  const auto message = [&](const compiler::Options& options) {
    try {
      compile(g, {x + x}, {.compiler = options});
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({.threads = -1}),
            "compile: threads must be from 0 (all of them) to 1024, got -1");
  EXPECT_EQ(message({.threads = 100000}),
            "compile: threads must be from 0 (all of them) to 1024, got 100000");
  EXPECT_EQ(
      message({.typical_dim = 0}),
      "compile: typical_dim must be at least 1, got 0; it is the value to expect of dims that "
      "Options::dims does not name");
  EXPECT_EQ(message({.weights = {"w"}}),
            "compile: weights name 'w', which is no input of the graph");
  EXPECT_EQ(message({.dims = {{"m", 4}}}),
            "compile: a value is expected of the dim 'm', which the graph does not have");
  EXPECT_EQ(message({.threads = 1, .dims = {{"n", 4}}, .weights = {"x"}}), "");
}

TEST(Executable, CompilingAndRunningAreTraced) {
  const support::TraceRecording recording;
  Graph g;
  Tensor x = g.input("x", {2, 3});
  Executable exe = compile(g, {softmax(x)});
  exe.set(x, {{1, 2, 3}, {4, 5, 6}});
  exe.run();
  std::set<std::string> names;
  for (const support::TraceEvent& event : recording.events())
    names.insert(event.category + ": " + event.name);
  for (const char* name : {"compile: compile", "compile: passes", "run: run", "step: softmax"})
    EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace luminal
