// What took how long: spans of compiling and running, as they happen. LUMINAL_TRACE=file writes
// them in the form that chrome://tracing and Perfetto show; a TraceRecording keeps those of its
// lifetime. Where neither is there a span costs one load.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace luminal::support {

/// Something that began and ended.
struct TraceEvent {
  std::string category;  ///< "compile", "kernel", "run", ...
  std::string name;      ///< for people: "matmul + gelu"
  double begin_us = 0;   ///< since the first event of the process
  double duration_us = 0;
  int thread = 0;  ///< numbered in the order in which they first appear
  /// What else is known of it: shape, schedule.
  std::vector<std::pair<std::string, std::string>> notes = {};
};

/// Takes events, from any thread but one at a time.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void add(const TraceEvent& event) = 0;
};

/// The events of its lifetime, of all threads.
class TraceRecording final : public TraceSink {
 public:
  TraceRecording();
  ~TraceRecording() override;
  TraceRecording(const TraceRecording&) = delete;
  TraceRecording& operator=(const TraceRecording&) = delete;

  void add(const TraceEvent& event) override { events_.push_back(event); }
  /// What has ended so far, in the order of ends.
  std::vector<TraceEvent> events() const;
  /// Their durations added up, in microseconds.
  double total_us(std::string_view category, std::string_view name) const;

 private:
  std::vector<TraceEvent> events_;
};

/// A file of events that can be shown although it was not closed: whole events are written, some
/// ten times a second, so that a process which is killed loses the last ones alone. A child process
/// writes nothing.
class TraceFile final : public TraceSink {
 public:
  /// UserError if the file cannot be written.
  explicit TraceFile(const std::string& path);
  ~TraceFile() override;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  void add(const TraceEvent& event) override;
  /// Writes what is left. UserError if any of it was lost. Events that come later are.
  void finish();

 private:
  struct Stream;
  void write(std::string_view event);
  void name_thread(int thread);
  void close();
  std::string path_;
  std::unique_ptr<Stream> stream_;
};

/// Whether anybody wants events of this thread now. The first call reads the environment: UserError
/// if LUMINAL_TRACE names a file that cannot be written.
bool is_traced();

/// Ends the file that LUMINAL_TRACE names, if there is one. UserError if not all of it could be
/// written. A process that does not call this ends it silently.
void finish_trace();

/// While one lives, spans that its thread begins are told to nobody: of what runs thousands of
/// times in order to be measured, one span around it is enough.
class TracePause {
 public:
  TracePause();
  ~TracePause();
  TracePause(const TracePause&) = delete;
  TracePause& operator=(const TracePause&) = delete;
};

/// The time between construction and destruction (or end()) as an event.
class TraceSpan {
 public:
  /// Names that take work to make are made only if is_traced().
  TraceSpan(std::string_view category, std::string_view name);
  ~TraceSpan() { end(); }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  bool is_on() const { return event_ != nullptr; }
  /// Says more of it, if it is on.
  void note(std::string_view key, std::string_view value);
  /// Ends it now.
  void end();

 private:
  std::unique_ptr<TraceEvent> event_;
};

}  // namespace luminal::support
