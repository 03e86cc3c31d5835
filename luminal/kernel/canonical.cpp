#include "luminal/kernel/canonical.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <span>

namespace luminal::kernel {
namespace {

/// Orders of operands that cannot be told apart are tried, up to this many choices of two.
constexpr size_t kMostTies = 6;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The words and signs of an expression.
std::vector<std::string> tokens_of(const Expr& expr) {
  const std::string text = symbolic::to_string(expr);
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (is_word(text[at]))
      while (end < text.size() && is_word(text[end])) ++end;
    if (text[at] != ' ') tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

/// Writes the text of a kernel, body by body; dims, tensors and bodies are named in the order in
/// which they come.
class KernelWriter {
 public:
  KernelWriter(const Arena& arena, std::vector<Expr> dims) : arena_(arena) {
    for (size_t k = 0; k < dims.size(); ++k) {
      const symbolic::Interval interval = dims[k].bounds();
      names_.push_back({dims[k], Expr::variable(fmt::format("S{}", k), interval)});
      result_.text += fmt::format("dim S{} {} {}\n", k, interval.lo, interval.hi);
    }
    result_.dims = std::move(dims);
  }

  void add(BodyId id, const std::vector<BodyId>& children) {
    std::string line = fmt::format("{} {}", graph::name(arena_[id].dtype), operation(arena_[id]));
    for (const BodyId child : children) line += fmt::format(" %{}", numbers_.at(child));
    const size_t number = numbers_.size();
    numbers_[id] = number;
    lines_ += fmt::format("%{} = {}\n", number, line);
  }

  CanonicalKernel finish(const Kernel& kernel, std::vector<BodyId> order) {
    for (const Root& root : kernel.roots)
      lines_ += fmt::format("store {}[{}] %{}\n", tensor(root.tensor), list(root.store),
                            numbers_.at(root.value));
    result_.text += fmt::format("axes {}\n", extents(kernel.axes)) + tensors_ + lines_;
    result_.order = std::move(order);
    return std::move(result_);
  }

 private:
  Expr renamed(const Expr& expr) const {
    std::vector<symbolic::Binding> bindings;
    for (const Expr& axis : expr.axes()) {
      if (!is_value_axis(axis)) continue;
      const BodyId number{static_cast<uint32_t>(numbers_.at(body_of_value(axis)))};
      bindings.push_back({axis, value_axis(number, axis.axis_extent())});
    }
    return symbolic::substitute(symbolic::substitute(expr, bindings), names_);
  }

  std::vector<std::string> texts(std::span<const Expr> exprs) const {
    std::vector<std::string> result;
    for (const Expr& expr : exprs) result.push_back(symbolic::to_string(renamed(expr)));
    return result;
  }

  std::string list(std::span<const Expr> exprs) const {
    return fmt::format("{}", fmt::join(texts(exprs), ", "));
  }

  std::string extents(std::span<const Expr> axes) const {
    std::vector<std::string> result;
    for (const Expr& axis : axes)
      result.push_back(fmt::format("{}<{}", axis.name(), renamed(axis.axis_extent())));
    return fmt::format("{}", fmt::join(result, ", "));
  }

  std::string tensor(NodeId id) {
    const auto found = std::find(result_.tensors.begin(), result_.tensors.end(), id);
    const auto k = found - result_.tensors.begin();
    if (found == result_.tensors.end()) {
      result_.tensors.push_back(id);
      const TensorType& type = arena_.tensor(id);
      tensors_ += fmt::format("tensor t{} {}[{}]\n", k, graph::name(type.dtype), list(type.shape));
    }
    return fmt::format("t{}", k);
  }

  std::string operation(const BodyNode& node) {
    switch (node.kind) {
      case BodyKind::kLoad:
        return fmt::format("{}[{}]", tensor(node.tensor), list(node.exprs));
      case BodyKind::kConstant:
        return node.constant.to_string();
      case BodyKind::kIota:
        return fmt::format("iota {}", list(node.exprs));
      case BodyKind::kOp:
        return std::string(graph::name(node.op));
      case BodyKind::kWhere: {
        std::vector<std::string> tests = texts(node.exprs);
        std::sort(tests.begin(), tests.end());
        return fmt::format("where {}", fmt::join(tests, ", "));
      }
      case BodyKind::kReduce:
        return fmt::format("{} {}", graph::name(node.op), extents(node.exprs));
    }
    return "";
  }

  const Arena& arena_;
  std::vector<symbolic::Binding> names_;
  std::map<BodyId, size_t> numbers_;
  std::string tensors_;
  std::string lines_;
  CanonicalKernel result_;
};

class Canonicalizer {
 public:
  Canonicalizer(const Arena& arena, const Kernel& kernel) : arena_(arena), kernel_(kernel) {
    for (const Root& root : kernel.roots) roots_.push_back(root.value);
    for (BodyId id : arena.reachable(roots_)) {
      hashes_[id] = shape_hash(id);
      const BodyNode& node = arena[id];
      const bool tied = node.kind == BodyKind::kOp && graph::info(node.op).commutative &&
                        node.children[0] != node.children[1] &&
                        hashes_[node.children[0]] == hashes_[node.children[1]];
      if (tied && ties_.size() < kMostTies) ties_.push_back(id);
    }
  }

  CanonicalKernel best(const std::string& facts) {
    CanonicalKernel best;
    for (uint64_t flips = 0; flips < uint64_t{1} << ties_.size(); ++flips) {
      CanonicalKernel candidate = written(flips);
      if (flips == 0 || candidate.text < best.text) best = std::move(candidate);
    }
    if (!facts.empty()) best.text += "facts " + facts + "\n";
    best.key = support::hash128(best.text);
    return best;
  }

 private:
  /// A hash of an expression in which dims have no names (`marked` has one). Sums are sorted by
  /// names, so the tokens are hashed in an order of their own.
  uint64_t expr_hash(const Expr& expr, const Expr* marked = nullptr) const {
    std::map<std::string, std::string> words;
    const auto note = [&](const Expr& part) {
      for (const Expr& variable : part.variables())
        words[variable.name()] = marked != nullptr && variable == *marked ? "!" : "?";
    };
    note(expr);
    std::vector<std::string> extents;
    for (const Expr& axis : expr.axes()) {
      note(axis.axis_extent());
      if (is_value_axis(axis))
        words[axis.name()] = fmt::format("v{}", hashes_.at(body_of_value(axis)));
    }
    std::vector<std::string> tokens = tokens_of(expr);
    for (const Expr& axis : expr.axes())
      for (const std::string& token : tokens_of(axis.axis_extent())) tokens.push_back(token);
    for (std::string& token : tokens)
      if (const auto found = words.find(token); found != words.end()) token = found->second;
    std::sort(tokens.begin(), tokens.end());
    support::Hasher hasher;
    for (const std::string& token : tokens) hasher.add(token);
    return hasher.finish64();
  }

  /// Pass 1: what a node looks like with anonymous tensors and dims.
  uint64_t shape_hash(BodyId id) const {
    const BodyNode& node = arena_[id];
    support::Hasher hasher;
    hasher.add(node.kind).add(node.op).add(node.dtype);
    if (node.kind == BodyKind::kConstant) node.constant.add_to(hasher);
    if (node.kind == BodyKind::kLoad)
      for (const Expr& extent : arena_.tensor(node.tensor).shape) hasher.add(expr_hash(extent));
    std::vector<uint64_t> exprs, children;
    for (const Expr& expr : node.exprs) exprs.push_back(expr_hash(expr));
    // Conditions are sorted by names of dims; their order means nothing.
    if (node.kind == BodyKind::kWhere) std::sort(exprs.begin(), exprs.end());
    for (BodyId child : node.children) children.push_back(hashes_.at(child));
    if (node.kind == BodyKind::kOp && graph::info(node.op).commutative)
      std::sort(children.begin(), children.end());
    for (uint64_t hash : exprs) hasher.add(hash);
    for (uint64_t hash : children) hasher.add(hash);
    return hasher.finish64();
  }

  std::vector<BodyId> ordered_children(BodyId id, uint64_t flips) const {
    std::vector<BodyId> children = arena_[id].children;
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kOp || !graph::info(node.op).commutative) return children;
    if (hashes_.at(children[1]) < hashes_.at(children[0])) std::swap(children[0], children[1]);
    const auto tie = std::find(ties_.begin(), ties_.end(), id);
    if (tie != ties_.end() && (flips >> (tie - ties_.begin()) & 1) != 0)
      std::swap(children[0], children[1]);
    return children;
  }

  void visit(BodyId id, uint64_t flips, std::set<BodyId>& seen, std::vector<BodyId>& order) const {
    if (!seen.insert(id).second) return;
    for (BodyId child : ordered_children(id, flips)) visit(child, flips, seen, order);
    for (BodyId value : arena_[id].index_values) visit(value, flips, seen, order);
    order.push_back(id);
  }

  /// Dims in the order in which they first matter: by where and how each occurs.
  std::vector<Expr> ordered_dims(const std::vector<BodyId>& order) const {
    std::vector<Expr> all;
    std::vector<Expr> exprs;
    const auto note = [&](const Expr& expr) {
      exprs.push_back(expr);
      for (const Expr& variable : expr.variables()) all.push_back(variable);
    };
    const auto note_deep = [&](const Expr& expr) {
      note(expr);
      for (const Expr& axis : expr.axes()) note(axis.axis_extent());
    };
    for (const Expr& axis : kernel_.axes) note(axis.axis_extent());
    for (BodyId id : order) {
      for (const Expr& expr : arena_[id].exprs) note_deep(expr);
      if (arena_[id].kind == BodyKind::kLoad)
        for (const Expr& extent : arena_.tensor(arena_[id].tensor).shape) note(extent);
    }
    for (const Root& root : kernel_.roots) {
      for (const Expr& position : root.store) note_deep(position);
      for (const Expr& extent : arena_.tensor(root.tensor).shape) note(extent);
    }
    std::sort(all.begin(), all.end(),
              [](const Expr& a, const Expr& b) { return compare(a, b) < 0; });
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() < 2) return all;
    std::map<std::string, std::vector<uint64_t>> signatures;
    for (const Expr& variable : all) {
      std::vector<uint64_t>& signature = signatures[variable.name()];
      // Those that occur earlier come first.
      for (const Expr& expr : exprs) {
        const std::vector<Expr>& used = expr.variables();
        const bool uses = std::find(used.begin(), used.end(), variable) != used.end();
        signature.push_back(uses ? expr_hash(expr, &variable) : UINT64_MAX);
      }
    }
    std::stable_sort(all.begin(), all.end(), [&](const Expr& a, const Expr& b) {
      return signatures[a.name()] < signatures[b.name()];
    });
    return all;
  }

  /// Pass 2: the text, with everything named at its first visit.
  CanonicalKernel written(uint64_t flips) const {
    std::set<BodyId> seen;
    std::vector<BodyId> order;
    for (BodyId root : roots_) visit(root, flips, seen, order);
    KernelWriter writer(arena_, ordered_dims(order));
    for (const BodyId id : order) writer.add(id, ordered_children(id, flips));
    return writer.finish(kernel_, std::move(order));
  }

  const Arena& arena_;
  const Kernel& kernel_;
  std::vector<BodyId> roots_;
  std::map<BodyId, uint64_t> hashes_;
  std::vector<BodyId> ties_;
};

}  // namespace

CanonicalKernel canonicalize(const Arena& arena, const Kernel& kernel, const std::string& facts) {
  return Canonicalizer(arena, kernel).best(facts);
}

}  // namespace luminal::kernel
