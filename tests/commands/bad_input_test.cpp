// Every subcommand on bad input: what it says, and its exit code. What depends on the environment
// is asked of the program itself, in a process of its own.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"
#include "luminal/cli/command_line.h"
#include "luminal/graph/text.h"
#include "luminal/search/tuning_database.h"
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

  Folder folder_;
};

TEST_F(BadInput, AMissingFileIsNamed) {
  const std::string none = folder_.file("none.graph");
  expect_failure({"run", none}, "none.graph");
  expect_failure({"inspect", none}, "none.graph");
  expect_failure({"viz", none}, "none.graph");
  expect_failure({"explain", none}, "none.graph");
  for (const char* command : {"explain", "viz"})
    expect_failure({command, "mlp", "--database", folder_.file("none.db")},
                   std::string(command) + ": there is no database " + folder_.file("none.db") +
                       "; with --search one is made");
  EXPECT_FALSE(fs::exists("mlp.html"));
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
  for (const char* command : {"run", "inspect", "viz", "explain"})
    expect_failure({command, folder_.path()}, "Is a directory");
}

TEST_F(BadInput, APlanThatIsCutShortOrDamagedIsRefused) {
  const std::string plan = support::read_file(folder_.file("net.plan"));
  support::write_file_atomic(folder_.file("short.plan"), plan.substr(0, plan.size() / 2));
  std::string damaged = plan;
  damaged[plan.size() - 3] = static_cast<char>(damaged[plan.size() - 3] ^ 1);
  support::write_file_atomic(folder_.file("damaged.plan"), damaged);
  for (const char* command : {"run", "inspect", "viz", "explain"}) {
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

TEST_F(BadInput, AFullDiskIsSaidInWords) {
  for (const char* line :
       {"viz softmax --no-run -o /dev/full", "graph softmax -o /dev/full",
        "explain softmax --no-times --html /dev/full", "inspect softmax --dump /dev/full",
        "compile softmax -o /dev/full", "run softmax --out y=/dev/full"}) {
    const Said said = say(words(line));
    EXPECT_EQ(said.code, cli::kFailed) << line;
    EXPECT_TRUE(has(said.err, ": \"/dev/full\": No space left on device"));
    EXPECT_EQ(said.err.find("code 28"), std::string::npos) << said.err;
  }
}

TEST_F(BadInput, ADamagedArrayIsNamedWithWhatItSays) {
  const auto with_shape = [&](const std::string& shape) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
    header.append(118 - header.size() - 1, ' ');
    const std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n";
    support::write_file_atomic(folder_.file("x.npy"), file + std::string(12, '\0'));
    return "x=" + folder_.file("x.npy");
  };
  EXPECT_EQ(say({"run", folder_.file("net.plan"), with_shape("3,")}).code, cli::kDone);
  for (const char* shape : {"3000000000, 3000000000, 3000000000", "9223372036854775807,"})
    expect_failure({"run", folder_.file("net.plan"), with_shape(shape)},
                   folder_.file("x.npy") + " is corrupt: it says to hold f32[");
  expect_failure({"run", folder_.file("net.plan"), with_shape("4,")},
                 folder_.file("x.npy") + " is truncated");
}

TEST_F(BadInput, ADimWithoutAValueIsNamedWithTheOption) {
  support::write_file_atomic(folder_.file("dims.graph"),
                             "dim n: [1, 64]\n"
                             "dim unused: [1, 64]\n"
                             "%0: f32[2*n] = input \"x\"\n"
                             "%1: f32[2*n] = add %0, %0\n"
                             "output \"y\" = %1\n");
  for (const char* device : {"cpu", "interpreter"}) {
    const std::vector<std::string> line{"run", folder_.file("dims.graph"), "--device", device};
    expect_failure(line,
                   "run: input x of type f32[2*n] needs a value of dim n; add --dim n=NUMBER, or "
                   "give data that has it");
    EXPECT_EQ(say(line).err.find("set_dim"), std::string::npos);
  }
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
  expect_failure({"run", folder_.file("wide.graph"), "--dim", "n=100000000"},
                 "(4 bytes for each of its elements and 8 for the number drawn)");
  expect_failure({"explain", folder_.file("wide.graph"), "--dim", "n=100000000"},
                 "smaller values of --dim need less, --no-times runs nothing");
  support::write_file_atomic(folder_.file("long.graph"),
                             "%0: f32[1000000000000] = input \"x\"\n"
                             "%1: f32[] = sum %0 axes=1\n"
                             "output \"y\" = %1\n");
  const std::string graph = folder_.file("long.graph");
  const std::string takes = "random data for the inputs up to x of type f32[1000000000000] takes ";
  expect_failure({"explain", graph}, "explain: " + takes + "12 TB of memory");
  expect_failure({"explain", graph}, "; --no-times runs nothing");
  expect_failure({"viz", graph, "-o", folder_.file("p.html")}, "viz: " + takes);
  expect_failure({"viz", graph, "-o", folder_.file("p.html")}, "; --no-run runs nothing");
  expect_failure({"run", graph}, "; a graph with smaller inputs needs less");
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

TEST_F(BadInput, WhatIsClearedIsCountedAsJsonToo) {
  const std::string own = "LUMINAL_CACHE_DIR=" + folder_.file("cache");
  ASSERT_EQ(shell(own, "explain softmax --no-times").code, cli::kDone);
  const auto size = nlohmann::json::parse(shell(own, "cache size --json").out);
  EXPECT_GT(size["kernels"], 0);
  EXPECT_EQ(nlohmann::json::parse(shell(own, "cache clear --json").out)["removed"],
            size["kernels"]);
  EXPECT_EQ(nlohmann::json::parse(shell(own, "cache clear --json").out)["removed"], 0);
}

TEST_F(BadInput, AReadOnlyDiskIsSaidOrDoneWithout) {
  const std::string page = std::string(kReadOnly) + "/page.html";
  expect_failure({"viz", "softmax", "-o", page}, page);
  expect_failure({"explain", "softmax", "--no-times", "--html", page}, page);
  expect_failure({"inspect", "softmax", "--dump", page}, page);
  expect_failure({"run", folder_.file("net.plan"), "--out", "y=" + page}, page);
  expect_failure({"run", folder_.file("net.plan"), "--out", "y=" + folder_.path()},
                 "Is a directory");
  search::TuningDatabase(folder_.file("other.db")).remember({}, "result");
  expect_failure({"tuning", "merge", folder_.file("other.db"), "--database",
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

TEST_F(BadInput, MeasurementsThatNobodyAskedForMayBeUnreadable) {
  support::create_directories(folder_.file("cache"));
  support::write_file_atomic(folder_.file("cache/tuning.db"), std::string(4096, '?'));
  const Said said = shell("LUMINAL_CACHE_DIR=" + folder_.file("cache"), "explain softmax");
  EXPECT_EQ(said.code, cli::kDone) << said.out;
  EXPECT_TRUE(has(said.out, "no measurements: ")) << said.out;
  expect_failure({"explain", "softmax", "--database", folder_.file("cache/tuning.db")},
                 "tuning.db");
}

TEST_F(BadInput, AReadOnlyFileSystemIsSaidAsSuch) {
  // Mounted where this shell and what it starts alone see it.
  const std::string folder = folder_.file("mount");
  fs::create_directory(folder);
  const std::string mounted =
      "unshare --mount sh -c 'mount -t tmpfs -o ro none " + folder + " && \"$@\"' sh ";
  if (std::system((mounted + "true 2> /dev/null").c_str()) != 0)  // NOLINT
    GTEST_SKIP() << "this user may not mount anything";
  const std::string file = folder + "/file";
  for (const std::string line :
       {"viz softmax --no-run -o ", "graph softmax -o ", "compile softmax -o ",
        "explain softmax --no-times --html ", "inspect softmax --dump ", "run softmax --out y="}) {
    const Said said = shell("", line + file, "luminal", mounted);
    EXPECT_EQ(said.code, cli::kFailed) << line;
    EXPECT_TRUE(has(said.out, file + "\": Read-only file system")) << line;
  }
  EXPECT_EQ(shell("LUMINAL_TRACE=" + file, "run softmax", "luminal", mounted).out,
            "trace: cannot write \"" + file +
                "\": Read-only file system; LUMINAL_TRACE names a file that may be written\n");
}

TEST_F(BadInput, ATraceThatCannotBeWrittenIsSaidOnce) {
  const Said said = shell("LUMINAL_TRACE=/nowhere/t.json", "run softmax");
  EXPECT_EQ(said.code, cli::kFailed);
  EXPECT_EQ(said.out,
            "trace: cannot write \"/nowhere/t.json\": No such file or directory; LUMINAL_TRACE "
            "names a file in a folder that exists\n");
}

TEST_F(BadInput, ASuiteThatIsNotBuiltIsNamedWithHowToBuildIt) {
  expect_failure({"bench", "nets", "--folder", folder_.path()}, "--target nets_bench");
  expect_failure({"bench", "--folder", "/nodir"},
                 "bench: --folder /nodir: No such file or directory; it is where the programs");
  expect_failure({"bench", "nets", "--folder", folder_.file("net.plan")}, "Not a directory");
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

}  // namespace
}  // namespace luminal::commands
