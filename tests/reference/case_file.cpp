#include "case_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "luminal/support/error.h"

namespace luminal::reference {
namespace {

using graph::Array;
using graph::DType;
using graph::Extents;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

template <typename T>
T parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end)
    throw UserError("case file", "'{}' is not a number", text);
  return value;
}

DType parse_dtype(std::string_view text) {
  if (const auto dtype = graph::dtype_from_name(text)) return *dtype;
  throw UserError("case file", "unknown dtype '{}'", text);
}

Extents parse_extents(std::string_view text) {
  Extents extents;
  if (text == "-") return extents;
  for (const auto part : split(text, 'x')) extents.push_back(parse_number<int64_t>(part));
  return extents;
}

/// The tensor of a line "in DTYPE SHAPE OFFSET".
Array parse_tensor(const std::vector<std::string_view>& words, std::string_view bytes) {
  if (words.size() != 4)
    throw UserError("case file", "a tensor has 3 fields, this one has {}", words.size() - 1);
  const DType dtype = parse_dtype(words[1]);
  Extents extents = parse_extents(words[2]);
  const auto offset = parse_number<uint64_t>(words[3]);
  const auto size = static_cast<uint64_t>(graph::byte_size(dtype, graph::element_count(extents)));
  if (offset > bytes.size() || size > bytes.size() - offset)
    throw UserError("case file", "bytes {} to {} are past the end of the data, which has {}",
                    offset, offset + size, bytes.size());
  std::vector<std::byte> data(size);
  if (size > 0) std::memcpy(data.data(), bytes.data() + offset, size);
  return {dtype, std::move(extents), std::move(data)};
}

Case parse_case_line(const std::vector<std::string_view>& words, int line) {
  if (words.size() < 3) throw UserError("case file", "a case needs an op and a tolerance");
  Case result;
  result.line = line;
  result.op = words[1];
  result.tolerance = parse_tolerance(words[2]);
  for (size_t i = 3; i < words.size(); ++i) result.attributes.add(words[i]);
  return result;
}

void parse_line(std::string_view text, int line, std::string_view bytes, std::vector<Case>& cases) {
  const auto words = split(text, ' ');
  if (words[0] == "case") {
    cases.push_back(parse_case_line(words, line));
  } else if (words[0] != "in" && words[0] != "out") {
    throw UserError("case file", "a line begins with case, in or out, not '{}'", words[0]);
  } else if (cases.empty()) {
    throw UserError("case file", "a tensor stands before the first case");
  } else {
    auto& tensors = words[0] == "in" ? cases.back().inputs : cases.back().outputs;
    tensors.push_back(parse_tensor(words, bytes));
  }
}

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError("case file", "cannot read {}", path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string type_text(const Array& array) {
  std::string text = fmt::format("{}[", array.dtype());
  for (size_t i = 0; i < array.extents().size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", array.extents()[i]);
  return text + "]";
}

}  // namespace

Tolerance parse_tolerance(std::string_view text) {
  const auto parts = split(text, ':');
  using Kind = Tolerance::Kind;
  if (text == "exact") return {.kind = Kind::kExact};
  if (text == "equal") return {.kind = Kind::kEqual};
  if (parts.size() == 2 && parts[0] == "ulps")
    return {.kind = Kind::kUlps, .ulps = parse_number<int64_t>(parts[1])};
  if (parts.size() == 3 && parts[0] == "close")
    return {.kind = Kind::kClose,
            .relative = parse_number<double>(parts[1]),
            .absolute = parse_number<double>(parts[2])};
  throw UserError("case file", "unknown tolerance '{}'", text);
}

void CaseAttributes::add(std::string_view pair) {
  const size_t at = pair.find('=');
  if (at == std::string_view::npos) throw UserError("case file", "attribute '{}' has no '='", pair);
  values_.emplace(pair.substr(0, at), pair.substr(at + 1));
}

const std::string& CaseAttributes::text(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end())
    throw UserError("case file", "attribute '{}' is missing; there are: {}", key, to_string());
  return found->second;
}

int64_t CaseAttributes::integer(const std::string& key) const {
  return parse_number<int64_t>(text(key));
}

double CaseAttributes::number(const std::string& key) const {
  return parse_number<double>(text(key));
}

bool CaseAttributes::flag(const std::string& key) const {
  const std::string& value = text(key);
  if (value != "true" && value != "false")
    throw UserError("case file", "'{}' is neither true nor false", value);
  return value == "true";
}

std::vector<int64_t> CaseAttributes::integers(const std::string& key) const {
  std::vector<int64_t> values;
  if (text(key) == "[]") return values;
  for (const auto part : split(text(key), ',')) values.push_back(parse_number<int64_t>(part));
  return values;
}

graph::DType CaseAttributes::dtype(const std::string& key) const { return parse_dtype(text(key)); }

std::string CaseAttributes::to_string() const {
  std::string result;
  for (const auto& [key, value] : values_)
    result += fmt::format("{}{}={}", result.empty() ? "" : " ", key, value);
  return result;
}

std::string describe(const Case& test_case) {
  std::string text = test_case.op;
  for (const auto& input : test_case.inputs) text += " " + type_text(input);
  const std::string attributes = test_case.attributes.to_string();
  if (!attributes.empty()) text += " " + attributes;
  return text + fmt::format(" (line {})", test_case.line);
}

std::vector<Case> parse_cases(std::string_view text, std::string_view bytes) {
  std::vector<Case> cases;
  int line = 0;
  std::istringstream stream{std::string(text)};
  for (std::string words; std::getline(stream, words);) {
    ++line;
    try {
      parse_line(words, line, bytes, cases);
    } catch (const UserError& error) {
      throw UserError("case file", "line {}: {}", line, error.what());
    }
  }
  return cases;
}

std::vector<Case> load_family(const std::filesystem::path& folder, const std::string& name) {
  return parse_cases(read_all(folder / (name + ".cases")), read_all(folder / (name + ".bin")));
}

std::vector<std::string> family_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".cases") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace luminal::reference
