#include "luminal/kernel/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "luminal/kernel/contraction.h"
#include "luminal/kernel/laws.h"
#include "luminal/kernel/reads.h"
#include "luminal/kernel/update.h"
#include "luminal/support/error.h"

namespace luminal::kernel {
namespace {

/// Bytes that are loaded together do not miss one by one: reuse over this many iterations is near.
constexpr double kNearReuse = 128;

struct PathLoop {
  Expr axis;
  LoopRole role;
};
using Path = std::vector<PathLoop>;

double ceil_ratio(double extent, double tile) { return std::max(1.0, std::ceil(extent / tile)); }

bool has_online(const std::vector<Statement>& block) {
  return std::any_of(block.begin(), block.end(), [](const Statement& statement) {
    return statement.online || has_online(statement.body);
  });
}

/// What is counted, for both modes at once.
struct Counts {
  double cache = 0.0, vector = 0.0, functions = 0.0, matrix = 0.0;
  int passes = 0;
  size_t launches = 1;
};

class Counter {
 public:
  Counter(Arena& arena, const Nest& nest, const Machine& machine, const EstimateOptions& options)
      : arena_(arena), nest_(nest), machine_(machine), options_(options) {
    for (const RowBuffer& buffer : nest.buffers) leaves_.insert(buffer.read);
  }

  Estimate run() {
    Counts tiled = counted(true), rows = counted(false);
    const double bytes = memory_bytes();
    Estimate best = time_of(tiled, bytes, true);
    const Estimate by_rows = time_of(rows, bytes, false);
    if (by_rows.microseconds < best.microseconds) best = by_rows;
    return best;
  }

 private:
  double extent(const Expr& axis) {
    const auto [found, added] = extents_.try_emplace(axis.axis_id(), 0.0);
    if (added || extent_of_[axis.axis_id()] != axis) {
      extent_of_[axis.axis_id()] = axis;
      found->second = typical_value(axis.axis_extent(), options_);
    }
    return found->second;
  }

  Counts counted(bool tiled) {
    tiled_ = tiled;
    counts_ = {};
    computed_operands_.clear();
    other_reductions_ = false;
    Path path;
    block(nest_.body, path);
    // Operands that are computed, and what is found of a row for the epilogue.
    if (machine_.stores_operands && counts_.matrix > 0)
      counts_.launches += computed_operands_.size() + (other_reductions_ ? 1 : 0);
    return counts_;
  }

  void block(const std::vector<Statement>& statements, Path& path) {
    std::set<BodyId> seen;
    std::vector<BodyId> lets;
    for (const Statement& statement : statements) {
      switch (statement.kind) {
        case StatementKind::kLoop: {
          if (statement.role == LoopRole::kReduction && reduction_depth(path) == 0)
            ++counts_.passes;
          for (const Expr& axis : statement.axes) path.push_back({axis, statement.role});
          block(statement.body, path);
          path.resize(path.size() - statement.axes.size());
          break;
        }
        case StatementKind::kAccumulate:
        case StatementKind::kOnlineStep:
          accumulate(statement, path, seen);
          break;
        case StatementKind::kLet:
          visit(statement.value, path, seen);
          leaves_.insert(statement.value);
          lets.push_back(statement.value);
          break;
        case StatementKind::kStore:
        case StatementKind::kKeep:
          visit(statement.value, path, seen);
          break;
        case StatementKind::kReset:
        case StatementKind::kFinish:
        case StatementKind::kUnless:  // not in nests that are estimated
          break;
      }
    }
    for (BodyId let : lets) leaves_.erase(let);
  }

  static size_t reduction_depth(const Path& path) {
    return static_cast<size_t>(std::count_if(path.begin(), path.end(), [](const PathLoop& loop) {
      return loop.role == LoopRole::kReduction;
    }));
  }

  /// How often a node on this path is evaluated.
  double evaluations(const BodyNode& node, const Path& path) {
    // An operand of matrix units is made once for a tile, as it is loaded once.
    const bool load = node.kind == BodyKind::kLoad || is_matrix_operand_;
    size_t used = path.size();  // loops below the deepest that it uses are hoisted out of
    if (load)
      while (used > 0 && !contains(node.free, path[used - 1].axis)) --used;
    double count = 1.0;
    for (size_t k = 0; k < used; ++k) {
      const double n = extent(path[k].axis);
      if (contains(node.free, path[k].axis))
        count *= n;
      else if (path[k].role == LoopRole::kReduction)
        count *= load ? ceil_ratio(n, kNearReuse) : n;
      else if (tiled_)
        count *= ceil_ratio(n, static_cast<double>(machine_.tile));
      else if (path[k].role == LoopRole::kRow)
        count *= n;
      else
        count *= load ? ceil_ratio(n, kNearReuse) : n;
    }
    if (!tiled_) return count;
    double tiles = 1.0;
    for (const Expr& axis : nest_.kernel.axes) {
      const bool around = std::any_of(path.begin(), path.begin() + static_cast<long>(used),
                                      [&](const PathLoop& loop) { return loop.axis == axis; });
      if (!around && !contains(node.free, axis))
        tiles *= ceil_ratio(extent(axis), static_cast<double>(machine_.tile));
    }
    return count *
           (machine_.persistent ? std::min(tiles, static_cast<double>(machine_.units)) : tiles);
  }

  void visit(BodyId id, const Path& path, std::set<BodyId>& seen) {
    if (leaves_.contains(id) || !seen.insert(id).second) return;
    const BodyNode& node = arena_[id];
    if (node.kind == BodyKind::kReduce) return;
    if (node.kind == BodyKind::kLoad)
      counts_.cache += evaluations(node, path) * graph::bits(node.dtype) / 8.0;
    if (node.kind == BodyKind::kOp && !is_widened_load(node)) {
      const bool is_costly = is_function(node.op) || node.op == Op::kMod;
      (is_costly ? counts_.functions : counts_.vector) += weight(node.op) * evaluations(node, path);
    }
    if (node.kind == BodyKind::kWhere)
      counts_.vector += static_cast<double>(node.exprs.size()) * evaluations(node, path);
    for (BodyId child : node.children) visit(child, path, seen);
    for (BodyId value : node.index_values) visit(value, path, seen);
  }

  /// Narrow floats are widened while they are loaded: keeping them wide instead takes more bytes
  /// and gains nothing.
  bool is_widened_load(const BodyNode& node) const {
    if (node.op != Op::kCast) return false;
    const BodyNode& from = arena_[node.children[0]];
    return from.kind == BodyKind::kLoad && graph::is_float(from.dtype) &&
           graph::is_float(node.dtype) && graph::bits(from.dtype) < graph::bits(node.dtype);
  }

  /// In additions; functions and what costs as much in functions.
  static double weight(Op op) {
    switch (op) {
      case Op::kCast:
      case Op::kBitcast:
        return 0.5;
      case Op::kRecip:
      case Op::kSqrt:
      case Op::kDiv:
        return 4.0;
      default:
        return 1.0;
    }
  }

  /// The last product and the addition of a contraction are matrix work if its extents allow.
  void accumulate(const Statement& statement, const Path& path, std::set<BodyId>& seen) {
    double steps = 1.0;
    for (const PathLoop& loop : path) steps *= extent(loop.axis);
    // Rescaling is done once per tile of the pass.
    if (statement.rescale_by) counts_.vector += steps / static_cast<double>(machine_.tile);
    if (!on_matrix_units(statement, path)) {
      const BodyId reduction = nest_.accumulators[statement.accumulator].reduction;
      const bool nested = reduction_depth(path) > arena_[reduction].exprs.size();
      const bool helped = nest_has_online_ && machine_.matrix_in_online;
      other_reductions_ = true;
      counts_.vector += steps * (nested && !helped ? machine_.nested_step : 1.0);
      visit(statement.value, path, seen);
      return;
    }
    counts_.matrix += 2.0 * steps;
    const BodyNode& product = arena_[statement.value];
    seen.insert(statement.value);
    const bool tiled = std::exchange(tiled_, true);
    is_matrix_operand_ = true;
    for (BodyId child : product.children) {
      const BodyId operand = before_widening(child);
      if (arena_[operand].kind != BodyKind::kLoad) computed_operands_.insert(operand);
      visit(operand, path, seen);
    }
    is_matrix_operand_ = false;
    tiled_ = tiled;
  }

  /// Matrix units take narrow operands as they are: keeping them wide gains nothing.
  BodyId before_widening(BodyId id) const {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kOp || node.op != Op::kCast) return id;
    const DType from = arena_[node.children[0]].dtype;
    const bool floats = graph::is_float(from) && graph::is_float(node.dtype);
    const bool integers = graph::is_integer(from) && graph::is_integer(node.dtype) &&
                          graph::is_unsigned(from) == graph::is_unsigned(node.dtype);
    const bool widens = (floats || integers) && graph::bits(from) < graph::bits(node.dtype);
    return widens ? before_widening(node.children[0]) : id;
  }

  bool on_matrix_units(const Statement& statement, const Path& path) {
    const BodyNode& product = arena_[statement.value];
    const BodyId reduction = nest_.accumulators[statement.accumulator].reduction;
    if (product.kind != BodyKind::kOp || product.op != Op::kMul) return false;
    const auto matched = contraction(reduction);
    if (!matched) return false;
    double m = 1.0, n = 1.0;
    for (const Expr& axis : matched->m) m *= extent(axis);
    for (const Expr& axis : matched->n) n *= extent(axis);
    const auto smallest = static_cast<double>(machine_.smallest_matrix);
    if (m < smallest || n < smallest) return false;
    if (tiled_)
      return inside_online(path) ||
             (!is_nested(path, matched->k.size()) && has_all_outputs(*matched));
    // Row by row there is no tile of M, unless a row is a tile: the online pass.
    return inside_online(path);
  }

  bool inside_online(const Path& path) const {
    return machine_.matrix_in_online && nest_has_online_ && reduction_depth(path) > 0;
  }

  /// A product that lacks an output axis is no matrix product with an epilogue: what uses it would
  /// have to be written out along that axis.
  bool has_all_outputs(const Contraction& matched) {
    const auto has = [](const std::vector<Expr>& axes, const Expr& axis) {
      return std::find(axes.begin(), axes.end(), axis) != axes.end();
    };
    return std::all_of(nest_.kernel.axes.begin(), nest_.kernel.axes.end(), [&](const Expr& axis) {
      return has(matched.m, axis) || has(matched.n, axis) || has(matched.batch, axis);
    });
  }

  /// Under bound axes (not counting its own) of more iterations than the machine allows.
  bool is_nested(const Path& path, size_t own) {
    double outer = 1.0;
    const size_t depth = reduction_depth(path);
    size_t seen = 0;
    for (const PathLoop& loop : path) {
      if (loop.role != LoopRole::kReduction) continue;
      if (seen++ + own < depth) outer *= extent(loop.axis);
    }
    return outer > static_cast<double>(machine_.matrix_nesting);
  }

  const std::optional<Contraction>& contraction(BodyId reduction) {
    const auto found = contractions_.find(reduction);
    if (found != contractions_.end()) return found->second;
    return contractions_.emplace(reduction, match_contraction(arena_, reduction)).first->second;
  }

  /// Each tensor as far as it is read, once; and what is written.
  double memory_bytes() {
    std::vector<BodyId> values;
    for (const Root& root : nest_.kernel.roots) values.push_back(root.value);
    double bytes = bytes_read(arena_, values, [&](const Expr& size) {
      return size.is_axis() ? extent(size) : typical_value(size, options_);
    });
    double points = 1.0;
    for (const Expr& axis : nest_.kernel.axes) points *= extent(axis);
    for (const Root& root : nest_.kernel.roots)
      bytes += points * graph::bits(arena_.tensor(root.tensor).dtype) / 8.0;
    return bytes;
  }

  /// The share of the device that has something to do.
  double utilisation(const Counts& counts, bool tiled) {
    double rows = 1.0, points = 1.0, steps = 1.0;
    for (const Expr& axis : nest_.kernel.axes) points *= extent(axis);
    for (const Statement* statement = first_loop(nest_.body); statement != nullptr;
         statement = first_loop(statement->body)) {
      if (statement->role == LoopRole::kRow)
        for (const Expr& axis : statement->axes) rows *= extent(axis);
    }
    for (const Accumulator& accumulator : nest_.accumulators) {
      double own = 1.0;
      for (const Expr& axis : arena_[accumulator.reduction].exprs) own *= extent(axis);
      steps = std::max(steps, own);
    }
    const auto units = static_cast<double>(machine_.units);
    const auto threads = static_cast<double>(machine_.row_threads);
    // A reduction can be split over threads; a row is one unit's work.
    const double work = points * std::min(steps, threads) / threads;
    double blocks = tiled ? work : std::min(rows, work);
    if (tiled && counts.matrix > 0) {
      // Smaller tiles and split sums fill a device that large tiles would leave idle.
      const double tile = static_cast<double>(machine_.tile) / 2;
      blocks = std::max(points / (tile * tile), 1.0) * std::clamp(steps / 256, 1.0, 8.0);
    }
    return std::clamp(blocks / units, 1.0 / units, 1.0);
  }

  static const Statement* first_loop(const std::vector<Statement>& block) {
    for (const Statement& statement : block)
      if (statement.kind == StatementKind::kLoop && statement.role != LoopRole::kReduction)
        return &statement;
    return nullptr;
  }

  Estimate time_of(const Counts& counts, double bytes, bool tiled) {
    Estimate result;
    result.memory_bytes = bytes;
    result.cache_bytes = counts.cache;
    result.vector_flops = counts.vector + machine_.transcendental_flops * counts.functions;
    result.matrix_flops = counts.matrix;
    result.tiled = tiled;
    result.launches = counts.launches;
    result.work = {.launches = static_cast<double>(counts.launches),
                   .passes = static_cast<double>(counts.passes),
                   .memory_bytes = bytes,
                   .cache_bytes = counts.cache,
                   .vector_flops = counts.vector,
                   .functions = counts.functions,
                   .matrix_flops = counts.matrix,
                   .used = utilisation(counts, tiled)};
    result.microseconds = microseconds(result.work, machine_);
    return result;
  }

  Arena& arena_;
  const Nest& nest_;
  const Machine& machine_;
  const EstimateOptions& options_;
  bool tiled_ = false;
  bool is_matrix_operand_ = false;
  bool nest_has_online_ = has_online(nest_.body);
  Counts counts_;
  std::set<BodyId> leaves_;
  std::set<BodyId> computed_operands_;
  bool other_reductions_ = false;
  std::map<int64_t, double> extents_;
  std::map<int64_t, Expr> extent_of_;
  std::map<BodyId, std::optional<Contraction>> contractions_;
};

}  // namespace

bool is_function(Op op) {
  switch (op) {
    case Op::kExp:
    case Op::kExp2:
    case Op::kLog:
    case Op::kLog2:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
    case Op::kErf:
    case Op::kAtan:
    case Op::kPow:
      return true;
    default:
      return false;
  }
}

double microseconds(const Work& work, const Machine& machine) {
  const double vector = work.vector_flops + machine.transcendental_flops * work.functions;
  const double compute =
      (work.matrix_flops / machine.matrix_flops) + (vector / machine.vector_flops);
  const double memory = work.memory_bytes / machine.memory_bytes;
  const double cache = work.cache_bytes / machine.cache_bytes;
  const double seconds = overlapped({memory, cache, compute}) / work.used;
  return machine.launch_us * work.launches + machine.pass_us * work.passes + 1e6 * seconds;
}

Machine Machine::h200() { return {.name = "h200"}; }

Machine Machine::cpu(int64_t cores) {
  const auto n = static_cast<double>(cores);
  return {
      .name = "cpu",
      .launch_us = 3.0,
      .pass_us = 0.1,
      .memory_bytes = 12e9 * n,
      .cache_bytes = 120e9 * n,
      .vector_flops = 40e9 * n,
      .matrix_flops = 80e9 * n,
      .transcendental_flops = 12,
      .units = cores,
      .tile = 128,
      .row_threads = 8,
      .persistent = true,
      .smallest_matrix = 4,
      // The code of a product is a kernel of its own; under another reduction it is plain loops.
      .matrix_nesting = 1,
      .nested_step = 100,
      .stores_operands = true};
}

double overlapped(std::initializer_list<double> times) {
  // The share of what is not the bottleneck that adds to the time all the same.
  constexpr double kNotOverlapped = 0.2;
  double sum = 0;
  for (const double time : times) sum += time;
  const double longest = std::max(times);
  return longest + kNotOverlapped * (sum - longest);
}

double typical_value(const Expr& expr, const EstimateOptions& options) {
  if (const auto number = expr.constant_value()) return static_cast<double>(*number);
  symbolic::Values values;
  for (const Expr& variable : expr.variables()) {
    const auto given = options.dims.find(variable.name());
    const symbolic::Interval bounds = variable.bounds();
    values[variable.name()] = given != options.dims.end()
                                  ? given->second
                                  : std::clamp(options.typical_dim, bounds.lo, bounds.hi);
  }
  try {
    return static_cast<double>(std::max<int64_t>(0, symbolic::evaluate(expr, values)));
  } catch (const UserError&) {
    return 1.0;  // divides by a dim that happens to be 0
  }
}

Estimate estimate_nest(Arena& arena, const Nest& nest, const Machine& machine,
                       const EstimateOptions& options) {
  return Counter(arena, nest, machine, options).run();
}

Estimate estimate(Arena& arena, const Kernel& kernel, const Machine& machine,
                  const EstimateOptions& options) {
  Kernel plain = kernel;
  std::optional<NodeId> in_place_of;
  if (auto update = match_region_update(arena, kernel)) {
    plain = std::move(update->kernel);
    in_place_of = update->updated;
  }
  std::vector<Kernel> variants{plain};
  for (const Law& law : all_laws()) {
    if (!options.reassociate && law.numeric_class != NumericClass::kExact) continue;
    // Laws build on each other: factoring may leave something to unroll.
    if (auto changed = law.apply(arena, variants.back())) variants.push_back(std::move(*changed));
  }
  std::optional<Estimate> best;
  for (const Kernel& variant : variants) {
    for (bool online : {true, false}) {
      if (online && !options.reassociate) continue;
      NestOptions nest_options{.online = online};
      const Nest nest = build_nest(arena, variant, nest_options);
      Estimate candidate = estimate_nest(arena, nest, machine, options);
      candidate.kernel = variant;
      candidate.nest = nest_options;
      if (!best || candidate.microseconds < best->microseconds) best = std::move(candidate);
      if (!has_online(nest.body)) break;  // without the online law it is the same nest
    }
  }
  best->in_place_of = in_place_of;
  return *best;
}

}  // namespace luminal::kernel
