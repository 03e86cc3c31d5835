#include "luminal/support/file_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "luminal/support/env.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"
#include "luminal/support/log.h"

namespace luminal::support {
namespace {

namespace fs = std::filesystem;

// An entry is a header and the payload. All numbers are little-endian.
//   8 bytes  magic          4  format of this header   4  version of the payload
//   16       key            8  size of the payload     16 hash of the payload
constexpr std::string_view kMagic = "LUMCACHE";
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kHeaderBytes = 56;
constexpr std::string_view kSuffix = ".entry";
constexpr std::size_t kKeyDigits = 32;
// Other processes add to the cache too, so the estimate of its size is renewed now and then.
constexpr int kPutsBetweenLooks = 256;
// Entries lie in directories by the first two digits of their keys.
constexpr int kGroups = 256;
// A cache of many entries is not looked at as a whole to know its size: that took seconds.
constexpr int kEnoughEntries = 512;
// Evicting a tenth at a time makes the scan of the directory rare.
constexpr double kFillAfterEviction = 0.9;
// A temporary file this old belongs to nobody: writing takes seconds at most.
constexpr std::int64_t kAbandonedAfterNs = std::int64_t{3600} * 1'000'000'000;

// Caches that share a directory share what is wrong with it.
bool is_first_to_say(std::string_view problem) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> said;
  const std::scoped_lock lock(mutex);
  return said.emplace(problem).second;
}

template <typename Integer>
void append_number(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::string header_of(Hash128 key, std::uint32_t version, std::string_view payload) {
  const Hash128 checksum = hash128(payload);
  std::string header(kMagic);
  append_number(header, kFormat);
  append_number(header, version);
  append_number(header, key.hi);
  append_number(header, key.lo);
  append_number(header, static_cast<std::uint64_t>(payload.size()));
  append_number(header, checksum.hi);
  append_number(header, checksum.lo);
  return header;
}

std::uint32_t version_in(std::string_view header, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(header[offset + i]);
  return value;
}

enum class Verdict { kGood, kOtherVersion, kDamaged };

Verdict judge(std::string_view file, Hash128 key, std::uint32_t version) {
  if (file.size() < kHeaderBytes || !file.starts_with(kMagic)) return Verdict::kDamaged;
  // One comparison covers every field: the header that the payload must have is known.
  if (file.starts_with(header_of(key, version, file.substr(kHeaderBytes)))) return Verdict::kGood;
  const std::uint32_t found_format = version_in(file, 8), found_version = version_in(file, 12);
  if (found_format != kFormat) return Verdict::kOtherVersion;
  const bool sound = file.starts_with(header_of(key, found_version, file.substr(kHeaderBytes)));
  return sound ? Verdict::kOtherVersion : Verdict::kDamaged;
}

// The access time is set by hand: many file systems are mounted not to keep it.
void mark_used(const std::string& path) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                             {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct FoundFile {
  FileCache::Entry entry;
  std::string path;
};

// Calls back for every file of a group that is named like one of ours: <32 digits>.<something>.
template <typename Visit>
void visit_group(const fs::path& directory, const std::string& group, Visit visit) {
  std::error_code error;
  for (fs::directory_iterator file(directory / group, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    if (name.size() <= kKeyDigits || name[kKeyDigits] != '.' || !name.starts_with(group)) continue;
    const auto key = parse_hash128(std::string_view(name).substr(0, kKeyDigits));
    struct stat status {};
    // A file may be gone since it was listed.
    if (!key || ::stat(file->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    visit(*key, std::string_view(name).substr(kKeyDigits), file->path().string(), status);
  }
}

// The same for all groups, which are named by two digits.
template <typename Visit>
void visit_files(const std::string& directory, Visit visit) {
  for (int group = 0; group < kGroups; ++group)
    visit_group(directory, fmt::format("{:02x}", group), visit);
}

// Temporary files of writers that died.
void remove_if_abandoned(std::string_view suffix, const std::string& path,
                         const struct stat& status) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (suffix.ends_with(".tmp") &&
      nanoseconds(now) - nanoseconds(status.st_mtim) > kAbandonedAfterNs)
    ::unlink(path.c_str());
}

// About how many bytes there are, from groups that begin at one until enough entries were seen:
// keys are hashes, so groups are alike. Exact where there are few entries.
std::uint64_t sampled_bytes(const std::string& directory, Hash128 first) {
  std::uint64_t bytes = 0;
  int entries = 0;
  int groups = 0;
  for (; groups < kGroups && entries < kEnoughEntries; ++groups) {
    const auto group = (static_cast<int>(first.hi >> 56) + groups) % kGroups;
    visit_group(
        directory, fmt::format("{:02x}", group),
        [&](Hash128, std::string_view suffix, const std::string& path, const struct stat& status) {
          if (suffix != kSuffix) return remove_if_abandoned(suffix, path, status);
          bytes += static_cast<std::uint64_t>(status.st_size);
          ++entries;
        });
  }
  return bytes * kGroups / static_cast<std::uint64_t>(groups);
}

// All entries, least recently used first. Temporary files of writers that died are removed on the
// way.
std::vector<FoundFile> find_entries(const std::string& directory) {
  std::vector<FoundFile> found;
  visit_files(directory, [&](Hash128 key, std::string_view suffix, std::string path,
                             const struct stat& status) {
    if (suffix == kSuffix)
      found.push_back({{.key = key,
                        .bytes = static_cast<std::uint64_t>(status.st_size),
                        .last_used_ns = nanoseconds(status.st_atim)},
                       std::move(path)});
    else
      remove_if_abandoned(suffix, path, status);
  });
  std::sort(found.begin(), found.end(), [](const FoundFile& left, const FoundFile& right) {
    return std::pair(left.entry.last_used_ns, left.entry.key) <
           std::pair(right.entry.last_used_ns, right.entry.key);
  });
  return found;
}

std::uint64_t total_bytes(const std::vector<FoundFile>& found) {
  std::uint64_t total = 0;
  for (const FoundFile& file : found) total += file.entry.bytes;
  return total;
}

}  // namespace

FileCacheOptions default_cache_options(std::string_view name, std::uint32_t version) {
  const Environment& env = environment();
  const std::string root = env.cache_dir();
  return {.directory = root.empty() ? root : fmt::format("{}/{}", root, name),
          .max_bytes = static_cast<std::uint64_t>(env.integer(EnvVar::kCacheMegabytes)) << 20,
          .version = version};
}

std::string FileCache::path_of(Hash128 key) const {
  const std::string digits = to_hex(key);
  return fmt::format("{}/{}/{}{}", options_.directory, digits.substr(0, 2), digits, kSuffix);
}

std::optional<std::string> FileCache::get(Hash128 key) {
  if (options_.directory.empty()) return std::nullopt;
  const std::string path = path_of(key);
  std::optional<std::string> file;
  try {
    file = read_file_if_exists(path);
  } catch (const Error& error) {
    log_warn("cache entry cannot be read: {}", error.what());
  }
  if (!file) return std::nullopt;
  const Verdict verdict = judge(*file, key, options_.version);
  if (verdict == Verdict::kGood) {
    mark_used(path);
    file->erase(0, kHeaderBytes);
    return file;
  }
  if (verdict == Verdict::kDamaged)
    log_warn("cache entry \"{}\" is damaged; it is removed and will be made again", path);
  else
    log_debug("cache entry \"{}\" is of another version; it is removed", path);
  // Another process may have put a good entry there meanwhile. Losing it costs a miss, no more.
  ::unlink(path.c_str());
  return std::nullopt;
}

bool FileCache::put(Hash128 key, std::string_view bytes) {
  if (options_.directory.empty()) return false;
  if (bytes.size() > options_.max_bytes || options_.max_bytes - bytes.size() < kHeaderBytes) {
    log_debug("{} bytes are more than the whole cache may hold; not stored", bytes.size());
    return false;
  }
  const std::string path = path_of(key);
  try {
    create_directories(path.substr(0, path.rfind('/')));
    std::string file = header_of(key, options_.version, bytes);
    file += bytes;
    write_file_atomic(path, file);
    evict_if_too_large(key, file.size());
    return true;
  } catch (const Error& error) {
    warn_once(error.what());
    return false;
  }
}

bool FileCache::remove(Hash128 key) {
  return !options_.directory.empty() && ::unlink(path_of(key).c_str()) == 0;
}

std::vector<FileCache::Entry> FileCache::list() const {
  std::vector<Entry> entries;
  if (options_.directory.empty()) return entries;
  for (const FoundFile& file : find_entries(options_.directory)) entries.push_back(file.entry);
  return entries;
}

std::uint64_t FileCache::size_bytes() const {
  return options_.directory.empty() ? 0 : total_bytes(find_entries(options_.directory));
}

void FileCache::clear() {
  if (options_.directory.empty()) return;
  for (const FoundFile& file : find_entries(options_.directory)) ::unlink(file.path.c_str());
  const std::lock_guard lock(mutex_);
  known_bytes_.reset();
}

void FileCache::evict_if_too_large(Hash128 added, std::uint64_t bytes_added) {
  const std::lock_guard lock(mutex_);
  if (known_bytes_) *known_bytes_ += bytes_added;
  if (!known_bytes_ || ++puts_since_look_ >= kPutsBetweenLooks) {
    puts_since_look_ = 0;
    known_bytes_ = sampled_bytes(options_.directory, added);
  }
  if (*known_bytes_ <= options_.max_bytes) return;
  const std::vector<FoundFile> found = find_entries(options_.directory);
  known_bytes_ = total_bytes(found);
  if (*known_bytes_ <= options_.max_bytes) return;
  const auto wanted =
      static_cast<std::uint64_t>(static_cast<double>(options_.max_bytes) * kFillAfterEviction);
  std::size_t evicted = 0;
  // The entry used last stays, even if it alone is more than was wanted.
  for (; evicted + 1 < found.size() && *known_bytes_ > wanted; ++evicted) {
    ::unlink(found[evicted].path.c_str());
    *known_bytes_ -= found[evicted].entry.bytes;
  }
  log_debug("cache \"{}\": evicted {} of {} entries", options_.directory, evicted, found.size());
}

void FileCache::warn_once(std::string_view problem) {
  if (warned_.exchange(true) || !is_first_to_say(problem)) {
    log_debug("cache: {}", problem);
    return;
  }
  log_warn("results are not cached: {}; set LUMINAL_CACHE_DIR to a directory that can be written",
           problem);
}

}  // namespace luminal::support
