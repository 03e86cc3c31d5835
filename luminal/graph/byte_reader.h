// Reading little-endian fields of a file that is already in memory. Reading past the end is a
// UserError that names the file, so that truncated files need no checks at every use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "luminal/support/error.h"

namespace luminal::graph {

/// A window into a file's bytes.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view file)
      : bytes_(bytes), file_(file) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  /// Continues at a position, which may be the end but not lie beyond it.
  void seek(uint64_t position) {
    if (position > bytes_.size()) fail_truncated();
    position_ = static_cast<size_t>(position);
  }
  void skip(uint64_t count) { take(count); }

  std::span<const std::byte> take(uint64_t count) {
    if (count > remaining()) fail_truncated();
    const auto result = bytes_.subspan(position_, static_cast<size_t>(count));
    position_ += static_cast<size_t>(count);
    return result;
  }
  std::string_view take_text(uint64_t count) {
    const auto bytes = take(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// An unsigned little-endian integer of `width` bytes.
  uint64_t integer(int width) {
    uint64_t value = 0;
    const auto bytes = take(static_cast<uint64_t>(width));
    for (size_t i = bytes.size(); i-- > 0;)
      value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
    return value;
  }

  [[noreturn]] void fail_truncated() const {
    throw UserError("read", "{} is truncated: it ends after {} bytes", file_, bytes_.size());
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view file_;
  size_t position_ = 0;
};

}  // namespace luminal::graph
