// luminal-replay: runs a step that step mode saved, and says whether it is still wrong. It links no
// compiler: the code in the file is what runs.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

#include "luminal/plan/step_replay.h"

namespace {

constexpr const char* kUsage = R"(usage: luminal-replay FILE

Runs a single kernel that a run with LUMINAL_CHECK_STEPS=1 saved, on the data it had there, and
compares it with the interpreter. Ends with 0 if it is right, 1 if it is wrong, 2 if it cannot run.
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::string(argv[1]) == "--help") {
    fmt::print("{}", kUsage);
    return argc == 2 ? 0 : 2;
  }
  try {
    const luminal::plan::StepReplay replay = luminal::plan::load_step(argv[1]);
    const luminal::plan::StepCheckReport report = luminal::plan::run_step(replay);
    fmt::print("{}{}", report.passed() ? "the fault is gone: " : "the fault is still there: ",
               luminal::plan::to_string(report, replay.plan));
    return report.passed() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
