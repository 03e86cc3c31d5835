#include "luminal/plan/plan_file.h"

#include <filesystem>
#include <fstream>

#include "luminal/graph/byte_reader.h"
#include "luminal/plan/plan_records.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"
#include "luminal/support/hash.h"
#include "luminal/support/mapped_file.h"

namespace luminal::plan {
namespace {

using support::Hash128;

// A file is a header, the records, and the data of constants, each aligned for kernels. All numbers
// are little-endian and of 8 bytes.
//   magic   format   size of the file   size of the records   hash of all that follows (2)
constexpr std::string_view kMagic = "LUMPLAN\n";
constexpr size_t kHeaderBytes = 64;
constexpr std::string_view kZeros{
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    64};
static_assert(kZeros.size() == kHeaderBytes && kZeros.size() == runtime::kBufferAlignment);

struct Header {
  uint64_t format = kPlanFileFormat;
  uint64_t file_bytes = 0;
  uint64_t record_bytes = 0;
  Hash128 checksum = {};
};

std::string to_bytes(const Header& header) {
  std::string bytes(kMagic);
  for (const uint64_t number : {header.format, header.file_bytes, header.record_bytes,
                                header.checksum.hi, header.checksum.lo})
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
  bytes.resize(kHeaderBytes);
  return bytes;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The sizes are part of what is checked.
Hash128 checksum_of(const Header& header, std::span<const std::string_view> parts) {
  support::Hasher hasher;
  hasher.add(header.file_bytes).add(header.record_bytes);
  for (const std::string_view part : parts) hasher.add_raw(part.data(), part.size());
  return hasher.finish128();
}

Header read_header(std::span<const std::byte> file, const std::string& path) {
  const size_t common = std::min(file.size(), kMagic.size());
  if (file.empty() || as_text(file.first(common)) != kMagic.substr(0, common))
    throw UserError("load", "\"{}\" is no plan file; save() of an executable writes one", path);
  if (file.size() < kHeaderBytes)
    throw UserError("load", "\"{}\" is cut short: it ends after {} bytes; save the plan again",
                    path, file.size());
  graph::ByteReader reader(file, path);
  reader.skip(kMagic.size());
  Header header;
  header.format = reader.integer(8);
  header.file_bytes = reader.integer(8);
  header.record_bytes = reader.integer(8);
  header.checksum.hi = reader.integer(8);
  header.checksum.lo = reader.integer(8);
  return header;
}

void check_header(const Header& header, std::span<const std::byte> file, const std::string& path) {
  if (header.format != kPlanFileFormat)
    throw UserError("load",
                    "\"{}\" has format {}, {} than the format {} of this library; compile and save "
                    "the plan with this one",
                    path, header.format, header.format > kPlanFileFormat ? "newer" : "older",
                    kPlanFileFormat);
  if (header.file_bytes > file.size())
    throw UserError("load", "\"{}\" is cut short: it has {} of {} bytes; save the plan again", path,
                    file.size(), header.file_bytes);
  const std::string_view body = as_text(file.subspan(kHeaderBytes));
  const bool sound = header.file_bytes == file.size() && header.record_bytes <= body.size() &&
                     as_text(file.first(kHeaderBytes)) == to_bytes(header) &&
                     checksum_of(header, std::span(&body, 1)) == header.checksum;
  if (!sound)
    throw UserError("load", "\"{}\" is damaged: its checksum differs; save the plan again", path);
}

/// Each part of a file, with what makes the next one begin at a multiple of the alignment.
std::vector<std::string_view> body_of(const PlanRecords& records) {
  std::vector<std::string_view> parts;
  const auto add = [&](std::string_view part) {
    parts.push_back(part);
    const size_t rest = part.size() % kZeros.size();
    if (rest != 0) parts.push_back(kZeros.substr(rest));
  };
  add(records.bytes);
  for (const graph::Array& constant : records.constants) add(as_text(constant.bytes()));
  return parts;
}

void check_features(const Plan& plan, runtime::CpuFeatures available, const std::string& path) {
  for (const Plan& variant : plan.variants) check_features(variant, available, path);
  for (const PlanKernel& kernel : plan.kernels) {
    const runtime::CpuFeatures missing = kernel.artifact.needed.without(available);
    if (!missing.empty())
      throw UserError("load",
                      "\"{}\" needs {}, which this processor ({}) lacks; compile and save the plan "
                      "here, or for a target without it",
                      path, missing.to_string(), runtime::host_cpu().model);
  }
}

}  // namespace

void save_plan(const Plan& plan, const std::string& path) {
  const PlanRecords records = to_records(plan);
  std::vector<std::string_view> parts = body_of(records);
  Header header;
  header.record_bytes = records.bytes.size();
  header.file_bytes = kHeaderBytes;
  for (const std::string_view part : parts) header.file_bytes += part.size();
  header.checksum = checksum_of(header, parts);
  const std::string first = to_bytes(header);
  parts.insert(parts.begin(), first);
  support::write_file_atomic(path, parts, "save");
}

Plan load_plan_file(const std::string& path, runtime::CpuFeatures available) {
  const std::shared_ptr<const support::MappedFile> file = support::MappedFile::open(path, "load");
  const std::span<std::byte> bytes = file->bytes();
  const Header header = read_header(bytes, path);
  check_header(header, bytes, path);
  const uint64_t first =
      next_constant_offset(kHeaderBytes, static_cast<uint64_t>(header.record_bytes));
  const auto constant = [&](uint64_t offset, uint64_t size) -> std::shared_ptr<std::byte> {
    if (first > bytes.size() || offset > bytes.size() - first ||
        size > bytes.size() - first - offset)
      throw UserError("read plan", "a constant lies outside of the file");
    return {file, bytes.data() + first + offset};
  };
  Plan plan = [&] {
    try {
      return from_records(bytes.subspan(kHeaderBytes, header.record_bytes), constant, path);
    } catch (const UserError& error) {
      throw UserError("load", "\"{}\" is damaged: {}; save the plan again", path, error.what());
    }
  }();
  check_features(plan, available, path);
  return plan;
}

bool is_plan_file(const std::string& path) {
  // A look at a pipe would take away what it looks at.
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string begin(kMagic.size(), '\0');
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kMagic;
}

}  // namespace luminal::plan
