// The three kinds of error the library throws. Whoever catches one can tell whose fault it is: the
// user's (UserError), a device's (DeviceError) or ours (InternalError). Library code never aborts
// the process.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace luminal {

/// Base of everything the library throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something that cannot be done. Names the operation, the offending values
/// and the remedy.
class UserError : public Error {
 public:
  template <typename... Args>
  UserError(std::string_view operation, fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format("{}: {}", operation, fmt::format(format, std::forward<Args>(args)...))),
        operation_(operation) {}  ///< Made of the operation it came from, and a message.

  /// The operation that refused, such as "matmul".
  const std::string& operation() const { return operation_; }

 private:
  std::string operation_;
};

/// A device, driver or operating-system call failed.
class DeviceError : public Error {
 public:
  template <typename... Args>
  DeviceError(std::string_view call, long code, fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format("{} failed with code {}: {}", call, code,
                          fmt::format(format, std::forward<Args>(args)...))),
        call_(call),
        code_(code) {}  ///< Made of the call that failed, its code, and a message.

  /// The call that failed, such as "cuLaunchKernel".
  const std::string& call() const { return call_; }
  /// The code it returned.
  long code() const { return code_; }

 private:
  std::string call_;
  long code_;
};

/// A bug of ours: a check did not hold. The message says which and where.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace luminal
