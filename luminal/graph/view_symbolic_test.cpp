// Random chains over symbolic dims: build with symbols, fix them, compare with the same chain built
// from numbers and with plain data.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "luminal/graph/view.h"
#include "luminal/graph/view_reference.h"

namespace luminal::graph {
namespace {

using reference::Plain;

constexpr uint64_t kSeed = 77'2024;
constexpr int kChains = 2000;
const Expr kN = Expr::variable("n", {0, 100});
const Expr kM = Expr::variable("m", {1, 100});
const Scalar kPadding = Scalar::of(DType::kF32, 0.5);

// The same chain three times: over symbols, over numbers, on data.
struct Triple {
  View symbolic_view;
  View number_view;
  Plain data;
  std::string story;
};

class SymbolicChain {
 public:
  explicit SymbolicChain(uint64_t seed) : random_(seed) {
    dims_ = {{kN, between(0, 4)}, {kM, between(1, 4)}};
    Shape shape;
    for (int64_t k = between(1, 3); k > 0; --k) shape.push_back(random_extent());
    Shape fixed;
    for (const Expr& extent : shape) fixed.push_back(value(extent));
    current_ = {View::identity(shape), View::identity(fixed),
                reference::numbered(reference::extents_of(fixed)), to_string(shape)};
  }

  const Triple& current() const { return current_; }
  const std::vector<symbolic::Binding>& dims() const { return dims_; }
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  void extend() {
    if (current_.data.values.size() > 500 || rank() > 5) return;
    switch (between(0, 8)) {
      case 0:
        return permute();
      case 1:
        return insert_axis();
      case 2:
        return slice();
      case 3:
        return flip();
      case 4:
        return pad();
      case 5:
        return merge();
      case 6:
        return split();
      case 7:
        return window();
      case 8:
        return select();
    }
  }

 private:
  int rank() const { return current_.symbolic_view.rank(); }
  const Expr& extent(int axis) const {
    return current_.symbolic_view.domain()[static_cast<size_t>(axis)];
  }
  int64_t value(const Expr& expr) const {
    return symbolic::substitute(expr, dims_).constant_value().value();
  }
  Expr random_extent() {
    const std::vector<Expr> extents{kN, kM, kN + kM, 2 * kM, 3, kN * kM, 4 * kN, 1};
    return extents[static_cast<size_t>(between(0, static_cast<int64_t>(extents.size()) - 1))];
  }
  int any_axis() { return static_cast<int>(between(0, rank() - 1)); }
  // Does to all three what `build` does to a view, given a way to turn amounts into its own.
  template <typename Build>
  void apply(Build build, Plain data, const std::string& what) {
    const auto as_is = [](const Expr& expr) { return expr; };
    const auto as_number = [this](const Expr& expr) { return Expr(value(expr)); };
    current_.symbolic_view = build(current_.symbolic_view, as_is);
    current_.number_view = build(current_.number_view, as_number);
    current_.data = std::move(data);
    current_.story += " " + what;
  }

  void permute() {
    std::vector<int> axes;
    for (int k = 0; k < rank(); ++k) axes.push_back(k);
    std::shuffle(axes.begin(), axes.end(), random_);
    apply([&](const View& view, auto) { return view.permute(axes); },
          reference::permute(current_.data, axes), "permute");
  }
  void insert_axis() {
    const int at = static_cast<int>(between(0, rank()));
    const Expr size = between(0, 1) == 0 ? kM : Expr(1);
    apply([&](const View& view, auto amount) { return view.insert_axis(at, amount(size)); },
          reference::insert_axis(current_.data, at, value(size)),
          fmt::format("insert({}, {})", at, size));
  }
  void slice() {
    if (rank() == 0) return;
    const int axis = any_axis();
    const Expr size = extent(axis);
    const std::vector<Expr> begins{0, 1, kN, size - 1}, ends{size, size - 1, kN + 1, kM};
    const Expr begin = begins[static_cast<size_t>(between(0, 3))];
    const Expr end = ends[static_cast<size_t>(between(0, 3))];
    const int64_t step = between(1, 3);
    if (value(begin) < 0 || value(end) < value(begin) || value(end) > value(size)) return;
    // Not possible for all values of the dims means refused, though it is for these.
    if (provably_less(size, begin) || provably_less(size, end)) return;
    if (provably_less(begin, 0) || provably_less(end, 0)) return;
    apply([&](const View& view,
              auto amount) { return view.slice(axis, amount(begin), amount(end), step); },
          reference::slice(current_.data, axis, value(begin), value(end), step),
          fmt::format("slice({}, {}:{}:{})", axis, begin, end, step));
  }
  void flip() {
    if (rank() == 0) return;
    const int axis = any_axis();
    apply([&](const View& view, auto) { return view.flip(axis); },
          reference::flip(current_.data, axis), fmt::format("flip({})", axis));
  }
  void pad() {
    if (rank() == 0) return;
    const int axis = any_axis();
    const std::vector<Expr> amounts{0, 1, 2, kN, kM, -1, kN - kM};
    const Expr before = amounts[static_cast<size_t>(between(0, 6))];
    const Expr after = amounts[static_cast<size_t>(between(0, 6))];
    const Expr size = extent(axis) + before + after;
    if (value(size) < 0 || provably_less(size, 0)) return;
    apply([&](const View& view,
              auto amount) { return *view.pad(axis, amount(before), amount(after), kPadding); },
          reference::pad(current_.data, axis, value(before), value(after)),
          fmt::format("pad({}, {}, {})", axis, before, after));
  }
  void merge() {
    if (rank() == 0) return;
    const int first = any_axis();
    const int count = static_cast<int>(between(1, rank() - first));
    apply_reshape([&](const View& view, auto) { return view.merge(first, count); },
                  fmt::format("merge({}, {})", first, count));
  }
  void split() {
    if (rank() == 0) return;
    const int axis = any_axis();
    const std::vector<Expr> factors{kM, kN, 2, 4};
    const Expr factor = factors[static_cast<size_t>(between(0, 3))];
    const std::optional<Expr> other = exact_div(extent(axis), factor);
    if (!other || value(factor) == 0) return;
    std::vector<Expr> parts{*other, factor};
    if (between(0, 1) == 1) std::swap(parts[0], parts[1]);
    apply_reshape(
        [&](const View& view, auto amount) {
          return view.split(axis, std::vector<Expr>{amount(parts[0]), amount(parts[1])});
        },
        fmt::format("split({}, [{}, {}])", axis, parts[0], parts[1]));
  }
  void window() {
    if (rank() == 0) return;
    const int axis = any_axis();
    const Expr size = between(0, 1) == 0 ? kM : Expr(2);
    const Expr stride = between(0, 1) == 0 ? kM : Expr(1);
    if (value(extent(axis)) < value(size) || provably_less(extent(axis), size)) return;
    apply([&](const View& view,
              auto amount) { return view.window(axis, amount(size), amount(stride)); },
          reference::window(current_.data, axis, value(size), value(stride), 1),
          fmt::format("window({}, {}, {})", axis, size, stride));
  }
  void select() {
    if (rank() == 0) return;
    const int axis = any_axis();
    const Expr at = between(0, 1) == 0 ? extent(axis) - 1 : Expr(0);
    if (value(extent(axis)) == 0) return;
    apply([&](const View& view, auto amount) { return view.select(axis, amount(at)); },
          reference::select(current_.data, axis, value(at)),
          fmt::format("select({}, {})", axis, at));
  }
  template <typename Build>
  void apply_reshape(Build build, const std::string& what) {
    apply(build, current_.data, what);
    current_.data.extents = reference::extents_of(current_.number_view.domain());
  }

  std::mt19937_64 random_;
  std::vector<symbolic::Binding> dims_;
  Triple current_;
};

TEST(ViewSymbolic, FixingTheDimsOfARandomChainGivesTheChainOverNumbers) {
  int equal_forms = 0;
  for (int k = 0; k < kChains; ++k) {
    const uint64_t seed = kSeed + static_cast<uint64_t>(k);
    SymbolicChain chain(seed);
    for (int64_t length = chain.between(1, 7); length > 0; --length) chain.extend();
    const Triple& triple = chain.current();
    const View fixed = triple.symbolic_view.substitute(chain.dims());
    ASSERT_EQ(reference::evaluate(triple.number_view), triple.data)
        << "seed " << seed << ": " << triple.story << "\n"
        << triple.number_view.to_string();
    ASSERT_EQ(reference::evaluate(fixed), triple.data)
        << "seed " << seed << ": " << triple.story << "\n"
        << triple.symbolic_view.to_string() << "\n"
        << fixed.to_string();
    equal_forms += fixed == triple.number_view;
  }
  // A symbolic chain may keep a division that numbers cancel early; rarely.
  EXPECT_GT(equal_forms, kChains * 97 / 100);
}

TEST(ViewSymbolic, WhatTheAnalysisProvesForSymbolsHoldsForNumbers) {
  for (int k = 0; k < kChains; ++k) {
    const uint64_t seed = kSeed + 50'000 + static_cast<uint64_t>(k);
    SymbolicChain chain(seed);
    for (int64_t length = chain.between(1, 6); length > 0; --length) chain.extend();
    const Triple& triple = chain.current();
    std::vector<int64_t> read;
    for (int64_t element : triple.data.values)
      if (element != reference::kFill) read.push_back(element);
    if (triple.symbolic_view.is_contiguous()) {
      for (size_t j = 0; j < read.size(); ++j)
        ASSERT_EQ(read[j], read[0] + static_cast<int64_t>(j)) << "seed " << seed << triple.story;
    }
    if (triple.symbolic_view.reads_each_element_at_most_once()) {
      std::sort(read.begin(), read.end());
      ASSERT_EQ(std::adjacent_find(read.begin(), read.end()), read.end())
          << "seed " << seed << ": " << triple.story;
    }
  }
}

TEST(ViewSymbolic, TextWithSymbolsReadsBack) {
  for (int k = 0; k < kChains; ++k) {
    const uint64_t seed = kSeed + 90'000 + static_cast<uint64_t>(k);
    SymbolicChain chain(seed);
    for (int64_t length = chain.between(1, 6); length > 0; --length) chain.extend();
    const View& view = chain.current().symbolic_view;
    const View read = View::parse(view.to_string(), view.source(), view.domain(), DType::kF32,
                                  [](std::string_view name) -> std::optional<Expr> {
                                    if (name == "n") return kN;
                                    if (name == "m") return kM;
                                    return std::nullopt;
                                  });
    ASSERT_EQ(read, view) << "seed " << seed << ": " << view.to_string() << "\n"
                          << read.to_string();
  }
}

}  // namespace
}  // namespace luminal::graph
