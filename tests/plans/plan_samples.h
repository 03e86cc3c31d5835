// What the suites of plans share: a folder that is removed, a graph that has a step of every kind,
// and runs of it in several ways.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "luminal/luminal.h"

namespace luminal::test {

/// A folder that is gone when the test is over.
class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "luminal_plans_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }
  std::string path() const { return path_; }
  size_t files() const {
    const std::filesystem::recursive_directory_iterator all(path_);
    return static_cast<size_t>(std::count_if(
        begin(all), end(all), [](const auto& entry) { return entry.is_regular_file(); }));
  }

 private:
  std::filesystem::path path_;
};

/// Numbers that depend on the seed alone.
inline Array numbers(Extents extents, int seed) {
  Array array(f32, std::move(extents));
  auto state = static_cast<uint32_t>(seed * 2654435761u + 1);
  for (float& value : array.mutable_as<float>()) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0F;
  }
  return array;
}

/// Launches, a constant matrix, positions to check, steps on the host and a dim.
struct Sample {
  Graph g;
  Dim n = g.dim("n", 1, 64);
  Tensor x = g.input("x", {n, 24});
  Tensor index = g.input("index", {n}, i64);
  Tensor hidden = relu(matmul(x, g.constant(numbers({24, 40}, 1))));
  Tensor chosen = index_select(hidden, 0, index).named("chosen");
  Tensor y = softmax(matmul(chosen, g.constant(numbers({40, 8}, 2))), -1).named("y");
  Tensor order = argsort(y, -1).named("order");

  std::vector<Tensor> outputs() const { return {y, order, chosen}; }

  /// Sets data for some rows.
  static void set(Executable& exe, int64_t rows, int seed = 3) {
    exe.set("x", numbers({rows, 24}, seed));
    std::vector<int64_t> positions;
    for (int64_t k = 0; k < rows; ++k) positions.push_back((k * 7 + seed) % rows);
    exe.set("index", Array::from<int64_t>(i64, {rows}, positions));
  }
};

/// All outputs for some rows.
inline std::vector<Array> run(Executable& exe, int64_t rows, int seed = 3) {
  Sample::set(exe, rows, seed);
  exe.run();
  std::vector<Array> results;
  for (size_t k = 0; k < exe.output_count(); ++k) results.push_back(exe.get(k));
  return results;
}

/// The message of what a call throws; "nothing was thrown" if it does not.
template <typename Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace luminal::test
