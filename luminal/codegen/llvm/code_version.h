// Which version of our own emitters a library has: a hash of their sources and of what they ask of
// kernels (luminal/kernel), made while it is built.
// Part of the key of everything they wrote that is kept on disk.
#pragma once

#include <string_view>

namespace luminal::codegen {

/// Differs between builds whose emitters may write different code.
std::string_view code_version();

}  // namespace luminal::codegen
