#include "luminal/runtime/artifact.h"

#include <cstring>

#include "luminal/support/error.h"
#include "luminal/support/hash.h"

namespace luminal::runtime {
namespace {

constexpr std::string_view kMagic = "LUMART01";

void put(std::string& out, uint64_t number) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

void put(std::string& out, std::string_view text) {
  put(out, text.size());
  out += text;
}

[[noreturn]] void reject(std::string_view why) {
  throw UserError("load artifact", "the data is damaged ({}); compile the kernel again", why);
}

/// Takes numbers and texts off the front of bytes, never past the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  uint64_t number() {
    const std::string_view bytes = take(8);
    uint64_t result = 0;
    for (int i = 7; i >= 0; --i) result = result << 8 | static_cast<unsigned char>(bytes[i]);
    return result;
  }

  uint64_t number_below(uint64_t limit) {
    const uint64_t result = number();
    if (result >= limit) reject("a number is out of range");
    return result;
  }

  std::string_view text() { return take(number()); }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) reject("it ends early");
    const std::string_view result = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return result;
  }

  std::string_view rest_;
};

EntryInfo read_entry(Reader& reader) {
  EntryInfo entry;
  entry.name = reader.text();
  for (const char use : reader.text()) {
    if (use < 0 || use > static_cast<char>(BufferUse::kReadWrite)) reject("unknown buffer use");
    entry.buffers.push_back(static_cast<BufferUse>(use));
  }
  entry.scalars = static_cast<int>(reader.number_below(1 << 16));
  entry.scratch_bytes = static_cast<int64_t>(reader.number_below(uint64_t{1} << 48));
  return entry;
}

}  // namespace

std::string to_bytes(const Artifact& artifact) {
  std::string body;
  put(body, static_cast<uint64_t>(artifact.kind));
  put(body, artifact.label);
  put(body, artifact.compiler);
  put(body, artifact.needed.bits());
  put(body, artifact.code);
  put(body, artifact.entries.size());
  for (const EntryInfo& entry : artifact.entries) {
    put(body, entry.name);
    std::string uses;
    for (const BufferUse use : entry.buffers) uses += static_cast<char>(use);
    put(body, uses);
    put(body, static_cast<uint64_t>(entry.scalars));
    put(body, static_cast<uint64_t>(entry.scratch_bytes));
  }
  std::string result(kMagic);
  put(result, support::hash64(body));
  return result + body;
}

Artifact artifact_from_bytes(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) reject("it does not begin as an artifact does");
  Reader head(bytes.substr(kMagic.size()));
  const uint64_t checksum = head.number();
  const std::string_view body = bytes.substr(kMagic.size() + 8);
  if (support::hash64(body) != checksum) reject("the checksum differs");
  Reader reader(body);
  Artifact artifact;
  artifact.kind = static_cast<ArtifactKind>(reader.number_below(2));
  artifact.label = reader.text();
  artifact.compiler = reader.text();
  artifact.needed = CpuFeatures::from_bits(reader.number());
  artifact.code = reader.text();
  const uint64_t entries = reader.number_below(1 << 20);
  for (uint64_t i = 0; i < entries; ++i) artifact.entries.push_back(read_entry(reader));
  if (!reader.done()) reject("it goes on past its end");
  return artifact;
}

}  // namespace luminal::runtime
