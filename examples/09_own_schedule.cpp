// How a kernel is computed is data: this asks what may be chosen for the kernels of a graph, takes
// other choices than the compiler would, and compares the results.
#include <iostream>

#include "luminal/codegen/llvm/cpu_schedules.h"
#include "luminal/luminal.h"

using namespace luminal;

namespace {

/// Prints the choices of a kernel and takes the schedule that is one step away from the default.
std::optional<codegen::Schedule> next_best(const compiler::KernelRequest& request) {
  kernel::Arena arena = request.arena;  // new bodies are added to it
  const std::vector<codegen::ScheduleSpace> spaces =
      codegen::cpu_schedule_spaces(arena, request.kernel, request.target, request.options);
  const codegen::ScheduleSpace& space = spaces.front();
  std::cout << "the compiler's choice: " << space.start.to_string() << "\n";
  for (const codegen::ScheduleAxis& axis : space.axes) {
    std::cout << "  " << axis.name << ":";
    for (const int64_t value : axis.values)
      std::cout << " " << codegen::choice_text(axis.name, value);
    std::cout << "\n";
  }
  const std::vector<codegen::Schedule> others = codegen::neighbours(space, space.start);
  if (others.empty()) return std::nullopt;
  std::cout << "ours: " << others.front().to_string() << "\n";
  return others.front();
}

Array result_of(const Graph& g, const Tensor& x, const Tensor& y, const CompileOptions& options) {
  Executable exe = compile(g, {y}, options);
  std::vector<float> values;
  for (int k = 0; k < 64 * 256; ++k) values.push_back(static_cast<float>(k % 17) / 16);
  exe.set(x, values);
  exe.run();
  return exe.get(y);
}

}  // namespace

int main() {
  Graph g;
  Tensor x = g.input("x", {64, 256});
  Tensor y = softmax(x * 2.0);

  compiler::Options ours;
  ours.schedules = next_best;
  const Array plain = result_of(g, x, y, {});
  const Array other = result_of(g, x, y, {.compiler = ours});

  double largest = 0;
  for (int64_t k = 0; k < plain.size(); ++k)
    largest = std::max(largest, std::abs(plain.at(k).as_double() - other.at(k).as_double()));
  std::cout << "the largest difference is " << (largest < 1e-6 ? "rounding" : "an error") << "\n";
  return largest < 1e-6 ? 0 : 1;
}
