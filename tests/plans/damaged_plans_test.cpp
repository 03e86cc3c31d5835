// Files that are no plans, or not whole, or not ours: all are errors that say so.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "luminal/plan/plan_file.h"
#include "luminal/plan/plan_records.h"
#include "luminal/support/file.h"
#include "plan_samples.h"

namespace luminal::test {
namespace {

/// A saved plan as bytes, and files made of changed bytes.
class DamagedPlans : public testing::Test {
 protected:
  DamagedPlans() {
    const Sample sample;
    compile(sample.g, sample.outputs()).save(folder_.file("plan"));
    bytes_ = support::read_file(folder_.file("plan"));
  }

  /// The error of loading these bytes.
  std::string error(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return error_of([&] { plan::load_plan_file(path_); });
  }
  std::string message(const std::string& rest) const { return "load: \"" + path_ + "\" " + rest; }

  Folder folder_;
  std::string path_ = folder_.file("damaged");
  std::string bytes_;
};

TEST_F(DamagedPlans, FilesOfOtherKindsAreNoPlans) {
  const std::string expected = message("is no plan file; save() of an executable writes one");
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string(1000, '\0'), "x" + bytes_})
    EXPECT_EQ(error(bytes), expected);
}

TEST_F(DamagedPlans, WhatIsCutShortSaysHowMuchIsThere) {
  EXPECT_EQ(error(bytes_.substr(0, 63)),
            message("is cut short: it ends after 63 bytes; save the plan again"));
  EXPECT_EQ(error(bytes_.substr(0, bytes_.size() - 1)),
            message(fmt::format("is cut short: it has {} of {} bytes; save the plan again",
                                bytes_.size() - 1, bytes_.size())));
}

TEST_F(DamagedPlans, OtherFormatsAreNewerOrOlder) {
  std::string other = bytes_;
  other[8] = static_cast<char>(plan::kPlanFileFormat + 1);
  EXPECT_EQ(error(other),
            message(fmt::format("has format {}, newer than the format {} of this library; compile "
                                "and save the plan with this one",
                                plan::kPlanFileFormat + 1, plan::kPlanFileFormat)));
  other[8] = 0;
  EXPECT_NE(error(other).find("has format 0, older than"), std::string::npos);
}

TEST_F(DamagedPlans, AnyChangedByteIsFound) {
  const std::string damaged = message("is damaged: its checksum differs; save the plan again");
  std::mt19937 random(1);
  for (size_t k = 0; k < 400; ++k) {
    const size_t at = k < 64 ? k : random() % bytes_.size();
    std::string changed = bytes_;
    changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
    const std::string found = error(changed);
    if (at >= 32)
      EXPECT_EQ(found, damaged) << "byte " << at;
    else
      EXPECT_NE(found, "nothing was thrown") << "byte " << at;
  }
  EXPECT_EQ(error(bytes_ + "x"), damaged);
  for (size_t k = 0; k < 200; ++k)
    EXPECT_NE(error(bytes_.substr(0, random() % bytes_.size())), "nothing was thrown");
}

TEST_F(DamagedPlans, BytesOfAnyOriginAreReadOrRefusedButNeverCrash) {
  // Below the checksum: bytes that somebody wrote on purpose, or a bug of the writer.
  const plan::PlanRecords good = plan::to_records(plan::load_plan_file(folder_.file("plan")));
  const plan::ConstantData data = [](uint64_t, uint64_t bytes) {
    if (bytes > 100000) throw UserError("read plan", "a constant lies outside of the file");
    return std::shared_ptr<std::byte>(new std::byte[bytes + 1], std::default_delete<std::byte[]>());
  };
  const auto read = [&](const std::string& bytes) {
    plan::from_records(std::as_bytes(std::span(bytes)), data, "records");
  };
  ASSERT_NO_THROW(read(good.bytes));
  std::mt19937 random(2);
  int refused = 0;
  for (int k = 0; k < 3000; ++k) {
    std::string bytes = good.bytes;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int change = 0; change < changes; ++change) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] + 1);
          break;
        case 2:
          bytes.erase(at, random() % 16);
          break;
        default:
          bytes.insert(at, std::string(random() % 16, static_cast<char>(random())));
      }
    }
    refused += error_of([&] { read(bytes); }) != "nothing was thrown" ? 1 : 0;
  }
  EXPECT_GT(refused, 1000);
  for (size_t length = 0; length < good.bytes.size(); length += 1 + random() % 97)
    EXPECT_NE(error_of([&] { read(good.bytes.substr(0, length)); }), "nothing was thrown");
}

}  // namespace
}  // namespace luminal::test
