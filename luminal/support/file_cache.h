// A cache of byte strings on disk, kept by 128-bit key. Any number of processes may use one
// directory at the same time without locks: entries appear whole or not at all, and whatever is
// damaged, truncated or of another version counts as a miss and is removed. A cache is a help,
// never a condition: no member throws because of the disk, and a directory that cannot be written
// means one warning and work without storing.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "luminal/support/hash.h"

namespace luminal::support {

/// Where a cache lives and how large it may grow.
struct FileCacheOptions {
  std::string directory = {};  ///< made when first needed; empty: nothing is stored or found
  std::uint64_t max_bytes = std::uint64_t{4} << 30;  ///< of all files together
  std::uint32_t version = 1;  ///< of what the payloads mean; entries of other versions are misses
};

/// The options of the cache with this name (a subdirectory such as "kernels"), as the environment
/// says: LUMINAL_CACHE, LUMINAL_CACHE_DIR, LUMINAL_CACHE_MB.
FileCacheOptions default_cache_options(std::string_view name, std::uint32_t version);

/// See above. All members may be called from any thread.
class FileCache {
 public:
  /// One stored file.
  struct Entry {
    Hash128 key;                    ///< what it is found by
    std::uint64_t bytes = 0;        ///< size of the file, its header included
    std::int64_t last_used_ns = 0;  ///< since 1970
  };
  /// A cache in the folder that the options name.
  explicit FileCache(FileCacheOptions options) : options_(std::move(options)) {}
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  /// The key of a text: its stable hash.
  static Hash128 key_of(std::string_view text) { return Hasher().add(text).finish128(); }

  /// What is stored under a key, or nothing. Marks it as used now.
  std::optional<std::string> get(Hash128 key);
  std::optional<std::string> get(std::string_view key) { return get(key_of(key)); }  ///< by text

  /// Stores bytes under a key and replaces what was there; evicts what was not used for longest
  /// when the cache grows past its limit, which is judged by a part of the entries where there are
  /// many. False if nothing was stored.
  bool put(Hash128 key, std::string_view bytes);
  bool put(std::string_view key, std::string_view bytes) { return put(key_of(key), bytes); }

  /// Forgets a key; false if it was not there.
  bool remove(Hash128 key);
  bool remove(std::string_view key) { return remove(key_of(key)); }  ///< by text

  /// All entries, least recently used first.
  std::vector<Entry> list() const;
  /// The size of all entries together.
  std::uint64_t size_bytes() const;
  /// Removes all entries, and nothing that is not an entry of ours.
  void clear();

  /// The options it was made with.
  const FileCacheOptions& options() const { return options_; }

 private:
  std::string path_of(Hash128 key) const;
  void evict_if_too_large(Hash128 added, std::uint64_t bytes_added);
  void warn_once(std::string_view problem);

  const FileCacheOptions options_;
  std::atomic<bool> warned_{false};
  std::mutex mutex_;                          // guards what follows
  std::optional<std::uint64_t> known_bytes_;  // at the last look, about, and what we added since
  int puts_since_look_ = 0;
};

}  // namespace luminal::support
