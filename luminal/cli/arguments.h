// What the subcommands of `luminal` ask of their arguments before they work, in the same words
// everywhere: settings that are given once, dims that the graph has, options that go together. What
// a line cannot mean is a UsageError, which ends the program with exit code 2.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/graph/program.h"
#include "luminal/support/error.h"

namespace luminal::search {
class TuningDatabase;
}  // namespace luminal::search

namespace luminal::cli {

/// The command line makes no sense; the message names the option and the remedy.
class UsageError : public UserError {
 public:
  using UserError::UserError;
};

/// An option as it stands in a line.
struct Option {
  std::string_view name;  ///< "--dump", or what it is for people
  bool given = false;     ///< whether it is in the line
};

/// What NAME=VALUE arguments say. UsageError if one is nothing of the kind or gives a name again;
/// `option` is what they are given with.
std::map<std::string, std::string> parse_settings(std::string_view operation,
                                                  std::string_view option,
                                                  const std::vector<std::string>& arguments);

/// What `--dim NAME=NUMBER` options say, each dim once.
graph::DimValues parse_dims(std::string_view operation, const std::vector<std::string>& arguments);

/// UsageError unless the graph has all these dims, and their intervals these values.
void check_dims(std::string_view operation, const graph::Graph& graph,
                const graph::DimValues& dims);

/// UsageError if more than one of the options is given: each asks for another answer.
void at_most_one(std::string_view operation, std::initializer_list<Option> options);

/// UsageError if an option is given that says nothing without one of the others.
void only_with(std::string_view operation, Option option, std::initializer_list<Option> others);

/// UsageError if `mode` and one of the options are given, which then say nothing.
void nothing_with(std::string_view operation, Option mode, std::initializer_list<Option> options);

/// The database that a search of this machine uses, unless another is named: what it is kept in is
/// made if it is not there. UserError if there is none.
std::string search_database(std::string_view operation, const std::string& named);

/// The processor that `--target` names. UsageError if there is none of that name.
codegen::CpuTarget named_target(std::string_view operation, const std::string& name);

/// The database that measurements are only looked up in: the one that is named, which must be
/// there, or that of this machine. Null, with a warning if it cannot be read, if it has none.
std::unique_ptr<search::TuningDatabase> known_measurements(std::string_view operation,
                                                           const std::string& named);

/// Whether something of this name may be there: false if it is known not to be.
bool may_exist(const std::string& path);

/// The word of a list that somebody meant who wrote another; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& words);

}  // namespace luminal::cli
