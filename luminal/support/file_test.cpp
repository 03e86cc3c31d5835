#include "luminal/support/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "luminal/support/error.h"
#include "luminal/support/mapped_file.h"

namespace luminal::support {
namespace {

class File : public testing::Test {
 protected:
  File() {
    directory_ = testing::TempDir() + "/luminal_file_" + std::to_string(::getpid());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  ~File() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_),
                                                  std::filesystem::directory_iterator()));
  }

  std::string directory_;
};

template <typename Kind, typename Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(File, WhatIsWrittenIsRead) {
  for (const std::string& contents : {std::string(), std::string("text"),
                                      std::string("\0\r\n\xff", 4), std::string(300000, 'x')}) {
    write_file_atomic(path("f"), contents);
    EXPECT_EQ(read_file(path("f")), contents);
    EXPECT_EQ(file_count(), 1u) << "no temporary file is left";
  }
}

TEST_F(File, PartsAreWrittenOneAfterTheOther) {
  const std::vector<std::string_view> parts{"one", "", "two"};
  write_file_atomic(path("f"), parts);
  EXPECT_EQ(read_file(path("f")), "onetwo");
}

TEST_F(File, MappedBytesAreTheFilesAndWritingThemChangesNoFile) {
  write_file_atomic(path("f"), "text");
  const auto mapped = MappedFile::open(path("f"));
  ASSERT_EQ(mapped->bytes().size(), 4u);
  EXPECT_EQ(mapped->bytes()[1], std::byte{'e'});
  mapped->bytes()[1] = std::byte{'o'};
  EXPECT_EQ(read_file(path("f")), "text");
  write_file_atomic(path("f"), "");
  EXPECT_EQ(mapped->bytes()[3], std::byte{'t'}) << "a file that is replaced stays mapped";
  EXPECT_EQ(MappedFile::open(path("f"))->bytes().size(), 0u);
  EXPECT_NE(message_of<UserError>([&] { MappedFile::open(path("none")); }).find(path("none")),
            std::string::npos);
  EXPECT_NE(message_of<UserError>([&] { MappedFile::open(directory_); }).find(directory_),
            std::string::npos);
}

TEST_F(File, ReadsFilesThatDoNotKnowTheirSize) {
  EXPECT_NE(read_file("/proc/self/status").find("Name:"), std::string::npos);
}

TEST_F(File, AMissingFileIsNamed) {
  EXPECT_EQ(message_of<UserError>([&] { read_file(path("none")); }),
            "read_file: \"" + path("none") + "\": No such file or directory");
  EXPECT_EQ(read_file_if_exists(path("none")), std::nullopt);
  write_file_atomic(path("some"), "x");
  EXPECT_EQ(read_file_if_exists(path("some")), "x");
  EXPECT_EQ(read_file_if_exists(path("some/below")), std::nullopt);
}

TEST_F(File, ADirectoryIsNoFile) {
  EXPECT_EQ(message_of<UserError>([&] { read_file(directory_); }),
            "read_file: \"" + directory_ + "\": Is a directory");
  EXPECT_EQ(message_of<UserError>([&] { write_file_atomic(directory_, "x"); }),
            "write_file: \"" + directory_ + "\": Is a directory");
  EXPECT_FALSE(std::filesystem::exists(directory_ + ".tmp"));
}

TEST_F(File, WritingIntoAMissingDirectoryNamesTheFile) {
  EXPECT_EQ(message_of<UserError>([&] { write_file_atomic(path("none/f"), "x"); }),
            "write_file: \"" + path("none/f") + "\": No such file or directory");
}

TEST_F(File, AFileThatIsLargerThanMemoryIsNamed) {
  write_file_atomic(path("f"), "");
  std::filesystem::resize_file(path("f"), uint64_t{1} << 42);  // nothing but a hole
  EXPECT_EQ(
      message_of<UserError>([&] { read_file(path("f"), "run"); }),
      "run: \"" + path("f") + "\" has 4398046511104 bytes, more than this machine has memory");
}

TEST_F(File, AFailedWriteLeavesTheOldContents) {
  write_file_atomic(path("f"), "old");
  const pid_t child = ::fork();
  if (child == 0) {
    // Files of this process may hold 1000 bytes: the write fails half way.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message =
        message_of<DeviceError>([&] { write_file_atomic(path("f"), std::string(5000, 'n')); });
    const std::string said =
        "write failed with code 27: write_file: \"" + path("f") + "\": File too large";
    ::_exit(message == said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(read_file(path("f")), "old");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, WritersAndReadersAtTheSameTimeSeeWholeFiles) {
  write_file_atomic(path("f"), std::string(1000, 'a'));
  std::vector<std::thread> writers;
  for (char letter : {'b', 'c'})
    writers.emplace_back([this, letter] {
      for (int i = 0; i < 40; ++i)
        write_file_atomic(path("f"), std::string(static_cast<std::size_t>(1000 + i), letter));
    });
  for (int i = 0; i < 200; ++i) {
    const std::string contents = read_file(path("f"));
    ASSERT_GE(contents.size(), 1000u);
    ASSERT_EQ(contents, std::string(contents.size(), contents[0]));
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, DirectoriesAreMadeAsFarAsMissing) {
  create_directories(path("a/b/c"));
  create_directories(path("a/b/c"));
  create_directories(path("a/b/d/"));
  EXPECT_TRUE(std::filesystem::is_directory(path("a/b/c")));
  EXPECT_TRUE(std::filesystem::is_directory(path("a/b/d")));
  create_directories("/");
}

TEST_F(File, AFileInTheWayOfADirectoryIsNamed) {
  write_file_atomic(path("f"), "x");
  EXPECT_EQ(message_of<UserError>([&] { create_directories(path("f")); }),
            "create_directories: \"" + path("f") + "\": Not a directory");
  EXPECT_EQ(message_of<UserError>([&] { create_directories(path("f/g")); }),
            "create_directories: \"" + path("f") + "\": Not a directory");
}

TEST_F(File, WhetherAPathCanBeWrittenIsKnownWithoutWriting) {
  check_writable(path("new"));
  write_file_atomic(path("old"), "kept");
  check_writable(path("old"));
  check_writable("/dev/null");
  EXPECT_EQ(file_count(), 1u);
  EXPECT_EQ(read_file(path("old")), "kept");
  EXPECT_EQ(message_of<UserError>([&] { check_writable(path("none/f"), "viz"); }),
            "viz: \"" + path("none/f") + "\": No such file or directory");
  create_directories(path("folder"));
  EXPECT_EQ(message_of<UserError>([&] { check_writable(path("folder"), "viz"); }),
            "viz: \"" + path("folder") + "\": Is a directory");
}

TEST_F(File, LinksStayAndPipesAreWrittenTo) {
  write_file_atomic(path("real"), "old");
  std::filesystem::create_symlink("real", path("link"));
  write_file_atomic(path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("real")), "new");
  EXPECT_EQ(file_count(), 2u);

  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  write_file_atomic(path("pipe"), "through");
  char received[16] = {};
  EXPECT_EQ(::read(reader, received, sizeof received), 7);
  EXPECT_STREQ(received, "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

}  // namespace
}  // namespace luminal::support
