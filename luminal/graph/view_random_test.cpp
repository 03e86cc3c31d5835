// Random chains of movement ops: views against the same chain done on plain data.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "luminal/graph/view.h"
#include "luminal/graph/view_reference.h"

namespace luminal::graph {
namespace {

using reference::Plain;

constexpr uint64_t kSeed = 20240611;
constexpr int kChains = 3000;
constexpr int64_t kMaxElements = 400;
const Scalar kPadding = Scalar::of(DType::kF32, 0.5);

// A view, the data it should read, and how both came about.
struct Step {
  View view;
  Plain data;
  std::string story;
};

class ChainBuilder {
 public:
  explicit ChainBuilder(uint64_t seed) : random_(seed) {}

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  std::vector<int64_t> random_extents() {
    std::vector<int64_t> extents(static_cast<size_t>(between(0, 4)));
    for (int64_t& extent : extents) extent = between(0, 9) == 0 ? 0 : between(1, 5);
    return extents;
  }

  Step start(const std::vector<int64_t>& extents) {
    const Shape shape = reference::shape_of(extents);
    return {View::identity(shape), reference::numbered(extents), to_string(shape)};
  }

  // One more op, whichever the dice choose; some throws of the dice do nothing.
  Step extend(const Step& step) {
    Step next = step;
    switch (between(0, 11)) {
      case 0:
        permute(next);
        break;
      case 1:
        insert_axis(next);
        break;
      case 2:
        squeeze_or_select(next);
        break;
      case 3:
        expand(next);
        break;
      case 4:
        slice(next);
        break;
      case 5:
        flip(next);
        break;
      case 6:
        pad(next);
        break;
      case 7:
        split(next);
        break;
      case 8:
        merge(next);
        break;
      case 9:
        reshape(next);
        break;
      case 10:
        window(next);
        break;
      case 11:
        diagonal(next);
        break;
    }
    const bool too_large = next.data.values.size() > static_cast<size_t>(kMaxElements);
    return too_large || next.data.extents.size() > 6 ? step : next;
  }

  Step chain(Step step, int64_t length) {
    for (int64_t k = 0; k < length; ++k) step = extend(step);
    return step;
  }

 private:
  static int rank(const Step& step) { return static_cast<int>(step.data.extents.size()); }
  int any_axis(const Step& step) { return static_cast<int>(between(0, rank(step) - 1)); }
  static int64_t extent(const Step& step, int axis) {
    return step.data.extents[static_cast<size_t>(axis)];
  }

  void permute(Step& step) {
    std::vector<int> axes;
    for (int k = 0; k < rank(step); ++k) axes.push_back(k);
    std::shuffle(axes.begin(), axes.end(), random_);
    step.view = step.view.permute(axes);
    step.data = reference::permute(step.data, axes);
    step.story += " permute";
  }
  void insert_axis(Step& step) {
    const int at = static_cast<int>(between(0, rank(step)));
    const int64_t size = between(0, 3);
    step.view = step.view.insert_axis(at, size);
    step.data = reference::insert_axis(step.data, at, size);
    step.story += fmt::format(" insert({}, {})", at, size);
  }
  void squeeze_or_select(Step& step) {
    if (rank(step) == 0) return;
    const int axis = any_axis(step);
    if (extent(step, axis) == 0) return;
    const int64_t at = between(0, extent(step, axis) - 1);
    step.view = extent(step, axis) == 1 ? step.view.squeeze(axis) : step.view.select(axis, at);
    step.data = reference::select(step.data, axis, at);
    step.story += fmt::format(" select({}, {})", axis, at);
  }
  void expand(Step& step) {
    std::vector<int64_t> extents = step.data.extents;
    for (int64_t& size : extents)
      if (size == 1) size = between(0, 4);
    if (between(0, 1) == 1) extents.insert(extents.begin(), between(1, 3));
    step.view = step.view.expand(reference::shape_of(extents));
    step.data = reference::expand(step.data, extents);
    step.story += " expand" + to_string(step.view.domain());
  }
  void slice(Step& step) {
    if (rank(step) == 0) return;
    const int axis = any_axis(step);
    const int64_t size = extent(step, axis);
    int64_t begin = between(0, size), end = between(0, size), by = between(1, 3);
    if (between(0, 1) == 1) {  // downwards, one element lower
      begin -= 1;
      end -= 1;
      by = -by;
      if (begin < end) std::swap(begin, end);
    }
    step.view = step.view.slice(axis, begin, end, by);
    step.data = reference::slice(step.data, axis, begin, end, by);
    step.story += fmt::format(" slice({}, {}:{}:{})", axis, begin, end, by);
  }
  void flip(Step& step) {
    if (rank(step) == 0) return;
    const int axis = any_axis(step);
    step.view = step.view.flip(axis);
    step.data = reference::flip(step.data, axis);
    step.story += fmt::format(" flip({})", axis);
  }
  void pad(Step& step) {
    if (rank(step) == 0) return;
    const int axis = any_axis(step);
    const int64_t before = between(-2, 2), after = between(-2, 2);
    if (extent(step, axis) + before + after < 0) return;
    step.view = step.view.pad(axis, before, after, kPadding).value();
    step.data = reference::pad(step.data, axis, before, after);
    step.story += fmt::format(" pad({}, {}, {})", axis, before, after);
  }
  void split(Step& step) {
    if (rank(step) == 0) return;
    const int axis = any_axis(step);
    const int64_t size = extent(step, axis), part = between(1, 4);
    if (size % part != 0) return;
    std::vector<Expr> parts{size / part, part};
    if (between(0, 1) == 1) std::swap(parts[0], parts[1]);
    step.view = step.view.split(axis, parts);
    step.data = reference::reshape(step.data, reference::extents_of(step.view.domain()));
    step.story += fmt::format(" split({}, [{}, {}])", axis, parts[0], parts[1]);
  }
  void merge(Step& step) {
    if (rank(step) == 0) return;
    const int first = any_axis(step);
    const int count = static_cast<int>(between(1, rank(step) - first));
    step.view = step.view.merge(first, count);
    step.data = reference::reshape(step.data, reference::extents_of(step.view.domain()));
    step.story += fmt::format(" merge({}, {})", first, count);
  }
  // A random factorisation of the element count, in random order, with ones strewn in.
  void reshape(Step& step) {
    auto left = static_cast<int64_t>(step.data.values.size());
    std::vector<int64_t> extents;
    if (left == 0) {
      extents = {between(0, 3), 0};
      left = 1;
    }
    for (int64_t factor : {2, 2, 3, 3, 5})
      if (left % factor == 0 && between(0, 1) == 1) {
        extents.push_back(factor);
        left /= factor;
      }
    extents.push_back(left);
    if (between(0, 3) == 0) extents.push_back(1);
    std::shuffle(extents.begin(), extents.end(), random_);
    step.view = step.view.reshape(reference::shape_of(extents));
    step.data = reference::reshape(step.data, extents);
    step.story += " reshape" + to_string(step.view.domain());
  }
  void window(Step& step) {
    if (rank(step) == 0) return;
    const int axis = any_axis(step);
    const int64_t size = between(1, 3), stride = between(1, 3), dilation = between(1, 2);
    if (extent(step, axis) < (size - 1) * dilation + 1) return;
    step.view = step.view.window(axis, size, stride, dilation);
    step.data = reference::window(step.data, axis, size, stride, dilation);
    step.story += fmt::format(" window({}, {}, {}, {})", axis, size, stride, dilation);
  }
  void diagonal(Step& step) {
    if (rank(step) < 2) return;
    const int a = any_axis(step), b = any_axis(step);
    if (a == b) return;
    const int64_t offset = between(-3, 3);
    step.view = step.view.diagonal(a, b, offset);
    step.data = reference::diagonal(step.data, a, b, offset);
    step.story += fmt::format(" diagonal({}, {}, {})", a, b, offset);
  }

  std::mt19937_64 random_;
};

// True if no element but the fill occurs twice.
bool reads_no_element_twice(const Plain& data) {
  std::vector<int64_t> values;
  for (int64_t value : data.values)
    if (value != reference::kFill) values.push_back(value);
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

bool is_a_run(const Plain& data) {
  for (size_t k = 0; k < data.values.size(); ++k)
    if (data.values[k] == reference::kFill ||
        data.values[k] != data.values[0] + static_cast<int64_t>(k))
      return false;
  return true;
}

TEST(ViewRandom, ChainsReadWhatTheSameStepsOnPlainDataGive) {
  for (int chain = 0; chain < kChains; ++chain) {
    ChainBuilder builder(kSeed + static_cast<uint64_t>(chain));
    const Step step = builder.chain(builder.start(builder.random_extents()), builder.between(1, 8));
    ASSERT_EQ(reference::evaluate(step.view), step.data)
        << "seed " << kSeed + static_cast<uint64_t>(chain) << ": " << step.story << "\n"
        << step.view.to_string();
  }
}

TEST(ViewRandom, ComposingTwoViewsEqualsTwoSteps) {
  for (int chain = 0; chain < kChains; ++chain) {
    const uint64_t seed = kSeed + 100'000 + static_cast<uint64_t>(chain);
    ChainBuilder builder(seed);
    const Step inner =
        builder.chain(builder.start(builder.random_extents()), builder.between(1, 5));
    const Step outer = builder.chain(builder.start(inner.data.extents), builder.between(1, 5));
    const std::optional<View> both = View::compose(inner.view, outer.view);
    ASSERT_TRUE(both.has_value()) << "seed " << seed;
    Plain expected = outer.data;
    for (int64_t& value : expected.values)
      if (value != reference::kFill) value = inner.data.values[static_cast<size_t>(value)];
    ASSERT_EQ(reference::evaluate(*both), expected)
        << "seed " << seed << ": " << inner.story << " then " << outer.story << "\n"
        << both->to_string();
  }
}

TEST(ViewRandom, WhatTheAnalysisClaimsIsTrueOfTheData) {
  int injective = 0, proved_injective = 0, runs = 0, proved_runs = 0;
  for (int chain = 0; chain < kChains; ++chain) {
    const uint64_t seed = kSeed + 200'000 + static_cast<uint64_t>(chain);
    ChainBuilder builder(seed);
    const Step step = builder.chain(builder.start(builder.random_extents()), builder.between(1, 6));
    const bool once = reads_no_element_twice(step.data), run = is_a_run(step.data);
    injective += once;
    runs += run;
    if (step.view.reads_each_element_at_most_once()) {
      ++proved_injective;
      ASSERT_TRUE(once) << "seed " << seed << ": " << step.story << "\n" << step.view.to_string();
    }
    if (step.view.is_contiguous()) {
      ++proved_runs;
      ASSERT_TRUE(run) << "seed " << seed << ": " << step.story << "\n" << step.view.to_string();
    }
    if (const auto layout = step.view.strided()) {
      reference::for_each_position(
          step.data.extents, [&, k = size_t{0}](const std::vector<int64_t>& at) mutable {
            int64_t position = layout->offset.constant_value().value();
            for (size_t axis = 0; axis < at.size(); ++axis)
              position += at[axis] * layout->strides[axis].constant_value().value();
            const int64_t value = step.data.values[k++];
            if (value != reference::kFill) {
              ASSERT_EQ(position, value) << "seed " << seed << ": " << step.story;
            }
          });
    }
  }
  // Proofs may miss; they must not miss much.
  EXPECT_GT(proved_injective, injective * 9 / 10) << "of " << injective;
  EXPECT_GT(proved_runs, runs * 9 / 10) << "of " << runs;
}

TEST(ViewRandom, TextReadsBackToTheSameView) {
  for (int chain = 0; chain < kChains; ++chain) {
    const uint64_t seed = kSeed + 300'000 + static_cast<uint64_t>(chain);
    ChainBuilder builder(seed);
    const View view =
        builder.chain(builder.start(builder.random_extents()), builder.between(1, 6)).view;
    const View read = View::parse(view.to_string(), view.source(), view.domain(), DType::kF32,
                                  [](std::string_view) { return std::nullopt; });
    ASSERT_EQ(read, view) << "seed " << seed << ": " << view.to_string() << " is read as "
                          << read.to_string();
  }
}

}  // namespace
}  // namespace luminal::graph
