// What goes wrong when a graph is compiled and run: inputs, dims, positions, results.
#include "error_cases.h"

namespace luminal::errors {
namespace {

class RunErrorTest : public ErrorTest {};

/// y = x * 2 for x [2, 3], and its executable.
struct Doubled {
  Graph graph;
  Tensor x = graph.input("x", {2, 3});
  Tensor y = x * 2.0;
  Executable executable = compile(graph, {y});
};

/// y = x + 1 for x [n], 1 <= n <= 8.
struct Symbolic {
  Graph graph;
  Dim n = graph.dim("n", 1, 8);
  Tensor x = graph.input("x", {n});
  Tensor y = x + 1.0;
  Executable executable = compile(graph, {y});
};

/// Rows of a table of 4 at positions that are data.
void look_up(int64_t position) {
  const Graph graph;
  const Tensor table = graph.input("table", {4, 2});
  const Tensor index = graph.input("index", {3}, i64);
  const Tensor rows = embedding(table, index);
  Executable executable = compile(graph, {rows});
  executable.set(table, std::vector<float>(8, 1.0F));
  executable.set(index, std::vector<int64_t>{0, position, 1});
  executable.run();
}

/// x [1] seen as [n, n], plus one.
void run_with_dim(int64_t n) {
  const Graph graph;
  const Dim dim = graph.dim("n");
  const Tensor x = graph.input("x", {1});
  Executable executable = compile(graph, {expand(x, {dim, dim}) + 1});
  executable.set(x, Array(f32, {1}));
  executable.set_dim("n", n);
  executable.run();
}

std::vector<ErrorCase> input_cases() {
  return {
      {"AnInputThatWasNeverSet", [] { Doubled().executable.run(); },
       "run: input 'x' of type f32[2, 3] has no data"},
      {"AnInputOfAnotherShape",
       [] {
         Doubled run;
         run.executable.set(run.x, Array(f32, {3, 2}));
         run.executable.run();
       },
       "run: axis 0 of input 'x' is 2, but the data has 3"},
      {"AnInputOfAnotherRank",
       [] {
         Doubled run;
         run.executable.set(run.x, Array(f32, {6}));
         run.executable.run();
       },
       "run: input 'x' has shape [2, 3], but the data has 1 axes"},
      {"AnInputWhoseBytesDoNotFit",
       [] {
         const Graph graph;
         const Tensor x = graph.input("x", {INT64_MAX / 2});
         compile(graph, {x + 1});
       },
       "compile: %0 is f32[4611686018427387903], whose bytes do not fit into 64 bits; give smaller "
       "dims"},
      {"AResultWhoseElementsDoNotFit",
       [] {
         const Graph graph;
         const Tensor x = graph.input("x", {int64_t{1} << 40});
         compile(graph, {unsqueeze(x, 0) + unsqueeze(x, 1)});
       },
       "compile: %1 is f32[1099511627776, 1099511627776], whose bytes do not fit into 64 bits; "
       "give smaller dims"},
      {"AnArrayOfTooManyElements", [] { Array(f64, {(int64_t{1} << 56) + 1}); },
       "array: too many elements in [72057594037927937]"},
      {"ALoaderThatGivesAnotherShape",
       [] {
         Doubled run;
         run.executable.set_loader(run.x, [] { return Array(f32, {3, 3}); });
         run.executable.run();
       },
       "run: axis 0 of input 'x' is 2, but the data has 3"},
      {"AnInputWithTooFewValues",
       [] {
         Doubled run;
         run.executable.set(run.x, std::vector<float>{1, 2, 3});
         run.executable.run();
       },
       "run: input 'x' of shape [2, 3] holds 6 values, got 3"},
      {"AnInputThatIsNotThere",
       [] {
         Doubled run;
         run.executable.set("z", Array(f32, {2, 3}));
       },
       "set: there is no input 'z'; inputs are 'x'"},
      {"SettingAValueThatIsComputed",
       [] {
         Doubled run;
         run.executable.set(run.y, Array(f32, {2, 3}));
       },
       "set: %2 is the result of mul, not an input; only inputs take data"},
      {"RawBytesOfAnotherLength",
       [] {
         Doubled run;
         run.executable.set_bytes(run.x, f32, std::vector<std::byte>(7));
         run.executable.run();
       },
       "set_bytes: 7 bytes are no whole number of f32 elements"},
      {"RowsOfUnequalLength",
       [] {
         Doubled run;
         run.executable.set(run.x, {{1, 2, 3}, {4, 5}});
       },
       "set: rows have different lengths 3 and 2 at depth 1 of the braces"},
      {"TwoInputsOfOneName",
       [] {
         const Graph graph;
         graph.input("x", {2});
         graph.input("x", {3});
       },
       "input: there is an input named 'x' already; choose another name"},
      {"AnInputWithoutAName", [] { Graph().input("", {2}); }, "input: an input needs a name"},
      {"AnInputOfNegativeExtent", [] { Graph().input("x", {-2}); },
       "input: 'x' has a negative extent in [-2]"},
      {"OutputsOfAnotherGraph", [] { compile(Graph(), {tensor({2})}); },
       "compile: output 'x' belongs to another graph"},
      {"AnEmptyTensorAsOutput", [] { compile(Graph(), {Tensor()}); },
       "tensor: this Tensor is empty; assign it the result of an op or of Graph::input first"},
  };
}

std::vector<ErrorCase> dim_cases() {
  return {
      {"ADimThatIsNotThere", [] { Symbolic().executable.set_dim("m", 3); },
       "set_dim: the graph has no dim 'm'"},
      {"ADimOutsideItsRange",
       [] {
         Symbolic run;
         run.executable.set(run.x, std::vector<float>(9, 1.0F));
         run.executable.run();
       },
       "run: input 'x' of shape [n] cannot hold 9 values for any n"},
      {"ADimSetOutsideItsRange",
       [] {
         Symbolic run;
         run.executable.set_dim("n", 0);
         run.executable.set(run.x, std::vector<float>{});
         run.executable.run();
       },
       "set_dim: 'n' = 0 is outside its range [1, 8]"},
      {"DataThatContradictsADim",
       [] {
         Symbolic run;
         run.executable.set_dim("n", 4);
         run.executable.set(run.x, Array(f32, {3}));
         run.executable.run();
       },
       "run: axis 0 of input 'x' is n = 4, but the data has 3"},
      {"TwoInputsThatDisagreeAboutADim",
       [] {
         const Graph graph;
         const Dim n = graph.dim("n", 1, 8);
         const Tensor a = graph.input("a", {n});
         const Tensor b = graph.input("b", {n});
         Executable executable = compile(graph, {a + b});
         executable.set(a, Array(f32, {3}));
         executable.set(b, Array(f32, {4}));
         executable.run();
       },
       "run: axis 0 of input 'b' is n = 3, but the data has 4"},
      {"ADimWithAnEmptyRange", [] { Graph().dim("n", 5, 3); },
       "dim: 'n' has the range [5, 3]; it must be 0 <= lowest <= highest"},
      {"ADimWithANegativeRange", [] { Graph().dim("n", -1, 3); },
       "dim: 'n' has the range [-1, 3]; it must be 0 <= lowest <= highest"},
      {"ADimWithABadName", [] { Graph().dim("2n"); },
       "variable: \"2n\" is no name: use letters, digits and _, no digit first"},
      {"ADimNamedLikeAnAxis", [] { Graph().dim("i0"); },
       "variable: \"i0\" is the name of an axis: use Expr::axis or another name"},
      {"ADimDeclaredWithTwoRanges",
       [] {
         const Graph graph;
         graph.input("a", {graph.dim("n", 1, 8)});
         graph.input("b", {graph.dim("n", 1, 9)});
       },
       "dim: 'n' is in [1, 9] here but in [1, 8] elsewhere in the graph; declare it once and reuse "
       "it"},
      {"ADimDividedByZero", [] { symbolic::floor_div(Graph().dim("n"), 0); },
       "floor_div: n is divided by zero"},
      {"ADimOfMoreThanATensorCanHave", [] { run_with_dim(INT64_MAX); },
       "run: the dim 'n' is 9223372036854775807, more than the 72057594037927936 elements that a "
       "tensor can have; give it a smaller value"},
      {"ADimWhoseBytesDoNotFit", [] { run_with_dim(int64_t{1} << 40); },
       "evaluate: the value of 4*n*n does not fit into 64 bits"},
      {"AnOddExtentForTwiceADim",
       [] {
         const Graph graph;
         const Tensor x = graph.input("x", {graph.dim("n", 1, 8) * 2});
         Executable executable = compile(graph, {x + 1});
         executable.set(x, Array(f32, {5}));
         executable.run();
       },
       "run: input 'x' has an axis of extent 5, but n has no value for which 2*n is that"},
      {"AxesThatContradictEachOther",
       [] {
         const Graph graph;
         const Dim n = graph.dim("n", 1, 8);
         const Tensor x = graph.input("x", {n, n * 2});
         Executable executable = compile(graph, {x + 1});
         executable.set(x, Array(f32, {3, 7}));
         executable.run();
       },
       "run: axis 1 of input 'x' is 2*n = 6, but the data has 7"},
      {"ASumOfDimsThatLeavesOneOpen",
       [] {
         const Graph graph;
         const Tensor x = graph.input("x", {graph.dim("n", 1, 8) + graph.dim("m", 1, 8)});
         Executable executable = compile(graph, {x + 1});
         executable.set(x, Array(f32, {7}));
         executable.run();
       },
       "run: the dim 'm' has no value; set it, or give an input whose shape says it"},
      {"ADimTooLargeForItsType", [] { Dim(INT64_MAX) * 2; },
       "symbolic: 9223372036854775807 * 2 does not fit into 64 bits"},
  };
}

std::vector<ErrorCase> result_cases() {
  return {
      {"APositionPastTheEnd", [] { look_up(4); },
       "gather: index 4 at position [1, 0] is out of range: it must be 0 <= index < 4"},
      {"ANegativePosition", [] { look_up(-1); },
       "gather: index -1 at position [1, 0] is out of range: it must be 0 <= index < 4"},
      {"AResultBeforeTheRun",
       [] {
         Doubled run;
         run.executable.get(run.y);
       },
       "get: %2 has no value: run() first, or it was dropped"},
      {"AResultThatWasNotAskedFor",
       [] {
         Doubled run;
         const Tensor other = exp(run.x);
         run.executable.set(run.x, Array(f32, {2, 3}));
         run.executable.run();
         run.executable.get(other);
       },
       "get: %3 is neither an input nor an output; pass it to compile() or keep() it before"},
      {"AResultThatWasRetrieved",
       [] {
         Doubled run;
         run.executable.set(run.x, Array(f32, {2, 3}));
         run.executable.run();
         run.executable.retrieve(run.y);
         run.executable.get(run.y);
       },
       "get: %2 has no value: run() first, or it was dropped"},
      {"AnInputThatWasDropped",
       [] {
         Doubled run;
         run.executable.set(run.x, Array(f32, {2, 3}));
         run.executable.drop(run.x);
         run.executable.run();
       },
       "run: input 'x' of type f32[2, 3] has no data"},
      {"SwapOfUnlikeTensors",
       [] {
         const Graph graph;
         const Tensor a = graph.input("a", {2});
         const Tensor b = graph.input("b", {3});
         Executable executable = compile(graph, {sum(a) + sum(b)});
         executable.set(a, Array(f32, {2}));
         executable.set(b, Array(f32, {3}));
         executable.swap(a, b);
         executable.run();
       },
       "swap: 'a' is f32[2] and 'b' is f32[3]; only equal types can be exchanged"},
      {"ACustomOpWithoutAFunction", [] { custom("mine", {tensor({2})}, f32, {2}, nullptr); },
       "mine: the function of a custom op must not be empty"},
      {"ACustomOpWithoutOperands",
       [] { custom("mine", {}, f32, {2}, [](std::span<const Array>, Array&) {}); },
       "mine: a custom op needs at least one operand"},
  };
}

TEST_P(RunErrorTest, NamesOpValuesAndRemedy) {
  EXPECT_EQ(message_of(GetParam().program), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Inputs, RunErrorTest, testing::ValuesIn(input_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Dims, RunErrorTest, testing::ValuesIn(dim_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Results, RunErrorTest, testing::ValuesIn(result_cases()), name_of);

/// Larger than any address space, so that every system refuses.
TEST(OutOfMemory, TheErrorNamesTheTensorItsSizeAndTheDims) {
  const Graph graph;
  const Tensor x = graph.input("x", {graph.dim("n")});
  const Tensor y = unsqueeze(x, 1) * unsqueeze(x, 0);
  Executable executable = compile(graph, {y});
  executable.set(x, Array(f32, {int64_t{1} << 23}));
  try {
    executable.run();
    FAIL() << "256 TB are no problem";
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("run: there is no memory for 281474976710656 bytes of a result with n = "
                        "8388608; the largest is '%"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("', f32[8388608, 8388608], of 281474976710656 bytes; give smaller dims, or "
                        "run parts of the graph one after the other"),
              std::string::npos)
        << text;
  }
  executable.set(x, std::vector<float>{1, 2});  // and small ones run afterwards
  executable.run();
  EXPECT_EQ(executable.get<float>(y), (std::vector<float>{1, 2, 2, 4}));
}

}  // namespace
}  // namespace luminal::errors
