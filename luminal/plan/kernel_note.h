// What the compiler knew of a kernel when it chose it, kept with the plan for those who explain it.
// Nothing here is needed to run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace luminal::plan {

/// A template that was asked for the code of a kernel and did not take it.
struct RefusedTemplate {
  std::string name;  ///< that of its family of schedules
  std::string why;   ///< reads on after "because"
};

/// Another way to compute the kernel, which was possible and not used.
struct OtherWay {
  std::string schedule;       ///< what its family would choose
  double estimated_us = 0.0;  ///< by the model that the kernel's own estimate is of; 0: see `why`
  std::string why;            ///< there is no estimate
};

/// Why a value that the kernel stores is stored, and not computed inside of what reads it.
struct Boundary {
  std::string value;                 ///< what it is called in the graph
  std::vector<std::string> readers;  ///< labels of the kernels that read it, each once
  /// What storing it and the kernels that read it take by the model, and what they would take if
  /// each of them computed it. 0: nothing was compared.
  double stored_us = 0.0;
  double fused_us = 0.0;  ///< see above
  std::string why;        ///< in words
  /// What would compute the first reader with the value inside, and templates that refuse to.
  std::string fused_way;
  std::vector<RefusedTemplate> refused;  ///< see above
};

/// See above.
struct KernelNote {
  std::string label;               ///< what it computes, in a few words
  std::vector<std::string> words;  ///< what is fused: named definitions, and ops beside them
  uint64_t nodes = 0;              ///< of the graph that it computes
  double estimated_us = 0.0;       ///< by the cost model
  double memory_bytes = 0.0;       ///< that have to be moved at least
  double flops = 0.0;              ///< a function counts as many additions as it takes
  double defined_flops = 0.0;      ///< what the definition takes if that is not what runs, else 0
  std::string identity;            ///< what its measurements are kept under: a hash
  std::string shapes;              ///< and the values of its dims
  std::vector<RefusedTemplate> refused = {};  ///< templates that were asked first
  std::vector<OtherWay> others = {};          ///< if they were asked for
  std::vector<Boundary> boundaries = {};      ///< likewise
  std::string loops = {};                     ///< likewise: those of its code, as text
};

}  // namespace luminal::plan
