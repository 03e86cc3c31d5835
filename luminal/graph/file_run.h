// A run whose data lies in files: what commands do that are given a program, names and .npy files.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "luminal/graph/array.h"
#include "luminal/graph/program.h"

namespace luminal::graph {

/// See above.
struct FileRun {
  std::map<std::string, Array> inputs = {};         ///< cast to what the program takes
  DimValues dims = {};                              ///< values of named dims
  std::map<std::string, std::string> outputs = {};  ///< files to write; the others are printed
};

/// "name=value" in two. Errors name `command`.
std::pair<std::string, std::string> split_setting(std::string_view command,
                                                  const std::string& argument);
/// "seq=128". Errors name `command`.
std::pair<std::string, int64_t> parse_dim(std::string_view command, const std::string& argument);

/// Runs a program once and prints or writes its outputs. Names that it does not have are
/// UserErrors that name `command`.
void run_with_files(Program& program, FileRun run, std::string_view command, std::ostream& out);

/// Says what inputs a graph takes and what outputs it gives, a line each.
void describe_interface(const Graph& graph, std::ostream& out);

}  // namespace luminal::graph
