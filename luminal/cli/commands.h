// The subcommands of `luminal`, each in a file of its own. A subcommand is added to the command
// line with its options; what it does runs when the line has been read. Errors are exceptions:
// UserError for what the user can mend.
#pragma once

#include <iosfwd>

namespace CLI {
class App;
}

namespace luminal::cli {

/// `luminal tuning list|show|export|merge|prune`: the database of measured kernels.
void add_tuning_command(CLI::App& app, std::ostream& out);
/// `luminal cache list|size|clear`: compiled kernels on disk.
void add_cache_command(CLI::App& app, std::ostream& out);
/// `luminal run FILE`: runs a graph or a plan.
void add_run_command(CLI::App& app, std::ostream& out);
/// `luminal compile GRAPH -o PLAN`: a plan that is kept.
void add_compile_command(CLI::App& app, std::ostream& out);
/// `luminal graph GRAPH`: a graph in its text form.
void add_graph_command(CLI::App& app, std::ostream& out);
/// `luminal inspect GRAPH`: what rules make of a graph.
void add_inspect_command(CLI::App& app, std::ostream& out);
/// `luminal explain GRAPH`: what runs, and why so.
void add_explain_command(CLI::App& app, std::ostream& out);
/// `luminal viz GRAPH`: a page of everything a compile did.
void add_viz_command(CLI::App& app, std::ostream& out);
/// `luminal bench SUITE`: runs a benchmark program that is built.
void add_bench_command(CLI::App& app, std::ostream& out);
/// `luminal completion SHELL`: what makes a shell complete this command. Added last, it knows all
/// the others.
void add_completion_command(CLI::App& app, std::ostream& out);
/// `luminal devices`: what this machine computes on.
void add_devices_command(CLI::App& app, std::ostream& out);

}  // namespace luminal::cli
