// docs/environment.md is what the library says of its variables, so that it cannot be out of date.
#include <gtest/gtest.h>

#include "luminal/support/env.h"
#include "luminal/support/file.h"

namespace luminal {
namespace {

TEST(Documents, EnvironmentPageHoldsTheTable) {
  const std::string page =
      support::read_file(std::string(LUMINAL_SUITE_DIR) + "/../../docs/environment.md");
  EXPECT_NE(page.find(support::environment_table_text()), std::string::npos)
      << "docs/environment.md should hold\n"
      << support::environment_table_text();
}

}  // namespace
}  // namespace luminal
