// Reading and writing whole files. A path that cannot be used is a UserError that names it and what
// the user asked for (`operation`); a call that fails for another reason (a full or broken disk) is
// a DeviceError. A file written here is there completely or not at all, whatever happens meanwhile.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace luminal::support {

/// The bytes of a file.
std::string read_file(const std::string& path, std::string_view operation = "read_file");
/// The bytes of a file, or nothing if there is no such file.
std::optional<std::string> read_file_if_exists(const std::string& path);

/// Replaces or creates a file in one step: readers see the old contents or the new, even if we are
/// killed or the machine loses power. The directory must exist. Writers at the same time do not
/// disturb each other; the last one wins. A link stays and what it leads to is replaced; devices
/// and pipes are written to.
void write_file_atomic(const std::string& path, std::string_view contents,
                       std::string_view operation = "write_file");
/// The same for contents in several parts, one after the other.
void write_file_atomic(const std::string& path, std::span<const std::string_view> parts,
                       std::string_view operation = "write_file");

/// Fails as write_file_atomic() would if the path cannot be written, and leaves it as it is: to be
/// asked before long work whose result goes there.
void check_writable(const std::string& path, std::string_view operation = "write_file");

/// Makes a directory and those above it, as far as they are missing.
void create_directories(const std::string& path);

}  // namespace luminal::support
