// A table: rows of values with a functional dependency from the key columns to the last column.
// Rows are only ever appended or marked dead, so rows are ordered by epoch and "everything new
// since epoch e" is a range; dead rows go when they are the majority.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "luminal/egraph/big_vector.h"
#include "luminal/egraph/column_index.h"
#include "luminal/egraph/trie_index.h"
#include "luminal/egraph/value.h"

namespace luminal::egraph {

/// Rows `[keys…, value]`, a hash of the keys, and lazily built column indexes.
class Table {
 public:
  explicit Table(uint32_t num_keys) : num_keys_(num_keys) {}
  /// Copies rows and hash; indexes are built again on demand.
  Table(const Table& other);
  Table& operator=(const Table& other);
  Table(Table&&) = default;
  Table& operator=(Table&&) = default;

  uint32_t num_keys() const { return num_keys_; }
  uint32_t num_columns() const { return num_keys_ + 1; }
  /// One past the last row, dead ones included.
  uint32_t end_row() const { return static_cast<uint32_t>(flags_.size()); }
  uint32_t num_live() const { return num_live_; }

  const Value* row(uint32_t row) const { return cells_.data() + size_t{row} * num_columns(); }
  Value value(uint32_t row) const { return this->row(row)[num_keys_]; }
  bool live(uint32_t row) const { return (flags_[row] & kLive) != 0; }
  bool subsumed(uint32_t row) const { return (flags_[row] & kSubsumed) != 0; }
  /// Live, and not subsumed: what rule bodies see.
  bool visible(uint32_t row) const { return flags_[row] == kLive; }

  /// Every row is visible: scans need not look at flags.
  bool all_visible() const { return num_live_ == end_row() && num_subsumed_ == 0; }

  /// The hash of a row's keys, for callers that need it more than once.
  uint32_t hash(const Value* keys) const { return hash_words(keys, num_keys_); }
  /// The live row with these keys, or kNone.
  uint32_t find(const Value* keys) const { return find(keys, hash(keys)); }
  uint32_t find(const Value* keys, uint32_t hash) const {
    if (hash_.empty()) return kNone;
    const size_t mask = hash_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      const HashSlot& slot = hash_[at];
      if (slot.row == kNone) return kNone;
      if (slot.hash == hash && slot.row != kTombstone && same_keys(keys, slot.row)) return slot.row;
    }
  }
  /// Starts to fetch the hash slot of some keys from memory.
  void prefetch(const Value* keys) const { prefetch(hash(keys)); }
  void prefetch(uint32_t hash) const {
    if (!hash_.empty()) __builtin_prefetch(&hash_[hash & (hash_.size() - 1)]);
  }
  /// Second step of a lookup: starts to fetch the row the hash slot points to.
  void prefetch_row(uint32_t hash) const {
    if (hash_.empty()) return;
    const uint32_t candidate = hash_[hash & (hash_.size() - 1)].row;
    if (candidate < kTombstone) __builtin_prefetch(row(candidate));
  }
  /// Appends a row. A live row with the same keys dies.
  uint32_t append(const Value* cells, bool subsumed, Epoch epoch) {
    return append(cells, subsumed, epoch, hash(cells));
  }
  uint32_t append(const Value* cells, bool subsumed, Epoch epoch, uint32_t hash);
  /// Appends a row whose keys are known to be absent: no row needs to be compared.
  uint32_t append_new(const Value* cells, bool subsumed, Epoch epoch, uint32_t hash) {
    make_room();
    const size_t mask = hash_.size() - 1;
    size_t at = hash & mask;
    while (hash_[at].row < kTombstone) at = (at + 1) & mask;
    used_slots_ += hash_[at].row == kNone ? 1 : 0;
    hash_[at] = {hash, end_row()};
    return write_row(cells, subsumed, epoch);
  }
  void erase(uint32_t row) { erase(row, hash(this->row(row))); }
  void erase(uint32_t row, uint32_t hash);

  /// First row written at `epoch` or later.
  uint32_t first_row_since(Epoch epoch) const;
  /// Epoch of the newest row, 0 if there is none.
  Epoch newest_epoch() const { return epochs_.empty() ? 0 : epochs_.back().epoch; }
  Epoch epoch_of(uint32_t row) const;

  /// Drops dead rows if they are the majority. Row numbers change; call only between matches.
  /// `moved` receives, if given, the old number of every row kept.
  bool compact_if_sparse(std::vector<uint32_t>* kept = nullptr);

  /// Index of one column, brought up to date.
  const RowIndex& index(uint32_t column);
  /// Index of several columns by hash_words of their values: may list rows of other values too.
  const RowIndex& index(std::span<const uint32_t> columns);
  /// Tree of the rows over columns in this order, brought up to date; `added` receives how many
  /// rows that took.
  const TrieIndex& trie(std::span<const uint32_t> columns, uint32_t* added = nullptr);
  /// Counts rows that a scan looked at in vain; true once an index of several columns would pay.
  bool note_wasted(uint32_t rows) {
    wasted_rows_ += rows;
    return wasted_rows_ > end_row();
  }
  /// How many rows the index of a column would have to take up before its next use.
  uint32_t rows_behind(uint32_t column) const {
    const bool built = !by_column_.empty() && by_column_[column] != nullptr;
    return end_row() - (built ? by_column_[column]->end_row : 0);
  }
  /// Counts rows that scans for a rebuild looked at; true, and counting anew, once bringing the
  /// indexes up to date would have cost as much.
  bool scans_cost_more(uint32_t rows_behind) {
    constexpr uint64_t kScanPerIndexed = 16;
    scanned_rows_ += end_row();
    if (scanned_rows_ < rows_behind * kScanPerIndexed) return false;
    scanned_rows_ = 0;
    return true;
  }
  /// The index of a column if it is built and current, for readers that must not write.
  const RowIndex* ready_index(uint32_t column) const;

 private:
  static constexpr uint8_t kLive = 1, kSubsumed = 2;
  struct HashSlot {
    uint32_t hash;
    uint32_t row;  // kNone: free; kTombstone: erased
  };
  static constexpr uint32_t kTombstone = kNone - 1;
  struct EpochStart {
    Epoch epoch;
    uint32_t row;
  };
  struct CachedIndex {
    std::vector<uint32_t> columns;
    RowIndex rows;
    uint32_t end_row = 0;
  };
  struct CachedTrie {
    TrieIndex rows;
    uint32_t end_row = 0;
  };

  /// Keys are few: a loop beats a call of memcmp.
  bool same_keys(const Value* keys, uint32_t row) const {
    const Value* cells = this->row(row);
    for (uint32_t i = 0; i < num_keys_; ++i)
      if (keys[i] != cells[i]) return false;
    return true;
  }
  HashSlot* find_slot(const Value* keys, uint32_t hash);
  uint32_t write_row(const Value* cells, bool subsumed, Epoch epoch) {
    const uint32_t new_row = end_row();
    const size_t place = cells_.size();
    cells_.resize(place + num_columns());
    for (uint32_t i = 0; i < num_columns(); ++i) cells_[place + i] = cells[i];
    flags_.push_back(subsumed ? kLive | kSubsumed : kLive);
    if (epochs_.empty() || epochs_.back().epoch != epoch) epochs_.push_back({epoch, new_row});
    ++num_live_;
    num_subsumed_ += subsumed ? 1 : 0;
    return new_row;
  }
  /// Sees to a free slot for one more row.
  void make_room() {
    if (size_t{used_slots_ + 1} * 8 > hash_.size() * 5) grow();
  }
  void grow();
  void clear_hash();
  void put_slot(HashSlot slot);
  void rehash();
  const RowIndex& refresh(CachedIndex& index);

  uint32_t num_keys_;
  uint32_t num_live_ = 0;
  uint32_t num_subsumed_ = 0;  // written, whether still live or not
  uint32_t used_slots_ = 0;
  uint64_t wasted_rows_ = 0;
  uint64_t scanned_rows_ = 0;
  BigVector<Value> cells_;
  BigVector<uint8_t> flags_;
  std::vector<EpochStart> epochs_;
  BigVector<HashSlot> hash_;
  std::vector<std::unique_ptr<CachedIndex>> by_column_;
  std::vector<std::unique_ptr<CachedIndex>> by_columns_;
  std::vector<std::unique_ptr<CachedTrie>> tries_;
};

}  // namespace luminal::egraph
