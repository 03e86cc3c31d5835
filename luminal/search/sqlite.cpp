#include "luminal/search/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "luminal/support/log.h"

namespace luminal::search {
namespace {

/// A file that nobody changes while it is read, as SQLite is told so.
std::string unchanging(const std::string& path) {
  std::string name = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#')
      name += fmt::format("%{:02x}", static_cast<unsigned>(c));
    else
      name += c;
  }
  return name + "?immutable=1";
}

/// Whether a writer that was killed, or is still at work, left something that is not in the file.
bool has_journal(const std::string& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path + "-wal", none);
  return !none && size > 0;
}

}  // namespace

SqliteError::SqliteError(const std::string& path, int code, const std::string& message)
    : DeviceError("sqlite", code, "{}: {}", path, message), path_(path), reason_(message) {}

bool SqliteError::damaged() const {
  const long primary = code() & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

bool SqliteError::busy() const {
  const long primary = code() & 0xff;
  return primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
}

bool SqliteError::folder_refuses() const {
  const long primary = code() & 0xff;
  return primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY;
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(sqlite3* connection, std::string path, std::string_view sql)
    : connection_(connection), path_(std::move(path)) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(connection, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) throw SqliteError(path_, code, sqlite3_errmsg(connection_));
}

Statement& Statement::bind(int index, std::string_view text) {
  // No text at all would be NULL, which is another value than an empty one.
  check(sqlite3_bind_text(statement_.get(), index, text.empty() ? "" : text.data(),
                          static_cast<int>(text.size()), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind(int index, int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), index, value));
  return *this;
}

Statement& Statement::bind(int index, double value) {
  check(sqlite3_bind_double(statement_.get(), index, value));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw SqliteError(path_, code, sqlite3_errmsg(connection_));
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

void SqliteConnection::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

SqliteConnection::SqliteConnection(const std::string& path, bool read_only) : path_(path) {
  if (!read_only) {
    open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    return;
  }
  open(path, SQLITE_OPEN_READONLY);
  try {
    number("SELECT count(*) FROM sqlite_master");
  } catch (const SqliteError& error) {
    // Readers and writers agree by a file beside the database. Where none can be made there are no
    // writers either.
    if (!error.folder_refuses() || has_journal(path)) throw;
    open(unchanging(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  }
}

void SqliteConnection::open(const std::string& name, int flags) {
  sqlite3* connection = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &connection, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  connection_.reset(connection);
  if (code != SQLITE_OK)
    throw SqliteError(path_, code,
                      connection == nullptr ? "out of memory" : sqlite3_errmsg(connection));
  sqlite3_extended_result_codes(connection, 1);
  set_patience(kPatienceMs);
}

void SqliteConnection::set_patience(int milliseconds) const {
  sqlite3_busy_timeout(connection_.get(), milliseconds);
}

void SqliteConnection::execute(const std::string& sql) const {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw SqliteError(path_, code, sqlite3_errmsg(connection_.get()));
}

void SqliteConnection::use_journal() const {
  const auto set = [&] {
    Statement ask = prepare("PRAGMA journal_mode");
    if (ask.step() && ask.text(0) == "wal") return;
    ask.reset();
    prepare("PRAGMA journal_mode = WAL").run();
  };
  // Whoever changes this must be alone, and SQLite does not wait for it.
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(kPatienceMs);
  for (;;) {
    try {
      return set();
    } catch (const SqliteError& error) {
      if (!error.busy() || Clock::now() > end) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

int64_t SqliteConnection::number(std::string_view sql) const {
  Statement query = prepare(sql);
  return query.step() ? query.integer(0) : 0;
}

int64_t SqliteConnection::changes() const { return sqlite3_changes64(connection_.get()); }

Transaction::Transaction(const SqliteConnection& connection) : connection_(connection) {
  connection_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    connection_.execute("ROLLBACK");
  } catch (const SqliteError& error) {
    support::log_debug("{}", error.what());  // it is undone when the connection closes
  }
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace luminal::search
