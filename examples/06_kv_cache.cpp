// A decoder that writes one token after the other. Keys and values of earlier tokens stay in
// caches; update() says that a cache is its own next value, so a step writes one row of it where it
// lies and copies nothing. The plan is saved and loaded in between, as a server would do.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "luminal/luminal.h"

using namespace luminal;

namespace {

constexpr int64_t kHeads = 2, kWidth = 8, kLength = 16, kWords = 11;

/// Weights of a network nobody trained: fixed numbers.
Tensor weights(const Graph& g, Extents extents, int seed) {
  Array array(f32, std::move(extents));
  for (int64_t k = 0; k < array.size(); ++k)
    array.set(k, Scalar::of(f32, static_cast<double>((k * 37 + seed * 101) % 19 - 9) / 10));
  return g.constant(array);
}

/// One row of `x`, [1, heads * width], as [heads, 1, width].
Tensor split_heads(const Tensor& x) { return permute(reshape(x, {1, kHeads, kWidth}), {1, 0, 2}); }

}  // namespace

int main() {
  Graph g;
  const Dim past = g.dim("past", 0, kLength - 1);
  Tensor word = g.input("word", {1}, i64);
  Tensor keys = g.input("keys", {kHeads, kLength, kWidth});
  Tensor values = g.input("values", {kHeads, kLength, kWidth});

  Tensor x = embedding(weights(g, {kWords, kHeads * kWidth}, 1), word);
  auto project = [&](int seed) {
    return split_heads(matmul(x, weights(g, {kHeads * kWidth, kHeads * kWidth}, seed)));
  };
  Tensor new_keys = update_slice(keys, 1, past, project(3)).named("new_keys");
  Tensor new_values = update_slice(values, 1, past, project(4)).named("new_values");
  Tensor attended =
      attention(project(2), slice(new_keys, 1, {0, past + 1}), slice(new_values, 1, {0, past + 1}));
  Tensor mixed = x + reshape(permute(attended, {1, 0, 2}), {1, kHeads * kWidth});
  Tensor logits = matmul(mixed, weights(g, {kHeads * kWidth, kWords}, 5));
  Tensor next = argmax(logits, -1).named("next");

  const std::string file = std::filesystem::temp_directory_path() /
                           ("luminal_kv_cache_" + std::to_string(::getpid()) + ".plan");
  compile(g, {next, new_keys, new_values}).save(file);
  Executable exe = load(file);
  std::remove(file.c_str());

  for (const char* cache : {"keys", "values"}) {
    exe.set(cache, Array(f32, {kHeads, kLength, kWidth}));
    exe.update(exe.input(cache), exe.output(std::string("new_") + cache));
  }
  exe.set("word", {1});
  const std::byte* memory = nullptr;
  for (int64_t step = 0; step < kLength; ++step) {
    exe.set_dim("past", step);
    exe.run();
    std::cout << exe.get("next").at(0).to_string() << (step + 1 < kLength ? " " : "\n");
    exe.set("word", exe.get("next"));
    // The cache is where it was.
    const std::byte* now = exe.get("new_keys").bytes().data();
    if (memory != nullptr && now != memory) return 1;
    memory = now;
  }
}
