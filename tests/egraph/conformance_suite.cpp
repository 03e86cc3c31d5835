// Every program under programs/ must print exactly what the .out file beside it says, with one
// thread and with two.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "luminal/egraph/egraph.h"

namespace luminal::egraph {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> program_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(LUMINAL_SUITE_DIR) / "programs"))
    if (entry.path().extension() == ".egg") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Conformance : public ::testing::TestWithParam<std::string> {};

TEST_P(Conformance, ProgramPrintsWhatIsExpected) {
  const auto base = std::filesystem::path(LUMINAL_SUITE_DIR) / "programs" / GetParam();
  const std::string text = read_text(base.string() + ".egg");
  const std::string expected = read_text(base.string() + ".out");
  for (const uint32_t threads : {1u, 2u}) {
    EGraph egraph(
        {.threads = threads, .print_costs = false, .record_origins = false, .budget = {}});
    EXPECT_EQ(egraph.run_program(text, GetParam() + ".egg"), expected) << threads << " threads";
  }
}

TEST_P(Conformance, RecordingOriginsDoesNotChangeTheResult) {
  const auto base = std::filesystem::path(LUMINAL_SUITE_DIR) / "programs" / GetParam();
  EGraph egraph({.threads = 1, .print_costs = false, .record_origins = true, .budget = {}});
  EXPECT_EQ(egraph.run_program(read_text(base.string() + ".egg")),
            read_text(base.string() + ".out"));
}

INSTANTIATE_TEST_SUITE_P(Programs, Conformance, ::testing::ValuesIn(program_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace luminal::egraph
