// Where a piece of a program stands in its source text. Spans are two offsets and a file, cheap to
// copy; the SourceMap owns the texts for as long as the e-graph lives.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace luminal::egraph {

/// A program text and the name it is reported under.
struct SourceFile {
  std::string name;
  std::string text;
};

/// A range of bytes of a source file. A null file means "built from C++, no text".
struct Span {
  const SourceFile* file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  /// The quoted source.
  std::string_view text() const;
  /// `In 3:1-14 of FILE: (check (R 1))`, or `In 3:1-4:2 of FILE: …` over several lines.
  std::string describe() const;
};

/// Smallest span that covers both.
Span join(const Span& first, const Span& last);

/// Owns source texts; addresses of its files never change.
class SourceMap {
 public:
  /// Stores a text and returns its stable address.
  const SourceFile* add(std::string name, std::string text);

 private:
  std::deque<SourceFile> files_;
};

}  // namespace luminal::egraph
