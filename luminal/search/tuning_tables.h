// The tables of a tuning database: how they are made in a file of any version, how rows are read
// and written, and how those of one database are taken over by another.
#pragma once

#include <string_view>
#include <vector>

#include "luminal/search/sqlite.h"
#include "luminal/search/tuning_database.h"

namespace luminal::search {

/// Makes the tables of a new file, and those that an older one lacks. Throws UserError for files of
/// a later version and of other programs.
void prepare_tables(const SqliteConnection& connection);
/// The same for a file that is only read: tables that it lacks are empty ones in memory, so that it
/// is read as all others are.
void prepare_reading(const SqliteConnection& connection);

/// Columns of a record, as record_of() reads them.
inline constexpr std::string_view kRecordColumns =
    "kernel, shapes, device, compiler, schedule, why, detail, median_us, spread_us, samples, "
    "measured_at, disturbed";
/// Where a row is of one key, as bind_key() gives it.
inline constexpr std::string_view kOfKey =
    "kernel = ?1 AND shapes = ?2 AND device = ?3 AND compiler = ?4";

/// Binds the first four values.
void bind_key(Statement& statement, const TuningKey& key);
/// The measurement of a row whose reason is in this column.
Measurement measurement_of(const Statement& row, int column);
/// The record of a row.
TuningRecord record_of(const Statement& row);
/// All records that a query gives.
std::vector<TuningRecord> rows_of(Statement& query);
/// Writes a record; one of the same schedule is replaced.
void insert_record(const SqliteConnection& connection, const TuningRecord& record);

/// Writes what one batch gave, all of one key; `standard` is the default (TuningDatabase::
/// record_batch). Not in a transaction of its own.
double insert_batch(const SqliteConnection& connection, const std::vector<TuningRecord>& batch,
                    const std::string& standard);

/// Takes over everything from another database (TuningDatabase::merge_from). Not in a transaction
/// of its own.
MergeCounts merge_tables(const SqliteConnection& to, const SqliteConnection& from);

}  // namespace luminal::search
