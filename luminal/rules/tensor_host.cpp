#include "luminal/rules/tensor_host.h"

#include <cmath>
#include <type_traits>

#include "luminal/rules/attention_views.h"
#include "luminal/rules/product_views.h"
#include "luminal/rules/reduction_views.h"
#include "luminal/rules/slice_views.h"
#include "luminal/support/error.h"

namespace luminal::rules {
namespace {

using egraph::Builder;

/// Whether an operand has the axes of its reduction: so many that are kept, and so many that are
/// reduced. Rules of a user's own may write nodes that have not.
bool has_axes(const TensorType& kept, int64_t reduced, const Access& operand) {
  return reduced >= 0 &&
         operand.domain().size() == kept.shape.size() + static_cast<size_t>(reduced);
}
bool has_axes(int64_t count, const Access& operand) {
  return count >= 0 && static_cast<size_t>(count) <= operand.domain().size();
}

/// Whether every count that stands before an operand is of axes that the operand has.
template <typename... Rest>
bool counts_fit(const Rest&...) {
  return true;
}
template <typename First, typename Second, typename... Rest>
bool counts_fit(const First& first, const Second& second, const Rest&... rest) {
  if constexpr (std::is_same_v<First, int64_t> && std::is_same_v<Second, Access>)
    if (!has_axes(first, second)) return false;
  return counts_fit(second, rest...);
}

/// Refuses counts that do not fit. A dim that does not fit into 64 bits, or a slice that cannot be,
/// is no answer.
template <auto Function>
struct Guarded;
template <typename R, typename... Args, std::optional<R> (*Function)(Args...)>
struct Guarded<Function> {
  static std::optional<R> call(Args... args) {
    if (!counts_fit(args...)) return std::nullopt;
    try {
      return Function(args...);
    } catch (const UserError&) {
      return std::nullopt;
    }
  }
};
template <auto Function>
constexpr auto kGuarded = &Guarded<Function>::call;

/// The same where the first operand is that of a reduction to a type.
template <auto Function>
struct GuardedReduction;
template <typename R, typename... Args,
          std::optional<R> (*Function)(const TensorType&, int64_t, const Access&, Args...)>
struct GuardedReduction<Function> {
  static std::optional<R> call(const TensorType& type, int64_t count, const Access& operand,
                               Args... args) {
    if (!has_axes(type, count, operand)) return std::nullopt;
    return Guarded<Function>::call(type, count, operand, args...);
  }
};
template <auto Function>
constexpr auto kGuardedReduction = &GuardedReduction<Function>::call;

bool is_low_rank_sum(int64_t count, const Access& sum, const TensorType& inner_type,
                     int64_t inner_count, const Access& u) {
  return has_axes(count, sum) && has_axes(inner_type, inner_count, u) &&
         is_low_rank(count, sum, inner_type, inner_count, u);
}

Access whole(const TensorType& type) { return {View::identity(type.shape), type.dtype}; }
TensorType source_type(const Access& access) { return {access.dtype, access.view.source()}; }
TensorType seen_type(const Access& access) { return access.seen(); }
TensorType scalar_type(const TensorType& type) { return {type.dtype, {}}; }
TensorType with_dtype(const TensorType& shape, const TensorType& dtype) {
  return {dtype.dtype, shape.shape};
}
bool is_identity(const Access& access) { return access.view.is_identity(); }
bool is_plain(const Access& access) { return access.view.conditions().empty(); }
bool same_dtype(const TensorType& a, const TensorType& b) { return a.dtype == b.dtype; }
bool is_float(const TensorType& type) { return graph::is_float(type.dtype); }
bool is_integer(const TensorType& type) { return graph::is_integer(type.dtype); }
bool is_unsigned(const TensorType& type) { return graph::is_unsigned(type.dtype); }
/// Integers wrap in a product as in a sum; floats must be wide enough for a count.
bool holds_counts(const TensorType& type) {
  return is_integer(type) || (is_float(type) && graph::bits(type.dtype) >= 32);
}

/// Whether what lies between may be as large or small as in f32.
bool has_wide_range(const TensorType& type) {
  return holds_counts(type) || type.dtype == graph::DType::kBF16;
}

template <typename T>
std::optional<T> item(const std::vector<T>& list, int64_t k) {
  const auto at = static_cast<size_t>(k);
  return at < list.size() ? std::optional(list[at]) : std::nullopt;
}
std::optional<Access> view_of(const Plan& plan, int64_t k) { return item(plan.views, k); }
std::optional<TensorType> type_of(const Plan& plan, int64_t k) { return item(plan.types, k); }
std::optional<int64_t> count_of(const Plan& plan, int64_t k) { return item(plan.counts, k); }

/// Kernels of users have a source (custom_kernel.cpp), and whatever name they like.
bool has_no_source(const Parameters& parameters) { return !parameters.values.contains("source"); }

bool is_undecided(const Head& iota, const Access& seen, const Access& view) {
  return !Guarded<&decided>::call(iota, seen, view);
}

Head number_head(const Scalar& number) {
  graph::Array value(number.dtype(), {});
  value.set(0, number);
  return {graph::Op::kConstant, graph::ConstantAttribute{std::move(value)}};
}
TensorType number_type(const Scalar& number) { return {number.dtype(), {}}; }
Access broadcast(const Scalar& number, const TensorType& type) {
  return {View({}, type.shape, {}), number.dtype()};
}
Access broadcast_scalar(const TensorType& type) { return {View({}, type.shape, {}), type.dtype}; }
template <int64_t Number>
bool is_number(const Scalar& number) {
  return number == Scalar::of(number.dtype(), Number);
}

/// Whether a product by this number is at most a little smaller: any integer, which wraps, and of
/// floats those from 2^-23 to 1 in magnitude.
bool scales_down_a_little(const Scalar& number) {
  if (!graph::is_float(number.dtype())) return true;
  const double magnitude = std::abs(number.as_double());
  return magnitude >= 0x1p-23 && magnitude <= 1;
}

void add_views(Builder& builder) {
  builder.native("compose", kGuarded<&composed>);
  builder.native("compose-before", kGuarded<&composed_before>);
  builder.native("whole", &whole);
  builder.native("seen-type", &seen_type);
  builder.native("source-type", &source_type);
  builder.native("scalar-type", &scalar_type);
  builder.native("with-dtype", &with_dtype);
  builder.native("view-of", &view_of);
  builder.native("type-of", &type_of);
  builder.native("count-of", &count_of);
  builder.predicate("is-identity", &is_identity);
  builder.predicate("is-plain", &is_plain);
  builder.predicate("is-permutation", &is_permutation);
  builder.predicate("same-dtype", &same_dtype);
  builder.predicate("is-float", &is_float);
  builder.predicate("is-integer", &is_integer);
  builder.predicate("is-unsigned", &is_unsigned);
  builder.predicate("holds-counts", &holds_counts);
  builder.predicate("has-wide-range", &has_wide_range);
  builder.predicate("is-lossless", &is_lossless);
  builder.predicate("ends-alike", &casts_end_alike);
  builder.predicate("maximum-of-casts", &is_maximum_of_casts);
}

void add_numbers(Builder& builder) {
  builder.native("uniform", &uniform);
  builder.native("exact-reciprocal", &exact_reciprocal);
  builder.native("times", &times);
  builder.native("log2-of", &log2_of);
  builder.native("low-mask-of", &low_mask_of);
  builder.native("number-head", &number_head);
  builder.native("number-type", &number_type);
  builder.native("broadcast", &broadcast);
  builder.native("broadcast-scalar", &broadcast_scalar);
  builder.predicate("is-minus-one", &is_number<-1>);
  builder.predicate("is-two", &is_number<2>);
  builder.predicate("is-three", &is_number<3>);
  builder.predicate("scales-down-a-little", &scales_down_a_little);
}

void add_products(Builder& builder) {
  builder.native("contraction", kGuarded<&contraction>);
  builder.native("product-type", &product_type);
  builder.native("reassociated", kGuardedReduction<&reassociated>);
  builder.native("factored-out", kGuarded<&factored_out>);
  builder.native("common-factor", kGuarded<&common_factor>);
  builder.native("scaled-operand", kGuarded<&scaled_operand>);
  builder.predicate("is-low-rank", &is_low_rank_sum);
  builder.native("sibling-key", kGuardedReduction<&sibling_key>);
  builder.native("joined-siblings", kGuarded<&joined_siblings>);
}

void add_slices(Builder& builder) {
  builder.native("half-part", kGuarded<&half_part>);
  builder.native("narrowed", kGuarded<&narrowed>);
  builder.native("decided", kGuarded<&decided>);
  builder.predicate("is-undecided", &is_undecided);
  builder.native("concatenation", kGuarded<&concatenation>);
  builder.native("concat-definition", kGuarded<&concat_definition>);
  builder.native("concat-condition", &concat_condition);
  builder.native("product-of-joined-rows", kGuardedReduction<&product_of_joined_rows>);
  builder.native("product-of-joined-depth", kGuarded<&product_of_joined_depth>);
  builder.native("reduction-of-concat", kGuarded<&reduction_of_concat>);
  builder.native("gathered-windows", kGuarded<&gathered_windows>);
  builder.native("split-windows", kGuardedReduction<&split_windows>);
}

void add_reductions(Builder& builder) {
  builder.native("merged-reductions", kGuarded<&merged_reductions>);
  builder.native("split-reduction", kGuardedReduction<&split_reduction>);
  builder.native("split-narrow-reduction", kGuardedReduction<&split_narrow_reduction>);
  builder.native("without-unit-axes", kGuarded<&without_unit_axes>);
  builder.native("reduced-nothing", kGuarded<&reduced_nothing>);
  builder.native("without-broadcast-axes", kGuarded<&without_broadcast_axes>);
  builder.native("broadcast-count", kGuarded<&broadcast_count>);
  builder.native("without-repeated-heads", kGuarded<&without_repeated_heads>);
  builder.predicate("same-heads", &same_heads);
  builder.predicate("has-no-source", &has_no_source);
}

}  // namespace

TensorHost::TensorHost(egraph::EGraph& egraph) : builder_(egraph) {
  builder_.host_sort<Access>("View");
  builder_.host_sort<TensorType>("Type");
  builder_.host_sort<Head>("Head");
  builder_.host_sort<Parameters>("Parameters");
  builder_.host_sort<Scalar>("Number");
  builder_.host_sort<Plan>("Plan");
  add_views(builder_);
  add_numbers(builder_);
  add_products(builder_);
  add_slices(builder_);
  add_reductions(builder_);
}

}  // namespace luminal::rules
