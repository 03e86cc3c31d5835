// A run takes no memory: everything it needs is there after the runs before it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "counted_memory.h"
#include "luminal/luminal.h"

namespace luminal::test {
namespace {

/// Fixed numbers.
Array numbers(Extents extents, int seed) {
  Array array(f32, std::move(extents));
  float value = static_cast<float>(seed) / 8;
  for (float& each : array.mutable_as<float>())
    each = value = value < 1 ? value + 0.37F : value - 2;
  return array;
}

/// How often memory is taken by runs after the first two.
int64_t taken_by_runs(Executable& exe, int runs = 10) {
  exe.run();
  exe.run();
  take_count();
  for (int k = 0; k < runs; ++k) exe.run();
  return take_count();
}

class Allocations : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_count()) GTEST_SKIP() << "the sanitizer has a malloc of its own";
  }
};

TEST_F(Allocations, AreCounted) {
  take_count();
  int* volatile number = new int(1);  // else the compiler leaves it out
  delete number;
  void* mapping = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(mapping, 4096);
  EXPECT_EQ(take_count(), 2);
}

TEST_F(Allocations, AreNoneInARunOfANetwork) {
  Graph g;
  const Dim n = g.dim("n", 1, 512);
  Tensor x = g.input("x", {n, 64});
  for (int layer = 0; layer < 3; ++layer) {
    const Tensor up = matmul(x, g.input("up" + std::to_string(layer), {64, 256}));
    x = layer_norm(x + matmul(gelu(up), g.constant(numbers({256, 64}, layer))), {-1});
  }
  const Tensor y = softmax(x, -1);
  Executable exe = compile(g, {y, sum(y, 0)}, {.compiler = {.weights = {"up0", "up1", "up2"}}});
  for (int layer = 0; layer < 3; ++layer)
    exe.set("up" + std::to_string(layer), numbers({64, 256}, layer + 9));
  for (const int64_t rows : {300, 7}) {
    exe.set("x", numbers({rows, 64}, 5));
    EXPECT_EQ(taken_by_runs(exe), 0) << rows << " rows";
  }
}

TEST_F(Allocations, AreNoneWherePositionsAreChecked) {
  Graph g;
  const Tensor table = g.input("table", {50, 16}), ids = g.input("ids", {20}, i64);
  Executable exe = compile(g, {embedding(table, ids), table, ids});
  exe.set(table, numbers({50, 16}, 1));
  exe.set(ids, Array(i64, {20}));
  EXPECT_EQ(taken_by_runs(exe), 0);
}

TEST_F(Allocations, AreNoneInAnUpdate) {
  Graph g;
  const Dim past = g.dim("past", 0, 63);
  const Tensor cache = g.input("cache", {64, 128}), row = g.input("row", {1, 128});
  const Tensor next = update_slice(cache, 0, past, row);
  Executable exe = compile(g, {next, max(next, 0)});
  exe.set(cache, numbers({64, 128}, 1));
  exe.set(row, numbers({1, 128}, 2));
  exe.set_dim("past", 9);
  exe.update(cache, next);
  EXPECT_EQ(taken_by_runs(exe), 0);
}

TEST_F(Allocations, OfResultsThatTheCallerKeepsAreTheOnlyOnes) {
  Graph g;
  const Tensor x = g.input("x", {1000});
  const Tensor y = x * 2;
  Executable exe = compile(g, {y});
  exe.set(x, numbers({1000}, 1));
  exe.run();
  std::vector<Array> kept;
  kept.reserve(100);
  for (int k = 0; k < 5; ++k) {
    kept.push_back(exe.get(y));
    exe.run();
  }
  kept.clear();
  EXPECT_EQ(taken_by_runs(exe), 0) << "their memory came back";
}

}  // namespace
}  // namespace luminal::test
