#include "luminal/plan/sorted_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "luminal/graph/element_source.h"

namespace luminal::plan {
namespace {

using graph::Array;
using graph::DType;
using graph::NodeId;
using runtime::ThreadTeam;

/// Rows from this length on are worth several threads.
constexpr int64_t kLongRow = 1 << 15;
/// Shorter runs are sorted by comparing.
constexpr size_t kFewItems = 1024;

/// A bfloat16 as it lies in memory.
struct BFloat16 {
  uint16_t bits;
};

/// A key of 32 bits and a position: one number, so that equal keys stay in order by themselves.
struct ShortItem {
  uint64_t bits;
  ShortItem() = default;
  ShortItem(uint32_t key, int64_t position)
      : bits(uint64_t{key} << 32 | static_cast<uint64_t>(position)) {}
  int64_t position() const { return static_cast<int64_t>(bits & 0xffffffffU); }
  uint32_t key() const { return static_cast<uint32_t>(bits >> 32); }
  bool operator<(const ShortItem& other) const { return bits < other.bits; }
};

/// The same for keys of 64 bits, or rows that are longer than 2^32.
struct LongItem {
  uint64_t value;
  int64_t at;
  LongItem() = default;
  LongItem(uint64_t key, int64_t position) : value(key), at(position) {}
  int64_t position() const { return at; }
  uint64_t key() const { return value; }
  bool operator<(const LongItem& other) const {
    return value != other.value ? value < other.value : at < other.at;
  }
};

/// Unsigned numbers in the order of the values: zeros are one, and NaN is above everything.
uint32_t key_of(float value) {
  if (std::isnan(value)) return std::numeric_limits<uint32_t>::max();
  const auto bits = std::bit_cast<uint32_t>(value + 0.0F);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}
uint64_t key_of(double value) {
  if (std::isnan(value)) return std::numeric_limits<uint64_t>::max();
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);
  return (bits >> 63) != 0 ? ~bits : bits | uint64_t{1} << 63;
}
uint32_t key_of(int32_t value) { return static_cast<uint32_t>(value) ^ 0x80000000U; }
uint64_t key_of(int64_t value) {
  return static_cast<uint64_t>(value) ^ uint64_t { 1 } << 63;
}

/// By digits of 11 bits of the key, the lowest first; digits that are all alike cost one look.
void sort_run(std::span<ShortItem> items, std::span<ShortItem> spare) {
  constexpr size_t kDigits = 3;
  constexpr size_t kValues = 1 << 11;
  if (items.size() < kFewItems) return std::sort(items.begin(), items.end());
  const auto digit = [](const ShortItem& item, size_t d) {
    return (item.bits >> (32 + 11 * d)) % kValues;
  };
  std::array<std::array<uint32_t, kValues>, kDigits> counts{};
  for (const ShortItem& item : items)
    for (size_t d = 0; d < kDigits; ++d) ++counts[d][digit(item, d)];
  std::span<ShortItem> from = items;
  std::span<ShortItem> to = spare;
  for (size_t d = 0; d < kDigits; ++d) {
    if (counts[d][digit(from[0], d)] == from.size()) continue;
    uint32_t next = 0;
    for (uint32_t& count : counts[d]) next += std::exchange(count, next);
    for (const ShortItem& item : from) to[counts[d][digit(item, d)]++] = item;
    std::swap(from, to);
  }
  if (from.data() != items.data()) std::copy(from.begin(), from.end(), items.begin());
}

void sort_run(std::span<LongItem> items, std::span<LongItem> /*spare*/) {
  std::sort(items.begin(), items.end());
}

/// How many of the first `count` items of two sorted runs, merged, come from the first one.
template <typename Item>
size_t merge_split(std::span<const Item> a, std::span<const Item> b, size_t count) {
  size_t low = count > b.size() ? count - b.size() : 0;
  size_t high = std::min(count, a.size());
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (b[count - middle - 1] < a[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// One long row: every thread sorts a run, then all of them merge runs two by two.
template <typename Item>
void sort_on_team(std::vector<Item>& items, std::vector<Item>& spare, ThreadTeam& team) {
  const auto threads = static_cast<size_t>(team.size());
  std::vector<size_t> begins;
  for (size_t k = 0; k <= threads; ++k) begins.push_back(items.size() * k / threads);
  team.run([&](int thread) {
    const auto k = static_cast<size_t>(thread);
    const size_t size = begins[k + 1] - begins[k];
    sort_run(std::span(items).subspan(begins[k], size), std::span(spare).subspan(begins[k], size));
  });
  while (begins.size() > 2) {
    const std::span<const Item> from = items;
    std::vector<size_t> merged{0};
    for (size_t k = 0; k + 1 < begins.size(); k += 2) {
      const size_t last = std::min(k + 2, begins.size() - 1);
      const auto a = from.subspan(begins[k], begins[k + 1] - begins[k]);
      const auto b = from.subspan(begins[k + 1], begins[last] - begins[k + 1]);
      team.run([&](int thread) {
        const auto t = static_cast<size_t>(thread);
        const size_t first = (a.size() + b.size()) * t / threads;
        const size_t end = (a.size() + b.size()) * (t + 1) / threads;
        const size_t a_first = merge_split(a, b, first);
        const size_t a_end = merge_split(a, b, end);
        std::merge(a.data() + a_first, a.data() + a_end, b.data() + (first - a_first),
                   b.data() + (end - a_end), spare.data() + begins[k] + first);
      });
      merged.push_back(begins[last]);
    }
    items.swap(spare);
    begins = std::move(merged);
  }
}

/// Numbers that compare as the values do.
float number_of(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
template <typename T>
T number_of(T value) {
  return value;
}

/// The first in order of each of kColumns interleaved columns of kDepth values; NaN is largest.
constexpr int64_t kColumns = 64;
constexpr int64_t kDepth = 16;
template <bool kDescending, typename T, typename Number>
void find_firsts(const T* values, std::array<Number, kColumns>& firsts) {
  // Local, and without branches, so that it is compiled to vectors.
  std::array<Number, kColumns> best;
  for (size_t c = 0; c < kColumns; ++c) best[c] = number_of(values[c]);
  for (int64_t row = 1; row < kDepth; ++row) {
    const T* line = values + row * kColumns;
    for (size_t c = 0; c < kColumns; ++c) {
      const Number value = number_of(line[c]);
      const Number first = best[c];
      const int before =
          kDescending ? (value > first) | (value != value) : (value < first) | (first != first);
      best[c] = before != 0 ? value : first;
    }
  }
  firsts = best;
}

/// Keys of the first values of all columns of whole blocks.
template <typename Key, typename T>
std::vector<Key> first_keys(const T* values, int64_t blocks, bool descending) {
  using Number = decltype(number_of(T{}));
  std::vector<Key> keys(static_cast<size_t>(blocks * kColumns));
  std::array<Number, kColumns> firsts;
  for (int64_t block = 0; block < blocks; ++block) {
    const T* from = values + block * kColumns * kDepth;
    descending ? find_firsts<true>(from, firsts) : find_firsts<false>(from, firsts);
    Key* to = keys.data() + block * kColumns;
    for (size_t c = 0; c < kColumns; ++c) {
      const Key key = key_of(firsts[c]);
      to[c] = descending ? ~key : key;
    }
  }
  return keys;
}

/// Items of [begin, end), the least `wanted` among them. A column whose first value is not among
/// the first `wanted` of all columns has none of these, so that most values are compared once.
template <typename Item, typename T, typename At>
std::vector<Item> few_items(const T* values, int64_t begin, int64_t end, int64_t wanted,
                            bool descending, const At& item_at) {
  using Key = decltype(Item().key());
  constexpr int64_t kBlock = kColumns * kDepth;
  int64_t blocks = (end - begin) / kBlock;
  if (blocks * kColumns < 2 * wanted) blocks = 0;
  std::vector<Item> items;
  if (blocks > 0) {
    const std::vector<Key> keys = first_keys<Key>(values + begin, blocks, descending);
    std::vector<Key> order = keys;
    std::nth_element(order.begin(), order.begin() + wanted - 1, order.end());
    const Key limit = order[static_cast<size_t>(wanted - 1)];
    for (int64_t column = 0; column < blocks * kColumns; ++column) {
      if (keys[static_cast<size_t>(column)] > limit) continue;
      const int64_t top = begin + column / kColumns * kBlock + column % kColumns;
      for (int64_t at = top; at < top + kBlock; at += kColumns)
        if (const Item item = item_at(at); item.key() <= limit) items.push_back(item);
    }
  }
  for (int64_t at = begin + blocks * kBlock; at < end; ++at) items.push_back(item_at(at));
  return items;
}

/// The least `wanted` items, or all if there are fewer, sorted.
template <typename Item>
void keep_least(std::vector<Item>& items, int64_t wanted) {
  if (wanted < static_cast<int64_t>(items.size())) {
    std::nth_element(items.begin(), items.begin() + wanted - 1, items.end());
    items.resize(static_cast<size_t>(wanted));
  }
  std::sort(items.begin(), items.end());
}

/// All rows of values of one type; items are made of a value and its position.
template <typename Item, typename T>
class RowSorter {
 public:
  RowSorter(const T* values, int64_t length, int64_t wanted, bool descending, int64_t* result)
      : values_(values),
        length_(length),
        wanted_(std::min(wanted, length)),
        descending_(descending),
        result_(result) {}

  void run(int64_t rows, ThreadTeam& team) const {
    if (rows < team.size() && length_ >= kLongRow) {
      for (int64_t row = 0; row < rows; ++row) sort_long_row(row, team);
      return;
    }
    const bool small = rows * length_ < kLongRow / 4;
    const auto some = [&](int64_t begin, int64_t end, int) {
      std::vector<Item> items;
      std::vector<Item> spare;
      for (int64_t row = begin; row < end; ++row) sort_row(row, items, spare);
    };
    if (small) return some(0, rows, 0);
    team.static_loop(rows, some);
  }

 private:
  bool finds_few() const { return wanted_ * 8 < length_; }

  auto item_at(int64_t row) const {
    const T* values = values_ + row * length_;
    return [values, flip = descending_](int64_t i) {
      const auto key = key_of(number_of(values[i]));
      return Item(flip ? ~key : key, i);
    };
  }

  std::vector<Item> least(int64_t row, int64_t begin, int64_t end) const {
    std::vector<Item> items =
        few_items<Item>(values_ + row * length_, begin, end, wanted_, descending_, item_at(row));
    keep_least(items, wanted_);
    return items;
  }

  void write(int64_t row, std::span<const Item> items) const {
    int64_t* to = result_ + row * length_;
    for (int64_t i = 0; i < wanted_; ++i) to[i] = items[static_cast<size_t>(i)].position();
  }

  void sort_row(int64_t row, std::vector<Item>& items, std::vector<Item>& spare) const {
    if (finds_few()) return write(row, least(row, 0, length_));
    items.resize(static_cast<size_t>(length_));
    spare.resize(items.size());
    const auto at = item_at(row);
    for (int64_t i = 0; i < length_; ++i) items[static_cast<size_t>(i)] = at(i);
    sort_run(std::span(items), std::span(spare));
    write(row, items);
  }

  void sort_long_row(int64_t row, ThreadTeam& team) const {
    const auto at = item_at(row);
    if (finds_few()) {
      std::vector<std::vector<Item>> parts(static_cast<size_t>(team.size()));
      team.static_loop(length_, [&](int64_t begin, int64_t end, int thread) {
        parts[static_cast<size_t>(thread)] = least(row, begin, end);
      });
      std::vector<Item> all;
      for (const std::vector<Item>& part : parts) all.insert(all.end(), part.begin(), part.end());
      std::sort(all.begin(), all.end());
      return write(row, all);
    }
    std::vector<Item> items(static_cast<size_t>(length_));
    std::vector<Item> spare(items.size());
    team.static_loop(length_, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) items[static_cast<size_t>(i)] = at(i);
    });
    sort_on_team(items, spare, team);
    write(row, items);
  }

  const T* values_;
  int64_t length_;
  int64_t wanted_;
  bool descending_;
  int64_t* result_;
};

}  // namespace

std::map<NodeId, int64_t> sorted_prefixes(const graph::Graph& graph) {
  std::map<NodeId, int64_t> result;
  const auto read = [&](const graph::Edge& edge) {
    const graph::Node& node = graph.node(edge.node);
    if (node.op != graph::Op::kArgSort) return;
    const int64_t last = edge.view.index().back().bounds().hi;
    const int64_t count =
        last < std::numeric_limits<int64_t>::max() / 2 ? std::max<int64_t>(0, last + 1) : -1;
    const auto [found, first] = result.emplace(edge.node, count);
    if (!first)
      found->second = count < 0 || found->second < 0 ? -1 : std::max(found->second, count);
  };
  for (const NodeId id : graph.ids())
    for (const graph::Edge& edge : graph.node(id).operands) read(edge);
  for (const graph::Output& output : graph.outputs()) read(output.edge);
  // Rules may have found two of them equal, of which one is then run for the readers of both.
  const std::map<NodeId, int64_t> own = result;
  for (auto& [id, count] : result)
    for (const auto& [other, others_count] : own)
      if (graph.node(other).shape() == graph.node(id).shape())
        count = count < 0 || others_count < 0 ? -1 : std::max(count, others_count);
  std::erase_if(result, [](const auto& entry) { return entry.second < 0; });
  return result;
}

void argsort_rows(const graph::Node& node, const Array& values, const graph::DimBindings& dims,
                  int64_t wanted, ThreadTeam& team, int64_t* result) {
  Array plain = graph::materialize(values, node.operands[0].view, dims, "argsort");
  const graph::Extents extents = graph::evaluate_shape(node.shape(), dims);
  const int64_t length = extents.back();
  if (plain.size() == 0 || wanted <= 0) return;
  const int64_t rows = plain.size() / length;
  const bool descending = node.attribute<graph::ArgSortAttribute>().descending;
  const auto sort = [&]<typename Item, typename T>(const Item*, std::span<const T> data) {
    RowSorter<Item, T>(data.data(), length, wanted, descending, result).run(rows, team);
  };
  const bool long_rows = length > int64_t{std::numeric_limits<uint32_t>::max()};
  const DType dtype = plain.dtype();
  const bool is_float = graph::is_float(dtype);
  const int bits = graph::bits(dtype);
  // Wider dtypes keep the order.
  if (dtype == DType::kBF16 && !long_rows) {
    const auto* data = reinterpret_cast<const BFloat16*>(plain.bytes().data());
    const std::span values16(data, static_cast<size_t>(plain.size()));
    return sort(static_cast<ShortItem*>(nullptr), values16);
  }
  if (is_float && bits < 32) plain = plain.cast(DType::kF32);
  if (!is_float && bits < 32) plain = plain.cast(DType::kI32);
  if (dtype == DType::kU32) plain = plain.cast(DType::kI64);
  switch (plain.dtype()) {
    case DType::kF32:
      if (long_rows) return sort(static_cast<LongItem*>(nullptr), plain.as<float>());
      return sort(static_cast<ShortItem*>(nullptr), plain.as<float>());
    case DType::kI32:
      if (long_rows) return sort(static_cast<LongItem*>(nullptr), plain.as<int32_t>());
      return sort(static_cast<ShortItem*>(nullptr), plain.as<int32_t>());
    case DType::kF64:
      return sort(static_cast<LongItem*>(nullptr), plain.as<double>());
    default:
      return sort(static_cast<LongItem*>(nullptr), plain.cast(DType::kI64).as<int64_t>());
  }
}

}  // namespace luminal::plan
