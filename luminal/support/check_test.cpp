#include "luminal/support/check.h"

#include <gtest/gtest.h>

namespace luminal {
namespace {

TEST(Check, FailureNamesConditionPlaceAndValues) {
  try {
    int rank = 3;
    LUMINAL_CHECK(rank == 2, "rank is {}", rank);
    FAIL() << "the check did not throw";
  } catch (const InternalError& error) {
    std::string message = error.what();
    EXPECT_NE(message.find("rank == 2: rank is 3"), std::string::npos) << message;
    EXPECT_NE(message.find("check_test.cpp"), std::string::npos) << message;
  }
}

TEST(Check, UserErrorNamesItsOperation) {
  UserError error("matmul", "inner dims differ: {} and {}", 3, 4);
  EXPECT_STREQ(error.what(), "matmul: inner dims differ: 3 and 4");
  EXPECT_EQ(error.operation(), "matmul");
}

TEST(Check, DeviceErrorCarriesCallAndCode) {
  DeviceError error("cuLaunchKernel", 719, "kernel {}", "softmax");
  EXPECT_STREQ(error.what(), "cuLaunchKernel failed with code 719: kernel softmax");
}

}  // namespace
}  // namespace luminal
