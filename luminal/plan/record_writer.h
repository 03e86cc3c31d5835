// Writing the parts of a plan as bytes: numbers, texts, expressions, views and nodes, one after the
// other, without padding and the same on every machine. Expressions and the dims they are over are
// kept in tables, each once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/graph/node.h"

namespace luminal::plan {

/// See above. What it writes is read by RecordReader.
class RecordWriter {
 public:
  void number(uint64_t value);
  void signed_number(int64_t value) { number(static_cast<uint64_t>(value)); }
  void real(double value);
  void text(std::string_view text);
  void numbers(const std::vector<size_t>& values);
  /// An expression over dims; it holds no axis.
  void expr(const symbolic::Expr& expr);
  void shape(const graph::Shape& shape);
  void type(const graph::TensorType& type);
  void edge(const graph::Edge& edge);
  /// A node of an op that runs on the host; a constant or a function is none.
  void node(const graph::Node& node);

  /// Calls function(element) for each of a list, after their number.
  template <typename List, typename Function>
  void list(const List& elements, Function function) {
    number(elements.size());
    for (const auto& element : elements) function(element);
  }

  /// The tables, then everything written.
  std::string take() const;

 private:
  size_t text_number(const std::string& text);
  void note_dims(const symbolic::Expr& expr);

  std::string bytes_;
  std::map<std::string, symbolic::Interval> dims_;
  std::map<std::string, size_t> expr_numbers_;
  std::vector<std::string> exprs_;
};

}  // namespace luminal::plan
