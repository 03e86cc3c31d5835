// Files and graph texts that cannot be read.
#include <filesystem>
#include <fstream>

#include "error_cases.h"
#include "luminal/graph/text.h"
#include "scratch.h"

namespace luminal::errors {
namespace {

class TextErrorTest : public ErrorTest {};

void parse(const std::string& text) { graph::parse_text(text); }

/// Sets an input from a file of this name and content, in a folder of the test's own. The folder is
/// left out of messages by working in it.
void read_file(const std::string& name, const std::string& content, const std::string& key = "") {
  std::filesystem::current_path(test::scratch_folder());
  if (!content.empty()) std::ofstream(name, std::ios::binary) << content;
  const Graph graph;
  const Tensor x = graph.input("x", {2});
  Executable executable = compile(graph, {x + 1.0});
  executable.set_file(x, name, key);
  executable.run();
}

/// A .npy file of format 1.0 with this header and data.
std::string npy(const std::string& header, const std::string& data) {
  const std::string padded = header + std::string(64 - (header.size() + 11) % 64, ' ') + "\n";
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(padded.size() % 256);
  file += static_cast<char>(padded.size() / 256);
  return file + padded + data;
}

std::vector<ErrorCase> file_cases() {
  return {
      {"AFileThatIsNotThere", [] { read_file("missing.npy", ""); },
       "set_file: \"missing.npy\": No such file or directory"},
      {"AFileThatIsNoNpy", [] { read_file("text.npy", "hello, world"); },
       "read: text.npy is no .npy file: it does not begin with \\x93NUMPY"},
      {"ANpyOfAnUnknownVersion", [] { read_file("version.npy", "\x93NUMPY\x09\x09....."); },
       "read: version.npy has .npy format version 9; versions 1 to 3 can be read"},
      {"ATruncatedNpy",
       [] {
         read_file("short.npy",
                   npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234"));
       },
       "read: short.npy is truncated: f32[2] takes 8 bytes of data, the file has 4"},
      {"ANpyOfText",
       [] {
         read_file("text_dtype.npy",
                   npy("{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }", "12345678"));
       },
       "read: text_dtype.npy has the NumPy dtype '<U4', which has no counterpart; convert it "
       "first, for instance to float32 or int64"},
      {"ANpyOfAnotherShape",
       [] {
         read_file("shape.npy",
                   npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234"));
       },
       "run: axis 0 of input 'x' is 2, but the data has 1"},
      {"ANpzThatIsNoArchive", [] { read_file("bad.npz", "hello, world", "x"); },
       "read: bad.npz is no zip archive, or it is truncated: its directory is missing"},
      {"AFileOfAnUnknownKind", [] { read_file("data.csv", "1,2"); },
       "read: data.csv is no .npy file: it does not begin with \\x93NUMPY"},
  };
}

std::vector<ErrorCase> text_cases() {
  return {
      {"AnUnknownOp", [] { parse("%0: f32[2] = frobnicate\n"); },
       "parse_text: line 1, column 14: expected an op, found 'frobnicate'"},
      {"AnUnknownDType", [] { parse("%0: f33[2] = input \"x\"\n"); },
       "parse_text: line 1, column 5: expected a dtype, found 'f33'"},
      {"AnUnknownOperand", [] { parse("%0: f32[2] = exp %7\n"); },
       "parse_text: line 1, column 18: %7 is not defined before this line"},
      {"AnUndeclaredDim", [] { parse("%0: f32[n] = input \"x\"\n"); },
       "parse_text: line 1, column 9: parse: \"n\", character 1: the name \"n\" is unknown"},
      {"AStatedTypeThatIsWrong", [] { parse("%0: f32[2] = input \"x\"\n%1: f32[3] = exp %0\n"); },
       "parse_text: line 2, column 5: the type is given as f32[3] but follows as f32[2]"},
      {"TooFewOperands", [] { parse("%0: f32[2] = input \"x\"\n%1: f32[2] = add %0\n"); },
       "parse_text: line 2, column 14: add: takes 2 operands, got 1"},
      {"AStringWithoutAnEnd", [] { parse("%0: f32[2] = input \"x\n"); },
       "parse_text: line 1, column 20: the string that begins here has no closing quote in its "
       "line"},
      {"AViewThatReadsTooFar", [] { parse("%0: f32[2] = input \"x\"\n%1: f32[3] = copy %0[7]\n"); },
       "parse_text: line 2, column 1: %1 (copy): operand 0 reads position 7 of axis 0, which has "
       "extent 2"},
      {"ALabelUsedTwice", [] { parse("%0: f32[2] = input \"x\"\n%0: f32[2] = input \"y\"\n"); },
       "parse_text: line 2, column 2: %0 is defined already"},
      {"AnEmptyInterval", [] { parse("dim n: [5, 3]\n"); },
       "parse_text: line 1, column 5: the interval of the dim is empty"},
      {"AConstantThatIsNoNumber", [] { parse("%0: f32[] = constant abc\n"); },
       "parse_text: line 1, column 22: scalar: \"abc\" is no value of f32"},
      {"AnUnknownCustomFunction",
       [] { parse("%0: f32[2] = input \"x\"\n%1: f32[2] = custom \"mine\" %0\n"); },
       "parse_text: line 2, column 21: there is no custom function named 'mine'; give it to "
       "parse_text in its map of functions"},
      {"AnOutputOfNothing", [] { parse("output \"y\" = %3\n"); },
       "parse_text: line 1, column 14: %3 is not defined before this line"},
      {"ALineThatIsNoStatement", [] { parse("hello\n"); },
       "parse_text: line 1, column 1: expected a line that begins with 'dim', '%', 'output' or "
       "'named', found \"hello\""},
  };
}

TEST_P(TextErrorTest, NamesPlaceAndReason) {
  EXPECT_EQ(message_of(GetParam().program), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Files, TextErrorTest, testing::ValuesIn(file_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Text, TextErrorTest, testing::ValuesIn(text_cases()), name_of);

}  // namespace
}  // namespace luminal::errors
