// Graphs that were compiled wrongly, or not at all, as small as they could be made. What random
// graphs find is added here, since other changes make other graphs of the same seed.
#pragma once

#include <string_view>

namespace luminal::fuzz {

/// A graph as text, and what was wrong with it.
struct FoundGraph {
  std::string_view what;
  std::string_view text;
};

inline constexpr FoundGraph kFoundGraphs[] = {
    {"two copies of one value, each of which implied the other", R"(
%0: f32[] = input "x"
%1: f64[2] = cast %0[]
%2: f64[2] = max %1[1], %1
output "y" = %2
)"},
    {"the maximum of a maximum that is repeated was merged without end", R"(
%0: f32[6] = input "x"
%1: f32[] = reduce_max %0 axes=1
%2: f32[] = reduce_max %1[2 -> ] axes=1
output "y" = %2
)"},
    {"a maximum that shares its loop with a sum did not equal any element", R"(
dim n: [0, 9]
%0: f32[1, n, n, 1] = input "x1"
%1: f32[n] = input "x3"
%2: f32[n] = input "x4"
%3: f32[n] = input "x5"
%4: f32[n] = input "x6"
%5: f32[] = constant 0.00001
%6: f32[n] = mul %3, %3
%7: f32[1, n, 1, 1] = add %6[i1], %5[]
%8: f32[1, n, 1, 1] = sqrt %7
%9: f32[1, n, 1, 1] = recip %8
%10: f32[] = constant -1
%11: f32[1, n, 1, 1] = mul %4[i1], %10[]
%12: f32[3, n, n + 2, 3] = add %0[0, i1, i2 - 1, 0 if i0 - 1 in [0, 1) and i2 - 1 in [0, n) and i3 in [0, 1) else 0], %11[0, i1, 0, 0]
%13: f32[3, n, n + 2, 3] = mul %12, %9[0, i1, 0, 0]
%14: f32[3, n, n + 2, 3] = mul %13, %2[i1]
%15: f32[3, n, n + 2, 3] = add %14, %1[i1]
%16: f32[3, n, n + 2, 3] = mul %0[0, i1, i2 - 1, 0 if i0 - 1 in [0, 1) and i2 - 1 in [0, n) and i3 in [0, 1) else 0], %15
%17: f32[3, n, n + 2, 3] = mul %16, %10[]
%18: f32[n, n + 2, 3] = reduce_max %17[n, n + 2, 3, 3 -> i3, i0, i1, i2] axes=1
%19: f32[1, n, n + 2, 3] = mul %18[i1, i2, i3], %10[]
%20: bool[3, n, n + 2, 3] = equal %16, %19[0, i1, i2, i3]
%21: i64[3, n, n + 2, 3] = iota i0
%22: i64[] = iota 3
%23: i64[3, n, n + 2, 3] = select %20, %21, %22[]
%24: i64[] = constant -1
%25: i64[3, n, n + 2, 3] = bit_xor %23, %24[]
%26: i64[n, n + 2, 3] = reduce_max %25[n, n + 2, 3, 3 -> i3, i0, i1, i2] axes=1
%27: i64[1, n, n + 2, 3] = bit_xor %26[i1, i2, i3], %24[]
%28: f32[1, n, n + 2, 3] = gather %27, %16[1, n, n + 2, 3, 3 -> i4, i1, i2, i3]
%29: f32[1, n, n + 2] = sum %28 axes=1
%30: f32[1, n, n + 2, 3] = add %28, %29[0, i1, i2]
output "y" = %30
)"},
    {"two equal argsorts, one of which is read in part", R"(
dim m: [1, 3]
%0: f16[m + 4] = input "x"
%1: i64[m + 4] = argsort %0 descending=true
%2: i64[m + 4] = argsort %0 descending=true
%3: i64[1, m + 4] = argsort %2[i1] descending=true
%4: i32[m + 4] = cast %3[0, i0]
%5: f16[(m + 5) / 3] = cast %1[3*i0]
output "y" = %4
output "z" = %5
)"},
    {"the check of a gather's data divided by an extent of 0, by which nothing is read", R"(
dim m: [1, 3]
%0: f32[2, m] = input "x"
%1: i32[] = constant 0
%2: f32[] = gather %1[], %0[2*max(m - 2, 0) + 1 -> i0 / max(m - 2, 0), i0 % max(m - 2, 0) if i0 in [0, 2*max(m - 2, 0)) else 1]
output "y" = %2
)"},
    {"x - max(x) of a narrow x was not 0 where the maximum is chosen only if it is finite", R"(
%0: f8e5m2[7, 8] = input "x"
%1: f8e5m2[] = constant 40
%2: f8e5m2[7, 8] = mul %0, %1[]
%3: f8e5m2[7, 8] = mul %2, %2
%4: f32[7, 8] = cast %3
%5: f32[7] = reduce_max %4 axes=1
%6: f32[] = constant 0
%7: f32[] = constant inf
%8: bool[7] = less_than %5, %7[]
%9: f32[7] = select %8, %5, %6[]
%10: f32[] = constant -1
%11: f32[7, 1] = mul %9[i0], %10[]
%12: f32[7, 8] = add %4, %11[i0, 0]
%13: f32[7, 8] = exp %12
%14: f32[7] = sum %13 axes=1
%15: f32[7] = log %14
%16: f32[7] = add %15, %9
output "y" = %16
)"},
    {"x - min(x) was below 0 where x is a product that is fused with the difference", R"(
%0: f32[9, 2] = input "x"
%1: f32[9, 2] = input "z"
%2: f32[9, 2] = mul %0, %1
%3: f32[] = constant -1
%4: f32[9, 2] = mul %2, %3[]
%5: f32[9] = reduce_max %4 axes=1
%6: f32[9] = mul %5, %3[]
%7: f32[9] = mul %6, %3[]
%8: f32[9, 2] = add %2, %7[i0]
%9: f32[9, 2] = sqrt %8
output "y" = %9
)"},
    {"a filter that is a sum itself was no depthwise convolution, but taken for one", R"(
%0: f32[4, 1, 8] = input "x1"
%1: f32[5, 1, 3] = input "x2"
%2: f32[4, 1, 5, 5, 1, 3] = mul %0[i0, 0, 2*i3 + i5 - 2 if 2*i3 + i5 - 2 in [0, 8) else 0], %1[i2, 0, i5]
%3: f32[4, 1, 5, 5] = sum %2 axes=2
%4: f32[9, 1] = input "x4"
%5: f32[4, 5, 1, 9] = mul %3[i0, 0, i3 - 2, i1 if i3 - 2 in [0, 5) else 0], %4[i3, 0]
%6: f32[4, 5, 1] = sum %5 axes=1
%7: f32[5, 1] = input "x6"
%8: f32[4, 5, 1, 5] = mul %3[i0, 0, i3, i1], %7[i3, 0]
%9: f32[4, 5, 1] = sum %8 axes=1
output "out2" = %6
output "out3" = %9
)"},
    {"products were added up in two orders, so that the largest of them was not the maximum", R"(
%0: f32[8, 5] = input "x1"
%1: f32[7, 17] = input "x3"
%2: f32[] = constant 100000
%3: f32[8, 5] = mul %0, %2[]
%4: f32[5, 17, 8] = mul %3[i2, i0], %1[i2 - 1, i1 if i2 - 1 in [0, 7) else 0]
%5: f32[5, 17] = sum %4 axes=1
%6: f32[17] = reduce_max %5[17, 5 -> i1, i0] axes=1
%7: f32[] = constant -1
%8: f32[1, 17] = mul %6[i1], %7[]
%9: f32[5, 17] = add %5, %8[0, i1]
%10: f32[5, 17] = exp %9
%11: f32[17] = sum %10[17, 5 -> i1, i0] axes=1
%12: f32[1, 17] = log %11[i1]
%13: f32[1, 17] = mul %12, %7[]
%14: f32[5, 17] = add %9, %13[0, i1]
output "y" = %14
)"},
    {"step mode read an index that kernels need not look at after its memory had been given away",
     R"(
%0: i32[4, 1, 5, 5] = input "x1"
%1: f8e5m2[4, 1, 5, 5] = cast %0
%2: f8e5m2[] = constant -1
%3: f8e5m2[4, 1, 5, 5] = mul %1, %2[]
%4: f8e5m2[4, 5, 5] = reduce_max %3[4, 5, 5, 1 -> i0, 0, i1, i2] axes=1
%5: f8e5m2[4, 1, 5, 5] = mul %4[i0, i2, i3], %2[]
%6: bool[4, 1, 5, 5] = equal %1, %5
%7: i64[4, 1, 5, 5] = iota 0
%8: i64[] = iota 1
%9: i64[4, 1, 5, 5] = select %6, %7, %8[]
%10: f8e5m2[4, 1, 5, 5] = gather %9, %1[4, 1, 5, 5, 1 -> i0, 0, i2, i3]
%11: f8e5m2[4, 1, 5, 5] = exp %10
%12: f8e5m2[1, 5, 5] = reduce_max %11[1, 5, 5, 4 -> i3, 0, i1, i2] axes=1
%13: bool[4, 1, 5, 5] = equal %11, %12[0, i2, i3]
%14: i64[4, 1, 5, 5] = iota i0
%15: i64[] = iota -1
%16: i64[4, 1, 5, 5] = select %13, %14, %15[]
%17: i64[1, 5, 5] = reduce_max %16[1, 5, 5, 4 -> i3, 0, i1, i2] axes=1
%18: f8e5m2[1, 1, 5, 5] = gather %17[i0, i2, i3], %11[1, 1, 5, 5, 4 -> i4, 0, i2, i3]
%19: f8e5m2[4, 1, 5, 5] = tanh %10
output "y" = %18
output "z" = %19
)"},
    {"a product was compared with its maximum, which other code had added up", R"(
%a: f32[5, 8] = input "a"
%b: f32[8, 17] = input "b"
%m: f32[5, 17, 8] = mul %a[i0, i2], %b[i2, i1]
%y: f32[5, 17] = sum %m axes=1
%x: f32[5] = reduce_max %y axes=1
%h: bool[5, 17] = equal %y, %x[i0]
%neg: f32[] = constant -1
%n: f32[5, 17] = mul %y, %neg[]
%d: f32[5, 17] = add %x[i0], %n
%s: f32[5, 17] = sqrt %d
output "h" = %h
output "s" = %s
)"},
    {"a product was compared with its first column, which other code had added up", R"(
%a: f32[128, 64] = input "a"
%b: f32[64, 256] = input "b"
%m: f32[128, 256, 64] = mul %a[i0, i2], %b[i2, i1]
%y: f32[128, 256] = sum %m axes=1
%h: bool[128, 256] = equal %y, %y[i0, 0]
output "h" = %h
)"},
    {"a window was compared with its maximum through a reshape", R"(
%a: f32[44] = input "a"
%f: f32[4, 5] = input "f"
%m: f32[4, 40, 5] = mul %a[i1 + i2], %f[i0, i2]
%y: f32[4, 40] = sum %m axes=1
%x: f32[4] = reduce_max %y[4, 40 -> (40*i0 + i1)/40, (40*i0 + i1)%40] axes=1
%h: bool[4, 40] = equal %y, %x[i0]
output "h" = %h
)"},
    {"products were compared by one kernel with what another one had added up", R"(
%a: f32[6, 9] = input "a"
%b0: f32[9, 13] = input "b0"
%m0: f32[6, 13, 9] = mul %a[i0, i2], %b0[i2, i1]
%y0: f32[6, 13] = sum %m0 axes=1
%b1: f32[9, 13] = input "b1"
%m1: f32[6, 13, 9] = mul %a[i0, i2], %b1[i2, i1]
%y1: f32[6, 13] = sum %m1 axes=1
%s: f32[6, 13] = max %y0, %y1
%x: f32[13] = reduce_max %s[13, 6 -> i1, i0] axes=1
%h0: bool[6, 13] = equal %y0, %x[i1]
%h1: bool[6, 13] = equal %y1, %x[i1]
output "h0" = %h0
output "h1" = %h1
)"},
    {"a product was taken from its first column, which other code had added up", R"(
%a: f32[5, 8] = input "a"
%b: f32[8, 17] = input "b"
%m: f32[5, 17, 8] = mul %a[i0, i2], %b[i2, i1]
%y: f32[5, 17] = sum %m axes=1
%k: f32[] = constant -1
%n: f32[5, 17] = mul %y, %k[]
%d: f32[5, 17] = add %y[i0, 0], %n
%r: f32[5, 17] = recip %d
output "r" = %r
)"},
};

}  // namespace luminal::fuzz
