#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "luminal/cli/cases.h"
#include "luminal/cli/commands.h"
#include "luminal/support/text.h"

namespace luminal::cli {
namespace {

/// An option with what it does.
struct OptionWords {
  std::string name;  ///< "--device"
  std::string what;
  std::vector<std::string> values;  ///< if it takes one of a few
  bool takes_value = false;
};

/// One command of the tree with what may follow it.
struct Node {
  std::string path;  ///< "tuning show"; empty for the program itself
  std::vector<std::pair<std::string, std::string>> words;  ///< subcommands with what they do
  std::vector<OptionWords> options;
  bool takes_graph = false;
};

/// The first line of a description, without what shells would read.
std::string plain(std::string text) {
  text = text.substr(0, text.find('\n'));
  for (char& c : text)
    if (c == '\'' || c == '"' || c == '`' || c == '$' || c == '\\' || c == '[' || c == ']' ||
        c == ':')
      c = ' ';
  return text;
}

/// The values of an option that takes one of a few, which its type lists: TEXT:{cpu,interpreter}.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> values;
  if (begin == std::string::npos || end == std::string::npos) return values;
  const std::string listed = type.substr(begin + 1, end - begin - 1);  // outlives its parts
  for (const std::string_view value : support::split(listed, ',')) values.emplace_back(value);
  return values;
}

void collect(const CLI::App& app, const std::string& path, std::vector<Node>& nodes) {
  Node node{path, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    const std::string what = plain(option->get_description());
    const std::vector<std::string> values = values_of(*option);
    for (const std::string& name : option->get_lnames())
      node.options.push_back({"--" + name, what, values, option->get_items_expected_max() > 0});
    if (option->get_positional())
      for (const std::string& value : values) node.words.emplace_back(value, what);
    node.takes_graph = node.takes_graph || option->get_name() == "GRAPH";
  }
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands)
    node.words.emplace_back(command->get_name(), plain(command->get_description()));
  nodes.push_back(std::move(node));
  for (const CLI::App* command : commands)
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), nodes);
}

std::vector<std::string> names_of(const std::vector<std::pair<std::string, std::string>>& list) {
  std::vector<std::string> names;
  for (const auto& [name, what] : list) names.push_back(name);
  return names;
}

std::vector<std::string> names_of(const std::vector<OptionWords>& options) {
  std::vector<std::string> names;
  for (const OptionWords& option : options) names.push_back(option.name);
  return names;
}

/// The options that take a value, with the command they are of and the values that are known.
template <typename Visit>
void for_each_value(const std::vector<Node>& nodes, Visit visit) {
  for (const Node& node : nodes)
    for (const OptionWords& option : node.options)
      if (option.takes_value) visit(node.path + " " + option.name, option.values);
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const Case& each : cases()) names.emplace_back(each.name);
  return names;
}

/// The commands so far are the words that are no options; values of options may be among them.
/// Values that are not known complete to files.
void write_bash(const std::vector<Node>& nodes, std::ostream& out) {
  out << "_luminal() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} path='' word\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"${path:+$path }$word\" in\n";
  for (const Node& node : nodes)
    if (!node.path.empty()) fmt::print(out, "      '{0}') path='{0}' ;;\n", node.path);
  out << "    esac\n  done\n  local words='' options=''\n  case $path in\n";
  for (const Node& node : nodes) {
    std::vector<std::string> words = names_of(node.words);
    if (node.takes_graph)
      for (std::string& name : case_names()) words.push_back(std::move(name));
    fmt::print(out, "    '{}') words='{}' options='{}' ;;\n", node.path, fmt::join(words, " "),
               fmt::join(names_of(node.options), " "));
  }
  // Bash takes --device=cpu for three words.
  out << "  esac\n"
         "  if [[ $current == -* ]]; then words=$options; fi\n"
         "  local before=$((COMP_CWORD - 1))\n"
         "  if [[ $current == '=' ]]; then current=''\n"
         "  elif [[ ${COMP_WORDS[before]} == '=' ]]; then before=$((COMP_CWORD - 2)); fi\n"
         "  case \"$path ${COMP_WORDS[before]}\" in\n";
  for_each_value(nodes, [&](const std::string& option, const std::vector<std::string>& values) {
    fmt::print(out, "    '{}') words='{}' ;;\n", option, fmt::join(values, " "));
  });
  out << "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _luminal luminal\n";
}

void write_zsh(const std::vector<Node>& nodes, std::ostream& out) {
  out << "#compdef luminal\n_luminal() {\n  local path='' word\n"
         "  for word in ${words[2,CURRENT-1]}; do\n    case \"${path:+$path }$word\" in\n";
  for (const Node& node : nodes)
    if (!node.path.empty()) fmt::print(out, "      '{0}') path='{0}' ;;\n", node.path);
  out << "    esac\n  done\n  local -a entries options\n  case $path in\n";
  for (const Node& node : nodes) {
    fmt::print(out, "    '{}')\n      entries=(", node.path);
    for (const auto& [name, what] : node.words) fmt::print(out, "'{}:{}' ", name, what);
    if (node.takes_graph)
      for (const Case& each : cases()) fmt::print(out, "'{}:{}' ", each.name, plain(each.what));
    out << ")\n      options=(";
    for (const OptionWords& option : node.options)
      fmt::print(out, "'{}:{}' ", option.name, option.what);
    out << ") ;;\n";
  }
  out << "  esac\n  case \"$path ${words[CURRENT-1]}\" in\n";
  for_each_value(nodes, [&](const std::string& option, const std::vector<std::string>& values) {
    fmt::print(out, "    '{}') {}; return ;;\n", option,
               values.empty() ? "_files" : fmt::format("compadd -- {}", fmt::join(values, " ")));
  });
  out << "  esac\n"
         "  if [[ ${words[CURRENT]} == -* ]]; then _describe option options\n"
         "  else _describe command entries; _files; fi\n"
         "}\n"
         "compdef _luminal luminal\n";
}

/// Fish asks for each word on its own whether it fits what is there.
void write_fish(const std::vector<Node>& nodes, std::ostream& out) {
  for (const Node& node : nodes) {
    std::string condition = "__fish_use_subcommand";
    if (!node.path.empty()) {
      std::string words;
      for (const char c : node.path)
        words += c == ' ' ? std::string("; and __fish_seen_subcommand_from ") : std::string(1, c);
      condition = "__fish_seen_subcommand_from " + words;
      if (!node.words.empty())
        condition += fmt::format("; and not __fish_seen_subcommand_from {}",
                                 fmt::join(names_of(node.words), " "));
    }
    for (const auto& [name, what] : node.words)
      fmt::print(out, "complete -c luminal -n '{}' -a '{}' -d '{}'\n", condition, name, what);
    if (node.takes_graph)
      for (const Case& each : cases())
        fmt::print(out, "complete -c luminal -n '{}' -a '{}' -d '{}'\n", condition, each.name,
                   plain(each.what));
    for (const OptionWords& option : node.options)
      fmt::print(out, "complete -c luminal -n '{}' -l '{}' -d '{}'{}\n", condition,
                 option.name.substr(2), option.what,
                 !option.values.empty() ? fmt::format(" -x -a '{}'", fmt::join(option.values, " "))
                 : option.takes_value   ? " -r"
                                        : "");
  }
}

}  // namespace

void add_completion_command(CLI::App& app, std::ostream& out) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "What makes a shell complete this command");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(R"(
Examples:
  source <(luminal completion bash)                                    for this shell
  luminal completion bash > ~/.local/share/bash-completion/completions/luminal
  luminal completion zsh > ~/.zfunc/_luminal                           with ~/.zfunc in fpath
  luminal completion fish > ~/.config/fish/completions/luminal.fish)");
  command->callback([=, &app, &out] {
    std::vector<Node> nodes;
    collect(app, "", nodes);
    if (*shell == "bash") return write_bash(nodes, out);
    if (*shell == "zsh") return write_zsh(nodes, out);
    write_fish(nodes, out);
  });
}

}  // namespace luminal::cli
