// Walks an index map element by element in row-major order of its domain and says which source
// positions are read, as runs of equal stride. Affine maps cost little per run, however long it is;
// maps with floor-div and mod are evaluated at every element. All dims are numbers by now.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "luminal/graph/array.h"
#include "luminal/graph/elements.h"
#include "luminal/graph/view.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::graph {

/// A stretch of consecutive domain elements: read at a run of source positions, or filled because a
/// condition fails.
struct IndexRun {
  ElementRun elements;  ///< positions in the source
  bool filled = false;  ///< a condition fails: none is read
};

/// What replaces the named dims in one run of a program.
using DimBindings = std::vector<symbolic::Binding>;

/// The extents a shape has with these dims; throws UserError if one is negative.
Extents evaluate_shape(const Shape& shape, const DimBindings& dims);

/// See above.
class IndexWalker {
 public:
  /// Walks a view. Reading outside of the source (a slice that the dims of this run make too long)
  /// is a UserError that names `operation`.
  IndexWalker(const View& view, const DimBindings& dims, std::string operation);
  /// Walks the values of one expression over Expr::axis(k, shape[k]).
  IndexWalker(const Expr& value, const Shape& shape, const DimBindings& dims);

  const Extents& domain() const { return domain_; }  ///< extents of the view's domain
  int64_t size() const { return size_; }             ///< elements of the domain

  /// Replaces `runs` by those of the elements begin .. begin + count - 1.
  void walk(int64_t begin, int64_t count, std::vector<IndexRun>& runs) const;
  /// The source position one element reads, or nothing where it is filled.
  std::optional<int64_t> at(int64_t position) const;

 private:
  /// offset + sum of coefficients[k] * i_k.
  struct AffineForm {
    int64_t offset = 0;
    std::vector<int64_t> coefficients;
  };
  /// A value that must stay within 0 .. extent - 1.
  struct BoundedForm {
    AffineForm form;
    int64_t extent;
  };

  void build(std::vector<Expr> index, std::vector<Condition> conditions, const DimBindings& dims);
  bool build_affine(const std::vector<Expr>& index, const std::vector<Condition>& conditions);
  std::optional<AffineForm> affine_form(const Expr& expr) const;
  void build_general(const std::vector<Expr>& index, const std::vector<Condition>& conditions);
  void drop_checks_that_hold();
  void merge_axes();
  void decode(int64_t position, std::vector<int64_t>& index) const;
  void walk_affine(int64_t begin, int64_t count, std::vector<IndexRun>& runs) const;
  void walk_row(const std::vector<int64_t>& index, int64_t count,
                std::vector<IndexRun>& runs) const;
  void check_run(const std::vector<int64_t>& index, int64_t first, int64_t last) const;
  std::optional<int64_t> at_general(const std::vector<int64_t>& index) const;
  [[noreturn]] void fail_outside(size_t axis, int64_t value) const;

  std::string operation_;
  Extents source_;  // of the view; empty where values are walked
  bool checked_ = false;
  Extents domain_;
  int64_t size_ = 0;

  // The affine way: axes that all forms treat as one are merged.
  bool affine_ = false;
  Extents axes_;
  AffineForm position_;
  std::vector<BoundedForm> conditions_;
  std::vector<BoundedForm> checks_;  // index into each source axis, where it is not proved

  // The general way: index expressions, then condition values.
  std::optional<symbolic::CompiledExpr> compiled_;
  std::vector<size_t> slot_axes_;
  std::vector<int64_t> condition_extents_;
};

}  // namespace luminal::graph
