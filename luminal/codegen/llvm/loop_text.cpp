#include "luminal/codegen/llvm/loop_text.h"

#include <fmt/format.h>

#include "luminal/codegen/llvm/attention_kernel.h"
#include "luminal/codegen/llvm/contraction_kernel.h"
#include "luminal/codegen/llvm/contraction_plan.h"
#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/gemm.h"
#include "luminal/codegen/llvm/nest_choices.h"
#include "luminal/codegen/llvm/nest_launches.h"
#include "luminal/codegen/llvm/scan_kernel.h"
#include "luminal/codegen/llvm/winograd_code.h"

namespace luminal::codegen {
namespace {

using symbolic::Expr;

/// "8 x 12": axes that are walked together.
std::string extents_text(const std::vector<Expr>& axes) {
  std::string text;
  for (const Expr& axis : axes)
    text += (text.empty() ? "" : " x ") + to_string(axis.is_axis() ? axis.axis_extent() : Expr(1));
  return text.empty() ? "1" : text;
}

class LoopText {
 public:
  LoopText(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuKernel& code,
           const std::vector<bool>& small, const CpuTarget& target, const CpuKernelOptions& options)
      : arena_(arena),
        kernel_(kernel),
        code_(code),
        small_(small),
        target_(target),
        options_(options) {}

  std::string run() {
    const std::string& family = code_.schedule.family();
    const size_t main =
        code_.launches.size() - (code_.schedule.find("split").value_or(1) > 1 ? 2 : 1);
    for (size_t k = 0; k < main; ++k) launch_before(code_.launches[k], small_[k]);
    if (family == kNestFamily || family == kScanFamily) return text_ + nest();
    dealt_out(code_.launches[main]);
    ++depth_;
    if (family == kGemmFamily || family == kGemmBlocksFamily) gemm();
    if (family == kGemvFamily) gemv();
    if (family == kAttentionFamily) attention();
    if (family == kAttentionMatricesFamily) attention_matrices();
    if (family == kAttentionRunsFamily) attention_runs();
    if (family == kConvolutionFamily) convolution();
    if (family == kWinogradFamily) winograd();
    if (family == kDepthwiseFamily) depthwise();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(2 * depth_, ' ') + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  /// The same as a loop around what follows.
  template <typename... Args>
  void loop(fmt::format_string<Args...> format, Args&&... args) {
    line("for {}:", fmt::format(format, std::forward<Args>(args)...));
    ++depth_;
  }
  int64_t choice(std::string_view name) const { return code_.schedule.at(name); }

  static std::string items_text(const CpuLaunch& launch) {
    return launch.items.is_constant(1) ? "1 item" : to_string(launch.items) + " items";
  }

  static std::string chunks_text(const CpuLaunch& launch) {
    return launch.chunk > 0 ? fmt::format(", {} at a time as they get done", launch.chunk) : "";
  }

  /// Small launches are part of the main one: no step of a run shows them.
  void launch_before(const CpuLaunch& launch, bool small) {
    const std::string purpose = launch_purpose(launch.source.entries.front().name);
    if (small)
      line("first every thread for itself: {}, {}", purpose, items_text(launch));
    else
      line("{}: {}, {} for all threads{}", launch.prepare ? "once for all runs" : "before", purpose,
           items_text(launch), chunks_text(launch));
  }

  void dealt_out(const CpuLaunch& launch) {
    std::string how = launch.threads > 0 ? fmt::format("at most {} threads", launch.threads)
                                         : fmt::format("{} threads", options_.threads);
    how += launch.chunk > 0 ? chunks_text(launch) : ", in equal shares";
    line("for {}, dealt out to {}:", items_text(launch), how);
  }

  std::string nest() {
    return to_string(arena_, nest_of(arena_, kernel_, target_, default_nest_choices(options_)));
  }

  /// A tile of sums in registers, and the loop that fills it.
  void tile(const std::string& steps, int64_t rows, int64_t columns, const std::string& product) {
    const int lanes = target_.lanes(32);
    line("{} x {} sums in registers, {} vectors of {} lanes in a row", rows, columns,
         (columns + lanes - 1) / lanes, lanes);
    loop("k of {}", steps);
    line("sums += {}", product);
    --depth_;
  }

  static std::string batches(const ContractionPlan& plan) {
    std::vector<Expr> all = plan.batch;
    all.insert(all.end(), plan.row_batch.begin(), plan.row_batch.end());
    return all.empty() ? "" : fmt::format(", of {} matrices", extents_text(all));
  }

  void gemm() {
    const Recognised<ContractionPlan> plan = plan_contraction(arena_, kernel_, options_);
    if (!plan) return;
    const bool blocks = code_.schedule.family() == kGemmBlocksFamily;
    const int64_t mr = choice("mr");
    const int64_t nr = blocks ? 2 * target_.lanes(32) : choice("nr");
    const int64_t rows = choice("row_tiles") * mr;
    line("item: {} columns of {}, {} rows of {}{}", nr, to_string(plan->n.extent),
         rows > 0 ? fmt::to_string(rows) : "all", to_string(plan->m.extent), batches(*plan));
    if (!blocks && rows > 0)
      line("items one after the other: {}",
           choice("outer") != 0 ? "all panels of a block of rows, then the next block"
                                : "all blocks of rows of a panel, then the next panel");
    if (!blocks) tell_rows(static_cast<GemmA>(choice("a")));
    line("{}", where_b_is(blocks));
    const int64_t kc = blocks ? 0 : choice("kc");
    const int64_t split = blocks ? 1 : choice("split");
    for (const Product& each : plan->products) {
      const std::string k =
          split > 1 ? fmt::format("one of {} parts of {}", split, to_string(each.k.extent))
                    : to_string(each.k.extent);
      if (kc > 0) loop("{} steps of k = {}", kc, k);
      const bool matrices = !blocks && has_matrix_registers(static_cast<GemmMode>(choice("mode")));
      loop("{} rows of the item", matrices ? kMatrixTilesAtOnce * mr : mr);
      if (matrices) line("tiles below each other are one call:");
      const std::string unrolled =
          !blocks && choice("unroll") > 1
              ? fmt::format(", {} with sums of their own", choice("unroll"))
              : "";
      tile((kc > 0 ? fmt::to_string(kc) : k) + unrolled, mr, nr, how_products(blocks));
      depth_ -= kc > 0 ? 2 : 1;
    }
    if (split > 1) {
      --depth_;
      line("after: the sums of {} parts are added up in order, {} for all threads", split,
           items_text(code_.launches.back()));
      ++depth_;
    }
    line("then what is done to the sums, and the store, tile by tile");
  }

  void tell_rows(GemmA source) {
    if (source == GemmA::kPacked)
      line("rows were copied before: into panels of as many as a tile has");
    else if (source != GemmA::kInPlace)
      line("rows were copied before: along k, unless they lie so");
    if (source == GemmA::kRowsAhead) line("those of the next tile are asked for meanwhile");
  }

  std::string where_b_is(bool blocks) const {
    if (blocks) return "panels of 4-bit digits with their scales, packed before";
    const auto source = static_cast<GemmB>(choice("b"));
    const std::string ahead = choice("ahead") > 0 ? ", the next one asked for meanwhile" : "";
    switch (source) {
      case GemmB::kPrepacked:
        return "its panel of the matrix was packed before" + ahead;
      case GemmB::kPackedHere:
        return "the thread packs its panel of the matrix, unless the item before had it" + ahead;
      default:
        return "rows of the matrix are read where they lie" + ahead;
    }
  }

  std::string how_products(bool blocks) const {
    const std::string mode =
        blocks ? "" : fmt::format(" by {}", choice_text("mode", choice("mode")));
    return "a[row, k] of every row * panel[k, all columns]" + mode;
  }

  void gemv() {
    const Recognised<ContractionPlan> plan = plan_contraction(arena_, kernel_, options_);
    if (!plan) return;
    line("item: {} columns of {}, all {} rows{}", choice("block"), to_string(plan->n.extent),
         to_string(plan->m.extent), batches(*plan));
    for (const Product& each : plan->products) {
      loop("{} lines of the matrix at once, each read once where it lies", choice("streams"));
      loop("k of {}, {} vectors at a time", to_string(each.k.extent), choice("unroll"));
      line("sums += a[row, k] of every row * the matrix");
      depth_ -= 2;
    }
    line("then what is done to the sums, and the store");
  }

  void attention() {
    const Recognised<AttentionPlan> plan = match_attention(arena_, kernel_);
    if (!plan) return;
    const std::string queries = extents_text({plan->query}), keys = extents_text({plan->key});
    const std::string inner = extents_text({plan->inner}), depth = extents_text({plan->depth});
    const int64_t lanes = 2 * int64_t{target_.lanes(32)};
    line("item: {} queries of {}, of {} rows of heads and batches", choice("query_block"), queries,
         extents_text(plan->rows));
    line("queries are laid out along the lanes; maxima, totals and results start anew");
    loop("{} keys of {}{}", choice("key_block"), keys,
         plan->conditions.empty() ? "" : ", without blocks that the mask excludes");
    loop("{} keys", choice("tile_rows"));
    tile(inner, choice("tile_rows"), lanes, "key[k] * query[k, lanes]");
    --depth_;
    line(
        "maxima, weights = exp(score - maximum), totals; results so far are scaled to the new "
        "maxima");
    loop("{} queries", choice("tile_rows"));
    tile("these keys", choice("tile_rows"), lanes,
         fmt::format("weight[k] * value[k, lanes of {}]", depth));
    depth_ -= 2;
    line("then results / totals, what is done to them, and the store");
  }

  void attention_matrices() {
    constexpr int64_t kTile = 32;
    const Recognised<AttentionPlan> plan = match_attention(arena_, kernel_);
    if (!plan) return;
    line("item: {} queries of {}, of {} rows of heads and batches", choice("query_block"),
         extents_text({plan->query}), extents_text(plan->rows));
    line("queries are laid out in pairs, along the lanes; maxima, totals and results start anew");
    const std::string excluded =
        plan->conditions.empty() ? "" : ", without those that the mask excludes";
    loop("{} keys of {}{}", choice("key_block"), extents_text({plan->key}), excluded);
    line("values are turned");
    loop("{} queries{}", kTile, excluded);
    line("scores: tiles of {} keys, matrix registers over {}", kTile, extents_text({plan->inner}));
    line(
        "maxima, weights = exp(score - maximum) in pairs, totals; results so far are scaled to the "
        "new maxima");
    line("results += tiles of {} of {}, matrix registers over these keys", kTile,
         extents_text({plan->depth}));
    depth_ -= 2;
    line("then results are turned; results / totals, what is done to them, and the store");
  }

  void attention_runs() {
    const Recognised<AttentionPlan> plan = match_attention(arena_, kernel_);
    if (!plan) return;
    const int64_t run = choice("key_run");
    line("item: all {} queries, {} keys of {}", extents_text({plan->query}),
         run > 0 ? fmt::to_string(run) : "all", extents_text({plan->key}));
    loop("{} queries at once", choice("query_group"));
    loop("{} keys", kKeysAtOnce);
    line("scores: sums over {} along the lanes", extents_text({plan->inner}));
    line("weights = exp(score - maximum so far), keys along the lanes");
    line("results += weight * value, {} along the lanes", extents_text({plan->depth}));
    depth_ -= 2;
    if (run > 0) line("a second launch joins the runs of keys");
  }

  void convolution() {
    const Recognised<ConvolutionPlan> plan = plan_convolution(arena_, kernel_, options_);
    if (!plan) return;
    const bool filters = choice("along") != 0;
    const int64_t mr = choice("mr"), nr = choice("nr");
    line("item: {} rows of {} of {}x{} pixels, {} tiles of {} of {} filters, of {} planes",
         choice("rows"), choice("columns"), plan->height, plan->width, choice("tiles"),
         filters ? nr : mr, to_string(plan->base.m.extent), extents_text(plan->outer));
    loop("{}", choice("order") != 0 ? "pixels of the item, for each of its filters"
                                    : "filters of the item, for each of its pixels");
    tile(extents_text(plan->base.products[0].k.axes) + ", all steps of the window", mr, nr,
         filters ? "image[pixel, k] of every pixel * filter[k, lanes]"
                 : "filter[row, k] of every row * image[k, pixels along the lanes]");
    --depth_;
    line("then what is done to the sums, and the store");
  }

  void winograd() {
    const Recognised<ConvolutionPlan> plan = plan_convolution(arena_, kernel_, options_);
    if (!plan) return;
    line("item: {} rows of squares of 2x2 of {}x{} pixels, one of {} parts of {} filters",
         choice("rows"), plan->height, plan->width, choice("parts"),
         to_string(plan->base.m.extent));
    line("windows of 4x4 are transformed by additions, for every channel");
    loop("the {} places of a transformed window", kSquarePlaces);
    line("a product: filters of the part x channels, channels x squares, in register tiles");
    --depth_;
    line("squares are transformed back, then what is done to the pixels, and the store");
  }

  void depthwise() {
    const Recognised<ConvolutionPlan> plan = plan_convolution(arena_, kernel_, options_);
    if (!plan) return;
    line("item: {} rows of {}x{} pixels of one of {} planes", choice("rows"), plan->height,
         plan->width, extents_text(plan->outer));
    loop("rows of pixels that share what is loaded, vector by vector");
    line("sums in registers += image * filter, for {} steps of the window, written out",
         extents_text(plan->base.products[0].k.axes));
    --depth_;
    line("then what is done to the sums, and the store");
  }

  kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuKernel& code_;
  const std::vector<bool>& small_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string launch_purpose(const std::string& entry) {
  if (entry == "pack") return "packs a matrix";
  if (entry == "filter") return "transforms filters";
  if (entry == "join") return "adds up parts of sums";
  return entry == "nest" ? "stores an operand" : entry;
}

std::string loop_text(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuKernel& code,
                      const std::vector<bool>& small, const CpuTarget& target,
                      const CpuKernelOptions& options) {
  CpuKernelOptions free = options;
  free.schedule.reset();
  return LoopText(arena, kernel, code, small, target, free).run();
}

}  // namespace luminal::codegen
