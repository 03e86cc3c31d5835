#include "luminal/support/check.h"

namespace luminal::support {

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(fmt::format("internal error at {}:{}: check failed: {}{}{}", file, line,
                                  condition, message.empty() ? "" : ": ", message));
}

}  // namespace luminal::support
