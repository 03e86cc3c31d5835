#include "case_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "comparison.h"
#include "luminal/support/error.h"

namespace luminal::reference {
namespace {

using test::difference;
using test::ulps_apart;

using graph::Array;
using graph::DType;

template <typename T>
Array array_of(DType dtype, const std::vector<T>& values) {
  return Array::from<T>(dtype, {static_cast<int64_t>(values.size())}, std::span<const T>(values));
}

std::string message_of(std::string_view text, std::string_view bytes = "") {
  try {
    parse_cases(text, bytes);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

Tolerance ulps(int64_t count) { return {.kind = Tolerance::Kind::kUlps, .ulps = count}; }

TEST(CaseFile, ReadsOpToleranceAttributesAndTensors) {
  const float values[] = {1.5F, -2.0F, 3.0F};
  std::string bytes(sizeof(values), '\0');
  std::memcpy(bytes.data(), values, sizeof(values));
  const auto cases = parse_cases(
      "case sum close:0.5:0.25 axes=0,-1 keepdim=true eps=1e-05 dtype=bf16\n"
      "in f32 3x1 0\n"
      "out f32 - 4\n"
      "case neg exact\n",
      bytes);
  ASSERT_EQ(cases.size(), 2U);
  const Case& first = cases[0];
  EXPECT_EQ(first.op, "sum");
  EXPECT_EQ(first.tolerance.kind, Tolerance::Kind::kClose);
  EXPECT_EQ(first.tolerance.relative, 0.5);
  EXPECT_EQ(first.tolerance.absolute, 0.25);
  EXPECT_EQ(first.attributes.integers("axes"), (std::vector<int64_t>{0, -1}));
  EXPECT_TRUE(first.attributes.flag("keepdim"));
  EXPECT_EQ(first.attributes.number("eps"), 1e-5);
  EXPECT_EQ(first.attributes.dtype("dtype"), DType::kBF16);
  EXPECT_EQ(first.inputs.at(0).extents(), (graph::Extents{3, 1}));
  EXPECT_EQ(first.inputs.at(0).to_vector<float>(), (std::vector<float>{1.5F, -2.0F, 3.0F}));
  EXPECT_EQ(first.outputs.at(0).extents(), graph::Extents{});
  EXPECT_EQ(first.outputs.at(0).to_vector<float>(), std::vector<float>{-2.0F});
  EXPECT_EQ(describe(first), "sum f32[3, 1] axes=0,-1 dtype=bf16 eps=1e-05 keepdim=true (line 1)");
  EXPECT_EQ(cases[1].line, 4);
}

TEST(CaseFile, ReadsEmptyTensorsAndEmptyLists) {
  const auto cases = parse_cases("case reshape exact shape=[]\nin i8 0x3 0\n", "");
  EXPECT_EQ(cases.at(0).inputs.at(0).size(), 0);
  EXPECT_TRUE(cases.at(0).attributes.integers("shape").empty());
}

TEST(CaseFile, ReadsNumbersThatAreNotFinite) {
  CaseAttributes attributes;
  attributes.add("low=-inf");
  attributes.add("value=nan");
  EXPECT_EQ(attributes.number("low"), -INFINITY);
  EXPECT_TRUE(std::isnan(attributes.number("value")));
}

TEST(CaseFile, NamesTheBadLine) {
  EXPECT_EQ(message_of("case neg exact\nwhat f32 1 0\n"),
            "case file: line 2: case file: a line begins with case, in or out, not 'what'");
  EXPECT_EQ(message_of("in f32 1 0\n"),
            "case file: line 1: case file: a tensor stands before the first case");
  EXPECT_EQ(message_of("case neg exact\nin f33 1 0\n", "1234"),
            "case file: line 2: case file: unknown dtype 'f33'");
  EXPECT_EQ(message_of("case neg roughly\n"),
            "case file: line 1: case file: unknown tolerance 'roughly'");
  EXPECT_EQ(message_of("case neg exact axis\n"),
            "case file: line 1: case file: attribute 'axis' has no '='");
}

TEST(CaseFile, RefusesTensorsPastTheEndOfTheData) {
  EXPECT_EQ(message_of("case neg exact\nin f32 2 4\n", "12345678"),
            "case file: line 2: case file: bytes 4 to 12 are past the end of the data, which has "
            "8");
}

TEST(CaseFile, MissingAttributesAreNamed) {
  CaseAttributes attributes;
  attributes.add("axis=1");
  try {
    attributes.integer("count");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "case file: attribute 'count' is missing; there are: axis=1");
  }
}

TEST(Comparison, ExactTellsZerosApartButNotNaNs) {
  const auto zeros = array_of<double>(DType::kF32, {0.0, NAN});
  const auto negative = array_of<double>(DType::kF32, {-0.0, -NAN});
  EXPECT_EQ(difference(negative, zeros, {}),
            "1 of 2 elements differ, first at [0]: -0 instead of 0");
  EXPECT_EQ(difference(negative, zeros, {.kind = Tolerance::Kind::kEqual}), std::nullopt);
}

TEST(Comparison, NaNMatchesOnlyNaN) {
  const auto one = array_of<double>(DType::kF16, {1.0});
  const auto nan = array_of<double>(DType::kF16, {NAN});
  for (const auto& tolerance :
       {Tolerance{}, ulps(1 << 30), Tolerance{.kind = Tolerance::Kind::kClose, .absolute = 1e9}}) {
    EXPECT_NE(difference(nan, one, tolerance), std::nullopt);
    EXPECT_NE(difference(one, nan, tolerance), std::nullopt);
    EXPECT_EQ(difference(nan, nan, tolerance), std::nullopt);
  }
}

TEST(Comparison, UlpsCountRepresentableValues) {
  const auto one = array_of<double>(DType::kBF16, {1.0, -1.0, INFINITY});
  const auto next = array_of<double>(DType::kBF16, {1.0078125, -1.015625, 3.3895313892515355e38});
  EXPECT_EQ(ulps_apart(one, next, 0), 1U);
  EXPECT_EQ(ulps_apart(one, next, 1), 2U);
  EXPECT_EQ(ulps_apart(one, next, 2), 1U);
  EXPECT_EQ(difference(next, one, ulps(2)), std::nullopt);
  EXPECT_NE(difference(next, one, ulps(1)), std::nullopt);
}

TEST(Comparison, UlpsTellZerosApart) {
  const auto zero = array_of<double>(DType::kF32, {0.0});
  const auto negative = array_of<double>(DType::kF32, {-0.0});
  EXPECT_EQ(ulps_apart(zero, negative, 0), 1U);
  EXPECT_NE(difference(negative, zero, ulps(4)), std::nullopt);
}

TEST(Comparison, CloseNeverForgivesInfinities) {
  const Tolerance loose{.kind = Tolerance::Kind::kClose, .relative = 1, .absolute = 1e30};
  const auto infinity = array_of<double>(DType::kF64, {INFINITY});
  EXPECT_NE(difference(array_of<double>(DType::kF64, {1e300}), infinity, loose), std::nullopt);
  EXPECT_NE(difference(array_of<double>(DType::kF64, {-INFINITY}), infinity, loose), std::nullopt);
  EXPECT_EQ(difference(infinity, infinity, loose), std::nullopt);
}

TEST(Comparison, IntegersMustBeTheSame) {
  const auto a = array_of<int64_t>(DType::kI64, {INT64_MAX});
  const auto b = array_of<int64_t>(DType::kI64, {INT64_MAX - 1});
  EXPECT_EQ(difference(a, b, ulps(5)),
            "1 of 1 elements differ, first at [0]: 9223372036854775807 instead of "
            "9223372036854775806");
}

TEST(Comparison, NamesDTypesAndShapesThatDiffer) {
  EXPECT_EQ(difference(Array(DType::kI8, {2}), Array(DType::kU8, {2}), {}), "dtype is i8, not u8");
  EXPECT_EQ(difference(Array(DType::kI8, {2, 1}), Array(DType::kI8, {2}), {}),
            "shape is [2, 1], not [2]");
}

TEST(Comparison, GivesThePositionOfTheFirstBadElement) {
  Array a(DType::kI32, {2, 3, 2});
  a.set(9, graph::Scalar::of(DType::kI32, 5));
  EXPECT_EQ(difference(a, Array(DType::kI32, {2, 3, 2}), {}),
            "1 of 12 elements differ, first at [1, 1, 1]: 5 instead of 0");
}

}  // namespace
}  // namespace luminal::reference
