// A thin cover over SQLite: connections and statements that close themselves, and errors that name
// the file. Nothing here knows what is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "luminal/support/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace luminal::search {

/// A call of SQLite failed. `damaged` says that the file is no database, or a broken one.
class SqliteError : public DeviceError {
 public:
  SqliteError(const std::string& path, int code, const std::string& message);
  /// The file is not a database, or a broken one.
  bool damaged() const;
  /// Others had the file for so long that nobody waits for them any more.
  bool busy() const;
  /// What reading needs beside the file (a journal, shared memory) may not be written there.
  bool folder_refuses() const;
  /// The database, and what SQLite says of it.
  const std::string& path() const { return path_; }
  const std::string& reason() const { return reason_; }

 private:
  std::string path_;
  std::string reason_;
};

/// A prepared statement. Bind, step until false, reset to use it again.
class Statement {
 public:
  Statement(sqlite3* connection, std::string path, std::string_view sql);

  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, int64_t value);
  Statement& bind(int index, double value);
  /// Goes to the next row; false if there is none.
  bool step();
  /// Runs it to the end and makes it ready for other values.
  void run();
  void reset();

  std::string text(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;

  sqlite3* connection_;
  std::string path_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// An open database.
class SqliteConnection {
 public:
  /// Opens a file, which is made if it is not there; ":memory:" is a database of its own in memory.
  /// To be read only, a file must be there; it and its folder may be read-only, too.
  explicit SqliteConnection(const std::string& path, bool read_only = false);

  const std::string& path() const { return path_; }
  Statement prepare(std::string_view sql) const { return {connection_.get(), path_, sql}; }
  /// Runs statements that give nothing.
  void execute(const std::string& sql) const;
  /// Has the file written by journal, which lets others read meanwhile, if it is not so already.
  void use_journal() const;
  /// The single number that a query gives.
  int64_t number(std::string_view sql) const;
  /// How long to wait for others that write.
  void set_patience(int milliseconds) const;
  static constexpr int kPatienceMs = 10'000;
  /// Rows that the last statement changed.
  int64_t changes() const;

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  void open(const std::string& name, int flags);

  std::string path_;
  std::unique_ptr<sqlite3, Close> connection_;
};

/// A transaction that is undone unless it is committed. Takes the lock for writing at once, so that
/// two writers wait for each other instead of failing halfway.
class Transaction {
 public:
  explicit Transaction(const SqliteConnection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const SqliteConnection& connection_;
  bool open_ = true;
};

}  // namespace luminal::search
