#include "luminal/runtime/artifact.h"

#include <gtest/gtest.h>

#include "luminal/support/error.h"

namespace luminal::runtime {
namespace {

Artifact sample() {
  Artifact artifact;
  artifact.label = "softmax rows";
  artifact.compiler = "llvm 19";
  artifact.needed = {CpuFeature::kAvx2, CpuFeature::kFma};
  artifact.code = std::string("\0\1\2code\xff", 8);
  artifact.entries = {{"rows", {BufferUse::kRead, BufferUse::kWrite}, 3, 4096},
                      {"empty", {}, 0, 0}};
  return artifact;
}

TEST(Artifact, ComesBackFromItsBytes) {
  EXPECT_EQ(artifact_from_bytes(to_bytes(sample())), sample());
  EXPECT_EQ(artifact_from_bytes(to_bytes(Artifact{})), Artifact{});
}

TEST(Artifact, EveryTruncationIsRefused) {
  const std::string bytes = to_bytes(sample());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(artifact_from_bytes(std::string_view(bytes).substr(0, size)), UserError) << size;
}

TEST(Artifact, EveryFlippedByteIsRefused) {
  const std::string bytes = to_bytes(sample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    try {
      artifact_from_bytes(damaged);
      ADD_FAILURE() << "byte " << i << " was not missed";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos);
    }
  }
}

TEST(Artifact, TextAfterTheEndIsRefused) {
  EXPECT_THROW(artifact_from_bytes(to_bytes(sample()) + "x"), UserError);
}

}  // namespace
}  // namespace luminal::runtime
