#include "luminal/search/tuning_tables.h"

#include <fmt/format.h>

#include <string>

namespace luminal::search {
namespace {

// "LUMI": what `file` and other programs know our databases by.
constexpr int64_t kApplication = 0x4c554d49;
constexpr int64_t kVersion = 4;

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

// Since version 4.
constexpr std::string_view kDisturbedColumn =
    "ALTER TABLE records ADD COLUMN disturbed INTEGER NOT NULL DEFAULT 0;\n";
constexpr std::string_view kDisturbedView =
    "CREATE TEMP VIEW records AS SELECT *, 0 AS disturbed FROM main.records;\n";

constexpr std::string_view kSchema = R"(
  CREATE TABLE kernels (
    kernel TEXT PRIMARY KEY, text TEXT NOT NULL, label TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE records (
    kernel TEXT NOT NULL, shapes TEXT NOT NULL, device TEXT NOT NULL, compiler TEXT NOT NULL,
    schedule TEXT NOT NULL, why TEXT NOT NULL, detail TEXT NOT NULL, median_us REAL NOT NULL,
    spread_us REAL NOT NULL, samples INTEGER NOT NULL, measured_at INTEGER NOT NULL,
    PRIMARY KEY (kernel, shapes, device, compiler, schedule)) WITHOUT ROWID;
)";

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

/// What makes the tables that a file of some version lacks; columns are another matter.
std::string missing_tables(int64_t version) {
  std::string schema;
  if (version < 1) schema += kSchema;
  if (version < 2) schema += kPlansSchema;
  if (version < 3) schema += kWorksSchema;
  return schema;
}

}  // namespace

void prepare_tables(const SqliteConnection& connection) {
  connection.use_journal();
  connection.execute("PRAGMA synchronous = NORMAL");
  Transaction transaction(connection);
  const int64_t version = version_of(connection);
  if (version == kVersion) return;
  connection.execute(missing_tables(version));
  if (version < 4) connection.execute(std::string(kDisturbedColumn));
  connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplication, kVersion));
  transaction.commit();
}

void prepare_reading(const SqliteConnection& connection) {
  connection.execute("PRAGMA temp_store = MEMORY");
  const int64_t version = version_of(connection);
  std::string schema = missing_tables(version);
  constexpr std::string_view kCreate = "CREATE TABLE";
  for (size_t at = schema.find(kCreate); at != std::string::npos; at = schema.find(kCreate, at + 1))
    schema.replace(at, kCreate.size(), "CREATE TEMP TABLE");
  connection.execute(schema);
  if (version < 4)
    connection.execute(std::string(version == 0 ? kDisturbedColumn : kDisturbedView));
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
                  static_cast<int>(row.integer(column + 4)), row.integer(column + 6) != 0};
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
  Statement insert =
      connection.prepare(fmt::format("INSERT OR REPLACE INTO records ({}) VALUES (?1, ?2, ?3, ?4, "
                                     "?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                                     kRecordColumns));
  bind_key(insert, record.key);
  insert.bind(5, record.schedule);
  if (const auto* rejected = std::get_if<Rejected>(&record.result)) {
    insert.bind(6, to_string(rejected->why)).bind(7, rejected->detail);
    insert.bind(8, 0.0).bind(9, 0.0).bind(10, int64_t{0}).bind(12, int64_t{0});
  } else {
    const auto& timing = std::get<Timing>(record.result);
    insert.bind(6, std::string_view()).bind(7, std::string_view());
    insert.bind(8, timing.median_us).bind(9, timing.spread_us);
    insert.bind(10, int64_t{timing.samples}).bind(12, int64_t{timing.disturbed ? 1 : 0});
  }
  insert.bind(11, record.measured_at).run();
}

std::vector<TuningRecord> rows_of(Statement& query) {
  std::vector<TuningRecord> result;
  while (query.step()) result.push_back(record_of(query));
  return result;
}

namespace {

int samples_of(const Measurement& measurement) {
  const auto* timing = std::get_if<Timing>(&measurement);
  return timing == nullptr ? 0 : timing->samples;
}

bool is_disturbed(const Measurement& measurement) {
  const auto* timing = std::get_if<Timing>(&measurement);
  return timing != nullptr && timing->disturbed;
}

/// Whether a measurement should replace one of the same schedule. What was rejected once stays so.
bool is_better(const TuningRecord& candidate, const TuningRecord& present) {
  const bool candidate_failed = std::holds_alternative<Rejected>(candidate.result);
  const bool present_failed = std::holds_alternative<Rejected>(present.result);
  if (candidate_failed != present_failed) return candidate_failed;
  if (is_disturbed(candidate.result) != is_disturbed(present.result))
    return is_disturbed(present.result);
  const int difference = samples_of(candidate.result) - samples_of(present.result);
  if (difference != 0) return difference > 0;
  return candidate.measured_at > present.measured_at;
}

void merge_kernels(const SqliteConnection& to, const SqliteConnection& from) {
  Statement rows = from.prepare("SELECT kernel, text, label FROM kernels");
  Statement insert = to.prepare("INSERT OR IGNORE INTO kernels VALUES (?1, ?2, ?3)");
  while (rows.step()) {
    for (int column = 0; column < 3; ++column) insert.bind(column + 1, rows.text(column));
    insert.run();
  }
}

MergeCounts merge_records(const SqliteConnection& to, const SqliteConnection& from) {
  Statement rows = from.prepare(fmt::format("SELECT {} FROM records", kRecordColumns));
  Statement present = to.prepare(
      fmt::format("SELECT {} FROM records WHERE {} AND schedule = ?5", kRecordColumns, kOfKey));
  MergeCounts counts;
  while (rows.step()) {
    const TuningRecord record = record_of(rows);
    bind_key(present, record.key);
    present.bind(5, record.schedule);
    const bool known = present.step();
    const bool better = !known || is_better(record, record_of(present));
    present.reset();
    if (better) insert_record(to, record);
    ++(!known ? counts.added : better ? counts.replaced : counts.kept);
  }
  return counts;
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

}  // namespace

MergeCounts merge_tables(const SqliteConnection& to, const SqliteConnection& from) {
  merge_kernels(to, from);
  const MergeCounts counts = merge_records(to, from);
  merge_plans(to, from);
  merge_works(to, from);
  return counts;
}

}  // namespace luminal::search
