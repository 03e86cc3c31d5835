#include "luminal/graph/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "luminal/graph/byte_reader.h"
#include "luminal/graph/elements.h"
#include "luminal/graph/zip_archive.h"
#include "luminal/support/file.h"

namespace luminal::graph {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

/// What NumPy calls our dtypes, without the byte order.
struct NumpyName {
  DType dtype;
  std::string_view name;
};
constexpr std::array kNumpyNames{
    NumpyName{DType::kF64, "f8"}, NumpyName{DType::kF32, "f4"},  NumpyName{DType::kF16, "f2"},
    NumpyName{DType::kI64, "i8"}, NumpyName{DType::kI32, "i4"},  NumpyName{DType::kI16, "i2"},
    NumpyName{DType::kI8, "i1"},  NumpyName{DType::kU32, "u4"},  NumpyName{DType::kU16, "u2"},
    NumpyName{DType::kU8, "u1"},  NumpyName{DType::kBool, "b1"},
};

/// How an array without a NumPy dtype is saved.
DType saved_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return DType::kU16;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return DType::kU8;
    case DType::kI4:
      return DType::kI8;
    case DType::kU4:
      return DType::kU8;
    default:
      return dtype;
  }
}

/// The header of a .npy file.
struct Header {
  DType dtype = DType::kF32;
  bool big_endian = false;
  bool fortran_order = false;
  Extents extents;
};

/// Reads the header's text: a Python dict literal with the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Header parse() {
    expect('{');
    bool has_dtype = false, has_order = false, has_shape = false;
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        parse_descr(quoted());
        has_dtype = true;
      } else if (key == "fortran_order") {
        header_.fortran_order = truth();
        has_order = true;
      } else if (key == "shape") {
        parse_shape();
        has_shape = true;
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_dtype || !has_order || !has_shape) fail();
    return header_;
  }

 private:
  [[noreturn]] void fail() const {
    throw UserError("read", "{} is corrupt: its .npy header cannot be understood: {}", file_,
                    text_.substr(0, 120));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  std::string_view quoted() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) refuse_structure();
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail();
    const std::string_view result = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return result;
  }
  /// A list where text was expected describes records.
  [[noreturn]] void refuse_structure() const {
    if (at_ < text_.size() && text_[at_] == '[')
      throw UserError("read", "{} holds records, which cannot be read; save each field by itself",
                      file_);
    fail();
  }
  bool truth() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::strlen(word);
      return value;
    }
    fail();
  }
  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t extent = 0;
      const char* end = text_.data() + text_.size();
      const auto [next, error] = std::from_chars(text_.data() + at_, end, extent);
      if (error != std::errc{} || extent < 0) fail();
      at_ = static_cast<size_t>(next - text_.data());
      header_.extents.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }
  void parse_descr(std::string_view descr) {
    const bool has_order = !descr.empty() && std::strchr("<>|=", descr.front()) != nullptr;
    header_.big_endian = has_order && descr.front() == '>';
    const std::string_view name = has_order ? descr.substr(1) : descr;
    for (const NumpyName& row : kNumpyNames)
      if (row.name == name) {
        header_.dtype = row.dtype;
        return;
      }
    throw UserError("read",
                    "{} has the NumPy dtype '{}', which has no counterpart; convert it "
                    "first, for instance to float32 or int64",
                    file_, descr);
  }

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
  Header header_;
};

void swap_byte_order(std::vector<std::byte>& bytes, size_t width) {
  for (size_t begin = 0; begin + width <= bytes.size(); begin += width)
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(begin),
                 bytes.begin() + static_cast<ptrdiff_t>(begin + width));
}

/// Row-major bytes of data that was written first index fastest.
std::vector<std::byte> from_fortran_order(const std::vector<std::byte>& bytes, const Header& header,
                                          int64_t size) {
  std::vector<std::byte> result(bytes.size());
  const size_t rank = header.extents.size();
  std::vector<int64_t> strides(rank, 1), index(rank, 0);
  for (size_t k = 1; k < rank; ++k) strides[k] = strides[k - 1] * header.extents[k - 1];
  int64_t source = 0;
  for (int64_t target = 0; target < size; ++target) {
    copy_bits(bits(header.dtype), bytes.data(), {source, 1, 1}, result.data(), target);
    for (size_t k = rank; k-- > 0;) {
      source += strides[k];
      if (++index[k] < header.extents[k]) break;
      source -= strides[k] * header.extents[k];
      index[k] = 0;
    }
  }
  return result;
}

/// A header that was damaged may name any extents.
int64_t elements_of(const Header& header, std::string_view file) {
  try {
    return element_count(header.extents);
  } catch (const UserError&) {
    throw UserError("read", "{} is corrupt: it says to hold {}{}, which is too large for any file",
                    file, header.dtype, to_string(header.extents));
  }
}

Header parse_header(ByteReader& reader, std::string_view file) {
  if (reader.remaining() < kMagic.size() || reader.take_text(kMagic.size()) != kMagic)
    throw UserError("read", "{} is no .npy file: it does not begin with \\x93NUMPY", file);
  const uint64_t major = reader.integer(1);
  reader.skip(1);
  if (major < 1 || major > 3)
    throw UserError("read", "{} has .npy format version {}; versions 1 to 3 can be read", file,
                    major);
  const uint64_t size = reader.integer(major == 1 ? 2 : 4);
  return HeaderParser(reader.take_text(size), file).parse();
}

std::string header_text(const Array& array, DType dtype) {
  const auto row = std::find_if(kNumpyNames.begin(), kNumpyNames.end(),
                                [&](const NumpyName& name) { return name.dtype == dtype; });
  std::string shape;
  for (const int64_t extent : array.extents()) shape += fmt::format("{}, ", extent);
  // Python writes (2, 3), but (2,).
  if (array.extents().size() == 1) shape.pop_back();
  if (array.extents().size() > 1) shape.resize(shape.size() - 2);
  return fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                     bits(dtype) == 8 ? '|' : '<', row->name, shape);
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

void write_file(const std::filesystem::path& file, std::span<const std::byte> bytes,
                std::string_view operation) {
  support::write_file_atomic(
      file.string(), std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
      operation);
}

}  // namespace

Array parse_npy(std::span<const std::byte> bytes, std::string_view file) {
  ByteReader reader(bytes, file);
  const Header header = parse_header(reader, file);
  const int64_t size = elements_of(header, file);
  const int64_t expected = byte_size(header.dtype, size);
  if (static_cast<int64_t>(reader.remaining()) != expected)
    throw UserError("read", "{} is {}: {}{} takes {} bytes of data, the file has {}", file,
                    static_cast<int64_t>(reader.remaining()) < expected ? "truncated" : "corrupt",
                    header.dtype, to_string(header.extents), expected, reader.remaining());
  const auto data = reader.take(reader.remaining());
  std::vector<std::byte> values(data.begin(), data.end());
  if (header.big_endian) swap_byte_order(values, static_cast<size_t>(bits(header.dtype)) / 8);
  if (header.fortran_order && header.extents.size() > 1)
    values = from_fortran_order(values, header, size);
  return {header.dtype, header.extents, std::move(values)};
}

std::vector<std::byte> format_npy(const Array& array) {
  const DType dtype = saved_dtype(array.dtype());
  // NumPy pads with spaces so that the data is aligned to 64 bytes.
  constexpr size_t kAlignment = 64;
  std::string text = header_text(array, dtype);
  const size_t prefix = kMagic.size() + 2;
  const bool wide = prefix + 2 + text.size() + kAlignment > 0xffff;
  const size_t fixed = prefix + (wide ? 4 : 2);
  text.append((kAlignment - (fixed + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text += '\n';

  std::string start(kMagic);
  start += wide ? '\2' : '\1';
  start += '\0';
  for (size_t i = 0; i < (wide ? 4U : 2U); ++i)
    start += static_cast<char>(text.size() >> (8 * i) & 0xff);
  start += text;

  std::vector<std::byte> bytes(start.size());
  std::memcpy(bytes.data(), start.data(), start.size());
  const bool same_width = bits(dtype) == bits(array.dtype());
  const Array saved = same_width ? array : array.cast(dtype);
  bytes.insert(bytes.end(), saved.bytes().begin(), saved.bytes().end());
  return bytes;
}

Array load_npy(const std::filesystem::path& file, std::string_view operation) {
  return parse_npy(as_bytes(support::read_file(file.string(), operation)), file.string());
}

void save_npy(const std::filesystem::path& file, const Array& array, std::string_view operation) {
  write_file(file, format_npy(array), operation);
}

std::map<std::string, Array> load_npz(const std::filesystem::path& file,
                                      std::string_view operation) {
  std::map<std::string, Array> arrays;
  const std::string archive = support::read_file(file.string(), operation);
  for (const ZipEntry& entry : read_zip(as_bytes(archive), file.string())) {
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.insert_or_assign(name, parse_npy(entry.bytes, file.string() + " (" + entry.name + ")"));
  }
  return arrays;
}

void save_npz(const std::filesystem::path& file, const std::map<std::string, Array>& arrays,
              bool compress) {
  std::vector<ZipEntry> entries;
  for (const auto& [name, array] : arrays) entries.push_back({name + ".npy", format_npy(array)});
  write_file(file, write_zip(entries, compress), "save_npz");
}

}  // namespace luminal::graph
