#include "luminal/support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "luminal/support/error.h"
#include "luminal/support/mapped_file.h"

namespace luminal::support {
namespace {

// Errors that mean "not with this path", as opposed to trouble with the disk.
bool is_about_the_path(int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void fail(std::string_view operation, const char* call, const std::string& path,
                       int code) {
  if (is_about_the_path(code)) throw UserError(operation, "\"{}\": {}", path, std::strerror(code));
  throw DeviceError(call, code, "{}: \"{}\": {}", operation, path, std::strerror(code));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  /// 0, or the error code: on some file systems a failed write shows only here.
  int close() {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR ? errno : 0;
  }

 private:
  int descriptor_;
};

std::string read_all(const FileDescriptor& file, const std::string& path,
                     std::string_view operation) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail(operation, "fstat", path, errno);
  // Memory that is not there ends the process or stops the machine.
  if (status.st_size / ::sysconf(_SC_PAGESIZE) > ::sysconf(_SC_PHYS_PAGES))
    throw UserError(operation, "\"{}\" has {} bytes, more than this machine has memory", path,
                    status.st_size);
  // The size is a hint only: files under /proc say 0, and others may grow meanwhile.
  std::string contents(static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t length = 0;
  for (;;) {
    const ssize_t count = ::read(file.get(), contents.data() + length, contents.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(operation, "read", path, errno);
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
    if (length == contents.size()) contents.resize(2 * length);
  }
  contents.resize(length);
  return contents;
}

int write_all(const FileDescriptor& file, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t count = ::write(file.get(), contents.data(), contents.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    contents.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

/// A new file beside the target, removed again unless it is renamed to the target.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& target, std::string_view operation)
      : operation_(operation), target_(target), file_(create()) {}
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::string_view> parts) {
    for (const std::string_view part : parts)
      if (const int code = write_all(file_, part)) fail(operation_, "write", target_, code);
    // Before the rename: otherwise a power loss may leave the new name on an empty file.
    if (::fsync(file_.get()) != 0 && errno != EINVAL) fail(operation_, "fsync", target_, errno);
    if (const int code = file_.close()) fail(operation_, "close", target_, code);
  }

  void rename_to_target() {
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail(operation_, "rename", target_, errno);
    path_.clear();
  }

 private:
  int create() {
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0;; ++attempt) {
      std::string candidate = fmt::format("{}.{}-{}.tmp", target_, ::getpid(), counter++);
      const int descriptor =
          ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor >= 0) {
        path_ = std::move(candidate);
        return descriptor;
      }
      // The name may be left from a process that died and had our number.
      if (errno != EEXIST || attempt == 1000) fail(operation_, "open", target_, errno);
    }
  }

  std::string_view operation_;
  std::string target_;
  std::string path_;
  FileDescriptor file_;
};

// The file that a link stands for, so that the link stays.
std::string behind_links(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real == nullptr ? path : real.get();
}

// Devices and pipes are written to; nothing may take their place.
void write_in_place(const std::string& path, std::span<const std::string_view> parts,
                    std::string_view operation) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) fail(operation, "open", path, errno);
  for (const std::string_view part : parts)
    if (const int code = write_all(file, part)) fail(operation, "write", path, code);
  if (const int code = file.close()) fail(operation, "close", path, code);
}

// Makes the rename itself durable. A directory that cannot be synced is no reason to fail: the file
// is complete, it might only be the old one after a power loss.
void sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const FileDescriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) ::fsync(opened.get());
}

}  // namespace

std::string read_file(const std::string& path, std::string_view operation) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) fail(operation, "open", path, errno);
  return read_all(file, path, operation);
}

std::optional<std::string> read_file_if_exists(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!file.is_open()) fail("read_file", "open", path, errno);
  return read_all(file, path, "read_file");
}

void write_file_atomic(const std::string& path, std::string_view contents,
                       std::string_view operation) {
  write_file_atomic(path, std::span(&contents, 1), operation);
}

void write_file_atomic(const std::string& path, std::span<const std::string_view> parts,
                       std::string_view operation) {
  const std::string target = behind_links(path);
  struct stat status {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    return write_in_place(target, parts, operation);
  TemporaryFile temporary(target, operation);
  temporary.write(parts);
  temporary.rename_to_target();
  sync_directory_of(target);
}

void check_writable(const std::string& path, std::string_view operation) {
  const std::string target = behind_links(path);
  struct stat status {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(operation, "open", path, EISDIR);
  if (!exists || S_ISREG(status.st_mode)) {
    const TemporaryFile beside(target, operation);
  } else if (::access(target.c_str(), W_OK) != 0) {
    fail(operation, "access", path, errno);
  }
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path,
                                                   std::string_view operation) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) fail(operation, "open", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(operation, "fstat", path, errno);
  if (S_ISDIR(status.st_mode)) fail(operation, "open", path, EISDIR);
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return std::make_shared<MappedFile>(nullptr, 0);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) fail(operation, "mmap", path, errno);
  return std::make_shared<MappedFile>(static_cast<std::byte*>(data), size);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(data_, size_);
}

void create_directories(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string prefix = path.substr(0, slash);
    if (::mkdir(prefix.c_str(), 0777) != 0) {
      const int code = errno;
      struct stat status {};
      // Any error will do if the directory is there: mkdir on a read-only file system says EROFS.
      if (::stat(prefix.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        fail("create_directories", "mkdir", prefix, code == EEXIST ? ENOTDIR : code);
    }
    if (slash == std::string::npos) return;
  }
}

}  // namespace luminal::support
