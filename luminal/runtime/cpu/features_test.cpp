#include "luminal/runtime/cpu/features.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace luminal::runtime {
namespace {

TEST(CpuFeatures, TextAndSetAreTheSame) {
  const CpuFeatures set{CpuFeature::kAvx, CpuFeature::kAmxBf16};
  EXPECT_EQ(set.to_string(), "avx amx-bf16");
  EXPECT_EQ(parse_cpu_features("avx amx-bf16"), set);
  EXPECT_EQ(parse_cpu_features("none"), CpuFeatures{});
  EXPECT_EQ(parse_cpu_features("avx mmx4"), std::nullopt);
}

TEST(CpuFeatures, WithoutNamesWhatIsMissing) {
  const CpuFeatures needed{CpuFeature::kAvx, CpuFeature::kFma};
  EXPECT_EQ(needed.without({CpuFeature::kFma}), CpuFeatures{CpuFeature::kAvx});
  EXPECT_TRUE(needed.without(needed).empty());
}

TEST(CpuFeatures, EveryRowStandsAtItsEnumerator) {
  for (size_t i = 0; i < kCpuFeatures.size(); ++i)
    EXPECT_EQ(static_cast<size_t>(kCpuFeatures[i].feature), i);
}

// The operating system's own list is a second opinion.
TEST(CpuFeatures, AgreeWithTheOperatingSystem) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  if (!line.starts_with("flags")) GTEST_SKIP() << "no /proc/cpuinfo";
  line += ' ';
  const auto listed = [&](const std::string& flag) {
    return line.find(' ' + flag + ' ') != std::string::npos;
  };
  const CpuFeatures found = host_cpu().features;
  EXPECT_EQ(found.has(CpuFeature::kAvx2), listed("avx2"));
  EXPECT_EQ(found.has(CpuFeature::kFma), listed("fma"));
  EXPECT_EQ(found.has(CpuFeature::kF16c), listed("f16c"));
  EXPECT_EQ(found.has(CpuFeature::kAvx512f), listed("avx512f"));
  EXPECT_EQ(found.has(CpuFeature::kAvx512bw), listed("avx512bw"));
  EXPECT_EQ(found.has(CpuFeature::kAvx512vnni), listed("avx512_vnni"));
  EXPECT_EQ(found.has(CpuFeature::kAvx512bf16), listed("avx512_bf16"));
  EXPECT_EQ(found.has(CpuFeature::kAvx512fp16), listed("avx512_fp16"));
}

TEST(CpuFeatures, HostHasCachesCoresAndAName) {
  EXPECT_GE(host_cpu().l1_bytes, 4 << 10);
  EXPECT_GE(host_cpu().l2_bytes, host_cpu().l1_bytes);
  if (std::ifstream size("/sys/devices/system/cpu/cpu0/cache/index3/size"); size) {
    std::string text;
    size >> text;
    EXPECT_EQ(std::to_string(host_cpu().l3_bytes >> 10) + "K", text);
  }
  EXPECT_GE(host_cpu().cores, 1);
  EXPECT_FALSE(host_cpu().model.empty());
}

}  // namespace
}  // namespace luminal::runtime
