#include "luminal/cli/command_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "luminal/graph/npy.h"
#include "luminal/graph/text.h"
#include "luminal/search/schedule_hints.h"
#include "luminal/search/tuning_database.h"
#include "luminal/search/work_records.h"
#include "luminal/support/file.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/executable.h"
#include "luminal/tensor/graph.h"

namespace luminal::cli {
namespace {

namespace fs = std::filesystem;
using search::Rejected;
using search::Timing;

/// What a command line gave.
struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

Said say(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = run_command_line(arguments, out, err);
  return {code, out.str(), err.str()};
}

/// Whether a text has a part; says the text if not.
testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in:\n" << text;
}

/// A folder with a database of two kernels.
class TuningCommand : public testing::Test {
 protected:
  TuningCommand()
      : folder_(testing::TempDir() + "/luminal_cli_" + std::to_string(::getpid()) + "_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    search::TuningDatabase database(file());
    add(database, {1, 2}, "softmax rows", "nest unroll=2", Timing{12.5, 0.5, 9});
    add(database, {1, 2}, "softmax rows", "nest unroll=8",
        Rejected{Rejected::Why::kWrongResult, "t1[3] is 0.5, not 0.25"});
    add(database, {0xab, 3}, "matmul tall", "gemm tile=6x32", Timing{80.0, 1.0, 20});
  }
  ~TuningCommand() override { fs::remove_all(folder_); }

  static void add(search::TuningDatabase& database, support::Hash128 kernel, const char* label,
                  const char* schedule, const search::Measurement& result) {
    database.add_kernel(kernel, std::string("text of ") + label, label);
    database.record({{kernel, "S0=128", "cpu x2", "llvm 19"}, schedule, result, 1'700'000'000});
  }
  std::string file(const std::string& name = "tuning.db") const { return folder_ + "/" + name; }
  Said tuning(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "tuning");
    arguments.push_back("--database");
    arguments.push_back(file());
    return say(arguments);
  }

  std::string folder_;
};

TEST_F(TuningCommand, ListsKernelsWithTheirBestTimes) {
  const Said said = tuning({"list"});
  EXPECT_EQ(said.code, kDone);
  EXPECT_TRUE(has(said.out, "softmax rows"));
  EXPECT_TRUE(has(said.out, "12.50"));
  EXPECT_TRUE(has(said.out, "2 kernels in " + file()));
  const auto rows = nlohmann::json::parse(tuning({"list", "--json"}).out);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["label"], "matmul tall");
  EXPECT_EQ(rows[1]["rejected"], 1);
}

TEST_F(TuningCommand, ShowsWhatWasTriedAndWhyItFell) {
  const Said said = tuning({"show", "softmax"});
  EXPECT_EQ(said.code, kDone);
  EXPECT_TRUE(has(said.out, "text of softmax rows"));
  EXPECT_TRUE(has(said.out, "nest unroll=2"));
  EXPECT_TRUE(has(said.out, "wrong result"));
  EXPECT_TRUE(has(said.out, "t1[3] is 0.5, not 0.25"));
  EXPECT_TRUE(has(said.out, "2023-11-14"));
  const auto shown = nlohmann::json::parse(tuning({"show", "matmul", "--json"}).out);
  EXPECT_EQ(shown["records"][0]["median_us"], 80.0);
  EXPECT_EQ(shown["records"][0]["disturbed"], false);
}

TEST_F(TuningCommand, ShowsWhatDidNotComeToAnEnd) {
  const auto before = nlohmann::json::parse(tuning({"show", "softmax", "--json"}).out);
  EXPECT_TRUE(before["interrupted"].empty());
  const support::Hash128 kernel = *support::parse_hash128(before["kernel"].get<std::string>());
  {
    search::TuningDatabase database(file());
    const search::TuningKey key{kernel, "S0=128", "cpu x2", "llvm 19"};
    // What has a time or a reason since counts by that.
    database.note_interrupted(key, {"nest unroll=4", "nest unroll=2"});
    database.note_interrupted(key, {"nest unroll=4"});
    database.note_interrupted({kernel, "S0=7", "cpu x2", "llvm 19"}, {"nest unroll=16"});
  }
  const std::string out = tuning({"show", "softmax"}).out;
  EXPECT_TRUE(has(out, "nest unroll=4  did not end in time, 2 times")) << out;
  EXPECT_TRUE(has(out, "cpu x2 | llvm 19 | S0=7\n  interrupted       nest unroll=16  did not end"))
      << out;
  EXPECT_FALSE(has(out, "nest unroll=2  did not end")) << out;
  const auto shown = nlohmann::json::parse(tuning({"show", "softmax", "--json"}).out);
  EXPECT_EQ(shown["records"], before["records"]);
  ASSERT_EQ(shown["interrupted"].size(), 2U);
  EXPECT_EQ(shown["interrupted"][0]["schedule"], "nest unroll=4");
  EXPECT_EQ(shown["interrupted"][0]["times"], 2);
}

TEST_F(TuningCommand, TellsHowWellTheCostModelRanks) {
  EXPECT_TRUE(has(tuning({"model"}).out, "no kernel of " + file() + " has a time and a work"));
  EXPECT_EQ(nlohmann::json::parse(tuning({"model", "--json"}).out).size(), 0U);
  {
    search::TuningDatabase database(file());
    uint64_t number = 0;
    for (const double us : {10.0, 50.0, 200.0, 1000.0}) {
      const search::TuningKey key{{7, ++number}, "", "cpu here, 2 threads", "v1"};
      database.add_kernel(key.kernel, "text", fmt::format("kernel {}", number));
      database.note_work(key, "nest", search::to_text(kernel::Work{.vector_flops = us * 1e5}));
      database.record({key, "nest", search::Timing{us, 0.1, 10}, 1});
    }
  }
  const std::string text = tuning({"model"}).out;
  EXPECT_TRUE(has(text,
                  "cpu here, 2 threads: 4 kernels\n  as it is: rank correlation 1.000, "
                  "100.0 % of pairs in order"));
  EXPECT_TRUE(has(text, "vector_flops"));
  EXPECT_TRUE(has(text, "1000.00 us, estimated"));
  const auto rows = nlohmann::json::parse(tuning({"model", "--json"}).out);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["kernels"], 4);
  EXPECT_LT(rows[0]["fitted"]["typical_factor"], rows[0]["as_it_is"]["typical_factor"]);
  EXPECT_EQ(nlohmann::json::parse(tuning({"model", "--json", "--device", "cpu x2"}).out).size(),
            0U);
}

TEST_F(TuningCommand, WritesTheSchedulesThatAreBetterThanWithoutSearch) {
  {
    search::TuningDatabase database(file());
    const search::TuningKey key{{9, 9}, "S0=4", "cpu here, 2 threads", "v1"};
    database.add_kernel(key.kernel, "text", "relu");
    database.note_work(key, "nest lanes=8", "");
    database.record({key, "nest lanes=8", search::Timing{20, 0.01, 10}, 1});
    database.record({key, "nest lanes=16", search::Timing{10, 0.01, 10}, 1});
  }
  for (int run = 0; run < 2; ++run) {  // it may be there already
    const Said said = tuning({"export", "--schedules", file("hints.txt")});
    EXPECT_EQ(said.code, kDone) << said.err;
    EXPECT_EQ(said.out, "schedules of 1 kernels written to " + file("hints.txt") + "\n");
  }
  const auto hints = search::parse_hints(support::read_file(file("hints.txt")));
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_EQ(hints[0].schedule, "nest lanes=16");
  EXPECT_EQ(hints[0].gain, 2.0);
}

TEST_F(TuningCommand, AKernelIsNamedByItsHashToo) {
  const std::string hash = support::to_hex(support::Hash128{0xab, 3});
  EXPECT_TRUE(has(tuning({"show", hash}).out, "matmul tall"));
}

TEST_F(TuningCommand, AnUnknownOrUnclearKernelIsAnErrorWithARemedy) {
  const Said unknown = tuning({"show", "conv"});
  EXPECT_EQ(unknown.code, kBadUsage);
  EXPECT_TRUE(has(unknown.err, "no kernel of " + file() + " is called 'conv'"));
  const Said unclear = tuning({"show", "a"});
  EXPECT_EQ(unclear.code, kBadUsage);
  EXPECT_TRUE(has(unclear.err, "'a' fits 2 kernels"));
}

TEST_F(TuningCommand, ExportedMeasurementsMergeElsewhere) {
  EXPECT_TRUE(has(tuning({"export", file("shipped.db")}).out, "2 kernels written"));
  const Said again = tuning({"export", file("shipped.db")});
  EXPECT_EQ(again.code, kFailed);
  const Said merged =
      say({"tuning", "merge", file("shipped.db"), "--database", file("new/own.db")});
  EXPECT_EQ(merged.code, kDone) << merged.err;
  EXPECT_TRUE(has(merged.out, "3 added, 0 replaced, 0 kept"));
  EXPECT_TRUE(has(tuning({"merge", file("shipped.db")}).out, "3 kept"));
  EXPECT_TRUE(has(tuning({"merge", file("none.db")}).err, "there is no file"));
}

TEST_F(TuningCommand, PruningSaysWhatGoesAndRefusesToGuess) {
  const Said nothing = tuning({"prune"});
  EXPECT_EQ(nothing.code, kBadUsage);
  EXPECT_TRUE(has(nothing.err, "say what goes"));
  EXPECT_TRUE(has(tuning({"prune", "--device", "gpu"}).err, "nothing of"));
  EXPECT_TRUE(has(tuning({"prune", "--kernel", "matmul"}).out, "1 measurements removed"));
  EXPECT_TRUE(has(tuning({"prune", "--older-than", "1"}).out, "2 measurements removed"));
}

TEST_F(TuningCommand, AFileThatIsNoDatabaseIsNamed) {
  std::ofstream(file("notes.txt")) << std::string(5000, 'x');
  const Said said = say({"tuning", "list", "--database", file("notes.txt")});
  EXPECT_EQ(said.code, kFailed);
  EXPECT_TRUE(has(said.err, "notes.txt"));
  EXPECT_TRUE(
      has(say({"tuning", "list", "--database", file("none.db")}).err, "there is no database"));
  EXPECT_FALSE(fs::exists(file("none.db")));
}

/// A folder with a small graph.
class RunCommand : public testing::Test {
 protected:
  RunCommand()
      : folder_(testing::TempDir() + "/luminal_run_" + std::to_string(::getpid()) + "_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Graph g;
    const Tensor x = g.input("x", {g.dim("n"), 3});
    const Executable exe = compile(g, {(x + x).named("doubled")});
    std::ofstream(file("net.graph")) << graph::to_text(exe.ir());
    exe.save(file("net.plan"));
    graph::save_npy(file("x.npy"), Array::from<float>(f32, {1, 3}, std::vector<float>{1, 2, 3}));
  }
  ~RunCommand() override { fs::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(RunCommand, RunsGraphsAndPlansOnFiles) {
  for (const char* program : {"net.graph", "net.plan"}) {
    const Said said = say({"run", file(program), "x=" + file("x.npy")});
    EXPECT_EQ(said.code, kDone) << said.err;
    EXPECT_TRUE(has(said.out, "doubled = "));
    EXPECT_TRUE(has(said.out, "6"));
  }
  const Said written =
      say({"run", file("net.graph"), "x=" + file("x.npy"), "--out", "doubled=" + file("y.npy")});
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(graph::load_npy(file("y.npy")).at(2).as_double(), 6.0);
}

TEST_F(RunCommand, TwoOutputsDoNotGoToOneFile) {
  std::ofstream(file("two.graph"))
      << "%0: f32[3] = input \"x\"\n%1: f32[3] = exp %0\noutput \"y\" = %1\noutput \"z\" = %1\n";
  const Said said =
      say({"run", file("two.graph"), "--out", "y=" + file("o.npy"), "--out", "z=" + file("o.npy")});
  EXPECT_EQ(said.code, kBadUsage);
  EXPECT_TRUE(has(said.err, "--out writes y and z to")) << said.err;
}

TEST_F(RunCommand, InputsWithoutDataGetTheSameRandomNumbersOnEveryDevice) {
  const std::vector<std::string> line = {"run", file("net.graph"), "--dim", "n=2", "--seed", "7"};
  std::vector<std::string> interpreted = line;
  interpreted.insert(interpreted.end(), {"--device", "interpreter"});
  const Said said = say(line);
  EXPECT_EQ(said.code, kDone) << said.err;
  EXPECT_EQ(said.out, say(interpreted).out);
  EXPECT_TRUE(has(say({"run", file("net.graph"), "--describe"}).out, "input x: f32[n, 3]"));
}

TEST_F(RunCommand, DescribesAsJsonToo) {
  const Said said = say({"run", file("net.graph"), "--describe", "--json"});
  EXPECT_EQ(said.code, kDone) << said.err;
  const auto described = nlohmann::json::parse(said.out);
  EXPECT_EQ(described["inputs"][0],
            nlohmann::json({{"name", "x"}, {"dtype", "f32"}, {"shape", {"n", 3}}}));
  ASSERT_EQ(described["dims"].size(), 1U);
  EXPECT_EQ(described["dims"][0]["name"], "n");
  EXPECT_TRUE(described["dims"][0].contains("most"));
  EXPECT_FALSE(described["outputs"].empty());
}

TEST_F(RunCommand, WhatIsWrongIsNamed) {
  const auto error_of = [&](std::vector<std::string> line) {
    line.insert(line.begin(), "run");
    const Said said = say(line);
    EXPECT_EQ(said.code, kFailed);
    return said.err;
  };
  EXPECT_TRUE(has(error_of({file("none")}), "there is no file"));
  EXPECT_TRUE(has(error_of({file("net.graph")}), "--dim n=NUMBER"));
  EXPECT_TRUE(has(error_of({file("net.plan"), "--device", "interpreter"}), "is a plan"));
  std::ofstream(file("bad.graph")) << "what is this";
  EXPECT_TRUE(has(error_of({file("bad.graph")}), "line 1"));
  std::ofstream(file("cut.plan")) << "LUMPLAN\n";
  EXPECT_TRUE(has(error_of({file("cut.plan")}), "cut short"));
  EXPECT_EQ(say({"run", file("net.graph"), "--device", "moon"}).code, kBadUsage);
}

TEST(CommandLine, HelpIsGivenForEveryCommand) {
  EXPECT_TRUE(has(say({"--help"}).out, "Examples:"));
  EXPECT_EQ(say({"--help"}).code, kDone);
  for (const char* command : {"run", "tuning", "cache", "devices"}) {
    const Said said = say({command, "--help"});
    EXPECT_EQ(said.code, kDone);
    EXPECT_TRUE(has(said.out, command));
  }
}

TEST(CommandLine, LinesThatMakeNoSenseEndWithTwo) {
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {}, {"dance"}, {"tuning"}, {"tuning", "show"}, {"devices", "--colour"}}) {
    const Said said = say(line);
    EXPECT_EQ(said.code, kBadUsage);
    EXPECT_TRUE(has(said.err, "--help"));
  }
}

TEST(CommandLine, DevicesNamesTheProcessor) {
  EXPECT_TRUE(has(say({"devices"}).out, "cpu: "));
  const auto rows = nlohmann::json::parse(say({"devices", "--json"}).out);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_GE(rows[0]["cores"], 1);
  EXPECT_GE(rows[0]["round_trip_seconds"], 0);
  EXPECT_LT(rows[0]["round_trip_seconds"], 1e-3);
}

TEST(CommandLine, CacheSaysItsSize) {
  const Said said = say({"cache", "size", "--json"});
  if (said.code == kFailed) {  // LUMINAL_CACHE is off here
    EXPECT_TRUE(has(said.err, "LUMINAL_CACHE"));
    return;
  }
  EXPECT_GT(nlohmann::json::parse(said.out)["limit"], 0);
}

}  // namespace
}  // namespace luminal::cli
