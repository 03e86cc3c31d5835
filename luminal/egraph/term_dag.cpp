// Terms with shared parts, and their text.
#include <algorithm>
#include <charconv>

#include "luminal/egraph/big_store.h"
#include "luminal/egraph/extract.h"

namespace luminal::egraph {
namespace {

/// Text beyond this is refused: a small graph can stand for a term of astronomical size.
constexpr uint64_t kMaxTextBytes = uint64_t{1} << 28;

std::optional<int64_t> as_integer(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

TermId TermDag::add(Node node) {
  std::string key = node.is_literal ? "'" + node.head : node.head;
  for (const TermId arg : node.args) key += " " + std::to_string(arg);
  const auto [entry, fresh] = index_.try_emplace(std::move(key), size());
  if (fresh) nodes_.push_back(std::move(node));
  return entry->second;
}

std::string TermDag::text(TermId id) const {
  std::vector<uint64_t> bytes(id + 1, 0);  // arguments come before the terms that use them
  for (TermId i = 0; i <= id; ++i) {
    bytes[i] = nodes_[i].head.size() + 2;
    for (const TermId arg : nodes_[i].args)
      bytes[i] = Extractor::add_costs(bytes[i], Extractor::add_costs(bytes[arg], 1));
  }
  if (bytes[id] > kMaxTextBytes)
    throw ProgramError(ProgramError::Kind::kRun,
                       fmt::format("the extracted term has {} shared parts but would print as "
                                   "more than {} bytes",
                                   id + 1, kMaxTextBytes));
  std::string out;
  out.reserve(bytes[id]);
  struct Step {
    TermId term;
    size_t next;
  };
  std::vector<Step> open{{id, 0}};
  while (!open.empty()) {
    Step& step = open.back();
    const Node& node = nodes_[step.term];
    if (step.next == 0) out += node.is_literal ? node.head : "(" + node.head;
    if (node.is_literal || step.next == node.args.size()) {
      if (!node.is_literal) out += ')';
      open.pop_back();
      continue;
    }
    out += ' ';
    const TermId child = node.args[step.next++];
    open.push_back({child, 0});
  }
  return out;
}

bool TermDag::less(TermId a, TermId b) const {
  if (a == b) return false;
  const Node& left = nodes_[a];
  const Node& right = nodes_[b];
  if (left.is_literal != right.is_literal) return left.is_literal;
  if (left.head != right.head) {
    const auto x = as_integer(left.head), y = as_integer(right.head);
    return x && y ? *x < *y : left.head < right.head;
  }
  for (size_t i = 0; i < std::min(left.args.size(), right.args.size()); ++i)
    if (left.args[i] != right.args[i]) return less(left.args[i], right.args[i]);
  return left.args.size() < right.args.size();
}

std::string value_text(const Database& db, SortId sort, Value value) {
  const ValueStore& values = *db.values;
  switch (db.sorts[sort].kind) {
    case SortKind::kUnit:
      return "()";
    case SortKind::kBool:
      return ValueStore::boolean(value) ? "true" : "false";
    case SortKind::kI64:
      return std::to_string(values.i64(value));
    case SortKind::kF64:
      return float_text(values.f64(value));
    case SortKind::kString:
      return quoted(values.string(value));
    case SortKind::kBigInt:
      return fmt::format("(from-string \"{}\")", values.big().integers[value].get_str());
    case SortKind::kBigRat: {
      const mpq_class& number = values.big().rationals[value];
      return fmt::format("(bigrat (from-string \"{}\") (from-string \"{}\"))",
                         number.get_num().get_str(), number.get_den().get_str());
    }
    case SortKind::kHost:
      return db.sorts[sort].host->to_text(value);
    default:
      return fmt::format("{}-{}", db.sorts.name(sort), value);
  }
}

}  // namespace luminal::egraph
