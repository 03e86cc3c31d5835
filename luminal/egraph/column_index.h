// An index from the value of a column (or the hash of several columns) to the rows that hold it.
// Rows are listed in ascending order, which is the order of epochs, so that "new rows only" and
// "old rows only" are sub-ranges. It grows by appending and may still list dead rows.
#pragma once

#include <span>
#include <vector>

#include "luminal/egraph/big_vector.h"
#include "luminal/egraph/value.h"

namespace luminal::egraph {

/// Hash map from a 32-bit key to an ascending list of rows; a list of one row needs no memory of
/// its own, which is the usual case.
class RowIndex {
 public:
  /// Appends a row, larger than every row before, to the list of `key`.
  void add(Value key, uint32_t row);
  /// The rows of a key, ascending.
  std::span<const uint32_t> rows(Value key) const;
  /// Starts to fetch the bucket of a key from memory.
  void prefetch(Value key) const;
  void clear();
  uint32_t num_keys() const { return used_; }

 private:
  struct Bucket {
    Value key;
    uint32_t size;      // 0: free
    uint32_t capacity;  // 1: `place` is the row itself
    uint32_t place;
  };
  Bucket* locate(Value key);
  void grow();
  void push(Bucket& bucket, uint32_t row);

  BigVector<Bucket> buckets_;
  BigVector<uint32_t> pool_;
  uint32_t used_ = 0;
};

}  // namespace luminal::egraph
