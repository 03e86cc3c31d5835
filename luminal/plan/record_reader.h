// Reading what RecordWriter wrote. The bytes may be anything: whatever does not fit is a UserError,
// no number is believed before it was compared with what is there, and no memory is taken for more
// than the bytes can hold.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/graph/byte_reader.h"
#include "luminal/graph/node.h"

namespace luminal::plan {

/// See above.
class RecordReader {
 public:
  /// Reads the tables. `file` is for errors.
  RecordReader(std::span<const std::byte> bytes, std::string_view file);

  uint64_t number() { return reader_.integer(8); }
  uint64_t number_below(uint64_t limit, std::string_view what);
  int64_t signed_number() { return static_cast<int64_t>(number()); }
  double real();
  std::string text() { return std::string(text_view()); }
  std::vector<size_t> numbers();
  symbolic::Expr expr();
  graph::Shape shape();
  graph::DType dtype();
  graph::TensorType type();
  graph::Edge edge();
  graph::Node node();
  /// How many elements follow: each takes at least one number.
  size_t count();
  /// That nothing is left.
  void finish() const;

  /// Calls function() for each of a list and gives what it gave.
  template <typename Function>
  auto list(Function function) {
    std::vector<decltype(function())> result;
    const size_t elements = count();
    result.reserve(elements);
    for (size_t k = 0; k < elements; ++k) result.push_back(function());
    return result;
  }

  [[noreturn]] static void reject(std::string_view why);

 private:
  std::string_view text_view() { return reader_.take_text(number()); }
  graph::Attributes attributes(graph::Op op);

  graph::ByteReader reader_;
  std::map<std::string, symbolic::Expr, std::less<>> dims_;
  std::vector<symbolic::Expr> exprs_;
};

}  // namespace luminal::plan
