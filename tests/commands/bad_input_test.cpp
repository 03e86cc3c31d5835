// Every subcommand on bad input: what it says, and its exit code. What depends on the environment
// is asked of the program itself, in a process of its own.
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"
#include "luminal/cli/command_line.h"
#include "luminal/graph/text.h"
#include "luminal/support/file.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/executable.h"
#include "luminal/tensor/graph.h"

namespace luminal::commands {
namespace {

namespace fs = std::filesystem;

/// Where nobody can write, root neither.
constexpr const char* kReadOnly = "/proc/luminal";

class BadInput : public testing::Test {
 protected:
  BadInput() {
    const Graph g;
    const Tensor x = g.input("x", {3});
    compile(g, {(x + x).named("y")}).save(folder_.file("net.plan"));
    support::write_file_atomic(folder_.file("unknown.graph"),
                               "%0: f32[3] = input \"x\"\n%1: f32[3] = frobnicate %0\n");
    // The number after the magic is the format.
    std::string plan = support::read_file(folder_.file("net.plan"));
    plan[8] = 99;
    support::write_file_atomic(folder_.file("newer.plan"), plan);
  }

  void expect_failure(const std::vector<std::string>& line, const std::string& part) {
    const Said said = say(line);
    EXPECT_EQ(said.code, cli::kFailed) << said.out;
    EXPECT_TRUE(has(said.err, part));
    for (const char* ours : {"read_file", "write_file", "parse_text"})
      EXPECT_EQ(said.err.find(ours), std::string::npos) << "no word of the user's: " << said.err;
  }

  Folder folder_;
};

TEST_F(BadInput, AMissingFileIsNamed) {
  const std::string none = folder_.file("none.graph");
  expect_failure({"run", none}, "none.graph");
  expect_failure({"inspect", none}, "none.graph");
  expect_failure({"viz", none}, "none.graph");
  expect_failure({"explain", none}, "none.graph");
  expect_failure({"explain", "mlp", "--database", folder_.file("none.db")}, "none.db");
  expect_failure({"tuning", "list", "--database", folder_.file("none.db")}, "none.db");
  expect_failure({"tuning", "merge", folder_.file("none.db"), "--database", folder_.file("t.db")},
                 "none.db");
}

TEST_F(BadInput, AMissingFileOfAnOptionIsNamed) {
  const std::string none = folder_.file("none.npy");
  const std::string database = folder_.file("none.db");
  expect_failure({"run", folder_.file("net.plan"), "x=" + none}, "none.npy");
  expect_failure({"inspect", "softmax", "--more-rules", folder_.file("none.egg")}, "none.egg");
  expect_failure({"tuning", "show", "kernel", "--database", database}, "none.db");
  expect_failure({"tuning", "prune", "--all", "--database", database}, "none.db");
}

TEST_F(BadInput, AFolderIsNoFile) {
  for (const char* command : {"run", "inspect", "viz"})
    expect_failure({command, folder_.path()}, "Is a directory");
}

TEST_F(BadInput, APlanThatIsCutShortOrDamagedIsRefused) {
  const std::string plan = support::read_file(folder_.file("net.plan"));
  support::write_file_atomic(folder_.file("short.plan"), plan.substr(0, plan.size() / 2));
  std::string damaged = plan;
  damaged[plan.size() - 3] = static_cast<char>(damaged[plan.size() - 3] ^ 1);
  support::write_file_atomic(folder_.file("damaged.plan"), damaged);
  for (const char* command : {"run", "inspect", "viz"}) {
    EXPECT_EQ(say({command, folder_.file("short.plan")}).code, cli::kFailed);
    EXPECT_TRUE(has(say({command, folder_.file("short.plan")}).err, "short.plan"));
    EXPECT_TRUE(has(say({command, folder_.file("damaged.plan")}).err, "damaged.plan"));
  }
}

TEST_F(BadInput, RulesThatWriteNonsenseAreAnErrorOrEnd) {
  // Counts of axes that no operand has, ops that reduce nothing.
  support::write_file_atomic(
      folder_.file("grow.egg"),
      "(rule ((= y (Binary op t a b)) (= z (Binary op2 t2 c d)))\n"
      "      ((Reduce op t 1 a) (Reduce op2 t2 2 c)) :ruleset exact :name \"reduce\")\n"
      "(rule ((= y (Reduce op t n e))) ((Reduce op t (+ n 1) e)) :ruleset exact :name \"more\")\n"
      "(rule ((= y (Binary op t a b))) ((Contract t 9 a b) (Concat t 7 a b))\n"
      "      :ruleset exact :name \"products\")\n");
  for (const char* graph : {"softmax", "attention", "gelu"}) {
    const Said said = say({"inspect", graph, "--more-rules", folder_.file("grow.egg")});
    if (said.code == cli::kDone)
      EXPECT_TRUE(has(said.out, "until the budget was used up"));
    else
      EXPECT_TRUE(has(said.err, "whose parts do not fit together")) << said.code;
  }
}

TEST_F(BadInput, ADumpRunsInLuminalEgg) {
  const std::string file = folder_.file("dump.egg");
  for (const char* graph : {"softmax", "attention", "gpt-block"}) {
    ASSERT_EQ(say({"inspect", graph, "--dump", file}).code, cli::kDone);
    support::write_file_atomic(folder_.file("ask.egg"),
                               "(run exact 2) (run names 2) (print-size Binary)");
    const Said said = shell("", "'" + file + "' '" + folder_.file("ask.egg") + "'", "luminal-egg");
    EXPECT_EQ(said.code, 0) << graph << "\n" << said.out;
    EXPECT_FALSE(said.out.empty());
  }
}

TEST_F(BadInput, APlanOfAnotherVersionIsRefusedWithTheRemedy) {
  for (const char* command : {"run", "inspect", "viz", "explain"})
    expect_failure({command, folder_.file("newer.plan")}, "newer than the format");
}

TEST_F(BadInput, AnUnknownOpIsNamedWithItsPlace) {
  for (const char* command : {"run", "inspect", "viz", "explain"}) {
    expect_failure({command, folder_.file("unknown.graph")}, "frobnicate");
    expect_failure({command, folder_.file("unknown.graph")}, "line 2");
  }
}

TEST_F(BadInput, AGraphThatComputesNothingIsAnError) {
  support::write_file_atomic(folder_.file("empty.graph"), "# nothing but a comment\n\n");
  support::write_file_atomic(folder_.file("dims.graph"), "dim n: [1, 4]\n");
  support::write_file_atomic(folder_.file("no_output.graph"),
                             "%0: f32[3] = input \"x\"\n%1: f32[3] = add %0, %0\n");
  for (const char* command : {"run", "inspect", "viz", "explain"}) {
    const std::string name = command;
    expect_failure({command, folder_.file("empty.graph")},
                   name + ": " + folder_.file("empty.graph") + ": the file holds no graph");
    expect_failure({command, folder_.file("dims.graph")}, "no line defines a node");
    expect_failure({command, folder_.file("no_output.graph")},
                   "the graph has no output, so there is nothing to compute; a line such as "
                   "'output \"y\" = %1' makes one");
  }
}

TEST_F(BadInput, NamesThatAreNoTextAreReplacedInJson) {
  support::write_file_atomic(folder_.file("bytes.graph"),
                             "%0: f32[3] = input \"x\\xff\"\n"
                             "%1: f32[3] = add %0, %0 name=\"\\xc3(\"\n"
                             "output \"y\" = %1\n");
  for (const char* line :
       {"inspect --json", "inspect --json --classes", "explain --json --no-times"}) {
    std::vector<std::string> arguments = words(line);
    arguments.push_back(folder_.file("bytes.graph"));
    const Said said = say(arguments);
    EXPECT_EQ(said.code, cli::kDone) << said.err;
    EXPECT_FALSE(nlohmann::json::parse(said.out).empty()) << line;
  }
}

TEST_F(BadInput, AGraphThatOnlyPrintsRuns) {
  support::write_file_atomic(folder_.file("print.graph"),
                             "%0: f32[2] = constant [1, 2]\n%1: f32[2] = print \"here\" %0\n");
  for (const char* device : {"cpu", "interpreter"}) {
    const Said said = say({"run", folder_.file("print.graph"), "--device", device});
    EXPECT_EQ(said.code, cli::kDone) << said.err;
    EXPECT_TRUE(has(said.out, "here: f32[2] = 1 2"));
  }
}

TEST_F(BadInput, OutputThatGetsLostIsAFailure) {
  for (const char* line :
       {"--help", "--version", "inspect softmax", "inspect --list --json", "completion bash",
        "explain softmax --no-times", "run softmax --describe", "bench", "cache size"}) {
    const Said said = shell("", std::string(line) + " > /dev/full");
    EXPECT_EQ(said.code, cli::kFailed) << line;
    EXPECT_EQ(said.out, "luminal: the output could not be written: No space left on device\n")
        << line;
  }
  const Said closed = shell("", "inspect --list >&-");
  EXPECT_EQ(closed.code, cli::kFailed);
  EXPECT_TRUE(has(closed.out, "the output could not be written"));
}

TEST_F(BadInput, DataThatFitsIntoNoMemoryIsReckonedBefore) {
  support::write_file_atomic(folder_.file("wide.graph"),
                             "dim n: [1, inf]\n"
                             "%0: f32[n, n] = input \"x\"\n"
                             "%1: f32[n] = sum %0 axes=1\n"
                             "output \"y\" = %1\n");
  expect_failure(
      {"run", folder_.file("wide.graph"), "--dim", "n=100000000"},
      "run: random data for the inputs up to x of type f32[n, n] takes 120 PB of memory");
  expect_failure({"run", folder_.file("wide.graph"), "--dim", "n=9000000000000000000"}, "EB of");
  expect_failure({"explain", folder_.file("wide.graph"), "--dim", "n=100000000"},
                 "smaller values of --dim need less");
}

TEST_F(BadInput, ADamagedDatabaseIsNamedWithTheRemedy) {
  support::write_file_atomic(folder_.file("tuning.db"), std::string(8192, 'x'));
  for (const char* command : {"list", "show k", "prune --all"}) {
    std::vector<std::string> line = words(std::string("tuning ") + command);
    line.insert(line.end(), {"--database", folder_.file("tuning.db")});
    expect_failure(line, folder_.file("tuning.db") + " is damaged or no database");
    expect_failure(line, "move it away or name another file");
    EXPECT_EQ(say(line).err.find("failed with code"), std::string::npos);
  }
}

TEST_F(BadInput, AGraphMayComeThroughAPipe) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream(pipe) << "%0: f32[2] = input \"x\"\n"
                           "%1: f32[2] = add %0, %0\n"
                           "output \"y\" = %1\n";
  });
  const Said said = say({"explain", pipe, "--no-times"});
  writer.join();
  EXPECT_EQ(said.code, cli::kDone) << said.err;
  EXPECT_TRUE(has(said.out, "pipe: 1 launch of 1 kernel"));
}

TEST_F(BadInput, WithoutACacheDirectoryCommandsSayWhatNamesOne) {
  const std::string off = "-u XDG_CACHE_HOME -u HOME -u LUMINAL_CACHE_DIR -u LUMINAL_TUNING_DB";
  for (const char* line : {"cache size", "cache list --json", "cache clear"}) {
    const Said said = shell(off, line);
    EXPECT_EQ(said.code, cli::kFailed);
    EXPECT_TRUE(has(said.out, "LUMINAL_CACHE_DIR"));
  }
  for (const char* line : {"tuning list", "tuning show kernel", "tuning prune --all"}) {
    const Said tuning = shell(off, line);
    EXPECT_EQ(tuning.code, cli::kFailed) << line;
    EXPECT_TRUE(has(tuning.out, "--database FILE"));
  }
  // The others do without.
  for (const char* line : {"inspect softmax --class y", "devices"})
    EXPECT_EQ(shell(off, line).code, cli::kDone) << line;
  const Said search = shell(off, "viz softmax --search 1 -o " + folder_.file("p.html"));
  EXPECT_EQ(search.code, cli::kFailed);
  EXPECT_TRUE(has(search.out, "--database FILE"));
  const Said explained = shell(off, "explain softmax --search 1");
  EXPECT_EQ(explained.code, cli::kFailed);
  EXPECT_TRUE(has(explained.out, "--database FILE"));
}

TEST_F(BadInput, AReadOnlyDiskIsSaidOrDoneWithout) {
  const std::string page = std::string(kReadOnly) + "/page.html";
  expect_failure({"viz", "softmax", "-o", page}, page);
  expect_failure({"explain", "softmax", "--no-times", "--html", page}, page);
  expect_failure({"inspect", "softmax", "--dump", page}, page);
  expect_failure({"run", folder_.file("net.plan"), "--out", "y=" + page}, page);
  expect_failure({"run", folder_.file("net.plan"), "--out", "y=" + folder_.path()},
                 "Is a directory");
  expect_failure({"tuning", "merge", folder_.file("net.plan"), "--database",
                  std::string(kReadOnly) + "/tuning.db"},
                 kReadOnly);
  // A cache that cannot be is an empty one.
  for (const char* line : {"cache size", "cache list", "cache clear"}) {
    const Said empty = shell(std::string("LUMINAL_CACHE_DIR=") + kReadOnly, line);
    EXPECT_EQ(empty.code, cli::kDone) << line << "\n" << empty.out;
    EXPECT_TRUE(has(empty.out, "0 ")) << line;
  }
  // Kernels that cannot be kept are compiled again.
  const Said said = shell(std::string("LUMINAL_CACHE_DIR=") + kReadOnly,
                          "viz softmax --no-run -o " + folder_.file("page.html"));
  EXPECT_EQ(said.code, cli::kDone) << said.out;
  const Said explained =
      shell(std::string("LUMINAL_CACHE_DIR=") + kReadOnly, "explain softmax --no-times");
  EXPECT_EQ(explained.code, cli::kDone) << explained.out;
  EXPECT_TRUE(has(explained.out, "softmax: 1 launch of 1 kernel"));
}

TEST_F(BadInput, ASuiteThatIsNotBuiltIsNamedWithHowToBuildIt) {
  expect_failure({"bench", "nets", "--folder", folder_.path()}, "--target nets_bench");
  const Said none = say({"bench", "--folder", folder_.path()});
  EXPECT_EQ(none.code, cli::kDone);
  EXPECT_TRUE(has(none.out, "0 suites in"));
}

TEST_F(BadInput, ASuiteGetsWhatFollowsAndItsFailureIsOurs) {
  const std::string program = folder_.file("own_bench");
  std::ofstream(program) << "#!/bin/sh\necho \"$@\" > '" << folder_.file("said") << "'\nexit $2\n";
  fs::permissions(program, fs::perms::owner_all);
  EXPECT_EQ(say({"bench", "own", "--folder", folder_.path(), "--", "--code", "0"}).code,
            cli::kDone);
  EXPECT_EQ(support::read_file(folder_.file("said")), "--code 0\n");
  expect_failure({"bench", "own", "--folder", folder_.path(), "--", "--code", "3"},
                 "own_bench ended with exit code 3");
  const Said listed = say({"bench", "--folder", folder_.path(), "--json"});
  EXPECT_EQ(nlohmann::json::parse(listed.out), nlohmann::json({"own"}));
}

TEST_F(BadInput, LinesThatMakeNoSenseEndWithTwo) {
  for (const char* line :
       {"completion", "completion tcsh", "inspect mlp --colour", "viz", "viz mlp --search some",
        "cache", "cache shrink", "tuning show", "run", "devices now", "bench --json=maybe=no"}) {
    const Said said = say(words(line));
    EXPECT_EQ(said.code, cli::kBadUsage) << line << "\n" << said.err;
    EXPECT_NE(said.err, "") << line;
  }
}

TEST(Help, EveryCommandHasHelpWithExamples) {
  for (const char* command :
       {"run", "inspect", "viz", "tuning", "cache", "devices", "bench", "completion"}) {
    const Said said = say({command, "--help"});
    EXPECT_EQ(said.code, cli::kDone);
    EXPECT_TRUE(has(said.out, "Examples:")) << command;
    EXPECT_TRUE(has(said.out, std::string("luminal ") + command));
  }
}

/// What bash offers after a line.
std::string completions(const Folder& folder, const std::string& line) {
  support::write_file_atomic(folder.file("ask"), say({"completion", "bash"}).out + "COMP_WORDS=(" +
                                                     line +
                                                     " '')\n"
                                                     "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                                                     "_luminal\necho \"${COMPREPLY[@]}\"\n");
  FILE* pipe = ::popen(("bash '" + folder.file("ask") + "' 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe);
  ::pclose(pipe);
  return {buffer.data(), got};
}

TEST(Completion, BashCompletesCommandsAndCases) {
  const Folder folder;
  EXPECT_TRUE(has(completions(folder, "luminal"), "inspect"));
  EXPECT_TRUE(has(completions(folder, "luminal tuning"), "prune"));
  EXPECT_TRUE(has(completions(folder, "luminal viz"), "gpt-block"));
}

TEST(Completion, EveryShellKnowsEveryCommandAndOption) {
  for (const char* shell_name : {"bash", "zsh", "fish"}) {
    const Said said = say({"completion", shell_name});
    EXPECT_EQ(said.code, cli::kDone);
    for (const char* word : {"inspect", "viz", "prune", "completion", "missing", "llama-32"})
      EXPECT_TRUE(has(said.out, word)) << shell_name;
  }
}

}  // namespace
}  // namespace luminal::commands
