// A folder for files of one process, gone when it ends: tests of other processes may run at the
// same time, of this checkout or of another, and as another user.
#pragma once

#include <filesystem>

namespace luminal::test {

/// The folder; made when it is first asked for.
const std::filesystem::path& scratch_folder();

}  // namespace luminal::test
