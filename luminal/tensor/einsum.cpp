// Einstein's sum: parses the equation, then multiplies operands one after another, summing each
// letter as soon as no later operand and no result needs it.
#include <algorithm>
#include <cctype>
#include <map>

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/linalg.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/promotion.h"

namespace luminal {
namespace {

/// Labels are letters; the axes of "..." are labelled with digits that no equation can contain, the
/// last axis being '0'.
using Labels = std::string;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

/// An operand with one label per axis.
struct Labelled {
  Tensor tensor;
  Labels labels;
};

[[noreturn]] void fail(const std::string& equation, const std::string& why) {
  throw UserError("einsum", "'{}': {}", equation, why);
}

/// Letters of one operand, "..." replaced by `ellipsis` labels.
Labels expand_ellipsis(const std::string& equation, const std::string& text, int ellipsis_rank) {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      for (int k = ellipsis_rank; k-- > 0;) labels += static_cast<char>('0' + k);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      labels += text[i];
    } else {
      fail(equation, fmt::format("'{}' is no letter", text[i]));
    }
  }
  return labels;
}

std::vector<std::string> split_operands(const std::string& left) {
  std::vector<std::string> parts{""};
  for (char c : left) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

int letters_in(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(),
                                        [](unsigned char c) { return std::isalpha(c) != 0; }));
}

/// The result when the equation names none: what stands for "...", then letters that occur once, in
/// order.
Labels implicit_result(const std::vector<Labels>& operands) {
  std::map<char, int> uses;
  for (const Labels& labels : operands)
    for (char label : labels) ++uses[label];
  Labels digits, letters;
  for (const auto& [label, count] : uses) {
    if (std::isdigit(static_cast<unsigned char>(label)) != 0)
      digits.insert(digits.begin(), label);
    else if (count == 1)
      letters += label;
  }
  return digits + letters;
}

Equation parse(const std::string& equation, const std::vector<Tensor>& tensors) {
  std::string text;
  std::copy_if(equation.begin(), equation.end(), std::back_inserter(text),
               [](char c) { return c != ' '; });
  const size_t arrow = text.find("->");
  const std::vector<std::string> parts = split_operands(text.substr(0, arrow));
  if (parts.size() != tensors.size())
    fail(equation, fmt::format("names {} operands, got {}", parts.size(), tensors.size()));
  Equation parsed;
  int widest = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    const size_t dots = parts[k].find("...");
    const bool ellipsis = dots != std::string::npos;
    if (ellipsis && parts[k].find("...", dots + 3) != std::string::npos)
      fail(equation, fmt::format("operand {} has '...' twice", k));
    const int rest = tensors[k].rank() - letters_in(parts[k]);
    if (rest < 0 || (rest > 0 && !ellipsis))
      fail(equation, fmt::format("operand {} has {} axes, its labels '{}' do not fit", k,
                                 tensors[k].rank(), parts[k]));
    if (rest > 9)
      fail(equation,
           fmt::format("'...' of operand {} stands for {} axes; at most 9 are possible", k, rest));
    widest = std::max(widest, rest);
    parsed.operands.push_back(expand_ellipsis(equation, parts[k], rest));
  }
  parsed.result = arrow == std::string::npos
                      ? implicit_result(parsed.operands)
                      : expand_ellipsis(equation, text.substr(arrow + 2), widest);
  for (char label : parsed.result) {
    auto holds = [&](const Labels& labels) { return labels.find(label) != Labels::npos; };
    if (std::none_of(parsed.operands.begin(), parsed.operands.end(), holds))
      fail(equation, fmt::format("the result's '{}' is in no operand", label));
    if (std::count(parsed.result.begin(), parsed.result.end(), label) > 1)
      fail(equation, fmt::format("the result has '{}' twice", label));
  }
  return parsed;
}

/// Takes diagonals until every label occurs once.
Labelled without_repeats(const std::string& equation, Labelled x) {
  for (size_t a = 0; a < x.labels.size(); ++a) {
    const size_t b = x.labels.find(x.labels[a], a + 1);
    if (b == Labels::npos) continue;
    const int first = static_cast<int>(a), second = static_cast<int>(b);
    if (x.tensor.dim(first) != x.tensor.dim(second))
      fail(equation, fmt::format("'{}' is both {} and {}", x.labels[a], x.tensor.dim(first),
                                 x.tensor.dim(second)));
    const char label = x.labels[a];
    x.labels.erase(b, 1).erase(a, 1);
    return without_repeats(equation, {diagonal(x.tensor, 0, first, second), x.labels + label});
  }
  return x;
}

/// The operand with axes in the order of `labels`, extent 1 where it has none.
Tensor aligned(const Labelled& x, const Labels& labels) {
  std::vector<int> order;
  for (char label : labels)
    if (size_t at = x.labels.find(label); at != Labels::npos) order.push_back(static_cast<int>(at));
  Tensor result = permute(x.tensor, order);
  for (size_t k = 0; k < labels.size(); ++k)
    if (x.labels.find(labels[k]) == Labels::npos) result = unsqueeze(result, static_cast<int>(k));
  return result;
}

/// Sums the last `count` axes.
Tensor sum_last(const Tensor& x, size_t count) {
  return count == 0
             ? x
             : build::apply(graph::Op::kSum, {x}, graph::ReduceAttribute{static_cast<int>(count)});
}

/// Splits labels into those that `needed` holds and the rest.
std::pair<Labels, Labels> kept_and_summed(const Labels& labels, const Labels& needed) {
  std::pair<Labels, Labels> parts;
  for (char label : labels)
    (needed.find(label) == Labels::npos ? parts.second : parts.first) += label;
  return parts;
}

void check_extents(const std::string& equation, const std::vector<Labelled>& operands) {
  std::map<char, Dim> extents;
  for (const Labelled& operand : operands)
    for (size_t k = 0; k < operand.labels.size(); ++k) {
      const Dim extent = operand.tensor.dim(static_cast<int>(k));
      auto [entry, added] = extents.try_emplace(operand.labels[k], extent);
      if (added || entry->second == extent || extent == Dim(1)) continue;
      if (entry->second != Dim(1))
        fail(equation,
             fmt::format("'{}' is both {} and {}", operand.labels[k], entry->second, extent));
      entry->second = extent;
    }
}

}  // namespace

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands) {
  if (operands.empty()) fail(equation, "needs at least one operand");
  build::check_same_graph("einsum", operands);
  const Equation parsed = parse(equation, operands);
  DType dtype = operands[0].dtype();
  for (const Tensor& operand : operands) dtype = promote(dtype, operand.dtype());
  if (graph::is_bool(dtype)) throw UserError("einsum", "is not defined for bool; cast to a number");

  std::vector<Labelled> parts;
  for (size_t k = 0; k < operands.size(); ++k)
    parts.push_back(
        without_repeats(equation, {build::widen(cast(operands[k], dtype)), parsed.operands[k]}));
  check_extents(equation, parts);

  Labelled product = parts[0];
  for (size_t k = 0; k < parts.size(); ++k) {
    Labels all = product.labels, needed = parsed.result;
    if (k > 0)
      for (char label : parts[k].labels)
        if (all.find(label) == Labels::npos) all += label;
    for (size_t later = k + 1; later < parts.size(); ++later) needed += parts[later].labels;
    const auto [kept, summed] = kept_and_summed(all, needed);
    Tensor value = aligned(product, kept + summed);
    if (k > 0) value = value * aligned(parts[k], kept + summed);
    product = {sum_last(value, summed.size()), kept};
  }
  Tensor result = cast(aligned(product, parsed.result), dtype);
  return build::named("einsum", operands, {{"equation", equation}}, result);
}

}  // namespace luminal
