#include "luminal/egraph/table.h"

#include <algorithm>

namespace luminal::egraph {
namespace {

/// How many rows ahead their places in an index are fetched from memory.
constexpr uint32_t kPrefetchDistance = 8;

}  // namespace

Table::Table(const Table& other)
    : num_keys_(other.num_keys_),
      num_live_(other.num_live_),
      num_subsumed_(other.num_subsumed_),
      used_slots_(other.used_slots_),
      cells_(other.cells_),
      flags_(other.flags_),
      epochs_(other.epochs_),
      hash_(other.hash_) {}

Table& Table::operator=(const Table& other) {
  *this = Table(other);
  return *this;
}

Table::HashSlot* Table::find_slot(const Value* keys, uint32_t hash) {
  const size_t mask = hash_.size() - 1;
  HashSlot* reusable = nullptr;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    HashSlot& slot = hash_[at];
    if (slot.row == kNone) return reusable != nullptr ? reusable : &slot;
    if (slot.row == kTombstone) {
      if (reusable == nullptr) reusable = &slot;
    } else if (slot.hash == hash && same_keys(keys, slot.row)) {
      return &slot;
    }
  }
}

void Table::clear_hash() {
  size_t capacity = 8;
  while (capacity < size_t{num_live_ + 1} * 2) capacity *= 2;
  hash_.assign(capacity, HashSlot{0, kNone});
  used_slots_ = 0;
}

void Table::put_slot(HashSlot slot) {
  const size_t mask = hash_.size() - 1;
  size_t at = slot.hash & mask;
  while (hash_[at].row != kNone) at = (at + 1) & mask;
  hash_[at] = slot;
  ++used_slots_;
}

/// Drops erased slots and doubles the hash where it is full. Old slots are read and new ones
/// written nearly in order, and no row is looked at.
void Table::grow() {
  BigVector<HashSlot> old;
  old.swap(hash_);
  clear_hash();
  for (const HashSlot& slot : old)
    if (slot.row < kTombstone) put_slot(slot);
}

/// Builds the hash again from the rows, after their numbers changed.
void Table::rehash() {
  clear_hash();
  for (uint32_t r = 0; r < end_row(); ++r) put_slot({hash(row(r)), r});
}

uint32_t Table::append(const Value* cells, bool subsumed, Epoch epoch, uint32_t hash) {
  make_room();
  HashSlot* slot = find_slot(cells, hash);
  if (slot->row == kNone) ++used_slots_;
  if (slot->row < kTombstone) {
    flags_[slot->row] = 0;
    --num_live_;
  }
  *slot = {hash, end_row()};
  return write_row(cells, subsumed, epoch);
}

void Table::erase(uint32_t row, uint32_t hash) {
  if (!live(row)) return;
  const size_t mask = hash_.size() - 1;
  size_t at = hash & mask;
  while (hash_[at].row != row) at = (at + 1) & mask;
  hash_[at].row = kTombstone;
  flags_[row] = 0;
  --num_live_;
}

uint32_t Table::first_row_since(Epoch epoch) const {
  if (epochs_.empty() || epochs_.back().epoch < epoch) return end_row();
  const auto start =
      std::lower_bound(epochs_.begin(), epochs_.end(), epoch,
                       [](const EpochStart& e, Epoch value) { return e.epoch < value; });
  return start == epochs_.end() ? end_row() : start->row;
}

Epoch Table::epoch_of(uint32_t row) const {
  const auto after = std::upper_bound(epochs_.begin(), epochs_.end(), row,
                                      [](uint32_t r, const EpochStart& e) { return r < e.row; });
  return after == epochs_.begin() ? 0 : std::prev(after)->epoch;
}

bool Table::compact_if_sparse(std::vector<uint32_t>* kept) {
  const uint32_t dead = end_row() - num_live_;
  if (dead <= std::max(16u, end_row() / 2)) return false;
  std::vector<EpochStart> epochs;
  uint32_t next = 0;
  size_t current = 0;
  for (uint32_t r = 0; r < end_row(); ++r) {
    while (current + 1 < epochs_.size() && epochs_[current + 1].row <= r) ++current;
    if (!live(r)) continue;
    const Epoch epoch = epochs_[current].epoch;
    if (epochs.empty() || epochs.back().epoch != epoch) epochs.push_back({epoch, next});
    std::copy_n(cells_.begin() + size_t{r} * num_columns(), num_columns(),
                cells_.begin() + size_t{next} * num_columns());
    flags_[next] = flags_[r];
    if (kept != nullptr) kept->push_back(r);
    ++next;
  }
  cells_.resize(size_t{next} * num_columns());
  flags_.resize(next);
  epochs_ = std::move(epochs);
  rehash();
  by_column_.clear();
  by_columns_.clear();
  tries_.clear();
  return true;
}

// Rows that died since they were written are listed like all others: what an index holds must not
// depend on when somebody first asked for it, because the matcher chooses by the sizes of buckets.
const RowIndex& Table::refresh(CachedIndex& index) {
  if (index.columns.size() == 1) {
    const uint32_t column = index.columns[0];
    for (; index.end_row < end_row(); ++index.end_row) {
      const uint32_t ahead = index.end_row + kPrefetchDistance;
      if (ahead < end_row()) index.rows.prefetch(row(ahead)[column]);
      index.rows.add(row(index.end_row)[column], index.end_row);
    }
    return index.rows;
  }
  std::vector<Value> key(index.columns.size());
  for (; index.end_row < end_row(); ++index.end_row) {
    const Value* cells = row(index.end_row);
    for (size_t i = 0; i < key.size(); ++i) key[i] = cells[index.columns[i]];
    index.rows.add(hash_words(key.data(), static_cast<uint32_t>(key.size())), index.end_row);
  }
  return index.rows;
}

const RowIndex& Table::index(uint32_t column) {
  if (by_column_.empty()) by_column_.resize(num_columns());
  auto& cached = by_column_[column];
  if (cached == nullptr) {
    cached = std::make_unique<CachedIndex>();
    cached->columns = {column};
  }
  return refresh(*cached);
}

const RowIndex& Table::index(std::span<const uint32_t> columns) {
  for (auto& cached : by_columns_)
    if (std::equal(columns.begin(), columns.end(), cached->columns.begin(), cached->columns.end()))
      return refresh(*cached);
  by_columns_.push_back(std::make_unique<CachedIndex>());
  by_columns_.back()->columns.assign(columns.begin(), columns.end());
  return refresh(*by_columns_.back());
}

const TrieIndex& Table::trie(std::span<const uint32_t> columns, uint32_t* added) {
  const auto same = [&](const std::unique_ptr<CachedTrie>& cached) {
    const auto& have = cached->rows.columns();
    return std::equal(columns.begin(), columns.end(), have.begin(), have.end());
  };
  auto found = std::find_if(tries_.begin(), tries_.end(), same);
  if (found == tries_.end()) {
    TrieIndex empty({columns.begin(), columns.end()});
    found = tries_.insert(found, std::make_unique<CachedTrie>(CachedTrie{std::move(empty)}));
  }
  CachedTrie& trie = **found;
  if (added != nullptr) *added = end_row() - trie.end_row;
  for (; trie.end_row < end_row(); ++trie.end_row) trie.rows.add(row(trie.end_row), trie.end_row);
  return trie.rows;
}

const RowIndex* Table::ready_index(uint32_t column) const {
  if (by_column_.empty() || by_column_[column] == nullptr) return nullptr;
  return by_column_[column]->end_row == end_row() ? &by_column_[column]->rows : nullptr;
}

}  // namespace luminal::egraph
