// Classes of the backend that are built here have other members where the library checks itself,
// and the library was built without.
#ifndef NDEBUG
#define NDEBUG
#endif
#include "luminal/codegen/llvm/instruction_order.h"

#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/MachineScheduler.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/Support/CommandLine.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "luminal/support/check.h"

namespace luminal::codegen {
namespace {

constexpr const char* kAttribute = "luminal-staggered-chains";

/// Orders the instructions of a block from its top, where it has chains to stagger.
class StaggeredChains : public llvm::GenericScheduler {
 public:
  using GenericScheduler::GenericScheduler;

  void initialize(llvm::ScheduleDAGMI* dag) override {
    GenericScheduler::initialize(dag);
    units_ = &dag->SUnits;
    registers_ = &dag->MRI;
    tri_ = dag->TRI;
    ready_.clear();
    staggers_ = stagger();
  }

  llvm::SUnit* pickNode(bool& is_top) override {
    if (!staggers_) return GenericScheduler::pickNode(is_top);
    if (ready_.empty()) return nullptr;
    is_top = true;
    const auto next = std::min_element(ready_.begin(), ready_.end(),
                                       [&](const llvm::SUnit* a, const llvm::SUnit* b) {
                                         return comes_before(a->NodeNum, b->NodeNum);
                                       });
    llvm::SUnit* unit = *next;
    ready_.erase(next);
    return unit;
  }

  void schedNode(llvm::SUnit* unit, bool is_top) override {
    if (!staggers_) GenericScheduler::schedNode(unit, is_top);
  }
  void releaseTopNode(llvm::SUnit* unit) override {
    if (staggers_)
      ready_.push_back(unit);
    else
      GenericScheduler::releaseTopNode(unit);
  }
  void releaseBottomNode(llvm::SUnit* unit) override {
    if (!staggers_) GenericScheduler::releaseBottomNode(unit);
  }

 private:
  bool comes_before(size_t a, size_t b) const {
    return times_[a] != times_[b] ? times_[a] < times_[b] : a < b;
  }

  /// Whether an edge hands on a value of a vector register.
  bool is_vector_value(const llvm::SDep& edge) const {
    return edge.getKind() == llvm::SDep::Data && edge.getReg() != 0 && is_vector(edge.getReg());
  }
  bool is_vector(llvm::Register reg) const {
    constexpr unsigned kLeastBits = 128;
    return reg.isVirtual() && tri_->getRegSizeInBits(*registers_->getRegClass(reg)) >= kLeastBits;
  }

  /// Which instructions lead, by vectors alone, to one that is stored or needed after the block:
  /// others only test what chains have, and those that test all of them join none.
  std::vector<bool> find_results() const {
    std::vector<bool> result(units_->size(), false);
    for (const llvm::SUnit& unit : llvm::reverse(*units_)) {
      bool is_used = false;
      bool leads_on = unit.getInstr()->mayStore();
      for (const llvm::SDep& edge : unit.Succs) {
        is_used = is_used || edge.getKind() == llvm::SDep::Data;
        if (is_vector_value(edge))
          leads_on =
              leads_on || edge.getSUnit()->isBoundaryNode() || result[edge.getSUnit()->NodeNum];
      }
      const bool makes_vector =
          llvm::any_of(unit.getInstr()->operands(), [&](const llvm::MachineOperand& operand) {
            return operand.isReg() && operand.isDef() && is_vector(operand.getReg());
          });
      result[unit.NodeNum] = leads_on || (makes_vector && !is_used);
    }
    return result;
  }

  /// Numbers what is joined by vectors, in the order of the source; gives how many there are that
  /// are long.
  int find_chains() {
    const size_t count = units_->size();
    std::vector<size_t> parent(count);
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    const std::vector<bool> leads_on = find_results();
    for (const llvm::SUnit& unit : *units_)
      for (const llvm::SDep& edge : unit.Preds)
        if (is_vector_value(edge) && leads_on[unit.NodeNum]) {
          const size_t a = root(edge.getSUnit()->NodeNum);
          const size_t b = root(unit.NodeNum);
          parent[std::max(a, b)] = std::min(a, b);
        }
    std::vector<int> members(count, 0);
    for (size_t i = 0; i < count; ++i) ++members[root(i)];
    chain_.assign(count, -1);
    int chains = 0;
    longest_ = 0;
    for (size_t i = 0; i < count; ++i) {
      if (root(i) != i) chain_[i] = chain_[root(i)];
      if (root(i) != i || members[i] < kLeastInstructions) continue;
      chain_[i] = chains++;
      longest_ = std::max(longest_, members[i]);
    }
    return chains;
  }

  /// When each instruction starts if a chain begins `skew` cycles after the one before.
  void set_times(double skew) {
    const size_t count = units_->size();
    times_.assign(count, 0.0);
    for (llvm::SUnit& unit : *units_)
      times_[unit.NodeNum] = unit.getDepth() + skew * std::max(0, chain_[unit.NodeNum]);
    // What joins chains follows the last of them.
    for (llvm::SUnit& unit : *units_)
      for (const llvm::SDep& edge : unit.Preds)
        if (!edge.getSUnit()->isBoundaryNode())
          times_[unit.NodeNum] =
              std::max(times_[unit.NodeNum], times_[edge.getSUnit()->NodeNum] + edge.getLatency());
    // What waits for nothing is not begun before it is needed.
    for (llvm::SUnit& unit : llvm::reverse(*units_)) {
      if (!unit.Preds.empty()) continue;
      double first = -1;
      for (const llvm::SDep& edge : unit.Succs)
        if (!edge.getSUnit()->isBoundaryNode()) {
          const double at = times_[edge.getSUnit()->NodeNum] - edge.getLatency();
          first = first < 0 ? at : std::min(first, at);
        }
      times_[unit.NodeNum] = std::max(times_[unit.NodeNum], first);
    }
  }

  /// Vectors that are held at once in this order, those from outside included.
  int most_vectors() const {
    std::vector<size_t> order(units_->size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return comes_before(a, b); });
    std::vector<size_t> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<int> change(order.size() + 1, 0);
    llvm::SmallVector<llvm::Register, 16> outside;
    for (const llvm::SUnit& unit : *units_) {
      bool is_defined = false;
      size_t last = place[unit.NodeNum];
      for (const llvm::SDep& edge : unit.Succs)
        if (is_vector_value(edge)) {
          is_defined = true;
          last = edge.getSUnit()->isBoundaryNode()
                     ? order.size()
                     : std::max(last, place[edge.getSUnit()->NodeNum]);
        }
      if (is_defined) {
        ++change[place[unit.NodeNum]];
        --change[last];
      }
      for (const llvm::MachineOperand& operand : unit.getInstr()->operands()) {
        if (!operand.isReg() || !operand.isUse() || !is_vector(operand.getReg())) continue;
        const bool is_inside =
            std::any_of(unit.Preds.begin(), unit.Preds.end(), [&](const llvm::SDep& edge) {
              return is_vector_value(edge) && edge.getReg() == operand.getReg();
            });
        if (!is_inside && !llvm::is_contained(outside, operand.getReg()))
          outside.push_back(operand.getReg());
      }
    }
    int held = static_cast<int>(outside.size());
    int most = held;
    for (const int each : change) most = std::max(most, held += each);
    return most;
  }

  bool stagger() {
    if (find_chains() < 2) return false;
    // Two instructions start in a cycle at best. Chains that follow closer than that takes fill
    // the gaps of those before them, and need more registers.
    for (double skew = longest_ / 3.0; skew < longest_; skew *= 1.1) {
      set_times(skew);
      if (most_vectors() <= kRegisters) return true;
    }
    return false;
  }

  static constexpr int kLeastInstructions = 8;
  static constexpr int kRegisters = 32;

  std::vector<llvm::SUnit>* units_ = nullptr;
  const llvm::MachineRegisterInfo* registers_ = nullptr;
  const llvm::TargetRegisterInfo* tri_ = nullptr;
  bool staggers_ = false;
  std::vector<int> chain_;     // by instruction; -1: none
  int longest_ = 0;            // instructions of a chain
  std::vector<double> times_;  // by instruction
  std::vector<llvm::SUnit*> ready_;
};

llvm::ScheduleDAGInstrs* make_scheduler(llvm::MachineSchedContext* context) {
  if (!context->MF->getFunction().hasFnAttribute(kAttribute)) {
    llvm::ScheduleDAGInstrs* usual = context->PassConfig->createMachineScheduler(context);
    return usual != nullptr ? usual : llvm::createGenericSchedLive(context);
  }
  auto* dag = new llvm::ScheduleDAGMILive(context, std::make_unique<StaggeredChains>(context));
  dag->addMutation(llvm::createCopyConstrainDAGMutation(dag->TII, dag->TRI));
  return dag;
}

}  // namespace

void use_instruction_order() {
  using Constructor = llvm::MachineSchedRegistry::ScheduleDAGCtor;
  using Option =
      llvm::cl::opt<Constructor, false, llvm::RegisterPassParser<llvm::MachineSchedRegistry>>;
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("misched");
  LUMINAL_CHECK(found != options.end(), "the backend has no choice of schedulers");
  static_cast<Option*>(found->second)->setValue(&make_scheduler);
}

void ask_for_staggered_chains(llvm::Function& function) { function.addFnAttr(kAttribute); }

}  // namespace luminal::codegen
