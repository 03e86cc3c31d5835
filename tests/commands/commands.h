// Runs the `luminal` command inside the test, as a shell would, and keeps what it said.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace luminal::commands {

/// What a command line gave.
struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs a command line without the program's name.
Said say(const std::vector<std::string>& arguments);

/// Runs a program of ours in a shell, in a process of its own; both streams are one unless the line
/// redirects them. `around` is a command that runs it.
Said shell(const std::string& environment, const std::string& line, const char* name = "luminal",
           const std::string& around = "");

/// Words of a line: split at blanks, but not within single quotes.
std::vector<std::string> words(const std::string& line);

/// Whether a text has a part; says the text if not.
testing::AssertionResult has(const std::string& text, const std::string& part);

/// Expects exit code 1 and a part of what is said, in words of the user's.
void expect_failure(const std::vector<std::string>& line, const std::string& part);

/// Expects exit code 2, nothing on standard output, and a part of what is said.
void expect_usage(const std::vector<std::string>& line, const std::string& part);

/// Compares a text with a file of this suite, or writes it if GOLDEN_WRITE is set.
void expect_golden(const std::string& file, const std::string& actual);

/// A folder of the test's own, gone when the test ends.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace luminal::commands
