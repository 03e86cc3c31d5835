// The expected texts are what NumPy 2 prints for the same arrays.
#include "luminal/graph/array_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace luminal::graph {
namespace {

std::string text(DType dtype, Extents extents, std::vector<double> values) {
  return to_string(Array::from<double>(dtype, std::move(extents), values));
}

Array counting(DType dtype, Extents extents) {
  std::vector<int64_t> values(static_cast<size_t>(element_count(extents)));
  std::iota(values.begin(), values.end(), 0);
  return Array::from<int64_t>(dtype, std::move(extents), values);
}

TEST(ArrayText, ColumnsAreAligned) {
  EXPECT_EQ(text(DType::kF32, {2, 2}, {1, 2.5, 3, 4}), "[[1.  2.5]\n [3.  4. ]]");
  EXPECT_EQ(text(DType::kI64, {2, 3}, {1, -20, 300, 4, 5, 6}), "[[  1 -20 300]\n [  4   5   6]]");
  EXPECT_EQ(text(DType::kBool, {2}, {1, 0}), "[ True False]");
  EXPECT_EQ(text(DType::kF64, {3}, {0, 0, 0}), "[0. 0. 0.]");
  EXPECT_EQ(text(DType::kF64, {2}, {-0.0, 0}), "[-0.  0.]");
  EXPECT_EQ(text(DType::kI4, {3}, {-8, 7, 0}), "[-8  7  0]");
}

TEST(ArrayText, DigitsAreThoseOfTheDtype) {
  EXPECT_EQ(text(DType::kF64, {3}, {1.0 / 3, 2.0 / 3, 1}), "[0.33333333 0.66666667 1.        ]");
  EXPECT_EQ(text(DType::kF32, {3}, {1.0 / 3, 2.0 / 3, 1}), "[0.33333334 0.6666667  1.        ]");
  EXPECT_EQ(text(DType::kF16, {3}, {0.1, 6.55, 0.333}), "[0.1   6.55  0.333]");
  EXPECT_EQ(text(DType::kF8E4M3, {3}, {0.1, 448, -1.5}), "[ 1.0e-01  4.5e+02 -1.5e+00]");
}

TEST(ArrayText, LargeAndSmallValuesAreScientific) {
  EXPECT_EQ(text(DType::kF32, {3}, {1e-5, 1, 1e8}), "[1.e-05 1.e+00 1.e+08]");
  EXPECT_EQ(text(DType::kF64, {3}, {1e-10, -1.25e10, 3.3}), "[ 1.00e-10 -1.25e+10  3.30e+00]");
  EXPECT_EQ(text(DType::kF16, {3}, {0.1, 65504, 0.333}), "[1.00e-01 6.55e+04 3.33e-01]");
  EXPECT_EQ(text(DType::kF64, {2}, {123456.789, 0.125}), "[1.23456789e+05 1.25000000e-01]");
  EXPECT_EQ(text(DType::kF32, {2}, {16777216, 1}), "[1.6777216e+07 1.0000000e+00]");
  EXPECT_EQ(text(DType::kF64, {2}, {1e-200, 1.2345678901}), "[1.00000000e-200 1.23456789e+000]");
}

TEST(ArrayText, NonFiniteValuesFitTheColumns) {
  EXPECT_EQ(text(DType::kF64, {3}, {NAN, 1.5, -INFINITY}), "[ nan  1.5 -inf]");
  EXPECT_EQ(text(DType::kF64, {2}, {NAN, INFINITY}), "[nan inf]");
  EXPECT_EQ(text(DType::kF64, {3}, {NAN, -1.5, INFINITY}), "[ nan -1.5  inf]");
}

TEST(ArrayText, LongLinesWrap) {
  EXPECT_EQ(to_string(counting(DType::kF32, {30})),
            "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
            " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]");
  EXPECT_EQ(text(DType::kF64, {1, 12}, std::vector<double>(12, 1.123456789)),
            "[[1.12345679 1.12345679 1.12345679 1.12345679 1.12345679 1.12345679\n"
            "  1.12345679 1.12345679 1.12345679 1.12345679 1.12345679 1.12345679]]");
}

TEST(ArrayText, HigherRanksAreSeparatedByBlankLines) {
  EXPECT_EQ(to_string(counting(DType::kI32, {2, 2, 3})),
            "[[[ 0  1  2]\n  [ 3  4  5]]\n\n [[ 6  7  8]\n  [ 9 10 11]]]");
  EXPECT_EQ(text(DType::kF64, {1, 2, 1, 2}, {0, 0, 0, 0}), "[[[[0. 0.]]\n\n  [[0. 0.]]]]");
}

TEST(ArrayText, MoreThanAThousandElementsAreSummarised) {
  EXPECT_EQ(to_string(counting(DType::kI64, {1001})), "[   0    1    2 ...  998  999 1000]");
  EXPECT_EQ(to_string(counting(DType::kI64, {100, 20})),
            "[[   0    1    2 ...   17   18   19]\n [  20   21   22 ...   37   38   39]\n"
            " [  40   41   42 ...   57   58   59]\n ...\n [1940 1941 1942 ... 1957 1958 1959]\n"
            " [1960 1961 1962 ... 1977 1978 1979]\n [1980 1981 1982 ... 1997 1998 1999]]");
  EXPECT_EQ(to_string(counting(DType::kI64, {1000})).find("..."), std::string::npos);
  EXPECT_EQ(to_string(counting(DType::kU8, {9}), {.threshold = 4, .edge_items = 1}), "[0 ... 8]");
}

TEST(ArrayText, ScalarsAndEmptyArraysPrintLikeNumPys) {
  EXPECT_EQ(text(DType::kF64, {}, {1.5}), "1.5");
  EXPECT_EQ(text(DType::kF64, {}, {1}), "1.0");
  EXPECT_EQ(text(DType::kI32, {}, {7}), "7");
  EXPECT_EQ(text(DType::kF64, {}, {NAN}), "nan");
  EXPECT_EQ(text(DType::kF64, {}, {1e20}), "1e+20");
  EXPECT_EQ(text(DType::kBool, {}, {1}), "True");
  EXPECT_EQ(text(DType::kF64, {0, 3}, {}), "[]");
  EXPECT_EQ(text(DType::kF64, {2, 0}, {}), "[]");
}

}  // namespace
}  // namespace luminal::graph
