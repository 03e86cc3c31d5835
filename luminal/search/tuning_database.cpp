#include "luminal/search/tuning_database.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>

#include "luminal/support/env.h"
#include "luminal/support/file.h"
#include "luminal/support/log.h"

namespace luminal::search {
namespace {

// "LUMI": what `file` and other programs know our databases by.
constexpr int64_t kApplication = 0x4c554d49;
constexpr int64_t kVersion = 3;

// Since version 2.
constexpr std::string_view kPlansSchema = R"(
  CREATE TABLE plans (
    program TEXT NOT NULL, shapes TEXT NOT NULL, device TEXT NOT NULL, compiler TEXT NOT NULL,
    result TEXT NOT NULL, searched_at INTEGER NOT NULL,
    PRIMARY KEY (program, shapes, device, compiler)) WITHOUT ROWID;
)";

// Since version 3.
constexpr std::string_view kWorksSchema = R"(
  CREATE TABLE works (
    kernel TEXT NOT NULL, shapes TEXT NOT NULL, device TEXT NOT NULL, standard TEXT NOT NULL,
    work TEXT NOT NULL, PRIMARY KEY (kernel, shapes, device)) WITHOUT ROWID;
)";

constexpr std::string_view kSchema = R"(
  CREATE TABLE kernels (
    kernel TEXT PRIMARY KEY, text TEXT NOT NULL, label TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE records (
    kernel TEXT NOT NULL, shapes TEXT NOT NULL, device TEXT NOT NULL, compiler TEXT NOT NULL,
    schedule TEXT NOT NULL, why TEXT NOT NULL, detail TEXT NOT NULL, median_us REAL NOT NULL,
    spread_us REAL NOT NULL, samples INTEGER NOT NULL, measured_at INTEGER NOT NULL,
    PRIMARY KEY (kernel, shapes, device, compiler, schedule)) WITHOUT ROWID;
)";

constexpr std::string_view kColumns =
    "kernel, shapes, device, compiler, schedule, why, detail, median_us, spread_us, samples, "
    "measured_at";
constexpr std::string_view kOfKey = "kernel = ?1 AND shapes = ?2 AND device = ?3 AND compiler = ?4";

/// The version of a file, 0 if it is a new one; refuses a file that somebody else made.
int64_t version_of(const SqliteConnection& connection) {
  const int64_t application = connection.number("PRAGMA application_id");
  const int64_t version = connection.number("PRAGMA user_version");
  const int64_t tables = connection.number("SELECT count(*) FROM sqlite_master");
  if (tables == 0 && application == 0) return 0;
  if (application != kApplication)
    throw UserError("tuning database", "{} belongs to another program; name another file",
                    connection.path());
  if (version < 1 || version > kVersion)
    throw UserError("tuning database",
                    "{} has version {}, this program reads version {}; use the program that wrote "
                    "it, or name another file",
                    connection.path(), version, kVersion);
  return version;
}

/// What makes the tables that a file of some version lacks.
std::string missing_tables(int64_t version) {
  std::string schema;
  if (version < 1) schema += kSchema;
  if (version < 2) schema += kPlansSchema;
  if (version < 3) schema += kWorksSchema;
  return schema;
}

/// Makes the tables of a new file, and those that an older one lacks.
void prepare_tables(const SqliteConnection& connection) {
  connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  Transaction transaction(connection);
  const int64_t version = version_of(connection);
  if (version == kVersion) return;
  connection.execute(missing_tables(version));
  connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplication, kVersion));
  transaction.commit();
}

/// Tables that a file lacks are empty ones in memory, so that it is read as all others are.
void prepare_reading(const SqliteConnection& connection) {
  connection.execute("PRAGMA temp_store = MEMORY");
  std::string schema = missing_tables(version_of(connection));
  constexpr std::string_view kCreate = "CREATE TABLE";
  for (size_t at = schema.find(kCreate); at != std::string::npos; at = schema.find(kCreate, at + 1))
    schema.replace(at, kCreate.size(), "CREATE TEMP TABLE");
  connection.execute(schema);
}

void bind_key(Statement& statement, const TuningKey& key) {
  statement.bind(1, support::to_hex(key.kernel))
      .bind(2, key.shapes)
      .bind(3, key.device)
      .bind(4, key.compiler);
}

Measurement measurement_of(const Statement& row, int column) {
  const std::string why = row.text(column);
  if (why.empty())
    return Timing{row.real(column + 2), row.real(column + 3),
                  static_cast<int>(row.integer(column + 4))};
  // A reason of a later release is still a reason not to use it.
  return Rejected{parse_why(why).value_or(Rejected::Why::kCompile), row.text(column + 1)};
}

TuningRecord record_of(const Statement& row) {
  TuningRecord record;
  record.key = {support::parse_hash128(row.text(0)).value_or(support::Hash128{}), row.text(1),
                row.text(2), row.text(3)};
  record.schedule = row.text(4);
  record.result = measurement_of(row, 5);
  record.measured_at = row.integer(10);
  return record;
}

void insert_record(const SqliteConnection& connection, const TuningRecord& record) {
  Statement insert = connection.prepare(fmt::format(
      "INSERT OR REPLACE INTO records ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      kColumns));
  bind_key(insert, record.key);
  insert.bind(5, record.schedule);
  if (const auto* rejected = std::get_if<Rejected>(&record.result)) {
    insert.bind(6, to_string(rejected->why)).bind(7, rejected->detail);
    insert.bind(8, 0.0).bind(9, 0.0).bind(10, int64_t{0});
  } else {
    const auto& timing = std::get<Timing>(record.result);
    insert.bind(6, std::string_view()).bind(7, std::string_view());
    insert.bind(8, timing.median_us).bind(9, timing.spread_us);
    insert.bind(10, int64_t{timing.samples});
  }
  insert.bind(11, record.measured_at).run();
}

std::vector<TuningRecord> rows_of(Statement& query) {
  std::vector<TuningRecord> result;
  while (query.step()) result.push_back(record_of(query));
  return result;
}

int samples_of(const Measurement& measurement) {
  const auto* timing = std::get_if<Timing>(&measurement);
  return timing == nullptr ? 0 : timing->samples;
}

/// Whether a measurement should replace one of the same schedule. What was rejected once stays so.
bool is_better(const TuningRecord& candidate, const TuningRecord& present) {
  const bool candidate_failed = std::holds_alternative<Rejected>(candidate.result);
  const bool present_failed = std::holds_alternative<Rejected>(present.result);
  if (candidate_failed != present_failed) return candidate_failed;
  const int difference = samples_of(candidate.result) - samples_of(present.result);
  if (difference != 0) return difference > 0;
  return candidate.measured_at > present.measured_at;
}

/// Of two results for one program the newer stays.
void merge_plans(const SqliteConnection& to, const SqliteConnection& from) {
  Statement rows =
      from.prepare("SELECT program, shapes, device, compiler, result, searched_at FROM plans");
  Statement insert = to.prepare(
      "INSERT INTO plans VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET "
      "result = excluded.result, searched_at = excluded.searched_at "
      "WHERE excluded.searched_at > plans.searched_at");
  while (rows.step()) {
    for (int column = 0; column < 5; ++column) insert.bind(column + 1, rows.text(column));
    insert.bind(6, rows.integer(5)).run();
    insert.reset();
  }
}

/// What a kernel does is the same everywhere.
void merge_works(const SqliteConnection& to, const SqliteConnection& from) {
  Statement rows = from.prepare("SELECT kernel, shapes, device, standard, work FROM works");
  Statement insert = to.prepare("INSERT OR IGNORE INTO works VALUES (?1, ?2, ?3, ?4, ?5)");
  while (rows.step()) {
    for (int column = 0; column < 5; ++column) insert.bind(column + 1, rows.text(column));
    insert.run();
    insert.reset();
  }
}

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
  std::filesystem::rename(path, place);
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path + suffix);
  return place;
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
    : connection_(open_file(path, access)) {
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

TuningDatabase TuningDatabase::open_or_replace(const std::string& path) {
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    try {
      return TuningDatabase(path);
    } catch (const DamagedDatabase& error) {
      support::log_warn("{}; it was moved to {}", error.what(), set_aside(path));
    }
    return TuningDatabase(path);
  } catch (const std::exception& error) {
    support::log_warn("{}; measurements are kept in memory only", error.what());
  }
  return in_memory();
}

void TuningDatabase::add_kernel(support::Hash128 kernel, std::string_view text,
                                std::string_view label) {
  const std::lock_guard lock(mutex_);
  connection_.prepare("INSERT OR REPLACE INTO kernels VALUES (?1, ?2, ?3)")
      .bind(1, support::to_hex(kernel))
      .bind(2, text)
      .bind(3, label)
      .run();
}

std::optional<std::string> TuningDatabase::kernel_text(support::Hash128 kernel) const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare("SELECT text FROM kernels WHERE kernel = ?1");
  query.bind(1, support::to_hex(kernel));
  return query.step() ? std::optional(query.text(0)) : std::nullopt;
}

void TuningDatabase::record(const TuningRecord& record) {
  if (const auto* timing = std::get_if<Timing>(&record.result))
    if (!(std::isfinite(timing->median_us) && timing->median_us > 0 && timing->spread_us >= 0))
      throw InternalError(fmt::format("a time of {} us was to be kept", timing->median_us));
  const std::lock_guard lock(mutex_);
  insert_record(connection_, record);
}

std::optional<Measurement> TuningDatabase::find(const TuningKey& key,
                                                std::string_view schedule) const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare(
      fmt::format("SELECT {} FROM records WHERE {} AND schedule = ?5", kColumns, kOfKey));
  bind_key(query, key);
  query.bind(5, schedule);
  return query.step() ? std::optional(measurement_of(query, 5)) : std::nullopt;
}

std::optional<TuningRecord> TuningDatabase::best(const TuningKey& key) const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare(
      fmt::format("SELECT {} FROM records WHERE {} AND why = '' ORDER BY median_us, schedule "
                  "LIMIT 1",
                  kColumns, kOfKey));
  bind_key(query, key);
  return query.step() ? std::optional(record_of(query)) : std::nullopt;
}

std::vector<TuningRecord> TuningDatabase::records(const TuningKey& key) const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare(
      fmt::format("SELECT {} FROM records WHERE {} ORDER BY schedule", kColumns, kOfKey));
  bind_key(query, key);
  return rows_of(query);
}

std::vector<TuningRecord> TuningDatabase::records(support::Hash128 kernel) const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare(fmt::format(
      "SELECT {} FROM records WHERE kernel = ?1 ORDER BY device, compiler, shapes, schedule",
      kColumns));
  query.bind(1, support::to_hex(kernel));
  return rows_of(query);
}

std::set<support::Hash128> TuningDatabase::measured_kernels(const std::string& device,
                                                            const std::string& compiler) const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare(
      "SELECT DISTINCT kernel FROM records WHERE device = ?1 AND compiler = ?2");
  query.bind(1, device).bind(2, compiler);
  std::set<support::Hash128> result;
  while (query.step())
    if (const auto kernel = support::parse_hash128(query.text(0))) result.insert(*kernel);
  return result;
}

void TuningDatabase::remember(const TuningKey& program, std::string_view result) {
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  const std::lock_guard lock(mutex_);
  Statement insert =
      connection_.prepare("INSERT OR REPLACE INTO plans VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  bind_key(insert, program);
  insert.bind(5, result).bind(6, now).run();
}

std::optional<std::string> TuningDatabase::recall(const TuningKey& program) const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare(
      "SELECT result FROM plans WHERE program = ?1 AND shapes = ?2 AND device = ?3 AND "
      "compiler = ?4");
  bind_key(query, program);
  return query.step() ? std::optional(query.text(0)) : std::nullopt;
}

void TuningDatabase::note_work(const TuningKey& key, std::string_view standard,
                               std::string_view work) {
  const std::lock_guard lock(mutex_);
  connection_.prepare("INSERT OR REPLACE INTO works VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(1, support::to_hex(key.kernel))
      .bind(2, key.shapes)
      .bind(3, key.device)
      .bind(4, standard)
      .bind(5, work)
      .run();
}

std::vector<TimedRow> TuningDatabase::timed_works(const std::string& device) const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare(
      "SELECT works.kernel, works.shapes, records.compiler, ifnull(label, ''), standard, work, "
      "min(median_us), max(measured_at) FROM works "
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
}

std::vector<std::string> TuningDatabase::devices() const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare("SELECT DISTINCT device FROM records ORDER BY 1");
  std::vector<std::string> result;
  while (query.step()) result.push_back(query.text(0));
  return result;
}

std::vector<TunedKernel> TuningDatabase::kernels() const {
  const std::lock_guard lock(mutex_);
  Statement query = connection_.prepare(
      "SELECT records.kernel, ifnull(label, ''), count(*), sum(why <> ''), "
      "ifnull(min(CASE why WHEN '' THEN median_us END), 0) FROM records "
      "LEFT JOIN kernels ON kernels.kernel = records.kernel "
      "GROUP BY records.kernel ORDER BY 2, 1");
  std::vector<TunedKernel> result;
  while (query.step())
    result.push_back({support::parse_hash128(query.text(0)).value_or(support::Hash128{}),
                      query.text(1), query.integer(2), query.integer(3), query.real(4)});
  return result;
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
  Statement kernels = other.connection_.prepare("SELECT kernel, text, label FROM kernels");
  Statement rows = other.connection_.prepare(fmt::format("SELECT {} FROM records", kColumns));
  const std::lock_guard lock(mutex_);
  Transaction transaction(connection_);
  Statement present = connection_.prepare(
      fmt::format("SELECT {} FROM records WHERE {} AND schedule = ?5", kColumns, kOfKey));
  while (kernels.step())
    connection_.prepare("INSERT OR IGNORE INTO kernels VALUES (?1, ?2, ?3)")
        .bind(1, kernels.text(0))
        .bind(2, kernels.text(1))
        .bind(3, kernels.text(2))
        .run();
  MergeCounts counts;
  while (rows.step()) {
    const TuningRecord record = record_of(rows);
    bind_key(present, record.key);
    present.bind(5, record.schedule);
    const bool known = present.step();
    const bool better = !known || is_better(record, record_of(present));
    present.reset();
    if (better) insert_record(connection_, record);
    ++(!known ? counts.added : better ? counts.replaced : counts.kept);
  }
  merge_plans(connection_, other.connection_);
  merge_works(connection_, other.connection_);
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
          "AND measured_at < ?3 AND (?4 = '' OR kernel = ?4)")
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
