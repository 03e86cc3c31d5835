#include "luminal/support/trace.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

#include "luminal/support/env.h"
#include "luminal/support/error.h"
#include "luminal/support/text.h"

namespace luminal::support {
namespace {

/// Who is told. Never destroyed: spans of static objects may end late.
struct Sinks {
  std::mutex mutex;
  std::vector<TraceSink*> all;
  std::atomic<size_t> count = 0;
};

Sinks& sinks() {
  static auto* const kSinks = new Sinks;
  return *kSinks;
}

void add_sink(TraceSink* sink) {
  const std::scoped_lock lock(sinks().mutex);
  sinks().all.push_back(sink);
  sinks().count = sinks().all.size();
}

void remove_sink(TraceSink* sink) {
  const std::scoped_lock lock(sinks().mutex);
  std::erase(sinks().all, sink);
  sinks().count = sinks().all.size();
}

/// The file that the environment asks for, closed when the process ends.
struct ProcessTrace {
  ProcessTrace() {
    const Environment& all = environment();
    if (!all.is_set(EnvVar::kTrace)) return;
    file = std::make_unique<TraceFile>(all.text(EnvVar::kTrace));
    add_sink(file.get());
  }
  ~ProcessTrace() {
    if (file != nullptr) remove_sink(file.get());
  }
  ProcessTrace(const ProcessTrace&) = delete;
  ProcessTrace& operator=(const ProcessTrace&) = delete;
  std::unique_ptr<TraceFile> file;
};

double now_us() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point kStart = Clock::now();
  return std::chrono::duration<double, std::micro>(Clock::now() - kStart).count();
}

/// How many pauses this thread is in.
int& pauses() {
  thread_local int count = 0;
  return count;
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", escape_json(text)); }

int thread_number() {
  static std::atomic<int> next = 0;
  thread_local const int kNumber = next++;
  return kNumber;
}

}  // namespace

TraceRecording::TraceRecording() { add_sink(this); }
TraceRecording::~TraceRecording() { remove_sink(this); }

std::vector<TraceEvent> TraceRecording::events() const {
  const std::scoped_lock lock(sinks().mutex);
  return events_;
}

double TraceRecording::total_us(std::string_view category, std::string_view name) const {
  double total = 0;
  for (const TraceEvent& event : events())
    if (event.category == category && event.name == name) total += event.duration_us;
  return total;
}

namespace {

/// What helps if a file cannot be opened.
std::string_view remedy(int error) {
  if (error == ENOENT || error == ENOTDIR)
    return "LUMINAL_TRACE names a file in a folder that exists";
  if (error == EISDIR) return "LUMINAL_TRACE names a file";
  return "LUMINAL_TRACE names a file that may be written";
}

}  // namespace

struct TraceFile::Stream {
  std::FILE* file = nullptr;
  pid_t owner = ::getpid();
  bool first = true;
  std::string pending;     // whole events
  double written_at = 0;   // now_us() then
  std::set<int> has_name;  // threads
  int error = 0;           // of the first write that failed

  void flush() {
    errno = 0;
    const bool written = std::fwrite(pending.data(), 1, pending.size(), file) == pending.size();
    if (!written && error == 0) error = errno;
    pending.clear();
    written_at = now_us();
  }
};

TraceFile::TraceFile(const std::string& path) : path_(path), stream_(std::make_unique<Stream>()) {
  stream_->file = std::fopen(path.c_str(), "we");
  if (stream_->file == nullptr) {
    const int error = errno;
    throw UserError("trace", "cannot write \"{}\": {}; {}", path,
                    std::strerror(error),  // NOLINT(concurrency-mt-unsafe)
                    remedy(error));
  }
  // What is written goes to the system at once: the end of a buffer is not the end of an event.
  std::setvbuf(stream_->file, nullptr, _IONBF, 0);
  stream_->pending = "[";
  write(fmt::format(
      R"({{"name": "process_name", "ph": "M", "pid": {}, "args": {{"name": "luminal"}}}})",
      stream_->owner));
  stream_->flush();
}

TraceFile::~TraceFile() {
  // What a child has in its copy of the buffer is its parent's.
  if (stream_->owner != ::getpid()) return;
  if (stream_->file != nullptr) close();
}

void TraceFile::close() {
  stream_->pending += "\n]\n";
  stream_->flush();
  std::fclose(std::exchange(stream_->file, nullptr));
}

void TraceFile::finish() {
  const std::scoped_lock lock(sinks().mutex);
  if (stream_->file == nullptr || stream_->owner != ::getpid()) return;
  close();
  if (stream_->error != 0)
    throw UserError("trace", "\"{}\" lacks events, since writing failed: {}", path_,
                    std::strerror(stream_->error));  // NOLINT(concurrency-mt-unsafe)
}

void TraceFile::write(std::string_view event) {
  constexpr size_t kMostPending = 1 << 16;
  constexpr double kMostMicroseconds = 1e5;
  stream_->pending += std::exchange(stream_->first, false) ? "\n" : ",\n";
  stream_->pending += event;
  if (stream_->pending.size() > kMostPending || now_us() - stream_->written_at > kMostMicroseconds)
    stream_->flush();
}

/// Events come from the thread that they are of.
void TraceFile::name_thread(int thread) {
  if (!stream_->has_name.insert(thread).second) return;
  const bool is_main = ::gettid() == stream_->owner;
  write(fmt::format(
      R"({{"name": "thread_name", "ph": "M", "pid": {}, "tid": {}, "args": {{"name": "{}"}}}})",
      stream_->owner, thread, is_main ? "main" : fmt::format("worker {}", thread)));
}

void TraceFile::add(const TraceEvent& event) {
  if (stream_->owner != ::getpid() || stream_->file == nullptr) return;
  name_thread(event.thread);
  std::string notes;
  for (const auto& [key, value] : event.notes)
    notes += fmt::format("{}{}: {}", notes.empty() ? "" : ", ", quoted(key), quoted(value));
  write(
      fmt::format("{{\"name\": {}, \"cat\": {}, \"ph\": \"X\", \"ts\": {:.3f}, \"dur\": {:.3f}, "
                  "\"pid\": {}, \"tid\": {}, \"args\": {{{}}}}}",
                  quoted(event.name), quoted(event.category), event.begin_us, event.duration_us,
                  stream_->owner, event.thread, notes));
}

TracePause::TracePause() { ++pauses(); }
TracePause::~TracePause() { --pauses(); }

namespace {

ProcessTrace& process_trace() {
  static ProcessTrace trace;
  return trace;
}

}  // namespace

void finish_trace() {
  if (process_trace().file != nullptr) process_trace().file->finish();
}

bool is_traced() {
  process_trace();
  return sinks().count.load(std::memory_order_relaxed) > 0 && pauses() == 0;
}

TraceSpan::TraceSpan(std::string_view category, std::string_view name) {
  if (!is_traced()) return;
  event_ = std::make_unique<TraceEvent>();
  event_->category = category;
  event_->name = name;
  event_->thread = thread_number();
  event_->begin_us = now_us();
}

void TraceSpan::note(std::string_view key, std::string_view value) {
  if (event_ != nullptr) event_->notes.emplace_back(key, value);
}

void TraceSpan::end() {
  if (event_ == nullptr) return;
  event_->duration_us = now_us() - event_->begin_us;
  {
    const std::scoped_lock lock(sinks().mutex);
    for (TraceSink* sink : sinks().all) sink->add(*event_);
  }
  event_.reset();
}

}  // namespace luminal::support
