// Reductions, scans, norms, sorting.
#include "rows.h"

namespace luminal::device_ops {
namespace {

using Reduction = std::function<Tensor(const Tensor& x, const Axes& axes, bool keepdims)>;

Row reduction(const std::string& op, const Reduction& reduce, Fill fill = Fill::kPlain) {
  return {"Reductions", op, [reduce, fill](Cell& cell) {
            cell.add("the last axis", reduce(cell.seen(Seen::kSliced, fill), -1, false));
            cell.add("the first axis", reduce(cell.seen(Seen::kWhole, fill), 0, true));
            cell.add("of n", reduce(cell.input({5, cell.n()}, fill), -1, false));
            const Tensor block = cell.input({3, 7, 5}, fill);
            cell.add("axes that are no neighbours", reduce(block, {0, 2}, false));
            if (!cell.thorough()) return;
            cell.add("less its own", block - reduce(block, {0, 2}, true));
            cell.add("n of axes that are no neighbours",
                     reduce(cell.input({cell.n(), 3, 2}, fill), {0, 2}, true));
            cell.add("all axes", reduce(cell.seen(Seen::kPadded, fill), {}, false));
            cell.add("n of 5", reduce(cell.input({cell.n(), 5}, fill), -1, true));
          }};
}

/// Positions of extremes need something to choose from. What is computed in more digits than it is
/// kept in must be compared as it is kept.
Row position(const std::string& op, Tensor (*function)(const Tensor&, std::optional<int>, bool)) {
  return {"Reductions", op, [function](Cell& cell) {
            cell.add("the last axis", function(cell.seen(Seen::kFlipped), -1, false));
            cell.add("the first axis", function(cell.seen(Seen::kPermuted), 0, true));
            cell.add("all axes", function(cell.seen(Seen::kWindows), std::nullopt, false));
            cell.add("of n + 1", function(cell.input({3, cell.n() + 1}), -1, false));
            const Tensor a = cell.input({7, 40}, Fill::kNearOne);
            const Tensor b = cell.input({40}, Fill::kNearOne);
            if (graph::is_bool(cell.dtype())) return;
            cell.add("of a product", function(a * b, -1, false), {});
            cell.add("of a product, the first axis", function(a * b + b, 0, true), {});
          }};
}

void add_reduction_functions(std::vector<Row>& rows) {
  rows.push_back(reduction("sum", sum));
  rows.push_back(reduction("prod", prod, Fill::kNearOne));
  rows.push_back(reduction("max", max, Fill::kRare));
  rows.push_back(reduction("min", min, Fill::kRare));
  rows.push_back(reduction("mean", mean));
  rows.push_back(reduction("any", any));
  rows.push_back(reduction("all", all));
  rows.push_back(reduction("logsumexp", logsumexp));
  rows.push_back(reduction(
      "var", [](const Tensor& x, const Axes& axes, bool keep) { return var(x, axes, 0, keep); }));
  rows.push_back(reduction("std", [](const Tensor& x, const Axes& axes, bool keep) {
    return luminal::std(x, axes, 1, keep);
  }));
  for (const double p : {2.0, 1.0})
    rows.push_back(reduction(
        p == 2.0 ? "norm" : "norm, p = 1",
        [p](const Tensor& x, const Axes& axes, bool keep) { return norm(x, p, axes, keep); }));
  rows.push_back(position("argmax", argmax));
  rows.push_back(position("argmin", argmin));
}

Row scan(const std::string& op, Tensor (*function)(const Tensor&, int), Fill fill) {
  return {"Scans", op,
          [function, fill](Cell& cell) {
            cell.add("short", function(transpose(cell.input({13, 3}, fill)), -1));
            if (!cell.thorough()) return;
            cell.add("the last axis", function(cell.seen(Seen::kReshaped, fill), -1));
            cell.add("the first axis", function(cell.seen(Seen::kSliced, fill), 0));
            cell.add("n", function(cell.input({2, cell.n()}, fill), 1));
          },
          kShortLengths};
}

using Norm = std::function<Tensor(Cell& cell, const Tensor& x)>;

/// A norm of x [rows, 65] along the last axis.
Row norm_row(const std::string& op, const Norm& norm) {
  return {"Norms", op,
          [norm](Cell& cell) {
            cell.add("n rows", norm(cell, cell.input({cell.n(), 65}, Fill::kPlain)));
            cell.add("whole", norm(cell, cell.seen(Seen::kWhole, Fill::kPlain)));
            if (!cell.thorough()) return;
            cell.add("permuted", norm(cell, cell.seen(Seen::kPermuted, Fill::kPlain)));
            cell.add("padded", norm(cell, cell.seen(Seen::kPadded, Fill::kPlain)));
          },
          kShortLengths};
}

Tensor parameter(Cell& cell, int64_t size) { return cell.input({size}, Fill::kNearOne); }

void add_norms(std::vector<Row>& rows) {
  for (const bool logarithm : {false, true}) {
    Row row = norm_row(logarithm ? "log_softmax" : "softmax", [=](Cell&, const Tensor& x) {
      return logarithm ? log_softmax(x) : softmax(x);
    });
    row.write = [=, inner = row.write](Cell& cell) {
      inner(cell);
      const auto function = logarithm ? log_softmax : softmax;
      cell.add("the first axis", function(cell.seen(Seen::kWhole, Fill::kPlain), 0));
      cell.add("of n", function(cell.input({3, cell.n()}, Fill::kPlain), -1));
    };
    rows.push_back(row);
  }
  rows.push_back(norm_row("layer_norm", [](Cell& cell, const Tensor& x) {
    return layer_norm(x, parameter(cell, 65), parameter(cell, 65));
  }));
  rows.push_back(norm_row(
      "rms_norm", [](Cell& cell, const Tensor& x) { return rms_norm(x, parameter(cell, 65)); }));
  rows.push_back(norm_row("mean_norm", [](Cell&, const Tensor& x) { return mean_norm(x); }));
  rows.push_back(norm_row("std_norm", [](Cell&, const Tensor& x) { return std_norm(x); }));
  rows.push_back(norm_row("normalize", [](Cell&, const Tensor& x) { return normalize(x); }));
  rows.push_back(norm_row("group_norm", [](Cell& cell, const Tensor& x) {
    return group_norm(split_dims(x, 1, {5, 13}), 1, parameter(cell, 5), parameter(cell, 5));
  }));
  rows.push_back(norm_row("batch_norm", [](Cell& cell, const Tensor& x) {
    return batch_norm(split_dims(x, 1, {5, 13}), parameter(cell, 5), parameter(cell, 5),
                      parameter(cell, 5), parameter(cell, 5));
  }));
  rows.back().write = [inner = rows.back().write](Cell& cell) {
    inner(cell);
    // With the statistics of the batch itself, as in training.
    const Tensor x = cell.input({cell.n() + 2, 3, 4, 5}, Fill::kPlain);
    cell.add("statistics of the batch", batch_norm(x, mean(x, {0, 2, 3}), var(x, {0, 2, 3}, 0),
                                                   parameter(cell, 3), parameter(cell, 3)));
  };
}

void add_sorting(std::vector<Row>& rows) {
  const auto both = [](const char* op, auto function) {
    return Row{"Sorting", op,
               [function](Cell& cell) {
                 for (const bool descending : {false, true}) {
                   const auto add = [&](const char* what, const Tensor& x, int axis) {
                     for (const Tensor& y : function(x, axis, descending))
                       cell.add(fmt::format("{}{}", what, descending ? ", descending" : ""), y, {});
                   };
                   add("the last axis", cell.seen(Seen::kFlipped), -1);
                   add("the first axis", cell.seen(Seen::kPermuted), 0);
                   add("n", cell.input({cell.n() + 4, 3}), 0);
                 }
               },
               kShortLengths};
  };
  rows.push_back(both("argsort", [](const Tensor& x, int axis, bool descending) {
    return std::vector{argsort(x, axis, descending)};
  }));
  rows.push_back(both("sort", [](const Tensor& x, int axis, bool descending) {
    const Sorted sorted = sort(x, axis, descending);
    return std::vector{sorted.values, sorted.indices};
  }));
  rows.push_back(both("topk", [](const Tensor& x, int axis, bool largest) {
    const Sorted top = topk(x, 3, axis, largest);
    return std::vector{top.values, top.indices};
  }));
}

}  // namespace

void add_reductions(std::vector<Row>& rows) {
  add_reduction_functions(rows);
  rows.push_back(scan("cumsum", cumsum, Fill::kPlain));
  rows.push_back(scan("cumprod", cumprod, Fill::kNearOne));
  rows.push_back(scan("cummax", cummax, Fill::kRare));
  rows.push_back(scan("cummin", cummin, Fill::kRare));
  add_norms(rows);
  add_sorting(rows);
}

}  // namespace luminal::device_ops
