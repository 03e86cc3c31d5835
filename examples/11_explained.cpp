// From a network to an explanation: compile, run, ask what runs and why, save the plan and load it
// where there is no compiler.
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "luminal/luminal.h"

using namespace luminal;

namespace {

/// Small numbers of both signs.
std::vector<float> numbers(size_t count) {
  std::vector<float> values;
  for (size_t k = 0; k < count; ++k) values.push_back(static_cast<float>(k % 13) / 16 - 0.375F);
  return values;
}

}  // namespace

int main() {
  Graph g;
  Dim batch = g.dim("batch", 1, 64);
  Tensor x = g.input("x", {batch, 64});
  Tensor w1 = g.weight("w1", {64, 128}), b1 = g.weight("b1", {128});
  Tensor w2 = g.weight("w2", {128, 10});
  Tensor hidden = relu(matmul(x, w1) + b1);
  Tensor y = softmax(matmul(hidden, w2)).named("y");

  Executable exe = compile(g, {y}, {.compiler = {.dims = {{"batch", 16}}}});
  exe.set(w1, numbers(64 * 128));
  exe.set(b1, numbers(128));
  exe.set(w2, numbers(128 * 10));
  exe.set(x, numbers(16 * 64));
  exe.run();
  std::cout << exe.explain();

  const std::string file =
      std::filesystem::temp_directory_path() / ("luminal_" + std::to_string(::getpid()) + ".plan");
  exe.save(file);
  Executable again = load(file);
  for (const char* weight : {"w1", "b1", "w2"}) again.set(weight, exe.get(exe.input(weight)));
  again.set("x", exe.get(exe.input("x")));
  again.run();
  std::filesystem::remove(file);
  const bool same = again.get("y").identical(exe.get(y));
  std::cout << (same ? "the loaded plan gives the same bits\n" : "the loaded plan differs\n");
  return same ? 0 : 1;
}
