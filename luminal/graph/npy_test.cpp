#include "luminal/graph/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "luminal/graph/zip_archive.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::vector<std::byte> from_text(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// A version 1 file with this header and data.
std::vector<std::byte> npy_file(std::string header, std::string_view data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  header += '\n';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  if (version > 1) text += std::string(2, '\0');
  return from_text(text + header + std::string(data));
}

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

class NpyFiles : public testing::Test {
 protected:
  NpyFiles()
      : folder_(std::filesystem::temp_directory_path() /
                ("luminal_npy_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~NpyFiles() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

// Written by numpy.savez_compressed.
constexpr std::string_view kDeflatedArchive =
    "504b03042d000000080000002100ebc02b04ffffffffffffffff05001400612e6e7079010010008c0000000000"
    "00004d000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a2aea3a09e965f54529498"
    "179f5f94920a12774bcc294e058a17672416a402f91ac63a9a3a0ab50a14002e46060606262066066200504b03"
    "042d000000080000002100297689ebffffffffffffffff05001400622e6e707901001000880000000000000047"
    "000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a1aea3a09e965f54529498179f5f"
    "94920a12774bcc294e058a17672416a402f91a9a3a0ab50a14012e0630f8610f00504b01022d032d0000000800"
    "00002100ebc02b044d0000008c000000050000000000000000000000800100000000612e6e7079504b01022d03"
    "2d000000080000002100297689eb4700000088000000050000000000000000000000800184000000622e6e7079"
    "504b0506000000000200020066000000020100000000";

TEST_F(NpyFiles, EveryDtypeThatNumPyHasSurvivesTheDisk) {
  const std::vector<double> values{0, 1, 2, 3, 100, 5.5};
  for (const DTypeInfo& row : kDTypes) {
    for (const Extents& extents : {Extents{6}, Extents{2, 3}, Extents{1, 6, 1}}) {
      const Array array = Array::from<double>(row.dtype, extents, values);
      save_npy(folder_ / "a.npy", array);
      const Array loaded = load_npy(folder_ / "a.npy");
      EXPECT_EQ(loaded.extents(), extents);
      if (loaded.dtype() == row.dtype) {
        EXPECT_TRUE(loaded.identical(array)) << row.name;
      } else if (is_float(row.dtype)) {  // saved by its bits
        const auto saved = loaded.bytes();
        EXPECT_TRUE(
            std::equal(saved.begin(), saved.end(), array.bytes().begin(), array.bytes().end()))
            << row.name;
      } else {  // saved wider
        EXPECT_TRUE(loaded.cast(row.dtype).identical(array)) << row.name;
      }
    }
  }
}

TEST_F(NpyFiles, ScalarsAndEmptyArraysSurviveTheDisk) {
  for (const Extents& extents : {Extents{}, Extents{0}, Extents{3, 0, 2}}) {
    const Array array(DType::kF16, extents);
    save_npy(folder_ / "a.npy", array);
    EXPECT_TRUE(load_npy(folder_ / "a.npy").identical(array));
  }
}

TEST(Npy, DataBeginsAtAMultipleOf64Bytes) {
  const Array array(DType::kF32, {1, 3});
  const auto bytes = format_npy(array);
  EXPECT_EQ((bytes.size() - 12) % 64, 0U);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), ");
}

TEST(Npy, BigEndianFilesAreSwapped) {
  const auto file = npy_file("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }",
                             {"\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0\x40\x80\0\0", 16});
  const Array array = parse_npy(file, "file");
  EXPECT_EQ(array.dtype(), DType::kF32);
  EXPECT_EQ(array.extents(), (Extents{2, 2}));
  EXPECT_EQ(array.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Npy, FortranOrderIsTurnedIntoRowMajor) {
  const auto file = npy_file("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                             {"\1\0\4\0\2\0\5\0\3\0\6\0", 12});
  const Array array = parse_npy(file, "file");
  EXPECT_EQ(array.extents(), (Extents{2, 3}));
  EXPECT_EQ(array.to_vector<int16_t>(), (std::vector<int16_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, VersionsTwoAndThreeHaveLongerHeaderSizes) {
  for (const char version : {char{2}, char{3}}) {
    const auto file =
        npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", "\x05\x06", version);
    EXPECT_EQ(parse_npy(file, "file").to_vector<int32_t>(), (std::vector<int32_t>{5, 6}));
  }
}

TEST(Npy, HeadersMayHaveAnyKeyOrderAndQuotes) {
  const auto file = npy_file("{\"shape\": (), 'fortran_order':False, \"descr\": \"|b1\"}",
                             std::string_view("\x01", 1));
  EXPECT_EQ(parse_npy(file, "file").at(0), Scalar::of(DType::kBool, true));
}

TEST_F(NpyFiles, ArchivesOfNumPyAreRead) {
  const auto entries = read_zip(from_hex(kDeflatedArchive), "file");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, "a.npy");
  EXPECT_EQ(parse_npy(entries[0].bytes, "file").to_vector<int32_t>(),
            (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(parse_npy(entries[1].bytes, "file").at(0), Scalar::of(DType::kF64, 1.5));
}

TEST_F(NpyFiles, ArchivesSurviveTheDiskStoredAndDeflated) {
  std::map<std::string, Array> arrays;
  arrays.insert_or_assign("weights", Array(DType::kF32, {100, 100}));
  arrays.insert_or_assign("layer/bias", Array(DType::kBool, {0}));
  arrays.insert_or_assign("x", Array::from<int32_t>(DType::kI32, {3}, std::vector{1, 2, 3}));
  for (const bool compress : {false, true}) {
    save_npz(folder_ / "a.npz", arrays, compress);
    const auto size = std::filesystem::file_size(folder_ / "a.npz");
    EXPECT_EQ(size < 40000, compress);
    const auto loaded = load_npz(folder_ / "a.npz");
    ASSERT_EQ(loaded.size(), arrays.size());
    for (const auto& [name, array] : arrays) EXPECT_TRUE(loaded.at(name).identical(array)) << name;
  }
  save_npz(folder_ / "empty.npz", {});
  EXPECT_TRUE(load_npz(folder_ / "empty.npz").empty());
}

TEST(Npy, TruncatedAndDamagedArchivesAreRefused) {
  const auto archive = from_hex(kDeflatedArchive);
  for (size_t size = 0; size < archive.size(); ++size) {
    const std::vector<std::byte> cut(archive.begin(),
                                     archive.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_THROW(read_zip(cut, "file"), UserError) << size;
  }
  // The packed data of the first entry, but for the unused bits of its last byte.
  for (size_t i = 55; i < 55 + 76; ++i) {
    auto damaged = archive;
    damaged[i] ^= std::byte{0x40};
    EXPECT_THROW(read_zip(damaged, "file"), UserError) << i;
  }
  // Headers hold fields without a checksum (times, versions): damage there may pass, but must not
  // do harm.
  for (size_t i = 0; i < archive.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      auto damaged = archive;
      damaged[i] ^= static_cast<std::byte>(1 << bit);
      try {
        read_zip(damaged, "file");
      } catch (const UserError&) {
      }
    }
  }
  auto damaged = archive;
  damaged[60] ^= std::byte{1};
  EXPECT_EQ(error_of([&] { read_zip(damaged, "x.npz"); }),
            "read: x.npz is corrupt: the data of entry a.npy is damaged");
}

TEST_F(NpyFiles, ErrorsNameTheFileAndTheProblem) {
  const std::string_view good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const auto error = [](const std::vector<std::byte>& file) {
    return error_of([&] { parse_npy(file, "x.npy"); });
  };
  EXPECT_EQ(error(from_text("hello")),
            "read: x.npy is no .npy file: it does not begin with "
            "\\x93NUMPY");
  EXPECT_EQ(error({}), "read: x.npy is no .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(error(npy_file(std::string(good), "1234")),
            "read: x.npy is truncated: f32[2] takes 8 bytes of data, the file has 4");
  EXPECT_EQ(error(npy_file(std::string(good), "123456789")),
            "read: x.npy is corrupt: f32[2] takes 8 bytes of data, the file has 9");
  EXPECT_EQ(error(from_text("\x93NUMPY\x01")), "read: x.npy is truncated: it ends after 7 bytes");
  EXPECT_EQ(error(npy_file(std::string(good), "", 9)),
            "read: x.npy has .npy format version 9; versions 1 to 3 can be read");
  EXPECT_EQ(error(npy_file("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", "")),
            "read: x.npy has the NumPy dtype '<c8', which has no counterpart; convert it first, "
            "for instance to float32 or int64");
  EXPECT_EQ(error(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
            "read: x.npy holds records, which cannot be read; save each field by itself");
  EXPECT_EQ(error(npy_file("{'descr': '<f4', 'shape': (2,)}", "")),
            "read: x.npy is corrupt: its .npy header cannot be understood: {'descr': '<f4', "
            "'shape': (2,)}\n");
  EXPECT_NE(error(npy_file("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", "")),
            "no error");
  EXPECT_NE(error(npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (-2,)}", "")),
            "no error");
  EXPECT_EQ(error_of([&] { load_npy("/no/such/file.npy"); }),
            "load_npy: \"/no/such/file.npy\": No such file or directory");
  EXPECT_EQ(error_of([&] { save_npy("/no/such/file.npy", Array()); }),
            "save_npy: \"/no/such/file.npy\": No such file or directory");
  EXPECT_EQ(error_of([&] { load_npy(folder_); }),
            "load_npy: \"" + folder_.string() + "\": Is a directory");
  EXPECT_EQ(error_of([&] { read_zip(from_text("PK, but no archive at all........"), "x.npz"); }),
            "read: x.npz is no zip archive, or it is truncated: its directory is missing");
}

}  // namespace
}  // namespace luminal::graph
