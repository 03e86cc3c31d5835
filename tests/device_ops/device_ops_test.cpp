// Every primitive and every function, for every dtype, on every device, against the oracle. One
// test per device and op: its cases are one graph, compiled once and run for several lengths.
#include <gtest/gtest.h>

#include <cctype>
#include <regex>
#include <set>
#include <sstream>

#include "coverage.h"
#include "device.h"
#include "luminal/support/file.h"

namespace luminal::device_ops {
namespace {

struct DeviceAndRow {
  Device device;
  Row row;
};

std::ostream& operator<<(std::ostream& out, const DeviceAndRow& value) {
  return out << value.row.op << " on " << value.device.name;
}

std::vector<DeviceAndRow> all_pairs() {
  std::vector<DeviceAndRow> result;
  for (const Device& device : all_devices())
    for (const Row& row : all_rows()) result.push_back({device, row});
  return result;
}

/// Whether the table of primitives lets an op have operands of this dtype.
bool primitive_takes(const graph::OpInfo& op, DType dtype) {
  switch (op.dtype_rule) {
    case graph::DTypeRule::kFloat:
      return graph::is_float(dtype);
    case graph::DTypeRule::kNumber:
      return !graph::is_bool(dtype);
    case graph::DTypeRule::kBits:
      return !graph::is_float(dtype);
    case graph::DTypeRule::kInteger:
      return graph::is_integer(dtype);
    default:
      return true;
  }
}

/// Writes the cases of every dtype. An error must say which dtype was wrong.
Record write_cases(const Row& row, Sheet& sheet) {
  Record record;
  for (const graph::DTypeInfo& dtype : graph::kDTypes) {
    Cell cell(sheet, dtype.dtype);
    const size_t before = sheet.cases().size();
    std::string refused;
    try {
      row.write(cell);
    } catch (const UserError& error) {
      refused = error.what();
    }
    const auto position = static_cast<size_t>(dtype.dtype);
    record.takes[position] = refused.empty();
    if (refused.empty()) continue;
    EXPECT_NE(refused.find(dtype.name), std::string::npos)
        << row.op << " of " << dtype.name << " is refused by another error: " << refused;
    sheet.drop_from(before);
  }
  return record;
}

std::vector<Array> run(const Sheet& sheet, Executable& executable, int64_t n) {
  for (const auto& [name, value] : sheet.data(n)) executable.set(name, value);
  if (sheet.is_symbolic()) executable.set_dim("n", n);
  std::ostringstream text;
  executable.run({.text = &text});
  std::vector<Array> results;
  for (const Case& each : sheet.cases()) results.push_back(executable.get(each.result));
  return results;
}

class DeviceOps : public testing::TestWithParam<DeviceAndRow> {};

TEST_P(DeviceOps, EqualTheOracle) {
  const auto& [device, row] = GetParam();
  constexpr int kShown = 8;
  Sheet sheet(17);
  Record record = write_cases(row, sheet);
  Executable oracle = compile(sheet.graph(), sheet.results(),
                              {.backend = Backend::kInterpreter, .simplify = false});
  Executable tried = compile(sheet.graph(), sheet.results(), device.options);
  int failures = 0;
  for (const int64_t n : sheet.is_symbolic() ? row.lengths : std::vector<int64_t>{0}) {
    const std::vector<Array> expected = run(sheet, oracle, n);
    const std::vector<Array> actual = run(sheet, tried, n);
    for (size_t k = 0; k < expected.size(); ++k) {
      const Case& each = sheet.cases()[k];
      ++record.results;
      const auto reason = test::difference(actual[k], expected[k], each.bound);
      if (reason && ++failures <= kShown)
        ADD_FAILURE() << row.op << " of " << graph::name(each.dtype) << ", " << each.what
                      << ", n = " << n << ": " << *reason;
    }
  }
  EXPECT_EQ(failures, 0) << "of " << record.results;
  EXPECT_GT(record.results, 0) << "nothing was compared";
  const std::string text = row_text(row, record);
  keep_row(device.name, row, text);
  if (writing_document()) return;
  EXPECT_NE(section_of(support::read_file(document_path()), device.name).find("\n" + text + "\n"),
            std::string::npos)
      << "docs/coverage.md should have the row\n"
      << text << "\nCOVERAGE_WRITE=1 build/release/bin/device_ops_suite writes it anew";
}

std::string test_name(const testing::TestParamInfo<DeviceAndRow>& info) {
  std::string name = info.param.device.name + "_" + info.param.row.family + "_" + info.param.row.op;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, DeviceOps, testing::ValuesIn(all_pairs()), test_name);

TEST(DeviceOpsTable, PrimitivesTakeTheDTypesOfTheirRule) {
  for (const Row& row : all_rows()) {
    const auto op = graph::op_from_name(row.op);
    if (row.family != "Primitives" || !op) continue;
    Sheet sheet(17);
    const Record record = write_cases(row, sheet);
    for (const graph::DTypeInfo& dtype : graph::kDTypes)
      EXPECT_EQ(record.takes[static_cast<size_t>(dtype.dtype)],
                primitive_takes(graph::info(*op), dtype.dtype))
          << row.op << " of " << dtype.name;
  }
}

/// What kernels are called that compute the first case of a row, and steps on the host.
std::set<std::string> words_of(const Row& row, Sheet& sheet) {
  Cell cell(sheet, DType::kF32);
  row.write(cell);
  const compiler::Explanation all = compile(sheet.graph(), {sheet.results().at(0)}).explanation();
  std::set<std::string> words;
  for (const compiler::ExplainedKernel& kernel : all.kernels)
    words.insert(kernel.fused.begin(), kernel.fused.end());
  for (const compiler::ExplainedStep& step : all.steps)
    if (step.kind == "host") words.insert(step.label);
  return words;
}

TEST(DeviceOpsTable, KernelsAreCalledByTheNamesOfTheirOps) {
  size_t named = 0;
  for (const Row& row : all_rows()) {
    Sheet sheet(17);
    std::set<std::string> words;
    try {
      words = words_of(row, sheet);
    } catch (const UserError&) {
      continue;  // not of f32
    }
    const auto& definitions = sheet.graph().ir().named();
    const bool is_named = std::any_of(definitions.begin(), definitions.end(),
                                      [&](const auto& each) { return each.name == row.op; });
    if (!is_named) continue;
    ++named;
    EXPECT_TRUE(words.contains(row.op) || words.contains("part of " + row.op))
        << row.op << " is called " << testing::PrintToString(words);
  }
  EXPECT_GT(named, 50U);
}

TEST(DeviceOpsTable, TheDocumentHasNoOtherRows) {
  if (writing_document()) return;
  const std::string document = support::read_file(document_path());
  std::istringstream lines(document);
  size_t rows = 0, heads = 0;
  for (std::string line; std::getline(lines, line);) {
    rows += line.starts_with("| ") && !line.starts_with("| ---") ? 1 : 0;
    heads += line.starts_with("| op |") ? 1 : 0;
  }
  EXPECT_EQ(rows - heads, all_pairs().size());
}

/// The functions that docs/tensors.md lists, between backticks in the second column.
std::vector<std::string> documented_functions() {
  const std::string page =
      support::read_file(std::string(LUMINAL_SUITE_DIR) + "/../../docs/tensors.md");
  std::vector<std::string> names;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    std::string word;
    bool code = false;
    for (const char letter : line.substr(line.find('|', 1))) {
      const bool part = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
      if (part && code) {
        word += letter;
      } else {
        if (!word.empty()) names.push_back(word);
        word.clear();
        if (letter == '`') code = !code;
      }
    }
  }
  return names;
}

/// The functions that make tensors, by the headers of the public interface.
std::vector<std::string> declared_functions() {
  const std::string root = std::string(LUMINAL_SUITE_DIR) + "/../../";
  const std::regex header("#include \"(luminal/tensor/\\w+\\.h)\"");
  // Members are indented; what an operator does, the function of its name does.
  const std::regex function("\n(?! )[\\w:<>, ]*(?:Tensor|Sorted)[\\w:<>, ]* (?!operator)(\\w+)\\(");
  std::vector<std::string> names;
  const auto all = [](const std::string& text, const std::regex& what) {
    std::vector<std::string> found;
    for (std::sregex_iterator each(text.begin(), text.end(), what), end; each != end; ++each)
      found.push_back((*each)[1]);
    return found;
  };
  for (const std::string& path : all(support::read_file(root + "luminal/luminal.h"), header))
    for (const std::string& name : all(support::read_file(root + path), function))
      names.push_back(name);
  return names;
}

TEST(DeviceOpsTable, EveryFunctionOfTheInterfaceHasARow) {
  // What runs graphs, and what a graph has of its own, is no op; convolutions of so many axes are
  // forms of conv; a program of the user's becomes primitives.
  const std::set<std::string> others{"Graph",    "input",      "constant", "dim",
                                     "compile",  "Executable", "load",     "custom_kernel",
                                     "transfer", "conv1d",     "conv2d",   "conv3d"};
  std::set<std::string> rows;
  for (const Row& row : all_rows()) rows.insert(row.op);
  for (const auto& functions : {documented_functions(), declared_functions()}) {
    EXPECT_GT(functions.size(), 120U);
    for (const std::string& function : functions)
      EXPECT_TRUE(rows.contains(function) || others.contains(function)) << function;
  }
}

}  // namespace

const std::vector<Row>& all_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> result;
    add_primitives(result);
    add_elementwise_functions(result);
    add_reductions(result);
    add_products(result);
    add_movement(result);
    add_creation(result);
    return result;
  }();
  return rows;
}

}  // namespace luminal::device_ops
