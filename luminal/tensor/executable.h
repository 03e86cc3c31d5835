// Running a graph. compile() fixes what is wanted; the Executable takes data, runs as often as
// asked, and gives results. Inputs stay valid across runs: only what changed has to be set again.
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "luminal/compiler/explanation.h"
#include "luminal/compiler/options.h"
#include "luminal/compiler/search_options.h"
#include "luminal/graph/pass.h"
#include "luminal/graph/program.h"
#include "luminal/tensor/graph.h"
#include "luminal/tensor/nested_values.h"
#include "luminal/tensor/tensor.h"

namespace luminal {

/// What runs a graph.
enum class Backend : uint8_t {
  kCpu,          ///< native code, fused
  kInterpreter,  ///< node by node, in the plainest exact way: what every other backend must equal
};

/// How much is done to find a fast plan (docs/search.md).
enum class Mode : uint8_t {
  kFast,      ///< the cost model chooses; nothing is measured
  kSearch,    ///< candidates are measured, for a minute
  kThorough,  ///< the same for ten, over more of them
};

/// How to compile.
struct CompileOptions {
  Backend backend = Backend::kCpu;  ///< what computes
  Mode mode = Mode::kFast;          ///< how plans are chosen
  /// How long a search may measure; a default of the mode's own unless said. 0: measures nothing
  /// and uses what was measured before.
  std::optional<double> budget_seconds = {};
  /// What else is to be said of a search: seed, database, a flag that ends it.
  compiler::SearchOptions search = {};
  /// How native code is made.
  compiler::Options compiler = {};
  /// Run the graph passes (common subexpressions, folding, ...). Results are the same without.
  bool simplify = true;
  /// Passes of the user's own, run before those.
  std::vector<graph::Pass> passes = {};
  /// Check the graph after every pass.
  bool verify = false;
};

/// How to load a plan.
struct LoadOptions {
  /// Threads that a launch may use; 0: all of the process's team.
  int threads = 0;
};

/// How to run.
struct RunOptions {
  /// Print every step with its shape and time.
  bool trace = false;
  /// Where print, diff and the trace write; standard output unless said.
  std::ostream* text = nullptr;
};

/// A compiled graph with its data. Used by one thread at a time: who runs it, or asks for its data,
/// while it runs gets a UserError. Each thread compiles or loads one of its own.
class Executable {
 public:
  Executable(const Graph& graph, const std::vector<Tensor>& outputs, const CompileOptions& options);

  // Inputs, named by their tensor or their name. Values are converted to the input's dtype by the
  // cast rules.

  /// Data with its own extents.
  void set(const Tensor& input, const Array& value);
  void set(std::string_view input, const Array& value);  ///< by name
  /// Flat values, in row-major order. With one unknown dim in the shape, its value follows from
  /// their number.
  template <typename T>
  void set(const Tensor& input, const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, bool>)
      set_flat(input, Array::from<uint8_t>(u8, {static_cast<int64_t>(values.size())},
                                           std::vector<uint8_t>(values.begin(), values.end())));
    else
      set(input, std::span<const T>(values));
  }
  template <typename T, size_t kExtent>
  void set(const Tensor& input, std::span<T, kExtent> values) {
    using Element = std::remove_const_t<T>;
    const Extents extents{static_cast<int64_t>(values.size())};
    if constexpr (kIsWide<Element>) {
      std::vector<int64_t> numbers;
      for (const T value : values) numbers.push_back(symbolic::integer(value));
      set_flat(input, Array::from<int64_t>(i64, extents, numbers));
    } else {
      set_flat(input, Array::from<Element>(dtype_for<Element>(), extents, values));
    }
  }  ///< Flat values as a span.
  /// Numbers in braces, as many levels as the input has axes; {5} also sets an input of rank 0.
  /// Rows of one number ({{1}, {2}}) are ambiguous in C++: give those flat, as a span.
  void set(const Tensor& input, const NestedValues& values);
  void set(std::string_view input, const NestedValues& values);  ///< by name
  /// Raw bytes of elements of `dtype`, in row-major order.
  void set_bytes(const Tensor& input, DType dtype, std::span<const std::byte> bytes);
  /// A .npy file, or the array `key` of a .npz file (the key may be left out if there is but one).
  void set_file(const Tensor& input, const std::string& path, const std::string& key = "");
  /// Called at the first run that needs the data, never for an input that no result depends on;
  /// what it gives is then kept like any other.
  void set_loader(const Tensor& input, std::function<Array()> loader);
  /// The value of a named dim. Without it, dims are taken from the data.
  void set_dim(const std::string& name, int64_t value);

  /// The tensors of an executable by name and number: what load() gives has no others. Outputs come
  /// in the order of compile(), each once however often it was named there, kept values after them,
  /// and an output is called as its tensor is.
  Tensor input(std::string_view name) const;
  Tensor output(size_t number) const;                      ///< by number
  Tensor output(std::string_view name) const;              ///< by name
  size_t output_count() const { return results_.size(); }  ///< kept values included

  /// Computes all outputs and kept values. Missing inputs are a UserError that names them.
  void run(const RunOptions& options = {});

  // Results of the last run, and inputs as they were set.

  /// The values, row-major; a copy shares the data.
  Array get(const Tensor& tensor) const;
  /// The values converted to T: bool, a float or any integer type.
  template <typename T>
  std::vector<T> get(const Tensor& tensor) const {
    if constexpr (kIsWide<T>) {
      const std::vector<int64_t> numbers = get<int64_t>(tensor);
      return {numbers.begin(), numbers.end()};
    } else {
      return get(tensor).template to_vector<T>();
    }
  }
  /// The same for an output by its number or name.
  Array get(size_t output) const;
  Array get(std::string_view output) const;  ///< by name
  /// Writes a result to a .npy file.
  void save(const Tensor& tensor, const std::string& path) const;
  /// Takes the value out: it is no longer here afterwards. Of a list all are taken or none.
  Array retrieve(const Tensor& tensor);
  std::vector<Array> retrieve(const std::vector<Tensor>& tensors);  ///< in the order of the list
  /// Frees the value of an input or result; an input that has a loader is loaded again by the next
  /// run.
  void drop(const Tensor& tensor);
  void drop(const std::vector<Tensor>& tensors);  ///< all of them
  /// Exchanges the values of two tensors, such as a result and the input it becomes next (double
  /// buffering).
  void swap(const Tensor& a, const Tensor& b);

  /// Writes what runs to a file that load() makes executable again, in any process and without
  /// compiling. Data that was set is not part of it. UserError if the interpreter runs this, if a
  /// function of the user's own is called, or if the path cannot be used.
  void save(const std::string& path) const;

  /// Makes `output` the next value of `input`: after every run the input holds what the output is,
  /// and both are one value for get() and the others. Where the plan allows it (new rows of a
  /// cache, elementwise steps of an optimizer) the new value is computed in the memory of the old
  /// one, and nothing is copied, unless the caller still holds an array that shares it. If a run
  /// fails, the input holds anything.
  void update(const Tensor& input, const Tensor& output);

  /// The graph that runs, after passes.
  const graph::Graph& ir() const { return program_->graph(); }
  /// What the search for the plan did; nothing if there was none.
  const std::optional<compiler::SearchReport>& search_report() const { return search_report_; }
  /// What runs, in words: steps and what was fused into each, kernels and how they are computed,
  /// memory. Why not more was fused is among it if `CompileOptions::compiler.explain` is set.
  std::string explain() const;
  /// The same as data. UserError if the interpreter runs this.
  compiler::Explanation explanation() const;

 private:
  friend Executable load(const std::string& path, const LoadOptions& options);

  /// A program as it is; its graph is the only one there is.
  explicit Executable(std::unique_ptr<graph::Program> program);

  /// An input's data, or what will load it.
  struct InputSlot {
    std::optional<Array> value;
    bool flat = false;  // extents are still to be found from the dims
    std::function<Array()> loader;
    std::optional<Extents> bound = {};  // its extents when the dims were found

    void hold(Array data, bool is_flat = false) {
      value = std::move(data);
      flat = is_flat;
      loader = nullptr;
    }
  };
  struct ResultSlot {
    graph::Edge edge;
    std::optional<Array> value = {};
    InputSlot* next_of = nullptr;  // the input that holds the value
  };

  /// Integer types without a dtype of their own, such as size_t and long long: they go by way of
  /// i64.
  template <typename T>
  static constexpr bool kIsWide = std::is_same_v<T, char> ||
                                  (std::is_integral_v<T> && sizeof(T) == sizeof(int64_t) &&
                                   !std::is_same_v<T, int64_t>);
  template <typename T>
  static constexpr DType dtype_for();
  void set_flat(const Tensor& input, const Array& values);
  InputSlot& slot(std::string_view operation, const Tensor& input);
  InputSlot& slot(std::string_view operation, std::string_view name);
  /// The slot of a tensor that is an input seen whole; nullptr for other tensors.
  InputSlot* find_input(std::string_view operation, const Tensor& tensor);
  /// Where the value of an input or result is kept; throws UserError if the executable has none for
  /// it.
  std::optional<Array>& find_value(std::string_view operation, const Tensor& tensor);
  /// The value itself; throws UserError if there is none now.
  const Array& value_of(std::string_view operation, const Tensor& tensor) const;
  size_t output_number(std::string_view name) const;
  /// Throws UserError while a run is under way.
  void check_idle(std::string_view operation) const;
  void compute(const RunOptions& options);
  void load_inputs();
  bool has_same_shapes() const;
  graph::DimValues shape_flat_inputs();
  void take_results();

  std::shared_ptr<GraphState> state_;
  std::unique_ptr<graph::Program> program_;
  std::map<std::string, InputSlot, std::less<>> inputs_;
  std::set<std::string> needed_inputs_;  // whose data or extents a run uses
  std::vector<ResultSlot> results_;
  size_t nodes_as_written_ = 0;
  std::optional<compiler::SearchReport> search_report_;
  graph::DimValues dims_;

  // Kept from run to run, so that a run takes no memory for them.
  graph::RunRequest request_;
  graph::DimValues bound_dims_;  // what dims_ was when the dims were found
  std::vector<Array> values_;
  // Set while a run is under way; apart, so that executables can be moved.
  std::unique_ptr<std::atomic_flag> running_ = std::make_unique<std::atomic_flag>();
};

template <typename T>
constexpr DType Executable::dtype_for() {
  if constexpr (std::is_same_v<T, bool>) return boolean;
  if constexpr (std::is_same_v<T, float>) return f32;
  if constexpr (std::is_same_v<T, double>) return f64;
  if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>)
    return sizeof(T) == 1 ? u8 : sizeof(T) == 2 ? u16 : u32;
  return sizeof(T) == 1 ? i8 : sizeof(T) == 2 ? i16 : sizeof(T) == 4 ? i32 : i64;
}

/// Makes a graph executable. It computes `outputs`, the values marked with keep(), and the effects
/// (print, diff).
Executable compile(const Graph& graph, const std::vector<Tensor>& outputs,
                   const CompileOptions& options = {});

/// What Executable::save() wrote, ready to run. UserError naming the file if it is no plan, is
/// damaged, was written by another version, or needs what this processor lacks.
Executable load(const std::string& path, const LoadOptions& options = {});

/// Brings a value to another graph's input: the data of `from` in `source` becomes that of `to` in
/// `target`.
void transfer(const Executable& source, const Tensor& from, Executable& target, const Tensor& to);

}  // namespace luminal
