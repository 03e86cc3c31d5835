// Zip archives in memory: what .npz files are. Reads stored and deflated entries, with or without
// the 64-bit extension; writes stored or deflated entries. Every entry's checksum is verified.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luminal::graph {

/// One file of an archive.
struct ZipEntry {
  std::string name;
  std::vector<std::byte> bytes;
};

/// The entries of an archive in the order of its directory. Throws UserError naming `file` and the
/// problem if it is corrupt, truncated, encrypted, or packed in another way than deflate.
std::vector<ZipEntry> read_zip(std::span<const std::byte> archive, std::string_view file);

/// An archive of the entries, deflated if `compress`. The bytes depend on the entries alone (times
/// are not recorded).
std::vector<std::byte> write_zip(std::span<const ZipEntry> entries, bool compress);

}  // namespace luminal::graph
