#include "luminal/compiler/explanation_words.h"

#include <algorithm>
#include <iterator>

namespace luminal::compiler {
namespace {

constexpr size_t kColumns = 120;

}  // namespace

std::string size_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

std::string count_text(double count) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  while (count >= 999.5 && unit + 1 < std::size(kUnits)) {
    count /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{}", count, kUnits[unit]);
}

std::string time_text(double microseconds) {
  if (microseconds >= 999500) return fmt::format("{:.3g} s", microseconds * 1e-6);
  if (microseconds >= 999.5) return fmt::format("{:.3g} ms", microseconds * 1e-3);
  return fmt::format("{:.3g} us", microseconds);
}

std::string cut_to(std::string text, size_t width) {
  // Names may be UTF-8: never end inside of a character.
  if (text.size() <= width) return text;
  size_t end = width - 2;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "..";
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

std::string plural(size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void TextLines::add(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text_ += line + "\n";
}

void TextLines::wrapped(const std::string& lead, const std::string& text) {
  const std::string indent(lead.size(), ' ');
  std::string current = lead;
  bool empty = true;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!empty && current.size() + 1 + word.size() > kColumns) {
      add(std::exchange(current, indent));
      empty = true;
    }
    current += (empty ? "" : " ") + word;
    empty = false;
    begin = end + 1;
  }
  add(std::move(current));
}

}  // namespace luminal::compiler
