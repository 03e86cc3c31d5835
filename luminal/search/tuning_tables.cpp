#include "luminal/search/tuning_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace luminal::search {
namespace {

// "LUMI": what `file` and other programs know our databases by.
constexpr int64_t kApplication = 0x4c554d49;
constexpr int64_t kVersion = 5;

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

// Since version 5.
constexpr std::string_view kInterruptedSchema = R"(
  CREATE TABLE interrupted (
    kernel TEXT NOT NULL, shapes TEXT NOT NULL, device TEXT NOT NULL, compiler TEXT NOT NULL,
    schedule TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (kernel, shapes, device, compiler, schedule)) WITHOUT ROWID;
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
  if (version < 5) schema += kInterruptedSchema;
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

std::vector<TuningRecord> records_of(const SqliteConnection& connection, const TuningKey& key) {
  Statement query =
      connection.prepare(fmt::format("SELECT {} FROM records WHERE {}", kRecordColumns, kOfKey));
  bind_key(query, key);
  return rows_of(query);
}

const TuningRecord* record_in(const std::vector<TuningRecord>& records,
                              const std::string& schedule) {
  const auto found = std::ranges::find(records, schedule, &TuningRecord::schedule);
  return found == records.end() ? nullptr : &*found;
}

const Timing* timing_in(const std::vector<TuningRecord>& records, const std::string& schedule) {
  const TuningRecord* record = record_in(records, schedule);
  return record == nullptr ? nullptr : std::get_if<Timing>(&record->result);
}

TuningRecord scaled(TuningRecord record, double scale) {
  if (auto* timing = std::get_if<Timing>(&record.result)) {
    timing->median_us *= scale;
    timing->spread_us *= scale;
  }
  return record;
}

void scale_all(const SqliteConnection& connection, const std::vector<TuningRecord>& records,
               double scale) {
  for (const TuningRecord& each : records)
    if (std::holds_alternative<Timing>(each.result)) insert_record(connection, scaled(each, scale));
}

}  // namespace

double insert_batch(const SqliteConnection& connection, const std::vector<TuningRecord>& batch,
                    const std::string& standard) {
  if (batch.empty()) return 1.0;
  const std::vector<TuningRecord> present = records_of(connection, batch.front().key);
  const Timing* before = timing_in(present, standard);
  const Timing* now = timing_in(batch, standard);
  const bool are_both = before != nullptr && now != nullptr;
  const bool is_settled = are_both && before->disturbed && !now->disturbed;
  if (is_settled) scale_all(connection, present, now->median_us / before->median_us);
  const bool stays = are_both && !is_settled;
  const double scale = stays ? before->median_us / now->median_us : 1.0;
  for (const TuningRecord& each : batch) {
    if (each.schedule == standard && stays) continue;
    // What another search found wrong meanwhile stays so.
    const TuningRecord* known = record_in(present, each.schedule);
    if (known == nullptr || std::holds_alternative<Timing>(known->result))
      insert_record(connection, scaled(each, scale));
  }
  return scale;
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

bool is_wrong(const Measurement& measurement) {
  const auto* rejected = std::get_if<Rejected>(&measurement);
  return rejected != nullptr && is_fault(rejected->why);
}

/// Whether a measurement should replace one of the same schedule. What is wrong once stays so; for
/// what took too long or too much on another machine a time says more.
bool is_better(const TuningRecord& candidate, const TuningRecord& present) {
  if (is_wrong(candidate.result) != is_wrong(present.result)) return is_wrong(candidate.result);
  const bool candidate_failed = std::holds_alternative<Rejected>(candidate.result);
  const bool present_failed = std::holds_alternative<Rejected>(present.result);
  if (candidate_failed != present_failed) return present_failed;
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

/// By what times of two databases have to be multiplied to be compared.
struct Scales {
  double present = 1.0;
  double added = 1.0;
  bool can_compare = true;
};

/// Times of one key are parts of what the default took in their own database. What is timed in both
/// says how these go together; where nothing is, nobody knows.
Scales scales_of(const std::vector<TuningRecord>& present, const std::vector<TuningRecord>& added) {
  std::vector<double> ratios;
  std::vector<double> quiet_ratios;
  int64_t present_disturbed = 0;
  int64_t added_disturbed = 0;
  bool has_times = false;
  for (const TuningRecord& each : present) {
    const auto* own = std::get_if<Timing>(&each.result);
    has_times = has_times || own != nullptr;
    const Timing* other = own == nullptr ? nullptr : timing_in(added, each.schedule);
    if (other == nullptr) continue;
    ratios.push_back(own->median_us / other->median_us);
    if (!own->disturbed && !other->disturbed) quiet_ratios.push_back(ratios.back());
    present_disturbed += own->disturbed ? 1 : 0;
    added_disturbed += other->disturbed ? 1 : 0;
  }
  if (ratios.empty()) return {.can_compare = !has_times};
  std::vector<double>& best = quiet_ratios.empty() ? ratios : quiet_ratios;
  const auto middle = best.begin() + std::ssize(best) / 2;
  std::nth_element(best.begin(), middle, best.end());
  // Those that fewer disturbances went into stay as they are.
  if (present_disturbed > added_disturbed) return {.present = 1.0 / *middle};
  return {.added = *middle};
}

/// All that another database has of one key. A time that cannot be compared with those that are
/// there is left out; what was rejected counts anywhere.
void merge_key(const SqliteConnection& to, const std::vector<TuningRecord>& added,
               MergeCounts& counts) {
  const std::vector<TuningRecord> present = records_of(to, added.front().key);
  const Scales scales = scales_of(present, added);
  if (scales.present != 1.0) scale_all(to, present, scales.present);
  for (const TuningRecord& each : added) {
    const TuningRecord* known = record_in(present, each.schedule);
    const bool fits = scales.can_compare || std::holds_alternative<Rejected>(each.result);
    const bool better = fits && (known == nullptr || is_better(each, *known));
    if (better) insert_record(to, scaled(each, scales.added));
    ++(!better ? counts.kept : known == nullptr ? counts.added : counts.replaced);
  }
}

MergeCounts merge_records(const SqliteConnection& to, const SqliteConnection& from) {
  Statement rows = from.prepare(fmt::format(
      "SELECT {} FROM records ORDER BY kernel, shapes, device, compiler", kRecordColumns));
  MergeCounts counts;
  std::vector<TuningRecord> of_key;
  const auto merge = [&] {
    if (!of_key.empty()) merge_key(to, of_key, counts);
    of_key.clear();
  };
  while (rows.step()) {
    TuningRecord record = record_of(rows);
    if (!of_key.empty() && record.key != of_key.front().key) merge();
    of_key.push_back(std::move(record));
  }
  merge();
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

/// How often a way was interrupted on the whole nobody knows who merges twice.
void merge_interrupted(const SqliteConnection& to, const SqliteConnection& from) {
  Statement rows =
      from.prepare("SELECT kernel, shapes, device, compiler, schedule, times FROM interrupted");
  Statement insert = to.prepare(
      "INSERT INTO interrupted VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET "
      "times = max(times, excluded.times)");
  while (rows.step()) {
    for (int column = 0; column < 5; ++column) insert.bind(column + 1, rows.text(column));
    insert.bind(6, rows.integer(5)).run();
    insert.reset();
  }
}

}  // namespace

MergeCounts merge_tables(const SqliteConnection& to, const SqliteConnection& from) {
  merge_kernels(to, from);
  const MergeCounts counts = merge_records(to, from);
  merge_plans(to, from);
  merge_works(to, from);
  merge_interrupted(to, from);
  return counts;
}

}  // namespace luminal::search
