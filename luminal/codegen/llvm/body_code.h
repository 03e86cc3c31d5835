// Bodies (kernel/body.h) as vector code at one place of a kernel: axes have positions, some of them
// run along the lanes, and what was computed elsewhere (sums) is given. Loads are whole, masked,
// broadcast or gathered as their index says, and never leave their tensor.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/body_values.h"

namespace luminal::codegen {

/// See above. Values are remembered per scope; a scope must be opened wherever code is written that
/// does not run before what follows it (loop bodies, branches).
class BodyCode final : private BodyValues {
 public:
  /// The roots are what values end in: functions have no more digits than these keep.
  BodyCode(VectorBuilder& builder, const kernel::Arena& arena, const OpCode::Options& options,
           std::span<const kernel::Root> roots);

  /// Where a tensor lies, what a dim is.
  void set_buffer(kernel::NodeId tensor, llvm::Value* pointer) { buffers_[tensor] = pointer; }
  void set_dim(const std::string& name, llvm::Value* value) { dims_[name] = value; }
  llvm::Value* buffer(kernel::NodeId tensor) const { return buffers_.at(tensor); }
  /// The position of an axis that is the same in all lanes. Not for the constant 0 that an axis of
  /// one element is.
  void set_axis(const symbolic::Expr& axis, llvm::Value* position);

  /// Spreads an axis over the lanes from `first` on, every `step`-th position of it. Lanes outside
  /// of the mask (null: none) are not loaded.
  void spread(const symbolic::Expr& axis, llvm::Value* first, int lanes, llvm::Value* mask,
              int step = 1);
  /// Spreads several axes, outermost first, over the lanes as if they were one: lane i is position
  /// first + i of the row-major order. `one_run` promises that all lanes have the same outer axes.
  void spread(std::span<const symbolic::Expr> axes, llvm::Value* first, int lanes,
              llvm::Value* mask, bool one_run);
  /// No axis runs along the lanes.
  void gather_up();
  /// Sets axes from their common row-major position.
  void set_axes(std::span<const symbolic::Expr> axes, llvm::Value* position);

  /// To be called before a loop over `axis` that computes `root` with the lanes as they are: works
  /// out here which lanes loads have and where they begin. Holds until forget_loop().
  void prepare_loop(kernel::BodyId root, const symbolic::Expr& axis);
  void forget_loop() { prepared_.clear(); }

  /// The value of a body computed elsewhere, for this scope.
  void define(kernel::BodyId id, llvm::Value* value) { known_.back()[id] = value; }
  /// The value of a body: of one lane if it is the same in all.
  llvm::Value* value(kernel::BodyId id) { return value_of(id); }
  /// The same with all lanes.
  llvm::Value* wide_value(kernel::BodyId id);
  /// An index expression at the current place.
  llvm::Value* index(const symbolic::Expr& expr) { return index_.emit(expr); }
  /// Stores a root's value where it belongs. Streaming stores go past the caches; whoever asks for
  /// one knows that its lanes are neighbours and aligned.
  void store(const kernel::Root& root, llvm::Value* value, bool streaming = false);

  /// A scope while it lives.
  class Scope {
   public:
    explicit Scope(BodyCode& code) : code_(code) { code_.known_.emplace_back(); }
    ~Scope() { code_.known_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    BodyCode& code_;
  };

  ElementCode& elements() { return code_; }
  int lanes() const { return lanes_; }

 private:
  /// Neighbouring lanes whose innermost axis runs on: positions that lane 0 would have.
  struct Run {
    std::map<int64_t, llvm::Value*> first;
    llvm::Value* mask = nullptr;  // its lanes; null: all
  };
  MathAccuracy accuracy_of(kernel::BodyId id) const override;
  llvm::Value* where(const kernel::BodyNode& node) override;
  llvm::Value* held(kernel::BodyId /*id*/) override { return nullptr; }
  llvm::Value* in_range(std::span<const symbolic::Expr> index, const graph::Shape& shape,
                        std::span<const symbolic::Expr> tests);
  /// What a load inside of a loop has from before it, per run.
  struct PreparedLoad {
    symbolic::Expr axis;
    llvm::Value* stride;
    std::vector<llvm::Value*> first;  // at position 0 of the axis
    std::vector<llvm::Value*> masks;  // null: all lanes
  };
  void prepare_load(kernel::BodyId id, std::span<const symbolic::Expr> tests,
                    const symbolic::Expr& axis);
  llvm::Value* load_prepared(const kernel::BodyNode& node, const PreparedLoad& prepared);
  llvm::Value* load(kernel::BodyId id) override { return guarded_load(id, nullptr, {}); }
  llvm::Value* guarded_load(kernel::BodyId id, llvm::Value* guard,
                            std::span<const symbolic::Expr> tests);
  bool pads_with_zeros(const kernel::BodyNode& where) const;
  llvm::Value* load_runs(graph::DType dtype, llvm::Value* base, const symbolic::Expr& position,
                         llvm::Value* mask);
  llvm::Value* symbol(const symbolic::Expr& expr) override;
  llvm::Value* lane_positions(const symbolic::Expr& axis);
  llvm::Value* index_of_run(const Run& run, const symbolic::Expr& expr);
  bool is_spread(const symbolic::Expr& axis) const;
  bool depends_on_lanes(const symbolic::Expr& expr) const;
  bool gathers(const symbolic::Expr& expr) const;
  bool is_contiguous(graph::DType dtype, const symbolic::Expr& position, bool masked) const;
  std::optional<int> short_stride(graph::DType dtype, const symbolic::Expr& position) const;

  std::set<kernel::BodyId> few_digits_;
  int lanes_ = 1;
  int step_ = 1;  // from lane to lane
  std::vector<symbolic::Expr> lane_axes_;
  std::map<int64_t, llvm::Value*> lane_positions_;
  std::vector<Run> runs_;
  std::map<kernel::BodyId, PreparedLoad> prepared_;
  const Run* run_ = nullptr;  // index expressions mean lane 0 of it
  llvm::Value* mask_ = nullptr;
};

}  // namespace luminal::codegen
