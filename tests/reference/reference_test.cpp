// Replays the reference cases: every case of one op of one family is built with the public
// interface, run by the interpreter, compared with the expected outputs, then run again with the
// graph passes, which may not change a bit. One test per family and op; its failures name the case
// and the first element that differs.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <ostream>
#include <set>

#include "bounds.h"
#include "registry.h"

namespace luminal::reference {
namespace {

using test::difference;

const std::filesystem::path kData = std::filesystem::path(LUMINAL_SUITE_DIR) / "data";
constexpr int kShownFailures = 5;

struct OpOfFamily {
  std::string family;
  std::string op;
};

std::ostream& operator<<(std::ostream& out, const OpOfFamily& value) {
  return out << value.family << "/" << value.op;
}

const std::vector<Case>& cases_of(const std::string& family) {
  static std::map<std::string, std::vector<Case>> loaded;
  const auto found = loaded.find(family);
  if (found != loaded.end()) return found->second;
  return loaded.emplace(family, load_family(kData, family)).first->second;
}

std::vector<OpOfFamily> all_ops() {
  std::vector<OpOfFamily> result;
  for (const auto& family : family_names(kData)) {
    std::set<std::string> ops;
    for (const auto& test_case : cases_of(family)) ops.insert(test_case.op);
    for (const auto& op : ops) result.push_back({family, op});
  }
  return result;
}

Shape shape_of(const Array& array) {
  Shape shape;
  for (const int64_t extent : array.extents()) shape.push_back(Dim(extent));
  return shape;
}

std::vector<Array> run_case(const Case& test_case, const Builder& build,
                            const CompileOptions& options) {
  const Graph graph;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < test_case.inputs.size(); ++i) {
    const Array& data = test_case.inputs[i];
    inputs.push_back(graph.input(fmt::format("x{}", i), shape_of(data), data.dtype()));
  }
  const auto outputs = build(Call{graph, inputs, test_case.attributes});
  Executable executable = compile(graph, outputs, options);
  for (size_t i = 0; i < inputs.size(); ++i) executable.set(inputs[i], test_case.inputs[i]);
  executable.run();
  std::vector<Array> results;
  for (const auto& output : outputs) results.push_back(executable.get(output));
  return results;
}

/// Why the case fails, or nothing.
std::optional<std::string> failure_of(const Case& test_case, const Builder& build) {
  try {
    const CompileOptions oracle{.backend = Backend::kInterpreter, .simplify = false};
    const auto results = run_case(test_case, build, oracle);
    if (results.size() != test_case.outputs.size())
      return fmt::format("{} outputs instead of {}", results.size(), test_case.outputs.size());
    const auto simplified =
        run_case(test_case, build, {.backend = Backend::kInterpreter, .verify = true});
    const auto native = run_case(test_case, build, {.simplify = false});
    for (size_t i = 0; i < results.size(); ++i) {
      if (auto reason = difference(results[i], test_case.outputs[i], test_case.tolerance))
        return reason;
      if (auto reason = difference(simplified[i], results[i], {}))
        return "the passes change the result: " + *reason;
      if (auto reason =
              difference(native[i], test_case.outputs[i], test::native_bound(test_case.tolerance)))
        return "in native code: " + *reason;
    }
  } catch (const std::exception& error) {
    return fmt::format("throws: {}", error.what());
  }
  return std::nullopt;
}

class Reference : public testing::TestWithParam<OpOfFamily> {};

TEST_P(Reference, MatchesPyTorch) {
  const auto& [family, op] = GetParam();
  const Builder* build = Registry::all().find(op);
  ASSERT_NE(build, nullptr) << "no row of the registry replays '" << op << "'";
  int count = 0;
  int failed = 0;
  for (const auto& test_case : cases_of(family)) {
    if (test_case.op != op) continue;
    ++count;
    const auto failure = failure_of(test_case, *build);
    if (!failure || ++failed > kShownFailures) continue;
    ADD_FAILURE() << describe(test_case) << ": " << *failure;
  }
  EXPECT_EQ(failed, 0) << "of " << count << " cases";
  RecordProperty("cases", count);
}

INSTANTIATE_TEST_SUITE_P(Family, Reference, testing::ValuesIn(all_ops()),
                         [](const testing::TestParamInfo<OpOfFamily>& row) {
                           return row.param.family + "_" + row.param.op;
                         });

TEST(ReferenceData, CoversEveryFamilyWithManyCases) {
  size_t total = 0;
  for (const auto& family : family_names(kData)) total += cases_of(family).size();
  EXPECT_EQ(family_names(kData).size(), 15U);
  EXPECT_GT(total, 7000U);
}

}  // namespace

const Registry& Registry::all() {
  static const Registry registry = [] {
    Registry result;
    add_creation_ops(result);
    add_arithmetic_ops(result);
    add_unary_ops(result);
    add_reduction_ops(result);
    add_normalization_ops(result);
    add_contraction_ops(result);
    add_movement_ops(result);
    add_indexing_ops(result);
    return result;
  }();
  return registry;
}

}  // namespace luminal::reference
