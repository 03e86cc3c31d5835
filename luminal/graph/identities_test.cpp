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

/// "%y = op %x, value", or the other way round.
std::string binary(std::string_view dtype, std::string_view op, std::string_view value,
                   bool constant_first = false) {
  return fmt::format("%k: {0}[] = constant {2}\n%y: {0}[2, 40] = {1} {3}\n", dtype, op, value,
                     constant_first ? "%k[], %x" : "%x, %k[]");
}

/// "%y = op operands" in the dtype of x.
std::string line(std::string_view dtype, std::string_view operation) {
  return fmt::format("%y: {}[2, 40] = {}\n", dtype, operation);
}

/// Collects cases for one dtype of x.
class Cases {
 public:
  Cases(std::vector<Case>& all, std::string_view dtype) : all_(all), dtype_(dtype) {}

  /// One body becomes another.
  void gives(std::string_view identity, std::string_view before, std::string_view after) {
    all_.push_back({identity, program(dtype_, before), program(dtype_, after)});
  }
  /// The output becomes this edge, after these lines.
  void gives_edge(std::string_view identity, std::string_view before, std::string_view edge,
                  std::string_view lines = "") {
    std::string after = program(dtype_, lines);
    after.replace(after.rfind("%y"), 2, edge);
    all_.push_back({identity, program(dtype_, before), after});
  }
  void gives_x(std::string_view identity, std::string_view before) {
    gives_edge(identity, before, "%x");
  }
  void gives_constant(std::string_view identity, std::string_view value, std::string_view before) {
    gives_edge(identity, before, "%k[2, 40 -> ]",
               fmt::format("%k: {}[] = constant {}\n", dtype_, value));
  }
  void gives_bool(std::string_view identity, bool value, std::string_view before) {
    gives_edge(identity, before, "%k[2, 40 -> ]", fmt::format("%k: bool[] = constant {}\n", value));
  }

 private:
  std::vector<Case>& all_;
  std::string_view dtype_;
};

void add_cases_of_every_dtype(std::vector<Case>& all, const DTypeInfo& row) {
  const std::string_view dtype = row.name;
  Cases cases(all, dtype);
  const std::string lowest = Scalar::lowest(row.dtype).to_string();
  const std::string highest = Scalar::highest(row.dtype).to_string();
  cases.gives_x("maximum_of_same", line(dtype, "max %x, %x"));
  cases.gives_x("maximum_with_extreme", binary(dtype, "max", lowest));
  cases.gives_x("maximum_with_extreme", binary(dtype, "max", lowest, true));
  cases.gives_x("select_of_same", line(dtype, "select %c, %x, %x"));
  cases.gives_x("cast_to_same", line(dtype, "cast %x"));
  cases.gives_x("cast_to_same", line(dtype, "bitcast %x"));
  cases.gives_x("copy_of_whole", line(dtype, "copy %x"));
  cases.gives_x("reduce_no_axes", line(dtype, "reduce_max %x axes=0"));
  cases.gives_x("scatter_of_nothing",
                fmt::format("%i: i64[2, 0] = constant []\n%u: {}[2, 0] = constant []\n", dtype) +
                    line(dtype, "scatter %x, %i, %u mode=set"));
  cases.gives_x("select_by_constant",
                "%k: bool[] = constant true\n" + line(dtype, "select %k[], %x, %z"));
  cases.gives_x("select_by_constant",
                "%k: bool[] = constant false\n" + line(dtype, "select %k[], %z, %x"));
  auto compare = [&](const std::string& value, std::string_view operands) {
    return fmt::format("%k: {}[] = constant {}\n%y: bool[2, 40] = less_than {}\n", dtype, value,
                       operands);
  };
  cases.gives_bool("less_than_itself", false, "%y: bool[2, 40] = less_than %x, %x\n");
  cases.gives_bool("less_than_extreme", false, compare(lowest, "%x, %k[]"));
  cases.gives_bool("less_than_extreme", false, compare(highest, "%k[], %x"));
  if (!is_float(row.dtype))
    cases.gives_bool("equal_to_itself", true, "%y: bool[2, 40] = equal %x, %x\n");
}

void add_cases_of_numbers(std::vector<Case>& all, const DTypeInfo& row) {
  const std::string_view dtype = row.name;
  Cases cases(all, dtype);
  const std::string_view neutral = is_float(row.dtype) ? "-0" : "0";
  cases.gives_x("multiply_by_one", binary(dtype, "mul", "1"));
  cases.gives_x("multiply_by_one", binary(dtype, "mul", "1", true));
  cases.gives_x("divide_by_one", binary(dtype, "div", "1"));
  cases.gives_x("power_of_zero_or_one", binary(dtype, "pow", "1"));
  cases.gives_constant("power_of_zero_or_one", "1", binary(dtype, "pow", "0"));
  cases.gives_x("add_zero", binary(dtype, "add", neutral));
  cases.gives_x("add_zero", binary(dtype, "add", neutral, true));
  cases.gives_x("reduce_no_axes", line(dtype, "prod %x axes=0"));
  cases.gives_x("reduce_unit_axes", line(dtype, "prod %x[2, 40, 1, 1 -> i0, i1] axes=2"));
}

void add_cases_of_floats(std::vector<Case>& all, std::string_view dtype) {
  Cases cases(all, dtype);
  cases.gives("divide_by_power_of_two", binary(dtype, "div", "-4"), binary(dtype, "mul", "-0.25"));
  cases.gives("one_over", binary(dtype, "div", "1", true), line(dtype, "recip %x"));
  const std::string plus_zero = binary(dtype, "add", "0");
  cases.gives("reduce_no_axes", line(dtype, "sum %x axes=0"), plus_zero);
  cases.gives("reduce_unit_axes", line(dtype, "sum %x[2, 40, 1 -> i0, i1] axes=1"), plus_zero);
  cases.gives("rounding_of_whole_number",
              fmt::format("%f: {}[2, 40] = floor %x\n", dtype) + line(dtype, "round %f"),
              line(dtype, "floor %x"));
}

void add_cases_of_integers(std::vector<Case>& all, std::string_view dtype) {
  Cases cases(all, dtype);
  const std::string highest = Scalar::highest(*dtype_from_name(dtype)).to_string();
  cases.gives_constant("multiply_integer_by_zero", "0", binary(dtype, "mul", "0"));
  cases.gives_constant("integer_quotient_with_zero", "0", binary(dtype, "div", "0"));
  cases.gives_constant("integer_quotient_with_zero", "0", binary(dtype, "div", "0", true));
  cases.gives_constant("integer_remainder_of_one", "0", binary(dtype, "mod", "1"));
  cases.gives_constant("integer_remainder_of_one", "0", binary(dtype, "mod", "0"));
  cases.gives_constant("integer_remainder_of_one", "0", binary(dtype, "mod", "0", true));
  cases.gives_constant("maximum_with_extreme", highest, binary(dtype, "max", highest));
  cases.gives_x("shift_by_zero", binary(dtype, "shift_left", "0"));
  cases.gives_x("shift_by_zero", binary(dtype, "shift_right", "0"));
  cases.gives_constant("shift_by_zero", "0", binary(dtype, "shift_right", "0", true));
  cases.gives_constant("reduce_empty_axis", "0", line(dtype, "sum %x[2, 40, 0 -> 0, 0] axes=1"));
  cases.gives_constant("reduce_empty_axis", "1", line(dtype, "prod %x[2, 40, 0 -> 0, 0] axes=1"));
  cases.gives_x("reduce_no_axes", line(dtype, "sum %x axes=0"));
  const std::string constants =
      fmt::format("%a: {0}[] = constant 3\n%b: {0}[] = constant 5\n", dtype);
  cases.gives(
      "reassociate_constants",
      constants + fmt::format("%m: {}[2, 40] = add %x, %a[]\n", dtype) +
          line(dtype, "add %b[], %m"),
      constants + fmt::format("%m: {}[] = add %a, %b\n", dtype) + line(dtype, "add %x, %m[]"));
  for (std::string_view op : {"sum", "prod", "reduce_max"})
    cases.gives("reduction_of_reduction",
                fmt::format("%m: {0}[2] = {1} %x axes=1\n%y: {0}[] = {1} %m axes=1\n", dtype, op),
                fmt::format("%y: {0}[] = {1} %x axes=2\n", dtype, op));
}

void add_cases_of_bits(std::vector<Case>& all, std::string_view dtype) {
  Cases cases(all, dtype);
  const DType type = *dtype_from_name(dtype);
  const std::string zero = Scalar::of(type, 0).to_string();
  const std::string ones = Scalar::of(type, -1).to_string();
  cases.gives_constant("bits_with_itself", zero, line(dtype, "bit_xor %x, %x"));
  cases.gives_x("bits_with_itself", line(dtype, "bit_and %x, %x"));
  cases.gives_x("bits_with_itself", line(dtype, "bit_or %x, %x"));
  cases.gives_constant("bits_with_constant", zero, binary(dtype, "bit_and", zero));
  cases.gives_constant("bits_with_constant", ones, binary(dtype, "bit_or", ones, true));
  cases.gives_x("bits_with_constant", binary(dtype, "bit_and", ones));
  cases.gives_x("bits_with_constant", binary(dtype, "bit_or", zero));
  cases.gives_x("bits_with_constant", binary(dtype, "bit_xor", zero));
}

void add_cases_of_casts(std::vector<Case>& all) {
  auto chain = [&](std::string_view first, std::string_view middle, std::string_view last) {
    Cases(all, first)
        .gives(
            "cast_of_lossless_cast",
            fmt::format("%m: {}[2, 40] = cast %x\n%y: {}[40, 2] = cast %m[i1, i0]\n", middle, last),
            fmt::format("%y: {}[40, 2] = cast %x[i1, i0]\n", last));
  };
  chain("f16", "f32", "i8");
  chain("f16", "f32", "bf16");
  chain("f8e4m3", "f16", "f8e5m2");
  chain("i16", "i64", "u8");
  chain("u8", "i16", "i8");
  chain("i32", "f64", "f16");
  chain("i8", "bf16", "i16");
  chain("i64", "i64", "f32");
  chain("u4", "f8e4m3", "bool");
  Cases(all, "bf16")
      .gives_x("cast_of_lossless_cast", "%m: f32[2, 40] = cast %x\n%y: bf16[2, 40] = cast %m\n");
  Cases(all, "i32")
      .gives_x("bitcast_of_bitcast", "%m: f32[2, 40] = bitcast %x\n%y: i32[2, 40] = bitcast %m\n");
  Cases(all, "i16")
      .gives("bitcast_of_bitcast", "%m: u16[2, 40] = bitcast %x\n%y: f16[2, 40] = bitcast %m\n",
             "%y: f16[2, 40] = bitcast %x\n");
  Cases(all, "i64")
      .gives("rounding_of_whole_number", "%f: f32[2, 40] = cast %x\n%y: f32[2, 40] = floor %f\n",
             "%y: f32[2, 40] = cast %x\n");
}

void add_cases_of_bool(std::vector<Case>& all) {
  Cases cases(all, "bool");
  cases.gives_x("equal_to_true", binary("bool", "equal", "true"));
  cases.gives_x("not_of_not",
                "%k: bool[] = constant false\n%n: bool[2, 40] = equal %x, %k[]\n"
                "%y: bool[2, 40] = equal %k[], %n\n");
  cases.gives_x("select_true_or_false",
                "%k: bool[] = constant true\n%l: bool[] = constant false\n"
                "%y: bool[2, 40] = select %x, %k[], %l[]\n");
}

/// Views in between, symbolic dims, known positions.
void add_cases_of_structure(std::vector<Case>& all) {
  Cases cases(all, "f32");
  cases.gives("reduction_of_reduction",
              "%m: f32[seq] = reduce_max %s[seq, 2 -> i1, i0] axes=1\n"
              "%y: f32[] = reduce_max %m[seq -> seq - 1 - i0] axes=1\n",
              "%y: f32[] = reduce_max %s[seq, 2 -> i1, -i0 + seq - 1] axes=2\n");
  const std::string zeros = "%a: f32[] = constant -0\n%b: f32[] = constant 0\n";
  cases.gives("reassociate_constants",
              zeros + "%m: f32[2, 40] = max %x, %a[]\n%y: f32[40, 2] = max %m[i1, i0], %b[]\n",
              zeros + "%m: f32[] = max %a, %b\n%y: f32[40, 2] = max %x[i1, i0], %m[]\n");
  cases.gives("reduce_unit_axes", "%y: f32[2] = sum %s[2, 1, seq, 1 -> i0, i2] axes=3\n",
              "%y: f32[2] = sum %s axes=1\n");
  cases.gives_edge("reduce_empty_axis",
                   "%y: f32[2, seq] = reduce_max %s[2, seq, 0, seq -> i0, i1] axes=2\n",
                   "%k[2, seq -> ]", "%k: f32[] = constant -inf\n");
  cases.gives_edge("gather_at_constant", "%k: i32[] = constant 7\n%y: f32[2] = gather %k[], %x\n",
                   "%x[2 -> i0, 7]");
  cases.gives_edge("gather_at_constant", "%k: i32[] = constant 0\n%y: f32[2] = gather %k[], %s\n",
                   "%s[2 -> i0, 0]");
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DTypeInfo& row : kDTypes) {
    add_cases_of_every_dtype(all, row);
    if (!is_bool(row.dtype)) add_cases_of_numbers(all, row);
    if (is_float(row.dtype)) add_cases_of_floats(all, row.name);
    if (is_integer(row.dtype)) add_cases_of_integers(all, row.name);
    if (!is_float(row.dtype)) add_cases_of_bits(all, row.name);
  }
  add_cases_of_casts(all);
  add_cases_of_bool(all);
  add_cases_of_structure(all);
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
