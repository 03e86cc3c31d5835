#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "luminal/cli/commands.h"
#include "luminal/runtime/cpu/features.h"
#include "luminal/runtime/cpu/thread_team.h"

namespace luminal::cli {
namespace {

void print_devices(bool json, std::ostream& out) {
  const runtime::CpuInfo& cpu = runtime::host_cpu();
  const int threads = runtime::default_thread_team().size();
  if (json) {
    out << nlohmann::ordered_json::array({{{"device", "cpu"},
                                           {"model", cpu.model},
                                           {"cores", cpu.cores},
                                           {"threads", threads},
                                           {"l1_bytes", cpu.l1_bytes},
                                           {"l2_bytes", cpu.l2_bytes},
                                           {"l3_bytes", cpu.l3_bytes},
                                           {"features", cpu.features.to_string()}}})
               .dump(2)
        << '\n';
    return;
  }
  fmt::print(out, "cpu: {}, {} cores, {} threads\n", cpu.model, cpu.cores, threads);
  fmt::print(out, "  caches: {} KB and {} KB of a core, {} KB shared\n", cpu.l1_bytes >> 10,
             cpu.l2_bytes >> 10, cpu.l3_bytes >> 10);
  fmt::print(out, "  instructions: {}\n", cpu.features.to_string());
}

}  // namespace

void add_devices_command(CLI::App& app, std::ostream& out) {
  auto json = std::make_shared<bool>(false);
  CLI::App* devices = app.add_subcommand("devices", "What this machine computes on");
  devices->add_flag("--json", *json, "As JSON");
  devices->footer(R"(
Examples:
  luminal devices
  luminal devices --json)");
  devices->callback([=, &out] { print_devices(*json, out); });
}

}  // namespace luminal::cli
