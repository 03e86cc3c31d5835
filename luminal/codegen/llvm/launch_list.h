// The launches of a kernel that is made of several: values that are stored before the main launch
// go to temporaries, by whatever code suits them. Shared by the templates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// Tensors from here on are of the code's own. The first of them stand for sums while a kernel is
/// looked at.
inline constexpr uint32_t kFirstPrivateTensor = 0xE0000000;

/// A tensor that nobody else knows, for what is kept between launches of one kernel.
kernel::NodeId private_tensor(kernel::Arena& arena, const graph::TensorType& type);
/// One with an element for every position of some axes.
kernel::NodeId private_tensor(kernel::Arena& arena, graph::DType dtype,
                              std::span<const symbolic::Expr> axes);

/// Whether a body reads nothing but constants and weights.
bool is_constant(const kernel::Arena& arena, kernel::BodyId value, const CpuKernelOptions& options);

/// The launch of the kernel itself. The caller adds what its code is and how much there is to do.
struct MainLaunch {
  CpuLaunch launch;
  /// In the order of the entry's pointers: those of the kernel, then those that were stored.
  std::vector<kernel::NodeId> tensors;
  std::vector<std::string> dims;  ///< in the order of the entry's numbers
};

/// How a value is stored for the launches after it.
struct StoreOptions {
  int64_t slack = 64;       ///< bytes after the end of the tensor
  bool keep_order = false;  ///< of the axes: CpuKernelOptions
};

/// See above. Everything referred to must outlive it.
class LaunchList {
 public:
  LaunchList(kernel::Arena& arena, const CpuTarget& target, const CpuKernelOptions& options)
      : arena_(arena), target_(target), options_(options) {}

  /// Launches that store a value at all positions of some axes in a tensor of the code's own.
  void add_stored(const std::vector<symbolic::Expr>& axes, kernel::BodyId value,
                  kernel::NodeId tensor, std::vector<symbolic::Expr> store,
                  const StoreOptions& how = {});

  /// Makes room for a tensor of the code's own; whoever asks adds the launch that stores it.
  void reserve(kernel::NodeId tensor, int64_t slack = 64);

  /// What a pointer to a tensor points to.
  LaunchBuffer place(kernel::NodeId tensor) const;
  /// The tensors that were stored, in order of their ids.
  std::vector<kernel::NodeId> stored() const;

  /// The main launch of a kernel, after everything was stored. `code` names the code and all its
  /// choices: with the kernel it says what is compiled.
  MainLaunch main_launch(const kernel::Kernel& kernel, const std::string& entry,
                         const std::string& code) const;

  CpuKernel& kernel() { return result_; }

 private:
  kernel::Arena& arena_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  std::map<kernel::NodeId, size_t> temporary_of_;
  std::vector<kernel::NodeId> ahead_;  // those stored tensors that constants alone are in
  CpuKernel result_;
};

}  // namespace luminal::codegen
