// The command luminal-egg: runs egglog programs from files, or line by line at a prompt.
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "luminal/egraph/egraph.h"
#include "luminal/egraph/report.h"
#include "luminal/support/text.h"

namespace {

using luminal::egraph::EGraph;
using luminal::egraph::EGraphOptions;
using luminal::egraph::ProgramError;

constexpr const char* kUsage =
    "usage: luminal-egg [OPTION...] [FILE...]\n"
    "  Runs egglog programs, one after the other on the same e-graph, up to the first that fails;\n"
    "  without a file, reads commands from the prompt.\n"
    "  --costs   print (extraction-costs N) in place of each extracted term\n"
    "  --stats   print the profile at the end\n"
    "  -j N      match rules with N threads\n"
    "  --strict-mode\n"
    "            refuse globals whose names do not start with $, and other names that do\n"
    "  --max-iterations N, --max-rows N, --max-seconds N\n"
    "            end a run command that reaches this, say so at the end, and go on; a check that\n"
    "            is not decided in time is an error\n"
    "  Ctrl-C ends the command that runs; a second one ends the program.\n";

/// Set by Ctrl-C.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void on_interrupt(int /*signal*/) { interrupted = true; }

/// The first Ctrl-C asks the engine to stop, the next one ends the program as usual.
void watch_for_interrupt() {
  interrupted = false;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

struct Arguments {
  EGraphOptions options;
  bool stats = false;
  bool help = false;
  std::vector<std::string> files;
};

/// The word after an option; nothing at the end.
std::string next(const std::vector<std::string>& words, size_t& i) {
  return ++i < words.size() ? words[i] : "";
}

uint64_t whole_number(const std::string& option, const std::string& text) {
  const std::optional<int64_t> number = luminal::support::parse_int64(text);
  if (!number || *number < 1)
    throw luminal::UserError("luminal-egg", "{} takes a number of at least 1, got '{}'", option,
                             text);
  return static_cast<uint64_t>(*number);
}

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments result;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--costs") {
      result.options.print_costs = true;
    } else if (word == "--stats") {
      result.stats = true;
    } else if (word == "--strict-mode") {
      result.options.strict_names = true;
    } else if (word == "--help" || word == "-h") {
      result.help = true;
    } else if (word.rfind("-j", 0) == 0) {
      const uint64_t threads =
          whole_number("-j", word.size() > 2 ? word.substr(2) : next(words, i));
      if (threads > 999) throw luminal::UserError("luminal-egg", "-j {} is too many", threads);
      result.options.threads = static_cast<uint32_t>(threads);
    } else if (word == "--max-iterations") {
      result.options.budget.iterations = whole_number(word, next(words, i));
    } else if (word == "--max-rows") {
      result.options.budget.rows = whole_number(word, next(words, i));
    } else if (word == "--max-seconds") {
      result.options.budget.seconds = static_cast<double>(whole_number(word, next(words, i)));
    } else if (word.size() > 1 && word[0] == '-') {
      throw luminal::UserError("luminal-egg", "unknown option {}\n{}", word, kUsage);
    } else {
      result.files.push_back(word);
    }
  }
  return result;
}

/// What there is to say of an error, without the name of the stage.
std::string message_of(const luminal::Error& error) {
  const auto* program = dynamic_cast<const ProgramError*>(&error);
  return program != nullptr ? program->text() : error.what();
}

void print_warnings(EGraph& egraph) {
  for (const std::string& warning : egraph.take_warnings())
    std::cerr << "[WARN ] " << warning << "\n";
}

/// Runs a program and prints what it says; false if it failed.
bool run_text(EGraph& egraph, const std::string& text, const std::string& name) {
  try {
    std::cout << egraph.run_program(text, name) << std::flush;
    print_warnings(egraph);
    return true;
  } catch (const luminal::Error& error) {
    std::cout << egraph.output_before_error() << std::flush;
    print_warnings(egraph);
    std::cerr << "[ERROR] " << message_of(error) << "\n";
    return false;
  }
}

bool run_file(EGraph& egraph, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) {
    std::cerr << "luminal-egg: cannot read " << path << "\n";
    return false;
  }
  std::ostringstream text;
  text << in.rdbuf();
  return run_text(egraph, text.str(), path);
}

/// A later file may use what an earlier one declared, as in the original.
bool run_files(EGraph& egraph, const std::vector<std::string>& files) {
  for (const std::string& file : files)
    if (!run_file(egraph, file)) return false;
  return true;
}

/// Open parentheses of a text, so that the prompt knows when a command is complete. Strings and
/// comments hide theirs.
int open_parentheses(const std::string& text) {
  int depth = 0;
  bool in_string = false, in_comment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_comment) {
      in_comment = c != '\n';
    } else if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == ';') {
      in_comment = true;
    } else {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
  }
  return in_string ? depth + 1 : depth;
}

bool run_prompt(EGraph& egraph) {
  if (isatty(STDIN_FILENO) == 0) {  // a program through a pipe: no prompt
    std::ostringstream text;
    text << std::cin.rdbuf();
    return run_text(egraph, text.str(), "<stdin>");
  }
  std::string pending, line;
  bool good = true;
  for (bool more = true; more;) {
    std::cout << (pending.empty() ? "> " : "| ") << std::flush;
    more = static_cast<bool>(std::getline(std::cin, line));
    if (more) pending += line + "\n";
    if (more && open_parentheses(pending) > 0) continue;
    watch_for_interrupt();
    good &= run_text(egraph, pending, "<prompt>");
    pending.clear();
  }
  std::cout << "\n";
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  // Tables grow by doubling: memory that one leaves is kept for the next instead of being given
  // back to the system and fetched again page by page.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  try {
    const Arguments arguments = parse_arguments({argv + 1, argv + argc});
    if (arguments.help) {
      std::cout << kUsage;
      return 0;
    }
    EGraph egraph(arguments.options);
    watch_for_interrupt();
    egraph.set_cancel_flag(&interrupted);
    const bool good =
        arguments.files.empty() ? run_prompt(egraph) : run_files(egraph, arguments.files);
    if (egraph.budget_reached() != luminal::egraph::StopReason::kFinished)
      std::cerr << "luminal-egg: a run ended early: "
                << luminal::egraph::to_text(egraph.budget_reached()) << "\n";
    if (arguments.stats) std::cout << luminal::egraph::profile_text(egraph.database());
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
