// Work that the machine may refuse: there is no memory, no process, no file. A search goes on
// without it.
#pragma once

#include <new>
#include <optional>
#include <string>

#include "luminal/support/error.h"

namespace luminal::search {

/// Does it, and says why the machine did not let it come to its end; nothing if it did. Errors that
/// are somebody's fault are thrown.
template <typename Work>
std::optional<std::string> refusal_of(const Work& work) {
  try {
    work();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return "there is not enough memory";
  } catch (const DeviceError& error) {
    return error.what();
  } catch (const UserError& error) {
    // Of data that a search makes for itself no user is to blame.
    if (error.operation() != "array") throw;
    return error.what();
  }
}

}  // namespace luminal::search
