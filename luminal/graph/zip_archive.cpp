#include "luminal/graph/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "luminal/graph/byte_reader.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryHeader = 0x02014b50;
constexpr uint32_t kDirectoryEnd = 0x06054b50;
constexpr uint32_t kWideDirectoryEnd = 0x06064b50;
constexpr uint32_t kWideLocator = 0x07064b50;
constexpr uint32_t kWide32 = 0xffffffff;  // the true value is in the 64-bit extension
constexpr uint16_t kWide16 = 0xffff;
constexpr size_t kDirectoryEndSize = 22;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

struct Directory {
  uint64_t count;
  uint64_t offset;
};

struct EntryHeader {
  std::string name;
  uint16_t flags;
  uint16_t method;
  uint32_t checksum;
  uint64_t packed_size;
  uint64_t size;
  uint64_t offset;  // of the local header
};

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Finds the end record, which stands last but for a comment of up to 64 KiB.
Directory find_directory(std::span<const std::byte> archive, std::string_view file) {
  ByteReader reader(archive, file);
  const size_t size = archive.size();
  if (size >= kDirectoryEndSize) {
    const size_t furthest = std::min<size_t>(size - kDirectoryEndSize, 0xffff);
    for (size_t back = 0; back <= furthest; ++back) {
      const size_t position = size - kDirectoryEndSize - back;
      reader.seek(position);
      if (reader.integer(4) != kDirectoryEnd) continue;
      reader.skip(6);
      Directory directory{reader.integer(2), 0};
      reader.skip(4);
      directory.offset = reader.integer(4);
      if (directory.count != kWide16 && directory.offset != kWide32) return directory;
      if (position < 20) break;
      reader.seek(position - 20);
      if (reader.integer(4) != kWideLocator) return directory;
      reader.skip(4);
      reader.seek(reader.integer(8));
      if (reader.integer(4) != kWideDirectoryEnd) break;
      reader.skip(28);
      const uint64_t count = reader.integer(8);
      reader.skip(8);
      return {count, reader.integer(8)};
    }
  }
  throw UserError("read", "{} is no zip archive, or it is truncated: its directory is missing",
                  file);
}

/// Replaces fields that did not fit 32 bits by those of the 64-bit extension (id 1).
void read_wide_fields(ByteReader extra, EntryHeader& header) {
  while (extra.remaining() >= 4) {
    const uint64_t id = extra.integer(2);
    const uint64_t size = extra.integer(2);
    if (id != 1) {
      extra.skip(size);
      continue;
    }
    if (header.size == kWide32) header.size = extra.integer(8);
    if (header.packed_size == kWide32) header.packed_size = extra.integer(8);
    if (header.offset == kWide32) header.offset = extra.integer(8);
    return;
  }
}

EntryHeader read_entry_header(ByteReader& reader, std::string_view file) {
  if (reader.integer(4) != kDirectoryHeader)
    throw UserError("read", "{} is corrupt: its zip directory is damaged", file);
  EntryHeader header;
  reader.skip(4);
  header.flags = static_cast<uint16_t>(reader.integer(2));
  header.method = static_cast<uint16_t>(reader.integer(2));
  reader.skip(4);
  header.checksum = static_cast<uint32_t>(reader.integer(4));
  header.packed_size = reader.integer(4);
  header.size = reader.integer(4);
  const uint64_t name_size = reader.integer(2);
  const uint64_t extra_size = reader.integer(2);
  const uint64_t comment_size = reader.integer(2);
  reader.skip(8);
  header.offset = reader.integer(4);
  header.name = reader.take_text(name_size);
  read_wide_fields(ByteReader(reader.take(extra_size), file), header);
  reader.skip(comment_size);
  return header;
}

/// zlib counts in 32 bits, so large buffers go through in pieces.
uInt next_piece(size_t left) {
  return static_cast<uInt>(std::min<size_t>(left, std::numeric_limits<uInt>::max() / 2));
}

/// Inflates raw deflate data; nothing if it is damaged or gives another size.
std::optional<std::vector<std::byte>> inflate_raw(std::span<const std::byte> packed, size_t size) {
  std::vector<std::byte> bytes(size);
  z_stream stream{};
  LUMINAL_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
  size_t read = 0;
  size_t written = 0;
  int status = Z_OK;
  Bytef none = 0;
  while (status == Z_OK) {
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data())) +
                     read;  // zlib reads only
    stream.avail_in = next_piece(packed.size() - read);
    stream.next_out = size == 0 ? &none : reinterpret_cast<Bytef*>(bytes.data()) + written;
    stream.avail_out = next_piece(size - written);
    const uInt offered_in = stream.avail_in;
    const uInt offered_out = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    read += offered_in - stream.avail_in;
    written += offered_out - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || written != size) return std::nullopt;
  return bytes;
}

std::vector<std::byte> deflate_raw(std::span<const std::byte> bytes) {
  z_stream stream{};
  LUMINAL_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  std::vector<std::byte> packed(deflateBound(&stream, bytes.size()));
  size_t read = 0;
  size_t written = 0;
  int status = Z_OK;
  while (status == Z_OK || status == Z_BUF_ERROR) {
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data())) + read;
    stream.avail_in = next_piece(bytes.size() - read);
    stream.next_out = reinterpret_cast<Bytef*>(packed.data()) + written;
    stream.avail_out = next_piece(packed.size() - written);
    const uInt offered_in = stream.avail_in;
    const uInt offered_out = stream.avail_out;
    status = deflate(&stream, read + offered_in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    read += offered_in - stream.avail_in;
    written += offered_out - stream.avail_out;
  }
  deflateEnd(&stream);
  LUMINAL_CHECK(status == Z_STREAM_END, "deflate gave {}", status);
  packed.resize(written);
  return packed;
}

std::vector<std::byte> read_entry(std::span<const std::byte> archive, const EntryHeader& header,
                                  std::string_view file) {
  ByteReader reader(archive, file);
  reader.seek(header.offset);
  if (reader.integer(4) != kLocalHeader)
    throw UserError("read", "{} is corrupt: entry {} is not where the directory says", file,
                    header.name);
  if ((header.flags & 1) != 0)
    throw UserError("read", "entry {} of {} is encrypted, which is not supported", header.name,
                    file);
  reader.skip(22);
  const uint64_t name_size = reader.integer(2);
  const uint64_t extra_size = reader.integer(2);
  reader.skip(name_size + extra_size);
  const auto packed = reader.take(header.packed_size);

  std::optional<std::vector<std::byte>> bytes;
  if (header.method == kStored) {
    bytes.emplace(packed.begin(), packed.end());
  } else if (header.method == kDeflated) {
    // Deflate packs at most 1032 to 1: a size beyond that is damage, not a reason to allocate.
    if (header.size / 1032 <= packed.size() + 1)
      bytes = inflate_raw(packed, static_cast<size_t>(header.size));
  } else {
    throw UserError("read",
                    "entry {} of {} is packed by zip method {}; only stored and deflated "
                    "entries can be read",
                    header.name, file, header.method);
  }
  if (!bytes || bytes->size() != header.size || crc_of(*bytes) != header.checksum)
    throw UserError("read", "{} is corrupt: the data of entry {} is damaged", file, header.name);
  return *std::move(bytes);
}

/// Appends little-endian integers and bytes.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  ByteWriter& integer(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  ByteWriter& text(std::string_view text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), begin, begin + text.size());
    return *this;
  }

 private:
  std::vector<std::byte>& bytes_;
};

/// 1980-01-01, the earliest time the format knows.
constexpr uint32_t kNoTime = 0x00210000;

/// Local and directory headers share these fields, from "version needed" to the extra field's size.
/// Sizes always stand in the 64-bit extension, which costs 20 bytes and needs no second case.
void write_common(ByteWriter& writer, const EntryHeader& header, uint64_t extra_size) {
  writer.integer(45, 2).integer(header.flags, 2).integer(header.method, 2).integer(kNoTime, 4);
  writer.integer(header.checksum, 4).integer(kWide32, 4).integer(kWide32, 4);
  writer.integer(header.name.size(), 2).integer(extra_size, 2);
}

void write_directory_entry(ByteWriter& writer, const EntryHeader& header) {
  writer.integer(kDirectoryHeader, 4).integer(45, 2);
  write_common(writer, header, 28);
  writer.integer(0, 8).integer(0, 2).integer(kWide32, 4).text(header.name);
  writer.integer(1, 2).integer(24, 2);
  writer.integer(header.size, 8).integer(header.packed_size, 8).integer(header.offset, 8);
}

void write_directory_end(ByteWriter& writer, uint64_t count, uint64_t begin, uint64_t end) {
  writer.integer(kWideDirectoryEnd, 4).integer(44, 8).integer(45, 2).integer(45, 2).integer(0, 8);
  writer.integer(count, 8).integer(count, 8).integer(end - begin, 8).integer(begin, 8);
  writer.integer(kWideLocator, 4).integer(0, 4).integer(end, 8).integer(1, 4);
  const uint64_t short_count = std::min<uint64_t>(count, kWide16);
  writer.integer(kDirectoryEnd, 4).integer(0, 4).integer(short_count, 2).integer(short_count, 2);
  writer.integer(std::min<uint64_t>(end - begin, kWide32), 4);
  writer.integer(std::min<uint64_t>(begin, kWide32), 4).integer(0, 2);
}

}  // namespace

std::vector<ZipEntry> read_zip(std::span<const std::byte> archive, std::string_view file) {
  const Directory directory = find_directory(archive, file);
  ByteReader reader(archive, file);
  reader.seek(directory.offset);
  std::vector<ZipEntry> entries;
  for (uint64_t i = 0; i < directory.count; ++i) {
    EntryHeader header = read_entry_header(reader, file);
    std::vector<std::byte> bytes = read_entry(archive, header, file);
    entries.push_back({std::move(header.name), std::move(bytes)});
  }
  return entries;
}

std::vector<std::byte> write_zip(std::span<const ZipEntry> entries, bool compress) {
  std::vector<std::byte> archive;
  ByteWriter writer(archive);
  std::vector<EntryHeader> headers;
  for (const ZipEntry& entry : entries) {
    std::vector<std::byte> packed;
    if (compress) packed = deflate_raw(entry.bytes);
    const std::span<const std::byte> data = compress ? packed : entry.bytes;
    constexpr uint16_t kUtf8Name = 1 << 11;
    headers.push_back({entry.name, kUtf8Name, compress ? kDeflated : kStored, crc_of(entry.bytes),
                       data.size(), entry.bytes.size(), archive.size()});
    writer.integer(kLocalHeader, 4);
    write_common(writer, headers.back(), 20);
    writer.text(entry.name).integer(1, 2).integer(16, 2);
    writer.integer(entry.bytes.size(), 8).integer(data.size(), 8);
    archive.insert(archive.end(), data.begin(), data.end());
  }
  const uint64_t begin = archive.size();
  for (const EntryHeader& header : headers) write_directory_entry(writer, header);
  write_directory_end(writer, headers.size(), begin, archive.size());
  return archive;
}

}  // namespace luminal::graph
