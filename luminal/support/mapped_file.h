// A file as memory: its pages are read when they are touched and shared with other processes that
// map it. Writing to them changes this process's copy alone, never the file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace luminal::support {

/// The bytes of a file, from the beginning of a page on, for as long as the object lives. The file
/// may be replaced or removed meanwhile, but must not be cut short in place.
class MappedFile {
 public:
  /// Maps a whole file; the errors are those of read_file().
  static std::shared_ptr<const MappedFile> open(const std::string& path,
                                                std::string_view operation = "read_file");

  MappedFile(std::byte* data, size_t size) : data_(data), size_(size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_;
  size_t size_;
};

}  // namespace luminal::support
