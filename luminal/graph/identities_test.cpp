#include "luminal/graph/identities.h"

#include <set>

#include "luminal/graph/dead_nodes.h"
#include "luminal/graph/query.h"
#include "luminal/graph/test_graphs.h"
#include "luminal/graph/verify.h"

namespace luminal::graph {
namespace {

/// One law at work: the graph before, the definition of output "y" after (and what it needs).
struct Case {
  std::string_view identity;
  std::string before;
  std::string after;
};

const Identity& identity_named(std::string_view name) {
  for (const Identity& identity : all_identities())
    if (identity.name == name) return identity;
  throw UserError("test", "no identity is named {}", name);
}

/// Graphs of one input x (and k, c) and a line or two; %x may be used at once.
std::string program(std::string_view dtype, std::string_view body) {
  return fmt::format(
      "dim seq: [1, 6]\n%x: {0}[2, 40] = input \"x\"\n%z: {0}[2, 40] = input \"z\"\n"
      "%c: bool[2, 40] = input \"c\"\n%s: {0}[2, seq] = input \"s\"\n{1}output \"y\" = %y\n",
      dtype, body);
}

Graph apply(const Pass& pass, const Graph& graph) {
  PassList list("test");
  list.add(pass).add(dead_nodes());
  return list.run(graph, {.verify = true}).graph;
}

void expect_rewrites(const Case& c) {
  SCOPED_TRACE(std::string(c.identity) + "\n" + c.before);
  const Graph before = parse_text(c.before);
  const Graph after = apply(identity_pass(identity_named(c.identity)), before);
  EXPECT_EQ(to_text(after), to_text(parse_text(c.after)));
  for (uint64_t seed = 0; seed < 4; ++seed) test::expect_same_results(before, after, seed);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  auto add = [&](std::string_view identity, std::string_view dtype, std::string_view before,
                 std::string_view after) {
    all.push_back({identity, program(dtype, before), program(dtype, after)});
  };
  // `body` with "OP" lines; the result is the operand itself.
  auto gives_x = [&](std::string_view identity, std::string_view dtype, std::string_view before) {
    std::string after = program(dtype, "");
    after.replace(after.rfind("%y"), 2, "%x");
    all.push_back({identity, program(dtype, before), after});
  };
  auto binary = [](std::string_view dtype, std::string_view op, std::string_view value,
                   bool constant_first = false) {
    return fmt::format("%k: {0}[] = constant {2}\n%y: {0}[2, 40] = {1} {3}\n", dtype, op, value,
                       constant_first ? "%k[], %x" : "%x, %k[]");
  };

  for (const DTypeInfo& row : kDTypes) {
    const std::string_view dtype = row.name;
    const std::string lowest = Scalar::lowest(row.dtype).to_string();
    const std::string highest = Scalar::highest(row.dtype).to_string();
    gives_x("maximum_of_same", dtype, fmt::format("%y: {}[2, 40] = max %x, %x\n", dtype));
    gives_x("maximum_with_extreme", dtype, binary(dtype, "max", lowest));
    gives_x("maximum_with_extreme", dtype, binary(dtype, "max", lowest, true));
    gives_x("select_of_same", dtype, fmt::format("%y: {}[2, 40] = select %c, %x, %x\n", dtype));
    gives_x("cast_to_same", dtype, fmt::format("%y: {}[2, 40] = cast %x\n", dtype));
    gives_x("cast_to_same", dtype, fmt::format("%y: {}[2, 40] = bitcast %x\n", dtype));
    gives_x("copy_of_whole", dtype, fmt::format("%y: {}[2, 40] = copy %x\n", dtype));
    gives_x("reduce_no_axes", dtype, fmt::format("%y: {}[2, 40] = reduce_max %x axes=0\n", dtype));
    gives_x("scatter_of_nothing", dtype,
            fmt::format("%i: i64[2, 0] = constant []\n%u: {0}[2, 0] = constant []\n"
                        "%y: {0}[2, 40] = scatter %x, %i, %u mode=set\n",
                        dtype));
    gives_x(
        "select_by_constant", dtype,
        fmt::format("%k: bool[] = constant true\n%y: {}[2, 40] = select %k[], %x, %z\n", dtype));
    gives_x(
        "select_by_constant", dtype,
        fmt::format("%k: bool[] = constant false\n%y: {}[2, 40] = select %k[], %z, %x\n", dtype));
    const std::string no = "%k: bool[] = constant false\n%y: bool[2, 40] = copy %k[]\n";
    auto is_false = [&](std::string_view identity, const std::string& before) {
      std::string after = program(dtype, "%k: bool[] = constant false\n");
      after.replace(after.rfind("%y"), 2, "%k[2, 40 -> ]");
      all.push_back({identity, program(dtype, before), after});
    };
    is_false("less_than_itself", "%y: bool[2, 40] = less_than %x, %x\n");
    is_false("less_than_extreme",
             fmt::format("%k: {}[] = constant {}\n%y: bool[2, 40] = less_than %x, %k[]\n", dtype,
                         lowest));
    is_false("less_than_extreme",
             fmt::format("%k: {}[] = constant {}\n%y: bool[2, 40] = less_than %k[], %x\n", dtype,
                         highest));
    if (is_bool(row.dtype)) continue;

    gives_x("multiply_by_one", dtype, binary(dtype, "mul", "1"));
    gives_x("multiply_by_one", dtype, binary(dtype, "mul", "1", true));
    gives_x("divide_by_one", dtype, binary(dtype, "div", "1"));
    gives_x("power_of_zero_or_one", dtype, binary(dtype, "pow", "1"));
    gives_x("add_zero", dtype, binary(dtype, "add", is_float(row.dtype) ? "-0" : "0"));
    gives_x("add_zero", dtype, binary(dtype, "add", is_float(row.dtype) ? "-0" : "0", true));
    gives_x("reduce_no_axes", dtype, fmt::format("%y: {}[2, 40] = prod %x axes=0\n", dtype));
    gives_x("reduce_unit_axes", dtype,
            fmt::format("%y: {}[2, 40] = prod %x[2, 40, 1, 1 -> i0, i1] axes=2\n", dtype));
  }

  for (std::string_view dtype : {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"}) {
    add("divide_by_power_of_two", dtype, binary(dtype, "div", "-4"), binary(dtype, "mul", "-0.25"));
    add("one_over", dtype, binary(dtype, "div", "1", true),
        fmt::format("%y: {}[2, 40] = recip %x\n", dtype));
    const std::string plus_zero = binary(dtype, "add", "0");
    add("reduce_no_axes", dtype, fmt::format("%y: {}[2, 40] = sum %x axes=0\n", dtype), plus_zero);
    add("reduce_unit_axes", dtype,
        fmt::format("%y: {}[2, 40] = sum %x[2, 40, 1 -> i0, i1] axes=1\n", dtype), plus_zero);
    add("rounding_of_whole_number", dtype,
        fmt::format("%f: {0}[2, 40] = floor %x\n%y: {0}[2, 40] = round %f\n", dtype),
        fmt::format("%y: {}[2, 40] = floor %x\n", dtype));
  }
  for (std::string_view dtype : {"i64", "i8", "u8", "i4", "u4", "u32"}) {
    auto gives = [&](std::string_view identity, std::string_view value, const std::string& before) {
      std::string after = program(dtype, fmt::format("%k: {}[] = constant {}\n", dtype, value));
      after.replace(after.rfind("%y"), 2, "%k[2, 40 -> ]");
      all.push_back({identity, program(dtype, before), after});
    };
    const std::string ones = Scalar::of(*dtype_from_name(dtype), -1).to_string();
    const std::string highest = Scalar::highest(*dtype_from_name(dtype)).to_string();
    gives("multiply_integer_by_zero", "0", binary(dtype, "mul", "0"));
    gives("integer_quotient_with_zero", "0", binary(dtype, "div", "0"));
    gives("integer_quotient_with_zero", "0", binary(dtype, "div", "0", true));
    gives("integer_remainder_of_one", "0", binary(dtype, "mod", "1"));
    gives("integer_remainder_of_one", "0", binary(dtype, "mod", "0"));
    gives("integer_remainder_of_one", "0", binary(dtype, "mod", "0", true));
    gives("power_of_zero_or_one", "1", binary(dtype, "pow", "0"));
    gives("maximum_with_extreme", highest, binary(dtype, "max", highest));
    gives("bits_with_itself", "0", fmt::format("%y: {}[2, 40] = bit_xor %x, %x\n", dtype));
    gives_x("bits_with_itself", dtype, fmt::format("%y: {}[2, 40] = bit_and %x, %x\n", dtype));
    gives_x("bits_with_itself", dtype, fmt::format("%y: {}[2, 40] = bit_or %x, %x\n", dtype));
    gives("bits_with_constant", "0", binary(dtype, "bit_and", "0"));
    gives("bits_with_constant", ones, binary(dtype, "bit_or", ones, true));
    gives_x("bits_with_constant", dtype, binary(dtype, "bit_and", ones));
    gives_x("bits_with_constant", dtype, binary(dtype, "bit_or", "0"));
    gives_x("bits_with_constant", dtype, binary(dtype, "bit_xor", "0"));
    gives_x("shift_by_zero", dtype, binary(dtype, "shift_left", "0"));
    gives_x("shift_by_zero", dtype, binary(dtype, "shift_right", "0"));
    gives("shift_by_zero", "0", binary(dtype, "shift_right", "0", true));
    gives("reduce_empty_axis", "0",
          fmt::format("%y: {}[2, 40] = sum %x[2, 40, 0 -> 0, 0] axes=1\n", dtype));
    gives("reduce_empty_axis", "1",
          fmt::format("%y: {}[2, 40] = prod %x[2, 40, 0 -> 0, 0] axes=1\n", dtype));
    gives_x("reduce_no_axes", dtype, fmt::format("%y: {}[2, 40] = sum %x axes=0\n", dtype));
    add("reassociate_constants", dtype,
        fmt::format(
            "%a: {0}[] = constant 3\n%b: {0}[] = constant 5\n%m: {0}[2, 40] = add %x, %a[]\n"
            "%y: {0}[2, 40] = add %b[], %m\n",
            dtype),
        fmt::format("%a: {0}[] = constant 3\n%b: {0}[] = constant 5\n%m: {0}[] = add %a, %b\n"
                    "%y: {0}[2, 40] = add %x, %m[]\n",
                    dtype));
    for (std::string_view op : {"sum", "prod", "reduce_max"})
      add("reduction_of_reduction", dtype,
          fmt::format("%m: {0}[2] = {1} %x axes=1\n%y: {0}[] = {1} %m axes=1\n", dtype, op),
          fmt::format("%y: {0}[] = {1} %x axes=2\n", dtype, op));
  }
  add("reduction_of_reduction", "f32",
      "%m: f32[seq] = reduce_max %s[seq, 2 -> i1, i0] axes=1\n"
      "%y: f32[] = reduce_max %m[seq -> seq - 1 - i0] axes=1\n",
      "%y: f32[] = reduce_max %s[seq, 2 -> i1, -i0 + seq - 1] axes=2\n");
  add("reassociate_constants", "f32",
      "%a: f32[] = constant -0\n%b: f32[] = constant 0\n%m: f32[2, 40] = max %x, %a[]\n"
      "%y: f32[40, 2] = max %m[i1, i0], %b[]\n",
      "%a: f32[] = constant -0\n%b: f32[] = constant 0\n%m: f32[] = max %a, %b\n"
      "%y: f32[40, 2] = max %x[i1, i0], %m[]\n");
  add("rounding_of_whole_number", "i64", "%f: f32[2, 40] = cast %x\n%y: f32[2, 40] = floor %f\n",
      "%y: f32[2, 40] = cast %x\n");
  add("reduce_unit_axes", "f32", "%y: f32[2] = sum %s[2, 1, seq, 1 -> i0, i2] axes=3\n",
      "%y: f32[2] = sum %s axes=1\n");
  {
    std::string after = program("f32", "%k: f32[] = constant -inf\n");
    after.replace(after.rfind("%y"), 2, "%k[2, seq -> ]");
    all.push_back(
        {"reduce_empty_axis",
         program("f32", "%y: f32[2, seq] = reduce_max %s[2, seq, 0, seq -> i0, i1] axes=2\n"),
         after});
  }
  // Bool.
  gives_x("equal_to_true", "bool", binary("bool", "equal", "true"));
  gives_x("bits_with_constant", "bool", binary("bool", "bit_and", "true"));
  gives_x("not_of_not", "bool",
          "%k: bool[] = constant false\n%n: bool[2, 40] = equal %x, %k[]\n"
          "%y: bool[2, 40] = equal %k[], %n\n");
  gives_x("select_true_or_false", "bool",
          "%k: bool[] = constant true\n%l: bool[] = constant false\n"
          "%y: bool[2, 40] = select %x, %k[], %l[]\n");
  for (std::string_view dtype : {"i32", "bool", "u4"}) {
    std::string after = program(dtype, "%k: bool[] = constant true\n");
    after.replace(after.rfind("%y"), 2, "%k[2, 40 -> ]");
    all.push_back({"equal_to_itself", program(dtype, "%y: bool[2, 40] = equal %x, %x\n"), after});
  }
  // Casts.
  auto cast_chain = [&](std::string_view first, std::string_view middle, std::string_view last) {
    add("cast_of_lossless_cast", first,
        fmt::format("%m: {}[2, 40] = cast %x\n%y: {}[40, 2] = cast %m[i1, i0]\n", middle, last),
        fmt::format("%y: {}[40, 2] = cast %x[i1, i0]\n", last));
  };
  cast_chain("f16", "f32", "i8");
  cast_chain("f16", "f32", "bf16");
  cast_chain("f8e4m3", "f16", "f8e5m2");
  cast_chain("i16", "i64", "u8");
  cast_chain("u8", "i16", "i8");
  cast_chain("i32", "f64", "f16");
  cast_chain("i8", "bf16", "i16");
  cast_chain("i64", "i64", "f32");
  cast_chain("u4", "f8e4m3", "bool");
  gives_x("cast_of_lossless_cast", "bf16", "%m: f32[2, 40] = cast %x\n%y: bf16[2, 40] = cast %m\n");
  gives_x("bitcast_of_bitcast", "i32",
          "%m: f32[2, 40] = bitcast %x\n%y: i32[2, 40] = bitcast %m\n");
  add("bitcast_of_bitcast", "i16", "%m: u16[2, 40] = bitcast %x\n%y: f16[2, 40] = bitcast %m\n",
      "%y: f16[2, 40] = bitcast %x\n");
  // Gather.
  {
    std::string after = program("f32", "");
    after.replace(after.rfind("%y"), 2, "%x[2 -> i0, 7]");
    all.push_back({"gather_at_constant",
                   program("f32", "%k: i32[] = constant 7\n%y: f32[2] = gather %k[], %x\n"),
                   after});
    after = program("f32", "");
    after.replace(after.rfind("%y"), 2, "%s[2 -> i0, 0]");
    all.push_back({"gather_at_constant",
                   program("f32", "%k: i32[] = constant 0\n%y: f32[2] = gather %k[], %s\n"),
                   after});
  }
  return all;
}

TEST(Identities, EachLawRewritesAndChangesNoResult) {
  for (const Case& c : cases()) expect_rewrites(c);
}

TEST(Identities, EachLawIsTested) {
  std::set<std::string_view> tested;
  for (const Case& c : cases()) tested.insert(c.identity);
  for (const Identity& identity : all_identities())
    EXPECT_TRUE(tested.contains(identity.name)) << identity.name;
  EXPECT_EQ(tested.size(), all_identities().size());
}

/// Programs that look like a law but are none.
TEST(Identities, WhatIsNotExactIsLeftAlone) {
  const std::vector<std::string> left_alone{
      // -0.0 + 0.0 is 0.0
      program("f32", "%k: f32[] = constant 0\n%y: f32[2, 40] = add %x, %k[]\n"),
      // 0 * inf is NaN
      program("f32", "%k: f32[] = constant 0\n%y: f32[2, 40] = mul %x, %k[]\n"),
      // two roundings
      program("f32", "%a: f32[2, 40] = recip %x\n%y: f32[2, 40] = recip %a\n"),
      // a third is no float
      program("f32", "%k: f32[] = constant 3\n%y: f32[2, 40] = div %x, %k[]\n"),
      // the reciprocal of the smallest f16 is infinite
      program("f16", "%k: f16[] = constant 5.9604645e-08\n%y: f16[2, 40] = div %x, %k[]\n"),
      // division is not commutative
      program("i32", "%k: i32[] = constant 1\n%y: i32[2, 40] = div %k[], %x\n"),
      // NaN is not equal to itself
      program("f32", "%y: bool[2, 40] = equal %x, %x\n"),
      // max(NaN, inf) is NaN
      program("f32", "%k: f32[] = constant inf\n%y: f32[2, 40] = max %x, %k[]\n"),
      // floats round at each addition
      program("f32",
              "%k: f32[] = constant 3\n%a: f32[2, 40] = add %x, %k[]\n"
              "%y: f32[2, 40] = add %a, %k[]\n"),
      program("f32", "%a: f32[2] = sum %x axes=1\n%y: f32[] = sum %a axes=1\n"),
      // lossy casts
      program("f32", "%a: f16[2, 40] = cast %x\n%y: f32[2, 40] = cast %a\n"),
      program("i64", "%a: f64[2, 40] = cast %x\n%y: i64[2, 40] = cast %a\n"),
      program("f16", "%a: bf16[2, 40] = cast %x\n%y: f32[2, 40] = cast %a\n"),
      program("i8", "%a: u8[2, 40] = cast %x\n%y: i32[2, 40] = cast %a\n"),
      // by way of a float, 300 becomes 127, not 44
      program("i32", "%a: f64[2, 40] = cast %x\n%y: i8[2, 40] = cast %a\n"),
      // a copy that turns, a barrier
      program("f32", "%y: f32[40, 2] = copy %x[i1, i0]\n"),
      program("f32", "%y: f32[2, 40] = graph_break %x\n"),
      // the position may be out of range
      program("f32", "%k: i32[] = constant 3\n%y: f32[2] = gather %k[], %s\n"),
      program("f32", "%k: i32[] = constant -1\n%y: f32[2] = gather %k[], %x\n"),
      // padding between the two ops: the fill is not rounded
      program("f32",
              "%a: f32[2, 40] = floor %x\n"
              "%y: f32[2, 41] = floor %a[i0, i1 - 1 if i1 - 1 in [0, 40) else 0.5]\n"),
      program("i32",
              "%k: i32[] = constant 1\n%a: i32[2, 40] = add %x, %k[]\n"
              "%y: i32[2, 41] = add %a[i0, i1 - 1 if i1 - 1 in [0, 40) else 7], %k[]\n"),
      // a constant that is not the same everywhere
      program("i32", "%k: i32[2, 1] = constant [1, 2]\n%y: i32[2, 40] = mul %x, %k[i0, 0]\n"),
      program("i32",
              "%k: i32[1] = constant [1]\n"
              "%y: i32[2, 40] = mul %x, %k[0 if i1 in [0, 20) else 2]\n"),
  };
  for (const std::string& text : left_alone) {
    const Graph graph = parse_text(text);
    EXPECT_TRUE(identical(identities().run(graph).graph, graph)) << text;
  }
}

TEST(Identities, AnInnerReductionThatIsNeededElsewhereIsKept) {
  const Graph graph = parse_text(
      program("i32", "%m: i32[2] = sum %x axes=1\n%y: i32[] = sum %m axes=1\noutput \"m\" = %m\n"));
  EXPECT_TRUE(identical(identities().run(graph).graph, graph));
}

TEST(Identities, AConstantMayBePaddedWithItself) {
  const Graph graph =
      parse_text(program("i32",
                         "%k: i32[1] = constant [1]\n"
                         "%y: i32[2, 40] = mul %x, %k[0 if i1 in [0, 20) else 1]\n"));
  const Graph after = apply(identities(), graph);
  EXPECT_EQ(after.outputs()[0].edge.node, NodeId{0});
}

TEST(Identities, AReplacementThatPadsBecomesDataWhereAnotherPaddingReadsIt) {
  const Graph graph =
      parse_text(program("i32",
                         "%k: i32[] = constant 1\n"
                         "%a: i32[2, 41] = mul %x[i0, i1 - 1 if i1 - 1 in [0, 40) else 7], %k[]\n"
                         "%y: i32[2, 42] = copy %a[i0, i1 - 1 if i1 - 1 in [0, 41) else 9]\n"));
  const Graph after = apply(identities(), graph);
  EXPECT_EQ(statistics(after).ops.at(Op::kCopy), 2u);
  test::expect_same_results(graph, after, 1);
}

TEST(Identities, HoldsEveryValueAgreesWithCastingAllValues) {
  for (const DTypeInfo& from : kDTypes) {
    if (from.bits > 16) continue;
    for (const DTypeInfo& to : kDTypes) {
      bool exact = true;
      const int64_t patterns = is_bool(from.dtype) ? 2 : int64_t{1} << from.bits;
      Array bits(from.dtype, {2});
      for (int64_t pattern = 0; pattern < patterns; ++pattern) {
        auto bytes = bits.mutable_bytes();
        bytes[0] = static_cast<std::byte>(pattern & 0xff);
        if (from.bits == 16) bytes[1] = static_cast<std::byte>(pattern >> 8);
        const Scalar value = bits.at(0);
        exact &= value.cast(to.dtype).cast(from.dtype) == value;
        // -1 and 255 are the same bits, but not the same value.
        exact &= value.cast(to.dtype).as_double() == value.as_double() ||
                 value.as_double() != value.as_double();
      }
      EXPECT_EQ(holds_every_value(to.dtype, from.dtype), exact) << from.name << " in " << to.name;
    }
  }
}

}  // namespace
}  // namespace luminal::graph
