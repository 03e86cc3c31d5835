// Looking at what a graph does: print and compare while it runs, time every step, keep values, save
// and load data.
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "luminal/luminal.h"

using namespace luminal;

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("luminal_example_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string reference = folder / "reference.npy";

  Graph g;
  Tensor x = g.input("x", {4, 4});
  Tensor scores =
      matmul(x, transpose(x)).named("scores").keep();  // readable though it is no output
  Tensor printed = print(scores, "scores");            // prints whenever the graph runs
  Tensor y = softmax(printed).named("y");

  Executable first = compile(g, {y});
  first.set(x, Array::from<float>(f32, {4, 4}, std::vector<float>(16, 0.5f)));
  first.run({.trace = true});  // every step with its shape and time
  first.save(y, reference);
  std::cout << "kept scores =\n" << first.get(scores) << "\n";

  // A second graph checks its result against the file while it runs.
  Graph h;
  Tensor z = h.input("z", {4, 4});
  Tensor checked = diff(softmax(z), reference);
  Executable second = compile(h, {checked});
  transfer(first, scores, second, z);
  second.run();

  // The value of one run becomes the input of the next.
  Graph loop;
  Tensor state = loop.input("state", {2});
  Tensor next = state * 2;
  Executable step = compile(loop, {next});
  step.set(state, {1, 3});
  for (int k = 0; k < 3; ++k) {
    step.run();
    step.swap(state, next);
  }
  std::cout << "after three steps: " << step.get(state) << "\n";
  std::filesystem::remove_all(folder);
}
