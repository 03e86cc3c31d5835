#include "luminal/graph/effects.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "luminal/graph/interpreter_harness.h"
#include "luminal/graph/npy.h"
#include "luminal/support/file.h"

namespace luminal::graph {
namespace {

std::string glance(const Array& array) {
  std::ostringstream text;
  print_glance(text, "x", array);
  return text.str();
}

TEST(Effects, AGlanceShowsFirstMiddleAndLastValues) {
  EXPECT_EQ(glance(array_of(DType::kF32, {2, 2}, {1, 0.1, -3, NAN})),
            "x: f32[2, 2] = 1 0.1 -3 nan\n");
  std::vector<double> values(11);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  EXPECT_EQ(glance(array_of(DType::kU8, {11}, values)), "x: u8[11] = 0 1 2 ... 4 5 6 ... 8 9 10\n");
  EXPECT_EQ(glance(Array(DType::kI4, {0, 3})), "x: i4[0, 3] =\n");
  EXPECT_EQ(glance(array_of(DType::kBool, {}, {1})), "x: bool[] = true\n");
}

TEST(Effects, ComparisonsCountDistancesAndNaNs) {
  const Array ours = array_of(DType::kF32, {2, 3}, {1, 2, NAN, NAN, INFINITY, -INFINITY});
  const Array reference = array_of(DType::kF64, {2, 3}, {1, 2.5, NAN, 0, INFINITY, 1});
  const DiffReport report = compare(ours, reference, 0.1, 0.0);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.failed, 3);
  EXPECT_EQ(report.our_nans, 2);
  EXPECT_EQ(report.reference_nans, 1);
  EXPECT_EQ(report.unmatched_nans, 1);
  EXPECT_EQ(report.max_distance, INFINITY);
  ASSERT_EQ(report.worst.size(), 3U);
  EXPECT_EQ(report.worst[0].position, 3);
  EXPECT_EQ(report.worst[1].position, 5);
  EXPECT_EQ(report.worst[2].distance, 0.5);
}

TEST(Effects, TolerancesAddUp) {
  const Array ours = array_of(DType::kF64, {2}, {10.5, 0.25});
  const Array reference = array_of(DType::kF64, {2}, {10, 0});
  EXPECT_TRUE(compare(ours, reference, 0.25, 0.025).passed());
  EXPECT_EQ(compare(ours, reference, 0.25, 0.02).failed, 1);
  EXPECT_EQ(compare(ours, reference, 0.2, 0.05).failed, 1);
  EXPECT_FALSE(compare(ours, reference.reshaped({1, 2}), 1, 1).passed());
  EXPECT_TRUE(compare(Array(DType::kF32, {0}), Array(DType::kF32, {0}), 0, 0).passed());
}

TEST(Effects, PercentilesAndTheTenWorstAreInOrder) {
  std::vector<double> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * 7) % 1000);
  const Array ours = array_of(DType::kF64, {10, 100}, values);
  const DiffReport report = compare(ours, Array(DType::kF64, {10, 100}), 0, 0);
  EXPECT_EQ(report.mean_distance, 499.5);
  EXPECT_EQ(report.max_distance, 999);
  EXPECT_EQ(report.percentiles[0], 499);
  EXPECT_EQ(report.percentiles[1], 899);
  EXPECT_EQ(report.percentiles[2], 989);
  EXPECT_EQ(report.percentiles[3], 998);
  ASSERT_EQ(report.worst.size(), 10U);
  for (size_t i = 0; i < 10; ++i)
    EXPECT_EQ(report.worst[i].distance, 999.0 - static_cast<double>(i));
}

class DiffFiles : public testing::Test {
 protected:
  DiffFiles()
      : folder_(std::filesystem::temp_directory_path() /
                ("luminal_diff_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~DiffFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// What a diff node writes while a graph runs.
  std::string diff(const Array& ours, const std::string& file) const {
    Graph graph;
    const auto inputs = add_inputs(graph, {ours});
    graph.add(Op::kDiff, {inputs[0]}, DiffAttribute{file, 0.01, 0.0});
    std::ostringstream text;
    RunRequest request;
    request.inputs["x0"] = &ours;
    request.text = &text;
    make_interpreter(graph)->run(request);
    return text.str();
  }

  std::filesystem::path folder_;
};

TEST_F(DiffFiles, ReportsSayWhatDiffers) {
  const Array ours = array_of(DType::kF32, {2, 2}, {1, 2, 3, 4});
  save_npy(path("good.npy"), array_of(DType::kF64, {2, 2}, {1, 2, 3.005, 4}));
  EXPECT_EQ(diff(ours, path("good.npy")),
            "diff " + path("good.npy") +
                ": pass (atol 0.01, rtol 0)\n"
                "  outside the tolerance: 0 of 4\n"
                "  distance: mean 0.00125, max 0.005\n"
                "  percentiles: 50% 0, 90% 0.005, 99% 0.005, 99.9% 0.005\n"
                "  worst elements:\n"
                "    [1, 0]: ours 3, reference 3.005, distance 0.005\n");
  save_npy(path("bad.npy"), array_of(DType::kF32, {2, 2}, {1, 2.5, NAN, 4}));
  EXPECT_EQ(diff(ours, path("bad.npy")),
            "diff " + path("bad.npy") +
                ": FAIL (atol 0.01, rtol 0)\n"
                "  outside the tolerance: 2 of 4\n"
                "  NaN: 0 in ours, 1 in the reference, 1 on one side only\n"
                "  distance: mean 0.166667, max 0.5\n"
                "  percentiles: 50% 0, 90% 0.5, 99% 0.5, 99.9% 0.5\n"
                "  worst elements:\n"
                "    [1, 0]: ours 3, reference nan, distance inf\n"
                "    [0, 1]: ours 2, reference 2.5, distance 0.5\n");
  save_npy(path("shape.npy"), array_of(DType::kF32, {4}, {1, 2, 3, 4}));
  EXPECT_EQ(diff(ours, path("shape.npy")),
            "diff " + path("shape.npy") +
                ": FAIL (atol 0.01, rtol 0)\n"
                "  shapes differ: ours is f32[2, 2], the reference f32[4]\n");
}

TEST_F(DiffFiles, RawDataHasTheDtypeOfTheTensor) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI4}) {
    const Array ours = array_of(dtype, {3}, {1, 2, 3});
    support::write_file_atomic(
        path("raw.bin"), {reinterpret_cast<const char*>(ours.bytes().data()), ours.bytes().size()});
    EXPECT_NE(diff(ours, path("raw.bin")).find(": pass"), std::string::npos) << name(dtype);
  }
  EXPECT_EQ(error_of([&] { diff(Array(DType::kF64, {3}), path("raw.bin")); }),
            "diff: " + path("raw.bin") +
                " is no .npy file, and as raw data of f64[3] it would have 24 bytes, not 2");
}

TEST_F(DiffFiles, NarrowFloatsSavedByTheirBitsAreReadBack) {
  for (const DType dtype : {DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    const Array ours = array_of(dtype, {3}, {1, -2, 0.5});
    save_npy(path("narrow.npy"), ours);
    EXPECT_NE(diff(ours, path("narrow.npy")).find("max 0\n"), std::string::npos) << name(dtype);
  }
}

TEST_F(DiffFiles, AMissingFileIsAnError) {
  EXPECT_EQ(error_of([&] { diff(Array(DType::kF32, {1}), "/no/such/file.npy"); }),
            "diff: \"/no/such/file.npy\": No such file or directory");
}

}  // namespace
}  // namespace luminal::graph
