// Command lines that make no sense, each with what it says: exit code 2, the option and the remedy.
#include <filesystem>
#include <fstream>

#include "commands.h"
#include "luminal/cli/arguments.h"
#include "luminal/cli/command_line.h"
#include "luminal/graph/npy.h"
#include "luminal/support/file.h"

namespace luminal::commands {
namespace {

class Usage : public testing::Test {
 protected:
  Usage() {
    support::write_file_atomic(folder_.file("net.graph"),
                               "dim n: [1, 64]\n"
                               "%0: f32[n] = input \"x\"\n"
                               "%1: f32[n] = add %0, %0\n"
                               "output \"total\" = %1\n");
    graph::save_npy(folder_.file("x.npy"),
                    graph::Array::from<float>(graph::DType::kF32, {2}, std::vector<float>{1, 2}));
  }

  std::string net() const { return folder_.file("net.graph"); }

  Folder folder_;
};

TEST_F(Usage, AnUnknownCommandIsNamedWithTheNearest) {
  expect_usage({"insepct", "mlp"},
               "luminal: there is no command 'insepct', did you mean 'inspect'?; `luminal --help` "
               "lists them");
  expect_usage({"frobnicate"}, "luminal: there is no command 'frobnicate'; `luminal --help`");
  expect_usage({"tuning", "lst"}, "tuning: there is no command 'lst', did you mean 'list'?");
  expect_usage({"expl", "mlp"}, "did you mean 'explain'?");
}

TEST_F(Usage, AnUnknownOptionIsNamedWithTheNearest) {
  expect_usage({"run", "mlp", "--sed=3"},
               "run: there is no option '--sed', did you mean '--seed'?");
  expect_usage({"tuning", "list", "--jsn"},
               "tuning list: there is no option '--jsn', did you mean");
  expect_usage({"devices", "now"}, "devices: 'now' is one word too many; `luminal devices --help`");
  expect_usage({"run"}, "run: GRAPH is required; `luminal run --help` says more");
  expect_usage({}, "luminal --help");
}

TEST_F(Usage, WhatIsGivenTwiceIsNamedWithBothValues) {
  for (const char* command : {"run", "explain", "viz"})
    expect_usage({command, net(), "--dim", "n=3", "--dim", "n=4"},
                 std::string(command) + ": --dim n is given twice, as 3 and as 4; give it once");
  expect_usage({"run", net(), "--out", "total=a.npy", "--out", "total=b.npy"},
               "run: --out total is given twice, as a.npy and as b.npy");
  expect_usage({"run", net(), "x=a.npy", "x=b.npy"}, "run: input x is given twice");
  expect_usage({"run", net(), "--seed", "1", "--seed", "2"}, "--seed");
  expect_usage({"explain", "mlp", "--threads", "1", "--threads", "2"}, "--threads");
  expect_usage({"viz", "mlp", "-o", "a.html", "-o", "b.html"}, "--output");
  expect_usage({"inspect", "mlp", "--class", "%1", "--class", "%2"}, "--class");
}

TEST_F(Usage, ADimIsANumberThatTheGraphAllows) {
  for (const char* command : {"run", "explain", "viz"}) {
    const std::string name = command;
    expect_usage({command, net(), "--dim", "n"}, name + ": --dim takes NAME=VALUE, got 'n'");
    expect_usage({command, net(), "--dim", "n="}, name + ": --dim takes NAME=VALUE, got 'n='");
    expect_usage({command, net(), "--dim", "n=-1"},
                 name + ": --dim n must be a whole number of at least 0, got '-1'");
    expect_usage({command, net(), "--dim", "nope=1"},
                 name + ": --dim nope: the graph has no dim 'nope'; its dims are n");
    expect_usage({command, net(), "--dim", "n=65"},
                 name + ": --dim n=65: the graph allows 1 to 64");
    expect_usage({command, "mlp", "--dim", "n=1"}, "all its extents are numbers");
  }
}

TEST_F(Usage, AnOptionTakesOneValueAndLeavesTheRest) {
  const Said said = say({"run", "--dim", "n=2", net(), "--out", "total=" + folder_.file("y.npy"),
                         "x=" + folder_.file("x.npy")});
  EXPECT_EQ(said.code, cli::kDone) << said.err;
  EXPECT_EQ(graph::load_npy(folder_.file("y.npy")).at(1).as_double(), 4.0);
}

TEST_F(Usage, NamesThatTheProgramDoesNotHaveAreKnownBeforeItIsCompiled) {
  expect_usage({"run", net(), "y=" + folder_.file("x.npy")}, "run: the program has no input 'y'");
  expect_usage({"run", net(), "--dim", "n=2", "--out", "totl=" + folder_.file("y.npy")},
               "run: the program has no output 'totl', but 'total'; --describe lists them");
}

TEST_F(Usage, OptionsWithoutEffectAreRefused) {
  expect_usage({"inspect", "mlp", "--at", "%4"},
               "inspect: --at says nothing without --missing or --rule; add that, or leave it out");
  expect_usage({"inspect", "mlp", "--within", "add"},
               "inspect: --within says nothing without --missing");
  expect_usage({"inspect", "mlp", "--missing", "Times", "--at", "%4", "--within", "add"},
               "inspect: --at and --within ask for different answers; give one of them");
  expect_usage({"inspect", "mlp", "--missing", "Times"}, "say where Times is missing");
  expect_usage({"inspect", "mlp", "--rule", "times"}, "--at CLASS");
  expect_usage({"inspect", "mlp", "--coverage", "--dump", "-"}, "--dump and --coverage");
  expect_usage({"inspect", "mlp", "--list"}, "a graph says nothing with --list");
  expect_usage({"inspect", "mlp", "--class", "y", "--times"}, "--times says nothing with --class");
  expect_usage({"inspect"}, "name a graph file or a case");
  expect_usage({"explain", "mlp", "--json", "--all"}, "--all says nothing with --json");
  expect_usage({"run", net(), "--describe", "--dim", "n=3"}, "--dim says nothing with --describe");
  expect_usage({"tuning", "prune", "--all", "--device", "cpu"}, "--all and --device");
  expect_usage({"tuning", "prune"}, "tuning prune: say what goes");
  expect_usage({"bench", "nets", "--json"}, "--json says nothing with a suite");
  expect_usage({"run", net(), "--dim", "n=3", "--json"},
               "run: --json says nothing without --describe");
}

TEST_F(Usage, SecondsAreANumberThatSomebodyMayWaitFor) {
  for (const char* command : {"explain", "viz", "compile"})
    for (const char* value : {"nan", "inf", "-1", "1e400", "0x10", "some", "1000001"})
      expect_usage({command, "mlp", "--search", value},
                   std::string(command) +
                       ": --search: it must be a number of seconds from 0 to 1000000, got '" +
                       value + "'");
}

TEST_F(Usage, WholeNumbersAreWhatIsWritten) {
  for (const char* value : {"-1", "+1", "1.5", "0x10", "nan", "99999999999999999999"})
    expect_usage({"run", "mlp", "--seed", value},
                 "run: --seed: it must be a whole number from 0 to 18446744073709551615, got '" +
                     std::string(value) + "'");
  // No eight, and nobody reads a message of a thousand digits.
  EXPECT_EQ(say({"run", net(), "--dim", "n=2", "--seed", "010"}).out,
            say({"run", net(), "--dim", "n=2", "--seed", "10"}).out);
  const std::string digits(1000, '9');
  for (const char* option : {"--seed", "--device"})
    EXPECT_EQ(say({"run", "mlp", option, digits}).code, cli::kBadUsage);
  EXPECT_LT(say({"run", "mlp", "--seed", digits}).err.size(), 200U);
  for (const char* command : {"explain", "compile"})
    expect_usage({command, "mlp", "--threads", "0"},
                 "--threads: it must be a whole number from 1 to 1024, got '0'");
  expect_usage({"tuning", "prune", "--older-than", "-1"},
               "--older-than: it must be a whole number from 0 to 1000000, got '-1'");
}

TEST_F(Usage, ATargetIsAProcessorThatThereIs) {
  const std::string known = " --target i486: there is no processor named i486; known are x86-64";
  expect_usage({"explain", "mlp", "--target", "i486"}, "explain:" + known);
  expect_usage({"compile", "mlp", "-o", "p.plan", "--target", "i486"}, "compile:" + known);
}

TEST_F(Usage, AnEmptyValueIsNamed) {
  const std::vector<std::vector<std::string>> lines{{"run", "mlp", "--device", ""},
                                                    {"explain", "mlp", "--database", ""},
                                                    {"viz", "mlp", "--output", ""},
                                                    {"inspect", "mlp", "--op", ""},
                                                    {"tuning", "list", "--database", ""},
                                                    {"tuning", "prune", "--kernel", ""},
                                                    {"bench", "--folder", ""},
                                                    {"run", "mlp", "--dim", ""},
                                                    {"compile", "mlp", "-o", "p", "--target", ""}};
  for (const std::vector<std::string>& line : lines) {
    const std::string& option = line[line.size() - 2];
    expect_usage(line, option + ": its value is empty; give one, or leave it out");
  }
  expect_usage({"run", ""}, "run: GRAPH: its value is empty");
}

TEST_F(Usage, AnOpThatNoGraphHasIsNamedWithTheNearest) {
  expect_usage({"inspect", "softmax", "--op", "contrct"},
               "inspect: --op contrct: the graph has no such op, nor do graphs or rules, did you "
               "mean 'contract'?; `luminal inspect softmax` lists those there are");
  expect_usage({"inspect", "mlp", "--missing", "Times", "--within", "ad"},
               "inspect: --within ad: the graph has no such op");
  expect_usage({"inspect", "mlp", "--op", "zzzzzz"}, "nor do graphs or rules; `luminal inspect");
  // One that there is and that this graph does without is no mistake.
  for (const char* op : {"contract", "sin"}) {
    const Said said = say({"inspect", "softmax", "--op", op});
    EXPECT_EQ(said.code, cli::kDone) << said.err;
    EXPECT_EQ(said.out, "0 classes\n");
  }
}

TEST_F(Usage, TheVersionIsSaid) {
  const Said said = say({"--version"});
  EXPECT_EQ(said.code, cli::kDone);
  EXPECT_TRUE(has(said.out, "luminal " + std::string(cli::version()) + " (plans of format "));
}

TEST(Nearest, IsWhatWasProbablyMeant) {
  const std::vector<std::string> words{"run", "inspect", "explain", "viz"};
  EXPECT_EQ(cli::nearest("rnu", words), "run");  // neighbours changed places
  EXPECT_EQ(cli::nearest("explian", words), "explain");
  EXPECT_EQ(cli::nearest("insp", words), "inspect");
  EXPECT_EQ(cli::nearest("zzz", words), "");
  EXPECT_EQ(cli::nearest("", words), "");
  EXPECT_EQ(cli::nearest("run", {}), "");
}

}  // namespace
}  // namespace luminal::commands
