#include "luminal/codegen/llvm/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "luminal/codegen/llvm/jit_for_tests.h"
#include "luminal/graph/elements.h"
#include "luminal/graph/narrow_float.h"

namespace luminal::codegen {
namespace {

using graph::DType;

/// result[i] = cast(source[i]) for i in [begin, end), a masked vector at a time.
TestKernel cast_kernel(const CpuTarget& target, DType from, DType to, int lanes) {
  return TestKernel(target, [=](VectorBuilder& builder, const EntryArguments& entry) {
    llvm::Value* source = builder.buffer(entry, 0);
    llvm::Value* result = builder.buffer(entry, 1);
    builder.loop(entry.begin, entry.end, builder.index(lanes), [&](llvm::Value* i) {
      ElementCode code(builder);
      llvm::Value* rest = builder.ir().CreateSub(entry.end, i);
      llvm::Value* mask = lanes == 1 ? nullptr : builder.lanes_below(rest, lanes);
      llvm::Value* value = code.load(from, source, i, lanes, {.mask = mask});
      code.store(to, code.cast(from, to, value), result, i, {.mask = mask});
    });
  });
}

/// Bit patterns worth trying: all of them for up to 16 bits, else corners and random ones.
std::vector<std::byte> patterns(DType dtype, int64_t& count) {
  const int width = graph::bits(dtype);
  std::mt19937_64 random(7);
  std::vector<uint64_t> values;
  if (graph::is_bool(dtype)) {
    values = {0, 1, 1, 0, 1};
  } else if (width <= 16) {
    for (uint64_t i = 0; i < uint64_t{1} << width; ++i) values.push_back(i);
    values.push_back(3);  // an odd tail
  } else {
    for (int bit = 0; bit < width; ++bit)
      for (const int64_t delta : {-1, 0, 1}) {
        values.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(delta));
        values.push_back(~values.back());
      }
    for (int i = 0; i < 4000; ++i) values.push_back(random());
    if (graph::is_float(dtype)) {
      // Numbers near what the narrower dtypes can hold, halfway points among them.
      for (int i = 0; i < 20000; ++i) {
        const int exponent = static_cast<int>(random() % 60) - 30;
        const double number =
            std::ldexp(static_cast<double>(static_cast<int64_t>(random() % 4096) - 2048),
                       exponent) *
            (1 + std::ldexp(static_cast<double>(random() % 3), -40));
        values.push_back(dtype == DType::kF64
                             ? std::bit_cast<uint64_t>(number)
                             : std::bit_cast<uint32_t>(static_cast<float>(number)));
      }
    } else {
      for (int i = 0; i < 4000; ++i) values.push_back(random() >> random() % 64);
    }
  }
  count = static_cast<int64_t>(values.size());
  std::vector<std::byte> bytes(static_cast<size_t>(graph::byte_size(dtype, count)) + 64);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t value = values[static_cast<size_t>(i)];
    if (width == 4)
      graph::store_nibble(bytes.data(), i, static_cast<uint32_t>(value));
    else
      std::memcpy(bytes.data() + i * width / 8, &value, static_cast<size_t>(width / 8));
  }
  return bytes;
}

/// The element as a number or its bits; all NaNs are one.
double number_at(DType dtype, const std::byte* data, int64_t position) {
  if (graph::is_float(dtype)) {
    double result = 0;
    graph::load(dtype, data, {position, 1, 1}, &result);
    return result;
  }
  int64_t result = 0;
  graph::load(dtype, data, {position, 1, 1}, &result);
  return std::bit_cast<double>(result);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

void check_cast(const CpuTarget& target, DType from, DType to, int lanes) {
  int64_t count = 0;
  std::vector<std::byte> source = patterns(from, count);
  const size_t size = static_cast<size_t>(graph::byte_size(to, count));
  std::vector<std::byte> expected(size);
  std::vector<std::byte> result(size + 8, std::byte{0xa5});
  graph::cast_elements(from, source.data(), to, expected.data(), count);
  cast_kernel(target, from, to, lanes)({source.data(), result.data()}, {}, 0, count);
  for (int64_t i = 0; i < count; ++i)
    ASSERT_TRUE(same(number_at(to, result.data(), i), number_at(to, expected.data(), i)))
        << graph::name(from) << " to " << graph::name(to) << " on " << target.name << ", " << lanes
        << " lanes, element " << i << ": " << number_at(from, source.data(), i) << " gives "
        << number_at(to, result.data(), i) << ", not " << number_at(to, expected.data(), i);
  for (size_t i = size; i < result.size(); ++i)
    ASSERT_EQ(result[i], std::byte{0xa5}) << "written past the end";
  if (graph::bits(to) == 4 && count % 2 == 1) {
    EXPECT_EQ(result[size - 1] >> 4, std::byte{0xa}) << "the neighbour of the last element changed";
  }
}

class ElementCasts : public testing::TestWithParam<graph::DTypeInfo> {};

TEST_P(ElementCasts, AreThoseOfTheInterpreter) {
  for (const char* name : {"x86-64", "haswell", "skylake-avx512"}) {
    const CpuTarget target = cpu_target(name);
    if (!runs_here(target)) continue;
    for (const graph::DTypeInfo& to : graph::kDTypes)
      check_cast(target, GetParam().dtype, to.dtype, target.lanes(32));
  }
}

TEST_P(ElementCasts, OfOneLaneAreTheSame) {
  for (const graph::DTypeInfo& to : graph::kDTypes)
    check_cast(host_target(), GetParam().dtype, to.dtype, 1);
}

TEST_P(ElementCasts, OfSeveralRegistersAreTheSame) {
  for (const graph::DTypeInfo& to : graph::kDTypes)
    check_cast(host_target(), GetParam().dtype, to.dtype, 2 * host_target().lanes(32));
}

TEST(ElementCode, RoundsToBf16AsTheInterpreterDoes) {
  // A denormal among others, then floats of all sizes, then denormals only.
  std::vector<float> values(32, 1.00390625F);
  values[5] = 0x1.8p-130F;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65521)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (uint32_t bits = 1; bits < 1U << 23; bits += 4093)
    values.push_back(std::bit_cast<float>(bits));
  std::vector<uint16_t> results(values.size());
  cast_kernel(host_target(), DType::kF32, DType::kBF16, 32)({values.data(), results.data()}, {}, 0,
                                                            static_cast<int64_t>(values.size()));
  std::vector<std::byte> expected(values.size() * 2);
  graph::cast_elements(DType::kF32, reinterpret_cast<const std::byte*>(values.data()), DType::kBF16,
                       expected.data(), static_cast<int64_t>(values.size()));
  const auto* bits = reinterpret_cast<const std::byte*>(results.data());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(same(number_at(DType::kBF16, bits, static_cast<int64_t>(i)),
                     number_at(DType::kBF16, expected.data(), static_cast<int64_t>(i))))
        << values[i];
}

INSTANTIATE_TEST_SUITE_P(From, ElementCasts, testing::ValuesIn(graph::kDTypes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ElementCode, GathersElementsOfEveryWidth) {
  for (const graph::DTypeInfo& row : graph::kDTypes) {
    const TestKernel kernel(
        host_target(), [&](VectorBuilder& builder, const EntryArguments& entry) {
          ElementCode code(builder);
          llvm::Value* positions =
              builder.load(VectorBuilder::vector(builder.i64(), 8), builder.buffer(entry, 1));
          llvm::Value* mask = builder.lanes_below(builder.index(7), 8);
          llvm::Value* values = code.gather(row.dtype, builder.buffer(entry, 0), positions, mask);
          code.store(row.dtype, values, builder.buffer(entry, 2), builder.index(0));
        });
    int64_t count = 0;
    std::vector<std::byte> source = patterns(row.dtype, count);
    std::vector<int64_t> positions{3, 0, 4, 1, 1, 2, 4, 1 << 30};
    std::vector<std::byte> result(64);
    kernel({source.data(), positions.data(), result.data()}, {}, 0, 1);
    for (int64_t i = 0; i < 7; ++i)
      EXPECT_TRUE(same(number_at(row.dtype, result.data(), i),
                       number_at(row.dtype, source.data(), positions[static_cast<size_t>(i)])))
          << row.name << " " << i;
    EXPECT_EQ(number_at(row.dtype, result.data(), 7), 0) << row.name;
  }
}

}  // namespace
}  // namespace luminal::codegen
