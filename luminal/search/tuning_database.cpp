#include "luminal/search/tuning_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include "luminal/search/tuning_tables.h"
#include "luminal/support/env.h"
#include "luminal/support/file.h"
#include "luminal/support/log.h"

namespace luminal::search {
namespace {

/// The file is ours no longer, or never was one.
class DamagedDatabase : public UserError {
 public:
  DamagedDatabase(const std::string& path, std::string_view what)
      : UserError("tuning database",
                  "{} is damaged or no database ({}); move it away or name another file", path,
                  what) {}
};

/// A file that is to be read is looked into already when it is opened.
SqliteConnection open_file(const std::string& path, Access access) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    throw UserError("tuning database", "{} is a folder; name a file", path);
  try {
    return SqliteConnection(path, access == Access::kRead);
  } catch (const SqliteError& error) {
    if (error.damaged()) throw DamagedDatabase(path, error.reason());
    throw;
  }
}

void check_whole(const SqliteConnection& connection) {
  Statement check = connection.prepare("PRAGMA quick_check(1)");
  if (check.step() && check.text(0) != "ok")
    throw DamagedDatabase(connection.path(), check.text(0));
}

/// Moves a file and what SQLite keeps beside it out of the way. Throws what the file system throws.
std::string set_aside(const std::string& path) {
  std::string place = path + ".damaged";
  for (int k = 2; std::filesystem::exists(place); ++k) place = fmt::format("{}.damaged{}", path, k);
  // The file last: who finds none makes a new one, whose journal this is not.
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::filesystem::rename(path, place);
  return place;
}

/// Whether a file is there that this user cannot write, or not beside, where journals are. SQLite
/// opens some of these as if they could be written.
bool may_only_be_read(const std::string& path) {
  const auto may = [](const std::string& place, int what) {
    return ::faccessat(AT_FDCWD, place.c_str(), what, AT_EACCESS) == 0;
  };
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return may(path, R_OK) && !(may(path, W_OK) && may(folder.empty() ? "." : folder, W_OK));
}

/// Held by one process at a time, as far as that can be had: who holds it for long was stopped, and
/// where no file can be made there is nothing to be replaced.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::milliseconds(SqliteConnection::kPatienceMs);
    while (file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) != 0 && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

void check_time(const TuningRecord& record) {
  const auto* timing = std::get_if<Timing>(&record.result);
  if (timing == nullptr) return;
  if (!(std::isfinite(timing->median_us) && timing->median_us > 0 && timing->spread_us >= 0))
    throw InternalError(fmt::format("a time of {} us was to be kept", timing->median_us));
}

}  // namespace

std::string default_tuning_path() {
  const support::Environment& environment = support::environment();
  if (environment.is_set(support::EnvVar::kTuningDatabase))
    return environment.text(support::EnvVar::kTuningDatabase);
  const std::string directory = environment.cache_dir();
  return directory.empty() ? "" : directory + "/tuning.db";
}

TuningDatabase::TuningDatabase(const std::string& path, Access access)
    : access_(access), connection_(open_file(path, access)) {
  try {
    if (access == Access::kRead)
      prepare_reading(connection_);
    else
      prepare_tables(connection_);
    check_whole(connection_);
  } catch (const SqliteError& error) {
    if (error.damaged()) throw DamagedDatabase(path, error.reason());
    throw;
  }
}

TuningDatabase::~TuningDatabase() = default;

template <typename Operation>
auto TuningDatabase::use(const Operation& operation) const {
  const std::lock_guard lock(mutex_);
  if (!instead_) {
    try {
      return operation(connection_);
    } catch (const SqliteError& error) {
      if (sessions_ == 0) throw;
      go_on_in_memory(error);
    }
  }
  return operation(*instead_);
}

void TuningDatabase::go_on_in_memory(const SqliteError& error) const {
  // Of a file that is only read it was said when it was opened.
  if (access_ == Access::kWrite)
    support::log_warn("{}; the search goes on in memory", error.what());
  auto memory = std::make_unique<SqliteConnection>(":memory:");
  prepare_tables(*memory);
  try {
    Transaction transaction(*memory);
    try {
      merge_tables(*memory, connection_);
    } catch (const SqliteError& rest) {
      support::log_debug("{}", rest.what());  // what was read until then is kept
    }
    transaction.commit();
  } catch (const SqliteError& full) {
    support::log_debug("{}", full.what());
  }
  instead_ = std::move(memory);
}

void TuningDatabase::return_to_file() {
  const std::lock_guard lock(mutex_);
  if (!instead_ || access_ == Access::kRead) return;
  try {
    // Whoever blocks the file had its time already.
    constexpr int kPatienceMs = 500;
    connection_.set_patience(kPatienceMs);
    Transaction transaction(connection_);
    merge_tables(connection_, *instead_);
    transaction.commit();
    instead_.reset();
    support::log_info("{} works again; what was measured meanwhile is in it", path());
  } catch (const SqliteError& error) {
    support::log_warn("{}; what was measured meanwhile is lost when the program ends",
                      error.what());
  }
  connection_.set_patience(SqliteConnection::kPatienceMs);
}

TuningSession::TuningSession(TuningDatabase& database) : database_(database) {
  const std::lock_guard lock(database_.mutex_);
  ++database_.sessions_;
}

TuningSession::~TuningSession() {
  try {
    {
      const std::lock_guard lock(database_.mutex_);
      if (--database_.sessions_ > 0) return;
    }
    database_.return_to_file();
  } catch (const std::exception& error) {
    support::log_warn("{}", error.what());
  }
}

TuningDatabase TuningDatabase::open_or_replace(const std::string& path) {
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    // One after the other: of several that find the file damaged the first one replaces it, and
    // nobody opens it meanwhile.
    const FileLock lock(path + ".lock");
    try {
      return open_to_search(path);
    } catch (const DamagedDatabase& error) {
      support::log_warn("{}; it was moved to {}", error.what(), set_aside(path));
    }
    return TuningDatabase(path);
  } catch (const std::exception& error) {
    support::log_warn("{}; measurements are kept in memory only", error.what());
  }
  return in_memory();
}

TuningDatabase TuningDatabase::open_to_search(const std::string& path) {
  if (!may_only_be_read(path)) return TuningDatabase(path);
  support::log_warn("{} may not be written: what is measured is not kept", path);
  return TuningDatabase(path, Access::kRead);
}

void TuningDatabase::add_kernel(support::Hash128 kernel, std::string_view text,
                                std::string_view label) {
  use([&](const SqliteConnection& connection) {
    connection.prepare("INSERT OR REPLACE INTO kernels VALUES (?1, ?2, ?3)")
        .bind(1, support::to_hex(kernel))
        .bind(2, text)
        .bind(3, label)
        .run();
  });
}

std::optional<std::string> TuningDatabase::kernel_text(support::Hash128 kernel) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare("SELECT text FROM kernels WHERE kernel = ?1");
    query.bind(1, support::to_hex(kernel));
    return query.step() ? std::optional(query.text(0)) : std::nullopt;
  });
}

void TuningDatabase::record(const TuningRecord& record) {
  check_time(record);
  use([&](const SqliteConnection& connection) { insert_record(connection, record); });
}

double TuningDatabase::record_batch(const std::vector<TuningRecord>& batch,
                                    const std::string& standard) {
  for (const TuningRecord& each : batch) check_time(each);
  return use([&](const SqliteConnection& connection) {
    Transaction transaction(connection);
    const double scale = insert_batch(connection, batch, standard);
    transaction.commit();
    return scale;
  });
}

void TuningDatabase::note_interrupted(const TuningKey& key,
                                      const std::vector<std::string>& schedules) {
  if (schedules.empty()) return;
  use([&](const SqliteConnection& connection) {
    Transaction transaction(connection);
    Statement insert = connection.prepare(
        "INSERT INTO interrupted VALUES (?1, ?2, ?3, ?4, ?5, 1) ON CONFLICT DO UPDATE SET "
        "times = times + 1");
    bind_key(insert, key);
    for (const std::string& schedule : schedules) insert.bind(5, schedule).run();
    transaction.commit();
  });
}

std::vector<std::string> TuningDatabase::interrupted(const TuningKey& key) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        fmt::format("SELECT schedule FROM interrupted WHERE {0} AND schedule NOT IN (SELECT "
                    "schedule FROM records WHERE {0} AND (why <> '' OR disturbed = 0)) "
                    "ORDER BY times, schedule",
                    kOfKey));
    bind_key(query, key);
    std::vector<std::string> result;
    while (query.step()) result.push_back(query.text(0));
    return result;
  });
}

std::vector<InterruptedTrial> TuningDatabase::interrupted(support::Hash128 kernel) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        "SELECT shapes, device, compiler, schedule, times FROM interrupted AS trial "
        "WHERE kernel = ?1 AND NOT EXISTS (SELECT 1 FROM records WHERE "
        "records.kernel = trial.kernel AND records.shapes = trial.shapes AND "
        "records.device = trial.device AND records.compiler = trial.compiler AND "
        "records.schedule = trial.schedule AND (why <> '' OR disturbed = 0)) "
        "ORDER BY device, compiler, shapes, schedule");
    query.bind(1, support::to_hex(kernel));
    std::vector<InterruptedTrial> result;
    while (query.step())
      result.push_back(
          {{kernel, query.text(0), query.text(1), query.text(2)}, query.text(3), query.integer(4)});
    return result;
  });
}

std::optional<Measurement> TuningDatabase::find(const TuningKey& key,
                                                std::string_view schedule) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        fmt::format("SELECT {} FROM records WHERE {} AND schedule = ?5", kRecordColumns, kOfKey));
    bind_key(query, key);
    query.bind(5, schedule);
    return query.step() ? std::optional(measurement_of(query, 5)) : std::nullopt;
  });
}

std::optional<TuningRecord> TuningDatabase::best(const TuningKey& key) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        fmt::format("SELECT {} FROM records WHERE {} AND why = '' ORDER BY median_us, schedule "
                    "LIMIT 1",
                    kRecordColumns, kOfKey));
    bind_key(query, key);
    return query.step() ? std::optional(record_of(query)) : std::nullopt;
  });
}

std::vector<TuningRecord> TuningDatabase::records(const TuningKey& key) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        fmt::format("SELECT {} FROM records WHERE {} ORDER BY schedule", kRecordColumns, kOfKey));
    bind_key(query, key);
    return rows_of(query);
  });
}

std::vector<TuningRecord> TuningDatabase::best_elsewhere(const TuningKey& key) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        fmt::format("SELECT {} FROM records WHERE kernel = ?1 AND shapes <> ?2 AND device = ?3 AND "
                    "compiler = ?4 AND why = '' ORDER BY shapes, median_us, schedule",
                    kRecordColumns));
    bind_key(query, key);
    std::vector<TuningRecord> result;
    while (query.step()) {
      TuningRecord record = record_of(query);
      if (result.empty() || result.back().key.shapes != record.key.shapes)
        result.push_back(std::move(record));
    }
    return result;
  });
}

std::vector<TuningRecord> TuningDatabase::records(support::Hash128 kernel) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(fmt::format(
        "SELECT {} FROM records WHERE kernel = ?1 ORDER BY device, compiler, shapes, schedule",
        kRecordColumns));
    query.bind(1, support::to_hex(kernel));
    return rows_of(query);
  });
}

std::set<support::Hash128> TuningDatabase::measured_kernels(const std::string& device,
                                                            const std::string& compiler) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        "SELECT DISTINCT kernel FROM records WHERE device = ?1 AND compiler = ?2");
    query.bind(1, device).bind(2, compiler);
    std::set<support::Hash128> result;
    while (query.step())
      if (const auto kernel = support::parse_hash128(query.text(0))) result.insert(*kernel);
    return result;
  });
}

void TuningDatabase::remember(const TuningKey& program, std::string_view result) {
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  use([&](const SqliteConnection& connection) {
    Statement insert =
        connection.prepare("INSERT OR REPLACE INTO plans VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
    bind_key(insert, program);
    insert.bind(5, result).bind(6, now).run();
  });
}

std::optional<std::string> TuningDatabase::recall(const TuningKey& program) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        "SELECT result FROM plans WHERE program = ?1 AND shapes = ?2 AND device = ?3 AND "
        "compiler = ?4");
    bind_key(query, program);
    return query.step() ? std::optional(query.text(0)) : std::nullopt;
  });
}

void TuningDatabase::note_work(const TuningKey& key, std::string_view standard,
                               std::string_view work) {
  use([&](const SqliteConnection& connection) {
    connection.prepare("INSERT OR REPLACE INTO works VALUES (?1, ?2, ?3, ?4, ?5)")
        .bind(1, support::to_hex(key.kernel))
        .bind(2, key.shapes)
        .bind(3, key.device)
        .bind(4, standard)
        .bind(5, work)
        .run();
  });
}

std::vector<TimedRow> TuningDatabase::timed_works(const std::string& device) const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        "SELECT works.kernel, works.shapes, records.compiler, ifnull(label, ''), standard, work, "
        "ifnull(min(CASE disturbed WHEN 0 THEN median_us END), min(median_us)), "
        "max(measured_at) FROM works "
        "JOIN records ON records.kernel = works.kernel AND records.shapes = works.shapes "
        "AND records.device = works.device "
        "LEFT JOIN kernels ON kernels.kernel = works.kernel "
        "WHERE records.device = ?1 AND why = '' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
    query.bind(1, device);
    std::vector<TimedRow> result;
    while (query.step())
      result.push_back({support::parse_hash128(query.text(0)).value_or(support::Hash128{}),
                        query.text(1), query.text(2), query.text(3), query.text(4), query.text(5),
                        query.real(6), query.integer(7)});
    return result;
  });
}

std::vector<std::string> TuningDatabase::devices() const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare("SELECT DISTINCT device FROM records ORDER BY 1");
    std::vector<std::string> result;
    while (query.step()) result.push_back(query.text(0));
    return result;
  });
}

std::vector<TunedKernel> TuningDatabase::kernels() const {
  return use([&](const SqliteConnection& connection) {
    Statement query = connection.prepare(
        "SELECT records.kernel, ifnull(label, ''), count(*), sum(why <> ''), "
        "ifnull(min(CASE why WHEN '' THEN median_us END), 0) FROM records "
        "LEFT JOIN kernels ON kernels.kernel = records.kernel "
        "GROUP BY records.kernel ORDER BY 2, 1");
    std::vector<TunedKernel> result;
    while (query.step())
      result.push_back({support::parse_hash128(query.text(0)).value_or(support::Hash128{}),
                        query.text(1), query.integer(2), query.integer(3), query.real(4)});
    return result;
  });
}

void TuningDatabase::export_to(const std::string& path) const {
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown))
    throw UserError("tuning export", "{} is there already; remove it or name another file", path);
  support::check_writable(path, "tuning export");
  const std::lock_guard lock(mutex_);
  try {
    // A copy without journal beside it: one file that can be shipped.
    connection_.prepare("VACUUM INTO ?1").bind(1, path).run();
  } catch (const SqliteError& error) {
    std::filesystem::remove(path, unknown);
    // SQLite does not say of which of the two files it speaks.
    throw UserError("tuning export", "{} could not be copied to {}: {}", connection_.path(), path,
                    error.reason());
  }
}

MergeCounts TuningDatabase::merge_from(const TuningDatabase& other) {
  if (&other == this) return {};
  const std::scoped_lock lock(mutex_, other.mutex_);
  Transaction transaction(connection_);
  const MergeCounts counts = merge_tables(connection_, other.connection_);
  transaction.commit();
  return counts;
}

int64_t TuningDatabase::prune(const PruneFilter& filter) {
  if (filter == PruneFilter{}) return 0;
  const std::lock_guard lock(mutex_);
  Transaction transaction(connection_);
  connection_
      .prepare(
          "DELETE FROM records WHERE (?1 = '' OR compiler <> ?1) AND (?2 = '' OR device = ?2) "
          "AND (?4 = '' OR kernel = ?4) AND NOT EXISTS (SELECT 1 FROM records AS other "
          "WHERE other.kernel = records.kernel AND other.shapes = records.shapes "
          "AND other.device = records.device AND other.compiler = records.compiler "
          "AND other.measured_at >= ?3)")
      .bind(1, filter.other_compiler_than)
      .bind(2, filter.device)
      .bind(3, filter.measured_before.value_or(std::numeric_limits<int64_t>::max()))
      .bind(4, filter.kernel ? support::to_hex(*filter.kernel) : std::string())
      .run();
  const int64_t removed = connection_.changes();
  // Which kernels a result is made of is not known here.
  connection_
      .prepare(
          "DELETE FROM plans WHERE (?1 = '' OR compiler <> ?1) AND (?2 = '' OR device = ?2) "
          "AND searched_at < ?3")
      .bind(1, filter.other_compiler_than)
      .bind(2, filter.device)
      .bind(3, filter.measured_before.value_or(std::numeric_limits<int64_t>::max()))
      .run();
  connection_.execute("DELETE FROM kernels WHERE kernel NOT IN (SELECT kernel FROM records)");
  connection_.execute("DELETE FROM works WHERE kernel NOT IN (SELECT kernel FROM records)");
  connection_.execute(
      "DELETE FROM interrupted WHERE NOT EXISTS (SELECT 1 FROM records "
      "WHERE records.kernel = interrupted.kernel AND records.shapes = interrupted.shapes "
      "AND records.device = interrupted.device AND records.compiler = interrupted.compiler)");
  transaction.commit();
  return removed;
}

TuningDatabase& default_tuning_database() {
  static TuningDatabase database = [] {
    const std::string path = default_tuning_path();
    return path.empty() ? TuningDatabase::in_memory() : TuningDatabase::open_or_replace(path);
  }();
  return database;
}

}  // namespace luminal::search
