// The files of data/tuning, which the build makes a part of the library.
#pragma once

#include <span>
#include <string_view>

namespace luminal::search {

/// Each as schedule_hints.h reads it, by name of the file.
std::span<const std::string_view> shipped_texts();

}  // namespace luminal::search
