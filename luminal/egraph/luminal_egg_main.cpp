// The command luminal-egg: runs egglog programs from files, or line by line at a prompt.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "luminal/egraph/egraph.h"
#include "luminal/egraph/report.h"

namespace {

using luminal::egraph::EGraph;
using luminal::egraph::EGraphOptions;
using luminal::egraph::ProgramError;

constexpr const char* kUsage =
    "usage: luminal-egg [--costs] [--stats] [-j N] [FILE...]\n"
    "  Runs egglog programs, one after the other on the same e-graph, up to the first that fails;\n"
    "  without a file, reads commands from the prompt.\n"
    "  --costs   print (extraction-costs N) in place of each extracted term\n"
    "  --stats   print the profile at the end\n"
    "  -j N      match rules with N threads\n";

struct Arguments {
  EGraphOptions options;
  bool stats = false;
  bool help = false;
  std::vector<std::string> files;
};

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments result;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--costs") {
      result.options.print_costs = true;
    } else if (word == "--stats") {
      result.stats = true;
    } else if (word == "--help" || word == "-h") {
      result.help = true;
    } else if (word.rfind("-j", 0) == 0) {
      const std::string number = word.size() > 2      ? word.substr(2)
                                 : ++i < words.size() ? words[i]
                                                      : "";
      if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos ||
          number.size() > 3 || std::stoi(number) == 0)
        throw luminal::UserError("luminal-egg", "-j takes a number of threads, got '{}'", number);
      result.options.threads = static_cast<uint32_t>(std::stoi(number));
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

/// Runs a program and prints what it says; false if it failed.
bool run_text(EGraph& egraph, const std::string& text, const std::string& name) {
  try {
    std::cout << egraph.run_program(text, name) << std::flush;
    return true;
  } catch (const luminal::Error& error) {
    std::cout << egraph.output_before_error() << std::flush;
    std::cerr << "[ERROR] " << message_of(error) << "\n";
    return false;
  }
}

bool run_file(EGraph& egraph, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
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
    const bool good =
        arguments.files.empty() ? run_prompt(egraph) : run_files(egraph, arguments.files);
    if (arguments.stats) std::cout << luminal::egraph::profile_text(egraph.database());
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
