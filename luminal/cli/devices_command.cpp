#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "luminal/cli/commands.h"
#include "luminal/cli/json_text.h"
#include "luminal/runtime/cpu/features.h"
#include "luminal/runtime/cpu/round_trip.h"
#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/search/machine_limits.h"

namespace luminal::cli {
namespace {

void print_devices(bool json, std::ostream& out) {
  const runtime::CpuInfo& cpu = runtime::host_cpu();
  const int threads = runtime::default_thread_team().size();
  const search::MachineLimits limits = search::measure_limits();
  if (json) {
    nlohmann::ordered_json reads = nlohmann::ordered_json::array();
    for (const search::MachineLimits::Reads& each : limits.reads)
      reads.push_back({{"bytes", each.bytes}, {"bytes_per_second", each.rate}});
    print_json(nlohmann::ordered_json::array({{{"device", "cpu"},
                                               {"model", cpu.model},
                                               {"cores", cpu.cores},
                                               {"threads", threads},
                                               {"l1_bytes", cpu.l1_bytes},
                                               {"l2_bytes", cpu.l2_bytes},
                                               {"l3_bytes", cpu.l3_bytes},
                                               {"features", cpu.features.to_string()},
                                               {"f32_flops_per_second", limits.f32_flops},
                                               {"bf16_flops_per_second", limits.bf16_flops},
                                               {"i8_flops_per_second", limits.i8_flops},
                                               {"reads", std::move(reads)},
                                               {"round_trip_seconds", limits.round_trip}}}),
               out);
    return;
  }
  fmt::print(out, "cpu: {}, {} cores, {} threads\n", cpu.model, cpu.cores, threads);
  fmt::print(out, "  caches: {} KB and {} KB of a core, {} KB shared\n", cpu.l1_bytes >> 10,
             cpu.l2_bytes >> 10, cpu.l3_bytes >> 10);
  fmt::print(out, "  instructions: {}\n", cpu.features.to_string());
  fmt::print(out, "  measured now: {:.4g} Gflop/s in f32", limits.f32_flops * 1e-9);
  if (limits.bf16_flops > 0) fmt::print(out, ", {:.4g} in bf16", limits.bf16_flops * 1e-9);
  if (limits.i8_flops > 0) fmt::print(out, ", {:.4g} in i8", limits.i8_flops * 1e-9);
  out << '\n';
  for (const search::MachineLimits::Reads& each : limits.reads)
    fmt::print(out, "  measured now: {:.3g} GB/s read of {} KB again and again\n", each.rate * 1e-9,
               each.bytes >> 10);
  if (limits.round_trip > 0)
    fmt::print(out, "  measured now: {:.0f} ns for a word to another thread and back{}\n",
               limits.round_trip * 1e9,
               limits.round_trip < runtime::kLeastOfApart
                   ? ""
                   : ": their cores share no cache, small kernels take longer on several of them");
}

}  // namespace

void add_devices_command(CLI::App& app, std::ostream& out) {
  auto json = std::make_shared<bool>(false);
  CLI::App* devices =
      app.add_subcommand("devices", "What this machine computes on, and how fast it is at best");
  devices->add_flag("--json", *json, "As JSON");
  devices->footer(R"(
Examples:
  luminal devices
  luminal devices --json)");
  devices->callback([=, &out] { print_devices(*json, out); });
}

}  // namespace luminal::cli
