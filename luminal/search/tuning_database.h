// Everything that was ever measured, in one SQLite file that any number of processes may use at a
// time. A time belongs to a kernel (by its canonical text), the values its dims had, a device, the
// version of the code generator and a schedule. A writer that is killed loses the measurement in
// flight and nothing else. A file that is damaged is set aside; one of an older version gets what
// it lacks, and one of a later version is never misread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/search/measurement.h"
#include "luminal/search/sqlite.h"
#include "luminal/support/hash.h"

namespace luminal::search {

/// What a measurement is of, but for the schedule.
struct TuningKey {
  support::Hash128 kernel;  ///< of the canonical text
  std::string shapes;       ///< values of its dims, as "S0=128 S1=64"; empty: it has none
  std::string device;       ///< what it ran on, threads included
  std::string compiler;     ///< the version of what made the code
  bool operator==(const TuningKey&) const = default;
};

/// One measurement.
struct TuningRecord {
  TuningKey key;
  std::string schedule;
  Measurement result;
  int64_t measured_at = 0;  ///< seconds since 1970
  bool operator==(const TuningRecord&) const = default;
};

/// A schedule that was begun and did not come to an end in the time there was.
struct InterruptedTrial {
  TuningKey key;
  std::string schedule;
  int64_t times = 0;  ///< that this happened
  bool operator==(const InterruptedTrial&) const = default;
};

/// A kernel of the database, for lists.
struct TunedKernel {
  support::Hash128 kernel;
  std::string label;  ///< what people call it
  int64_t records = 0;
  int64_t rejected = 0;
  double best_us = 0.0;  ///< 0: none counts
};

/// The work of a kernel (work_records.h) and the best of its times by one version of the code
/// generator.
struct TimedRow {
  support::Hash128 kernel;
  std::string shapes;
  std::string compiler;
  std::string label;
  std::string standard;  ///< the schedule that is used without search
  std::string work;      ///< empty: the cost model has other ways to price it
  double best_us = 0.0;
  int64_t measured_at = 0;  ///< the last of its measurements
};

/// What a merge did.
struct MergeCounts {
  int64_t added = 0;
  int64_t replaced = 0;
  int64_t kept = 0;  ///< what was there is as good, or cannot be compared
};

/// Which records go. A record goes if it fits all that is set; nothing set: none does.
struct PruneFilter {
  std::string other_compiler_than = {};
  std::string device = {};
  /// Seconds since 1970. What is known of a kernel can be compared only as long as its default is
  /// there, so it goes when the last of it is older.
  std::optional<int64_t> measured_before = {};
  std::optional<support::Hash128> kernel = {};
  bool operator==(const PruneFilter&) const = default;
};

/// Where the database of this machine lies: where LUMINAL_TUNING_DB says, else tuning.db of the
/// cache directory. Empty if there is neither.
std::string default_tuning_path();

/// What a database is opened for.
enum class Access {
  kRead,   ///< the file must be there and stays as it is, on a read-only disk too
  kWrite,  ///< the file is made if it is not there
};

/// See above. All members may be called from any thread.
class TuningDatabase {
 public:
  /// Opens a file. Throws UserError for files of another version, of another program or damaged
  /// ones, DeviceError if the disk refuses.
  explicit TuningDatabase(const std::string& path, Access access = Access::kWrite);
  /// A database that is gone with the object.
  static TuningDatabase in_memory() { return TuningDatabase(":memory:"); }
  /// Opens a file, whatever it takes: a damaged one is moved to `path + ".damaged"`; if the file
  /// cannot be used at all the database is in memory. Says so in a warning.
  static TuningDatabase open_or_replace(const std::string& path);
  /// Opens a file for a search: one that may only be read is read, and a warning says that what is
  /// measured will be gone with the object.
  static TuningDatabase open_to_search(const std::string& path);
  ~TuningDatabase();

  const std::string& path() const { return connection_.path(); }

  /// Remembers what a key stands for.
  void add_kernel(support::Hash128 kernel, std::string_view text, std::string_view label);
  /// The canonical text of a kernel, if it is known.
  std::optional<std::string> kernel_text(support::Hash128 kernel) const;

  /// Keeps a measurement; one of the same schedule is replaced.
  void record(const TuningRecord& record);
  /// Keeps what one batch gave, all of one key, at once. Times are kept as parts of what the
  /// default took: if that is known, by whomever, the others are scaled to it, and it stays; only a
  /// quiet time takes the place of a disturbed one, and all that is there follows it. Gives the
  /// scale.
  double record_batch(const std::vector<TuningRecord>& batch, const std::string& standard);
  /// Notes of schedules of one key that trying them was begun and not let come to an end. That is
  /// no measurement, and only what is below tells of it.
  void note_interrupted(const TuningKey& key, const std::vector<std::string>& schedules);
  /// Schedules that were interrupted and have neither a time that counts nor a rejection, those
  /// first that were so the fewest times.
  std::vector<std::string> interrupted(const TuningKey& key) const;
  /// The same for all of one kernel, by device, compiler, shapes and schedule.
  std::vector<InterruptedTrial> interrupted(support::Hash128 kernel) const;
  /// What is known of a schedule.
  std::optional<Measurement> find(const TuningKey& key, std::string_view schedule) const;
  /// The quickest schedule that counts; of equals the first by text.
  std::optional<TuningRecord> best(const TuningKey& key) const;
  /// All of one key, by schedule.
  std::vector<TuningRecord> records(const TuningKey& key) const;
  /// The quickest that counts for each of the other values that its dims had, by these.
  std::vector<TuningRecord> best_elsewhere(const TuningKey& key) const;
  /// All of one kernel, by device, compiler, shapes and schedule.
  std::vector<TuningRecord> records(support::Hash128 kernel) const;
  /// Kernels that something was tried of, on a device and by a version of the code generator.
  std::set<support::Hash128> measured_kernels(const std::string& device,
                                              const std::string& compiler) const;
  /// Keeps what a search of a whole program ended with; what was kept for the key is replaced.
  /// Whose text it is has to see to it that it is understood later.
  void remember(const TuningKey& program, std::string_view result);
  /// What the last search of a program ended with.
  std::optional<std::string> recall(const TuningKey& program) const;
  /// Keeps what a kernel does with some dims on a device, for the cost model, and by which schedule
  /// it runs there without search. Whose text it is has to see to it that it is understood later.
  void note_work(const TuningKey& key, std::string_view standard, std::string_view work);
  /// Works of kernels that count on a device, by kernel, shapes and compiler.
  std::vector<TimedRow> timed_works(const std::string& device) const;
  /// Devices that something was measured on, by name.
  std::vector<std::string> devices() const;
  /// All kernels, by label.
  std::vector<TunedKernel> kernels() const;

  /// Writes everything to another file, which must not be there yet.
  void export_to(const std::string& path) const;
  /// Takes over what another database has. What is wrong in one is wrong; else a time counts more
  /// than that it took too long or too much. Of two times of one schedule the one that was not
  /// disturbed stays, then that of more samples, then the newer. Times of a kernel are scaled, so
  /// that schedules timed in both took as long in one as in the other; if there is none, times of
  /// the other are left out.
  MergeCounts merge_from(const TuningDatabase& other);
  /// Removes records, kernels that have none left, and results of searches that fit the filter or,
  /// where it names a kernel, all of them. Gives the number of records.
  int64_t prune(const PruneFilter& filter);

 private:
  friend class TuningSession;

  /// Does something with what is there: the file or what stands in for it.
  template <typename Operation>
  auto use(const Operation& operation) const;
  /// Puts a database in memory in the place of the file, with all that can be read of it.
  void go_on_in_memory(const SqliteError& error) const;
  /// Writes what was kept in memory to the file, if it works again.
  void return_to_file();

  mutable std::mutex mutex_;
  Access access_;
  SqliteConnection connection_;
  mutable std::unique_ptr<SqliteConnection> instead_;  // since the file failed
  int sessions_ = 0;
};

/// Who cannot start again opens one: as long as it lives, a file that fails (a full disk, a lock
/// that stays, damage) is no error. A warning says so, and memory takes its place, with what can be
/// read of it. When the session ends it is all written to the file, if that works again; else it is
/// kept for later sessions of this process.
class TuningSession {
 public:
  /// The database must outlive it.
  explicit TuningSession(TuningDatabase& database);
  ~TuningSession();
  TuningSession(const TuningSession&) = delete;
  TuningSession& operator=(const TuningSession&) = delete;

 private:
  TuningDatabase& database_;
};

/// The database of the process, where the environment says (docs/environment.md); in memory if
/// nothing is to be kept on disk.
TuningDatabase& default_tuning_database();

}  // namespace luminal::search
