#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "luminal/cli/commands.h"
#include "luminal/cli/json_text.h"
#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/compiler/choice_cache.h"
#include "luminal/support/error.h"
#include "luminal/support/file_cache.h"

namespace luminal::cli {
namespace {

using nlohmann::ordered_json;

/// The cache of compiled kernels. There must be a directory for it.
support::FileCache& kernels() {
  support::FileCache& cache = codegen::default_kernel_cache();
  if (cache.options().directory.empty())
    throw UserError("cache",
                    "no cache is kept: LUMINAL_CACHE is off, or no directory is known; "
                    "LUMINAL_CACHE_DIR names one");
  return cache;
}

void list(bool json, std::ostream& out) {
  const std::vector<support::FileCache::Entry> entries = kernels().list();
  if (json) {
    ordered_json rows = ordered_json::array();
    for (const auto& entry : entries)
      rows.push_back({{"key", support::to_hex(entry.key)},
                      {"bytes", entry.bytes},
                      {"last_used", entry.last_used_ns / 1'000'000'000}});
    print_json(rows, out);
    return;
  }
  for (const auto& entry : entries)
    fmt::print(out, "{}  {:>9} bytes\n", support::to_hex(entry.key), entry.bytes);
  fmt::print(out, "{} kernels in {}\n", entries.size(), kernels().options().directory);
}

void size(bool json, std::ostream& out) {
  const support::FileCache& cache = kernels();
  const size_t count = cache.list().size();
  if (json)
    print_json(ordered_json{{"directory", cache.options().directory},
                            {"kernels", count},
                            {"bytes", cache.size_bytes()},
                            {"limit", cache.options().max_bytes}},
               out);
  else
    fmt::print(out, "{} kernels, {:.1f} MB of {} MB, in {}\n", count,
               static_cast<double>(cache.size_bytes()) / (1 << 20), cache.options().max_bytes >> 20,
               cache.options().directory);
}

void clear(bool json, std::ostream& out) {
  support::FileCache& cache = kernels();
  const size_t count = cache.list().size();
  cache.clear();
  compiler::default_choice_cache().clear();
  const size_t left = cache.list().size();
  if (left > 0)
    throw UserError("cache clear", "{} of {} files in {} could not be removed; is it read-only?",
                    left, count, cache.options().directory);
  if (json)
    print_json(ordered_json{{"removed", count}}, out);
  else
    fmt::print(out, "{} kernels removed\n", count);
}

}  // namespace

void add_cache_command(CLI::App& app, std::ostream& out) {
  auto json = std::make_shared<bool>(false);
  CLI::App* cache = app.add_subcommand("cache", "Compiled kernels that are kept on disk");
  cache->require_subcommand(1);
  cache->footer(R"(
Examples:
  luminal cache size
  luminal cache list --json)");
  CLI::App* listed = cache->add_subcommand("list", "Every entry, least recently used first");
  listed->add_flag("--json", *json, "As JSON");
  listed->callback([=, &out] { list(*json, out); });
  CLI::App* sized = cache->add_subcommand("size", "How many there are and how much they take");
  sized->add_flag("--json", *json, "As JSON");
  sized->callback([=, &out] { size(*json, out); });
  CLI::App* cleared =
      cache->add_subcommand("clear", "Remove them all, and what was chosen for plans");
  cleared->add_flag("--json", *json, "As JSON");
  cleared->callback([=, &out] { clear(*json, out); });
}

}  // namespace luminal::cli
