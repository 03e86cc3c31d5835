// NumPy's file formats: .npy holds one array, .npz a zip archive of them. Reads versions 1 to 3,
// both byte orders, C and Fortran order, stored and deflated archives; writes version 1 (2 where
// the header is long), little-endian, C order.
//
// dtypes that NumPy does not have: bf16 and the f8 formats are saved as the unsigned integers of
// their bits (u16, u8: bitcast after loading), i4 and u4 as i8 and u8 with the same values (cast
// after loading). NumPy dtypes that we do not have (uint64, complex, text, objects) cannot be read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/graph/array.h"

namespace luminal::graph {

/// The array in a .npy file. Throws UserError naming the file and the problem if there is none.
Array load_npy(const std::filesystem::path& file, std::string_view operation = "load_npy");
/// Writes a .npy file, replacing what was there.
void save_npy(const std::filesystem::path& file, const Array& array,
              std::string_view operation = "save_npy");

/// The arrays of a .npz file by name (without the ".npy" of the entries).
std::map<std::string, Array> load_npz(const std::filesystem::path& file,
                                      std::string_view operation = "load_npz");
/// Writes a .npz file, deflated if `compress`.
void save_npz(const std::filesystem::path& file, const std::map<std::string, Array>& arrays,
              bool compress = false);

/// The array in the bytes of a .npy file; `file` is named in errors.
Array parse_npy(std::span<const std::byte> bytes, std::string_view file);
/// The bytes of a .npy file.
std::vector<std::byte> format_npy(const Array& array);

}  // namespace luminal::graph
