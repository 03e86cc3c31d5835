#include "luminal/egraph/column_index.h"

#include <algorithm>

namespace luminal::egraph {
namespace {

/// Keys that follow each other lie side by side: rows written together hold ids made together, so
/// their buckets share lines of the cache.
uint32_t slot_of(Value key, size_t capacity) {
  constexpr uint32_t kBlockBits = 4;
  constexpr uint32_t kInBlock = (1u << kBlockBits) - 1;
  const auto block = static_cast<uint32_t>(((key >> kBlockBits) * 0x9E3779B97F4A7C15ull) >> 32)
                     << kBlockBits;
  return (block | (key & kInBlock)) & static_cast<uint32_t>(capacity - 1);
}

}  // namespace

RowIndex::Bucket* RowIndex::locate(Value key) {
  uint32_t at = slot_of(key, buckets_.size());
  while (buckets_[at].size != 0 && buckets_[at].key != key) at = (at + 1) & (buckets_.size() - 1);
  return &buckets_[at];
}

void RowIndex::grow() {
  BigVector<Bucket> old(buckets_.empty() ? 16 : buckets_.size() * 2, Bucket{0, 0, 0, 0});
  old.swap(buckets_);
  for (const Bucket& bucket : old)
    if (bucket.size != 0) *locate(bucket.key) = bucket;
}

void RowIndex::push(Bucket& bucket, uint32_t row) {
  if (bucket.size == bucket.capacity) {
    const uint32_t capacity = bucket.capacity * 2;
    const auto place = static_cast<uint32_t>(pool_.size());
    pool_.resize(pool_.size() + capacity);
    if (bucket.capacity == 1) {
      pool_[place] = bucket.place;
    } else {
      std::copy_n(pool_.begin() + bucket.place, bucket.size, pool_.begin() + place);
    }
    bucket.place = place;
    bucket.capacity = capacity;
  }
  pool_[bucket.place + bucket.size++] = row;
}

void RowIndex::add(Value key, uint32_t row) {
  if (used_ * 4 >= buckets_.size() * 3) grow();
  Bucket& bucket = *locate(key);
  if (bucket.size == 0) {
    ++used_;
    bucket = {key, 1, 1, row};
  } else {
    push(bucket, row);
  }
}

std::span<const uint32_t> RowIndex::rows(Value key) const {
  if (buckets_.empty()) return {};
  uint32_t at = slot_of(key, buckets_.size());
  while (buckets_[at].size != 0 && buckets_[at].key != key) at = (at + 1) & (buckets_.size() - 1);
  const Bucket& bucket = buckets_[at];
  if (bucket.size == 0) return {};
  if (bucket.capacity == 1) return {&bucket.place, 1};
  return {pool_.data() + bucket.place, bucket.size};
}

void RowIndex::prefetch(Value key) const {
  if (!buckets_.empty()) __builtin_prefetch(&buckets_[slot_of(key, buckets_.size())]);
}

void RowIndex::clear() {
  buckets_.clear();
  pool_.clear();
  used_ = 0;
}

}  // namespace luminal::egraph
