#include "benchmarks/bench_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <limits>

#include "benchmarks/peer_process.h"
#include "benchmarks/result_rows.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"

namespace luminal::benchmarks {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(BenchOptions, NumbersOfSecondsAreFiniteAndLargeEnough) {
  EXPECT_EQ(seconds_of("--search", "0"), 0);
  EXPECT_EQ(seconds_of("--search", "2.5"), 2.5);
  for (const char* bad : {"", "x", "1x", "-1", "nan", "inf", "1e999"})
    EXPECT_NE(message_of([&] { seconds_of("--search", bad); }).find("--search takes a number"),
              std::string::npos)
        << bad;
  EXPECT_THROW(seconds_of("--seconds", "0", 0.001), UserError);
}

TEST(BenchOptions, SwitchesAreOnOrOff) {
  EXPECT_TRUE(is_on("--trace", "on"));
  EXPECT_FALSE(is_on("--trace", "off"));
  EXPECT_NE(message_of([] { is_on("--trace", "zzz"); }).find("--trace is on or off, got 'zzz'"),
            std::string::npos);
}

TEST(BenchOptions, AFilterThatFitsNothingTellsWhatThereIs) {
  const std::vector<std::string> names = {"softmax f32", "matmul 8 f32", "matmul 8 f64"};
  EXPECT_EQ(filtered(names, "f32"), (std::vector<std::string>{"softmax f32", "matmul 8 f32"}));
  EXPECT_EQ(filtered(names, ""), names);
  const std::string message = message_of([&] { filtered(names, "conv"); });
  EXPECT_NE(message.find("no case has 'conv'"), std::string::npos) << message;
  for (const std::string& name : names) EXPECT_NE(message.find(name), std::string::npos) << message;
}

TEST(BenchOptions, OtherDevicesAreRefused) {
  check_device("cpu");
  EXPECT_NE(message_of([] { check_device("gpu"); }).find("no device 'gpu'"), std::string::npos);
}

TEST(RowFile, EveryRowIsThereAsSoonAsItIsKnown) {
  const std::string path =
      testing::TempDir() + "/luminal_rows_" + std::to_string(::getpid()) + ".json";
  support::write_file_atomic(path, "what was there");
  RowFile file(path, {.device = "cpu", .processor = "znver4", .threads = 2, .commit = "abc"});
  // Until then what was measured before is worth more than nothing.
  EXPECT_EQ(support::read_file(path), "what was there");
  file.add({.suite = "patterns", .name = "first", .dtype = "f32", .ours = 1});
  const std::string one = support::read_file(path);
  EXPECT_TRUE(one.starts_with("[\n  {") && one.ends_with("}\n]\n")) << one;
  EXPECT_NE(one.find("\"case\": \"first\", \"device\": \"cpu\""), std::string::npos);
  EXPECT_NE(one.find("\"processor\": \"znver4\", \"threads\": 2, \"commit\": \"abc\""),
            std::string::npos);
  file.add({.suite = "patterns", .name = "second", .dtype = "f32", .ours = 2});
  const std::string two = support::read_file(path);
  EXPECT_NE(two.find("\"case\": \"first\""), std::string::npos);
  EXPECT_NE(two.find("},\n  {\"suite\": \"patterns\", \"case\": \"second\""), std::string::npos);
  std::filesystem::remove(path);
}

TEST(RowFile, APeerThatFailedIsNamedWithoutATime) {
  const std::string path =
      testing::TempDir() + "/luminal_peers_" + std::to_string(::getpid()) + ".json";
  RowFile file(path, {.device = "cpu"});
  file.add({.suite = "patterns",
            .name = "first",
            .dtype = "f32",
            .ours = 1,
            .peers = {{"a", 2.5}, {"b", std::numeric_limits<double>::quiet_NaN()}}});
  EXPECT_NE(support::read_file(path).find("\"peers\": {\"a\": 2.500, \"b\": null}"),
            std::string::npos);
  std::filesystem::remove(path);
}

TEST(RowFile, APathThatCannotBeWrittenIsToldAtOnce) {
  const std::string message = message_of([] { const RowFile file("/nowhere/x.json", {"cpu"}); });
  EXPECT_NE(message.find("/nowhere/x.json"), std::string::npos) << message;
  const RowFile none("", {"cpu"});
}

TEST(PeerProcess, APythonThatIsNotThereIsToldByName) {
  std::filesystem::current_path(LUMINAL_SUITE_DIR "/../..");  // the script is found from there
  const std::string message = message_of([] { const PeerProcess peers("/nowhere/python"); });
  EXPECT_NE(message.find("/nowhere/python"), std::string::npos) << message;
}

TEST(PeerProcess, PeersThatFailedAreToldFromThoseThatCanBeTimed) {
  std::filesystem::current_path(LUMINAL_SUITE_DIR "/../..");
  const std::string python =
      testing::TempDir() + "/luminal_python_" + std::to_string(::getpid()) + ".sh";
  support::write_file_atomic(python, "#!/bin/sh\nread -r line\necho 'one !two three'\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  PeerProcess peers(python);
  const CasePeers found = peers.begin_case("add 8x8|f32");
  EXPECT_EQ(found.ready, (std::vector<std::string>{"one", "three"}));
  EXPECT_EQ(found.failed, (std::vector<std::string>{"two"}));
  std::filesystem::remove(python);
}

}  // namespace
}  // namespace luminal::benchmarks
