#include "luminal/support/trace.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "luminal/support/error.h"
#include "luminal/support/file.h"

namespace luminal::support {
namespace {

std::string path_for(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))).string();
}

TEST(Trace, SpansOfARecordingHaveNamesTimesAndNotes) {
  const TraceRecording recording;
  {
    TraceSpan outer("compile", "all");
    TraceSpan inner("kernel", "softmax");
    EXPECT_TRUE(inner.is_on());
    inner.note("from", "cache");
  }
  const std::vector<TraceEvent> events = recording.events();
  ASSERT_EQ(events.size(), 2);  // in the order of ends
  EXPECT_EQ(events[0].name, "softmax");
  EXPECT_EQ(events[0].category, "kernel");
  ASSERT_EQ(events[0].notes.size(), 1);
  EXPECT_EQ(events[0].notes[0], std::pair(std::string("from"), std::string("cache")));
  EXPECT_LE(events[1].begin_us, events[0].begin_us);
  EXPECT_GE(events[1].begin_us + events[1].duration_us, events[0].begin_us + events[0].duration_us);
  EXPECT_DOUBLE_EQ(recording.total_us("compile", "all"), events[1].duration_us);
  EXPECT_EQ(recording.total_us("compile", "softmax"), 0);
}

TEST(Trace, NothingIsRecordedOutsideOfARecording) {
  TraceSpan span("run", "nobody looks");
  EXPECT_FALSE(span.is_on());
  span.note("key", "value");
  const TraceRecording recording;
  span.end();  // began before
  EXPECT_TRUE(recording.events().empty());
}

TEST(Trace, SpansThatBeginInAPauseAreNotTold) {
  const TraceRecording recording;
  {
    const TraceSpan around("search", "measure");
    const TracePause pause;
    EXPECT_FALSE(is_traced());
    {
      const TracePause inner;
      const TraceSpan span("run", "run");
      EXPECT_FALSE(span.is_on());
    }
    const TraceSpan span("run", "run");
    EXPECT_FALSE(span.is_on());
    std::thread([] { const TraceSpan other("run", "another thread"); }).join();
  }
  EXPECT_TRUE(is_traced());
  const std::vector<TraceEvent> events = recording.events();
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].name, "another thread");
  EXPECT_EQ(events[1].name, "measure");
}

TEST(Trace, ASpanEndsOnce) {
  const TraceRecording recording;
  {
    TraceSpan span("run", "once");
    span.end();
    span.end();
  }
  EXPECT_EQ(recording.events().size(), 1);
}

TEST(Trace, ThreadsAreToldApart) {
  const TraceRecording recording;
  { const TraceSpan span("run", "here"); }
  std::thread([] { const TraceSpan span("run", "there"); }).join();
  const std::vector<TraceEvent> events = recording.events();
  ASSERT_EQ(events.size(), 2);
  EXPECT_NE(events[0].thread, events[1].thread);
}

TEST(TraceFile, EventsAreLinesOfJsonThatViewersTake) {
  const std::string path = path_for("luminal-trace-");
  {
    TraceFile file(path);
    file.add({"step", "say \"hi\"\n", 1.5, 2.25, 3, {{"type", "f32[2]"}}});
    file.add({"run", "run", 0, 4, 3, {}});
  }
  const std::string pid = std::to_string(::getpid());
  EXPECT_EQ(
      read_file(path),
      "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": " + pid +
          ", \"args\": {\"name\": \"luminal\"}},\n{\"name\": \"thread_name\", \"ph\": \"M\", "
          "\"pid\": " +
          pid +
          ", \"tid\": 3, \"args\": {\"name\": \"main\"}},\n"
          "{\"name\": \"say \\\"hi\\\"\\n\", \"cat\": \"step\", \"ph\": \"X\", \"ts\": 1.500, "
          "\"dur\": 2.250, \"pid\": " +
          pid +
          ", \"tid\": 3, \"args\": {\"type\": \"f32[2]\"}},\n"
          "{\"name\": \"run\", \"cat\": \"run\", \"ph\": \"X\", \"ts\": 0.000, \"dur\": "
          "4.000, \"pid\": " +
          pid + ", \"tid\": 3, \"args\": {}}\n]\n");
  std::filesystem::remove(path);
}

TEST(TraceFile, AChildProcessWritesNothing) {
  const std::string path = path_for("luminal-trace-child-");
  {
    TraceFile file(path);
    file.add({"run", "parent", 0, 1, 0, {}});
    const pid_t child = ::fork();
    if (child == 0) {
      file.add({"run", "child", 0, 1, 0, {}});
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  const std::string text = read_file(path);
  EXPECT_NE(text.find("parent"), std::string::npos);
  EXPECT_EQ(text.find("child\""), std::string::npos);
  std::filesystem::remove(path);
}

TEST(TraceFile, AKilledProcessLeavesWholeEvents) {
  const std::string path = path_for("luminal-trace-killed-");
  const pid_t child = ::fork();
  if (child == 0) {
    TraceFile file(path);
    for (int k = 0; k < 5000; ++k) file.add({"run", "step", 1.0 * k, 1, 0, {}});
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::string text = read_file(path);
  EXPECT_GT(text.size(), 100'000U);  // most of them
  EXPECT_TRUE(text.starts_with("[\n{"));
  EXPECT_EQ(text.substr(text.size() - 2), "}}");  // with a bracket it is JSON, viewers do without
  std::filesystem::remove(path);
}

TEST(TraceFile, AFileThatCannotBeWrittenIsNamedWithTheRemedy) {
  const auto message = [](const char* path) -> std::string {
    try {
      const TraceFile file(path);
      return "none";
    } catch (const UserError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message("/no/such/folder/trace.json"),
            "trace: cannot write \"/no/such/folder/trace.json\": No such file or directory; "
            "LUMINAL_TRACE names a file in a folder that exists");
  EXPECT_EQ(message("/tmp"),
            "trace: cannot write \"/tmp\": Is a directory; LUMINAL_TRACE names a file");
}

}  // namespace
}  // namespace luminal::support
