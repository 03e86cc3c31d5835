#include "luminal/egraph/span.h"

#include <fmt/core.h>

#include <utility>

namespace luminal::egraph {
namespace {

struct Position {
  uint32_t line;
  uint32_t column;
};

Position position_of(const std::string& text, uint32_t offset) {
  Position at{1, 1};
  for (uint32_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++at.line;
      at.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++at.column;  // continuation bytes of UTF-8 are no columns of their own
    }
  }
  return at;
}

}  // namespace

std::string_view Span::text() const {
  if (file == nullptr) return "<built in C++>";
  return std::string_view(file->text).substr(begin, end - begin);
}

std::string Span::describe() const {
  if (file == nullptr) return "In a program built from C++";
  const Position first = position_of(file->text, begin);
  const Position last = position_of(file->text, end > begin ? end - 1 : end);
  if (first.line == last.line) {
    return fmt::format("In {}:{}-{} of {}: {}", first.line, first.column, last.column, file->name,
                       text());
  }
  return fmt::format("In {}:{}-{}:{} of {}: {}", first.line, first.column, last.line, last.column,
                     file->name, text());
}

Span join(const Span& first, const Span& last) {
  if (first.file == nullptr) return last;
  return {first.file, first.begin, last.file == first.file ? last.end : first.end};
}

const SourceFile* SourceMap::add(std::string name, std::string text) {
  files_.push_back({std::move(name), std::move(text)});
  return &files_.back();
}

}  // namespace luminal::egraph
