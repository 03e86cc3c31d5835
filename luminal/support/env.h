// The environment, read once in one place. Every variable the library looks at has a row in
// kEnvironmentTable with its default and a line of documentation; nothing else calls getenv. A bad
// value is a UserError that names the variable, the value and what is allowed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace luminal::support {

/// Every variable the library reads.
enum class EnvVar {
  kLog,
  kCache,
  kCacheDir,
  kCacheMegabytes,
  kTuningDatabase,
  kThreads,
  kProgress,
  kCheckSteps,
  kCheckDir,
  kTrace,
  kXdgCacheHome,
  kHome,
};

/// What values a variable takes.
enum class EnvKind { kText, kInteger, kFlag, kChoice };

/// One row of the table: how a variable is called, what it may be and what it is for.
struct EnvInfo {
  EnvVar id;
  std::string_view name;
  EnvKind kind;
  std::string_view default_value;  ///< what an unset or empty variable stands for
  std::string_view choices;        ///< the values of a kChoice, separated by '|'
  std::int64_t least;              ///< bounds of a kInteger
  std::int64_t most;
  std::string_view doc;
};

/// The table, in the order of EnvVar.
inline constexpr std::array kEnvironmentTable{
    EnvInfo{EnvVar::kLog, "LUMINAL_LOG", EnvKind::kChoice, "warn",
            "trace|debug|info|warn|error|off", 0, 0,
            "the least severe log messages that are written to stderr"},
    EnvInfo{EnvVar::kCache, "LUMINAL_CACHE", EnvKind::kFlag, "on", "", 0, 0,
            "whether compiled kernels, plans and timings are kept on disk"},
    EnvInfo{EnvVar::kCacheDir, "LUMINAL_CACHE_DIR", EnvKind::kText, "", "", 0, 0,
            "where they are kept; unset: $XDG_CACHE_HOME/luminal or ~/.cache/luminal"},
    EnvInfo{EnvVar::kCacheMegabytes, "LUMINAL_CACHE_MB", EnvKind::kInteger, "4096", "", 1,
            1'000'000'000, "how large the cache may grow before the least recently used files go"},
    EnvInfo{EnvVar::kTuningDatabase, "LUMINAL_TUNING_DB", EnvKind::kText, "", "", 0, 0,
            "the file that keeps what was measured; unset: tuning.db among the cached files"},
    EnvInfo{EnvVar::kThreads, "LUMINAL_THREADS", EnvKind::kInteger, "0", "", 0, 4096,
            "threads that compute, the caller included; 0: one per processor the process may use"},
    EnvInfo{EnvVar::kProgress, "LUMINAL_PROGRESS", EnvKind::kChoice, "auto", "auto|on|off", 0, 0,
            "progress bars on stderr; auto: only when it is a terminal"},
    EnvInfo{
        EnvVar::kCheckSteps, "LUMINAL_CHECK_STEPS", EnvKind::kFlag, "off", "", 0, 0,
        "compare every kernel of every run with the interpreter and end at the first wrong one"},
    EnvInfo{EnvVar::kCheckDir, "LUMINAL_CHECK_DIR", EnvKind::kText, ".", "", 0, 0,
            "where a wrong kernel and its inputs are saved for luminal-replay"},
    EnvInfo{EnvVar::kTrace, "LUMINAL_TRACE", EnvKind::kText, "", "", 0, 0,
            "a file for what compiling and running take, to be shown by Perfetto"},
    EnvInfo{EnvVar::kXdgCacheHome, "XDG_CACHE_HOME", EnvKind::kText, "", "", 0, 0,
            "the user's cache directory, as the desktop standard has it"},
    EnvInfo{EnvVar::kHome, "HOME", EnvKind::kText, "", "", 0, 0,
            "the home directory, for ~/.cache when XDG_CACHE_HOME is unset"},
};

/// The row of a variable.
constexpr const EnvInfo& env_info(EnvVar variable) {
  return kEnvironmentTable[static_cast<std::size_t>(variable)];
}

/// The values of all variables, checked and unchangeable.
class Environment {
 public:
  /// Gives the value of a variable, or nothing if it is not set.
  using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

  /// Reads and checks every variable of the table; an empty value counts as unset. Throws UserError
  /// at the first bad one.
  explicit Environment(const Lookup& lookup);

  /// Whether the variable was given a value.
  bool is_set(EnvVar variable) const;
  /// The value of a kText or kChoice variable.
  const std::string& text(EnvVar variable) const;
  /// The value of a kInteger variable, within its bounds.
  std::int64_t integer(EnvVar variable) const;
  /// The value of a kFlag variable.
  bool flag(EnvVar variable) const;

  /// Where the on-disk cache lives: LUMINAL_CACHE_DIR, else $XDG_CACHE_HOME/luminal, else
  /// ~/.cache/luminal. Empty if LUMINAL_CACHE is off or none of them is known: no cache then.
  std::string cache_dir() const;

 private:
  struct Value {
    std::string text;
    std::int64_t integer = 0;  // also the flag
    bool is_set = false;
  };
  const Value& value(EnvVar variable, std::initializer_list<EnvKind> kinds) const;

  std::array<Value, kEnvironmentTable.size()> values_;
};

/// The environment of this process, read at the first call. Throws UserError if it is bad.
const Environment& environment();

/// The table as Markdown, for the docs and for `luminal help`.
std::string environment_table_text();

}  // namespace luminal::support
