#include "commands.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "line_diff.h"
#include "luminal/cli/command_line.h"
#include "luminal/support/file.h"

namespace luminal::commands {

namespace fs = std::filesystem;

Said say(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = cli::run_command_line(arguments, out, err);
  return {code, out.str(), err.str()};
}

Said shell(const std::string& environment, const std::string& line, const char* name,
           const std::string& around) {
  const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / name;
  const std::string command =
      "(" + around + " env " + environment + " '" + program + "' " + line + ") 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  Said said;
  std::array<char, 4096> buffer{};
  for (size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    said.out.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> result;
  std::string word;
  bool quoted = false, started = false;
  for (const char c : line + " ") {
    if (c == '\'') {
      quoted = !quoted;
      started = true;
    } else if (c != ' ' || quoted) {
      word += c;
      started = true;
    } else if (started) {
      result.push_back(std::move(word));
      word.clear();
      started = false;
    }
  }
  return result;
}

testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in:\n" << text;
}

void expect_failure(const std::vector<std::string>& line, const std::string& part) {
  const Said said = say(line);
  EXPECT_EQ(said.code, cli::kFailed) << said.out;
  EXPECT_TRUE(has(said.err, part));
  for (const char* ours : {"read_file", "write_file", "parse_text"})
    EXPECT_EQ(said.err.find(ours), std::string::npos) << "no word of the user's: " << said.err;
}

void expect_usage(const std::vector<std::string>& line, const std::string& part) {
  const Said said = say(line);
  EXPECT_EQ(said.code, cli::kBadUsage) << said.out << said.err;
  EXPECT_TRUE(has(said.err, part));
  EXPECT_EQ(said.out, "");
}

void expect_golden(const std::string& file, const std::string& actual) {
  const fs::path path = fs::path(LUMINAL_SUITE_DIR) / file;
  if (std::getenv("GOLDEN_WRITE") != nullptr)  // NOLINT(concurrency-mt-unsafe)
    return support::write_file_atomic(path.string(), actual);
  const std::string kept = fs::exists(path) ? support::read_file(path.string()) : "";
  EXPECT_TRUE(actual == kept)
      << file << " has changed (- kept, + now):\n"
      << golden::line_diff(kept, actual)
      << "if it is meant to: GOLDEN_WRITE=1 build/release/bin/commands_suite";
}

Folder::Folder()
    : path_(testing::TempDir() + "/luminal_commands_" + std::to_string(::getpid()) + "_" +
            testing::UnitTest::GetInstance()->current_test_info()->name()) {
  fs::remove_all(path_);
  fs::create_directories(path_);
}

Folder::~Folder() {
  fs::permissions(path_, fs::perms::owner_all, fs::perm_options::add);
  fs::remove_all(path_);
}

}  // namespace luminal::commands
