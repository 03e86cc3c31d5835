// The register tile of convolutions: that of products (gemm_tile.h), run over all steps of the
// window. Where pixels run along the lanes, short windows are written out step by step; where
// filters do, one loop runs over all steps, and a table says where each is in the image.
#pragma once

#include "luminal/codegen/llvm/convolution_emitter.h"
#include "luminal/codegen/llvm/gemm_tile.h"

namespace luminal::codegen {

/// See above. `rows` of `columns`, all of which are there.
class WindowTile : public GemmTile {
 public:
  WindowTile(VectorBuilder& builder, const ConvolutionCode& code, int rows, int columns)
      : GemmTile(builder, code.spec, rows, columns, true), code_(code) {}

 protected:
  Carried run_over_k(const Carried& initial) override;
  llvm::Value* a_row_bytes() override;

 private:
  int64_t bytes() const { return layout_.unit_bytes(); }
  bool pixels_along() const { return code_.blocks.along == ConvolutionLanes::kPixels; }
  int64_t steps_from(size_t axis) const;
  Carried multiply_at(llvm::ArrayRef<llvm::Value*> sums, llvm::Value* filter, llvm::Value* image);
  /// All steps of axis number `axis` and those inside of it.
  Carried over(size_t axis, const Carried& sums, llvm::Value* filter, llvm::Value* image);
  /// A loop over steps that lie at these elements of the image, and evenly in the filter.
  Carried loop_over(const std::vector<int64_t>& image_steps, int64_t filter_step,
                    const Carried& sums, llvm::Value* filter, llvm::Value* image,
                    llvm::function_ref<Carried(const Carried&, llvm::Value*, llvm::Value*)> each);
  std::vector<int64_t> all_places_from(size_t axis) const;
  llvm::Value* table(const std::vector<int64_t>& places);

  const ConvolutionCode& code_;
};

}  // namespace luminal::codegen
