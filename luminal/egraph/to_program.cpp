// The dump of an e-graph as a program that builds it again. Values of the host have no text that
// could be read: in the program their sorts are declared, and a value is a constructor of its
// number and its text. Primitives of the host are declared as tables without rows, so that rules
// which ask them are there and find nothing.
#include <algorithm>
#include <map>
#include <set>

#include "luminal/egraph/view.h"

namespace luminal::egraph {
namespace {

class ProgramWriter {
 public:
  explicit ProgramWriter(Database& db) : db_(db) {
    // A dump that was read back has such names already.
    const auto taken = [&](const Global& global) { return global.name.rfind(prefix_, 0) == 0; };
    for (int i = 2; std::any_of(db.globals.begin(), db.globals.end(), taken); ++i)
      prefix_ = fmt::format("$class{}-", i);
  }

  std::string write() {
    write_sorts();
    write_host_primitives();
    write_tables();
    write_rulesets();
    write_constructor_rows();
    write_function_rows();
    write_globals();
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  /// Base sorts and hidden sorts of relations have no declaration.
  void write_sorts() {
    for (SortId id = kBigRatSort + 1; id < db_.sorts.size(); ++id) {
      const Sort& sort = db_.sorts[id];
      if (sort.kind == SortKind::kEq && sort.unionable) line("(sort " + sort.name + ")");
    }
    for (SortId id = kBigRatSort + 1; id < db_.sorts.size(); ++id) {
      const Sort& sort = db_.sorts[id];
      if (sort.kind == SortKind::kHost) write_host_sort(sort);
      if (sort.is_container()) line(container_declaration(sort));
    }
  }

  void write_host_sort(const Sort& sort) {
    line("(sort " + sort.name + ")");
    line(fmt::format("(constructor {} (i64 String) {})", host_constructor(sort), sort.name));
  }

  static std::string host_constructor(const Sort& sort) { return "host-" + sort.name; }

  bool is_host(SortId sort) const {
    return sort != kNone && db_.sorts[sort].kind == SortKind::kHost;
  }

  /// Whether only this process knows the primitive.
  bool is_of_host(const Primitive& primitive) const {
    const Signature& signature = primitive.signature;
    if (signature.shape != Signature::Shape::kFixed) return false;
    return is_host(signature.output) ||
           std::any_of(signature.inputs.begin(), signature.inputs.end(),
                       [&](SortId sort) { return is_host(sort); });
  }

  /// What rules ask of the host.
  void write_host_primitives() {
    std::map<std::string, const Primitive*> asked;
    for (const RuleState& state : db_.rules) {
      for (const PrimitiveAtom& atom : state.rule->query.primitives)
        if (is_of_host(*atom.primitive)) asked.emplace(atom.primitive->name, atom.primitive.get());
      for (const auto& primitive : state.rule->program.primitives)
        if (is_of_host(*primitive)) asked.emplace(primitive->name, primitive.get());
    }
    for (const auto& [name, primitive] : asked) {
      const Signature& signature = primitive->signature;
      const std::string inputs = sort_names(signature.inputs);
      if (signature.output == kUnitSort)
        line(fmt::format("(relation {} ({}))", name, inputs));
      else if (is_host(signature.output))  // heads may make values with it
        line(fmt::format("(constructor {} ({}) {})", name, inputs,
                         db_.sorts.name(signature.output)));
      else
        line(fmt::format("(function {} ({}) {} :no-merge)", name, inputs,
                         db_.sorts.name(signature.output)));
    }
  }

  std::string sort_names(const std::vector<SortId>& sorts) const {
    std::string names;
    for (const SortId sort : sorts) names += (names.empty() ? "" : " ") + db_.sorts.name(sort);
    return names;
  }

  std::string container_declaration(const Sort& sort) const {
    static const std::map<SortKind, std::string> presorts = {
        {SortKind::kVec, "Vec"},   {SortKind::kSet, "Set"},
        {SortKind::kMap, "Map"},   {SortKind::kMultiSet, "MultiSet"},
        {SortKind::kPair, "Pair"}, {SortKind::kFn, "UnstableFn"}};
    std::string args;
    for (size_t i = 0; i < sort.args.size(); ++i) {
      if (sort.kind == SortKind::kFn && i + 1 == sort.args.size()) args += ")";
      args += (i == 0 && sort.kind == SortKind::kFn && sort.args.size() > 1 ? "" : " ");
      args += db_.sorts.name(sort.args[i]);
    }
    if (sort.kind == SortKind::kFn) args = " (" + args;
    return "(sort " + sort.name + " (" + presorts.at(sort.kind) + args + "))";
  }

  void write_tables() {
    for (const Function& function : db_.functions) {
      if (function.hidden) continue;
      const std::string inputs = sort_names(function.inputs);
      if (function.kind == FunctionKind::kRelation) {
        line(fmt::format("(relation {} ({}))", function.name, inputs));
        continue;
      }
      const std::string output = db_.sorts.name(function.output);
      if (function.kind == FunctionKind::kConstructor) {
        line(fmt::format("(constructor {} ({}) {}{}{})", function.name, inputs, output,
                         function.cost == 1 ? "" : fmt::format(" :cost {}", function.cost),
                         function.unextractable ? " :unextractable" : ""));
      } else {
        line(fmt::format(
            "(function {} ({}) {}{}{})", function.name, inputs, output,
            function.merge == MergeKind::kAssert ? " :no-merge" : " :merge " + function.merge_text,
            function.unextractable ? " :unextractable" : ""));
      }
    }
  }

  void write_rulesets() {
    for (const auto& [name, set] : db_.rulesets) {
      if (name.empty() || set.combined) continue;
      line("(ruleset " + name + ")");
    }
    // Members first, as far as they are declared and do not hold each other; names sort
    // arbitrarily, so repeat until done, in the end whatever is missing.
    std::set<std::string> done;
    for (bool progress = true, any_order = false; progress || !any_order;) {
      any_order = !progress;
      progress = false;
      for (const auto& [name, set] : db_.rulesets) {
        const auto ready = [&](const std::string& member) {
          const auto found = db_.rulesets.find(member);
          return found == db_.rulesets.end() || !found->second.combined || done.count(member) != 0;
        };
        if (!set.combined || done.count(name) != 0) continue;
        if (!any_order && !std::all_of(set.members.begin(), set.members.end(), ready)) continue;
        std::string members;
        for (const std::string& member : set.members) members += " " + member;
        line("(unstable-combined-ruleset " + name + members + ")");
        done.insert(name);
        progress = true;
      }
    }
  }

  std::string class_name(Value id) const { return prefix_ + std::to_string(id); }

  /// Text of a value whose classes are all named already; empty if one is not.
  std::string value(SortId sort, Value word) const {
    if (db_.sorts[sort].is_eq()) return named_.count(word) != 0 ? class_name(word) : "";
    if (is_host(sort))
      return fmt::format("({} {} {})", host_constructor(db_.sorts[sort]), word,
                         quoted(value_text(db_, sort, word)));
    if (!db_.sorts[sort].is_container()) return value_text(db_, sort, word);
    static const std::map<SortKind, std::string> heads = {
        {SortKind::kVec, "vec-of"}, {SortKind::kSet, "set-of"},
        {SortKind::kMap, "map-of"}, {SortKind::kMultiSet, "multiset-of"},
        {SortKind::kPair, "pair"},  {SortKind::kFn, "unstable-fn"}};
    const SortKind kind = db_.sorts[sort].kind;
    std::string text = "(" + heads.at(kind);
    const auto words = db_.containers.words(word);
    if (words.empty() && kind != SortKind::kMultiSet)
      return "(" + heads.at(kind).substr(0, heads.at(kind).size() - 2) + "empty)";
    if (kind == SortKind::kFn) text += " " + quoted(db_.containers.target(words[0]).name);
    bool complete = true;
    size_t position = 0;
    db_.containers.for_each_element(db_.sorts, word, [&](SortId element, Value part) {
      const std::string piece = value(element, part);
      complete &= !piece.empty();
      const uint32_t times = kind == SortKind::kMultiSet ? words[position + 1] : 1;
      position += 2;
      for (uint32_t i = 0; i < times; ++i) text += " " + piece;
    });
    return complete ? text + ")" : "";
  }

  std::string call(const Function& function, const Value* row) const {
    std::string text = "(" + function.name;
    for (size_t c = 0; c < function.inputs.size(); ++c) {
      const std::string piece = value(function.inputs[c], row[c]);
      if (piece.empty()) return "";
      text += " " + piece;
    }
    return text + ")";
  }

  /// Names a class by its first row that needs only named classes, unites the others with it.
  void write_constructor_rows() {
    std::vector<NodeRef> open;
    for (FunctionId f = 0; f < db_.functions.size(); ++f) {
      const Function& function = db_.functions[f];
      if (function.is_function()) continue;
      for (uint32_t row = 0; row < function.table.end_row(); ++row)
        if (function.table.live(row)) open.push_back({f, row});
    }
    std::vector<std::string> subsumed;
    for (bool progress = true; progress;) {
      progress = false;
      std::vector<NodeRef> left;
      for (const NodeRef& node : open) {
        const Function& function = db_.functions[node.function];
        const Value* row = function.table.row(node.row);
        const std::string text = call(function, row);
        if (text.empty()) {
          left.push_back(node);
          continue;
        }
        progress = true;
        const Value id = function.table.value(node.row);
        if (function.kind == FunctionKind::kRelation) {
          line(text);
        } else if (named_.insert(id).second) {
          line("(let " + class_name(id) + " " + text + ")");
        } else {
          line("(union " + class_name(id) + " " + text + ")");
        }
        if (function.table.subsumed(node.row)) subsumed.push_back("(subsume " + text + ")");
      }
      open = std::move(left);
    }
    for (const NodeRef& node : open)
      line(fmt::format("; a row of {} is only part of a cycle and cannot be written",
                       db_.functions[node.function].name));
    for (const std::string& text : subsumed) line(text);
  }

  void write_function_rows() {
    for (const Function& function : db_.functions) {
      if (!function.is_function() || function.hidden) continue;
      for (uint32_t row = 0; row < function.table.end_row(); ++row) {
        if (!function.table.live(row)) continue;
        const std::string keys = call(function, function.table.row(row));
        const std::string result = value(function.output, function.table.value(row));
        if (!keys.empty() && !result.empty()) line("(set " + keys + " " + result + ")");
      }
    }
  }

  /// Rules come last of all: they may read globals.
  void write_globals() {
    for (const Global& global : db_.globals) {
      const std::string text = value(global.sort, db_.canonical(global.sort, global.value));
      if (!text.empty()) line("(let " + global.name + " " + text + ")");
    }
    for (const RuleState& state : db_.rules) line(to_text(written_rule(state)));
  }

  /// Heads that ask the host look up a table here, which a rule has to be allowed.
  RuleDecl written_rule(const RuleState& state) const {
    RuleDecl rule = *state.rule->source;
    const auto is_lookup = [&](const std::shared_ptr<const Primitive>& primitive) {
      return is_of_host(*primitive) && !is_host(primitive->signature.output);
    };
    const auto& asked = state.rule->program.primitives;
    if (!rule.naive && std::any_of(asked.begin(), asked.end(), is_lookup))
      rule.unsafe_seminaive = true;
    return rule;
  }

  Database& db_;
  std::string prefix_ = "$class-";  // of the names of classes
  std::string text_;
  std::set<Value> named_;
};

}  // namespace

std::string to_program(Database& db) { return ProgramWriter(db).write(); }

}  // namespace luminal::egraph
