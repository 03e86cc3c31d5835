// Movement, indexing and creation. Nothing here rounds but sequences of fractions and random
// numbers.
#include "rows.h"

namespace luminal::device_ops {
namespace {

using Moves = std::function<std::vector<Tensor>(Cell& cell)>;

/// What is seen must be what is there: results are compared as data.
Row moved(const std::string& family, const std::string& op, const Moves& moves) {
  return {family, op,
          [moves](Cell& cell) {
            int number = 0;
            for (const Tensor& result : moves(cell))
              cell.add(fmt::format("form {}", ++number), contiguous(result), {});
          },
          kShortLengths};
}

Row movement(const std::string& op, const Moves& moves) { return moved("Movement", op, moves); }

void add_shapes(std::vector<Row>& rows) {
  rows.push_back(movement("reshape", [](Cell& c) {
    return std::vector{reshape(c.seen(Seen::kPermuted), {26, 10}),
                       reshape(c.input({c.n(), 6}), {c.n(), 2, 3})};
  }));
  rows.push_back(movement("permute", [](Cell& c) {
    return std::vector{permute(c.input({5, 7, 33}), {2, 0, 1}),
                       permute(c.input({5, c.n(), 3}), {1, 2, 0})};
  }));
  rows.push_back(movement("transpose", [](Cell& c) {
    return std::vector{transpose(c.input({70, 67})), transpose(c.input({c.n(), 67}))};
  }));
  rows.push_back(movement("expand", [](Cell& c) {
    return std::vector{expand(c.input({5, 1, 3}), {2, 5, 9, 3}), expand(c.input({1}), {c.n()})};
  }));
  rows.push_back(movement("squeeze", [](Cell& c) {
    return std::vector{squeeze(c.input({1, 33, 1})), squeeze(c.input({c.n(), 1}), {1})};
  }));
  rows.push_back(movement("unsqueeze", [](Cell& c) {
    return std::vector{unsqueeze(c.input({33}), 0), unsqueeze(c.input({c.n()}), -1)};
  }));
  rows.push_back(movement("flatten", [](Cell& c) {
    return std::vector{flatten(transpose(c.input({5, 33}))), flatten(c.input({c.n(), 3}))};
  }));
  rows.push_back(movement("split_dims", [](Cell& c) {
    return std::vector{split_dims(c.seen(Seen::kPadded), 1, {5, -1})};
  }));
  rows.push_back(movement("merge_dims", [](Cell& c) {
    return std::vector{merge_dims(c.input({c.n(), 4, 5}), 1), merge_dims(c.input({2, 4, 5}), 0, 3)};
  }));
}

void add_parts(std::vector<Row>& rows) {
  rows.push_back(movement("slice", [](Cell& c) {
    return std::vector{slice(c.input({70, 5}), {{.begin = 3, .end = -2, .step = 3}, {.step = -1}}),
                       slice(c.input({c.n() + 2}), 0, {.begin = 1, .end = c.n() + 1})};
  }));
  rows.push_back(movement("select", [](Cell& c) {
    return std::vector{select(c.input({5, 33}), 0, 3), select(c.input({33, c.n() + 1}), 1, c.n())};
  }));
  rows.push_back(movement("pad", [](Cell& c) {
    std::vector<Tensor> results;
    for (const PadMode mode :
         {PadMode::kConstant, PadMode::kReflect, PadMode::kReplicate, PadMode::kCircular})
      results.push_back(pad(c.input({4, 35}), {{1, 2}, {3, 0}}, mode));
    results.push_back(pad(c.input({c.n()}), 0, {2, 1}, PadMode::kConstant, 1));
    return results;
  }));
  rows.push_back(movement("flip", [](Cell& c) {
    return std::vector{flip(c.input({5, 67}), {0, 1}), flip(c.input({c.n()}), {0})};
  }));
  rows.push_back(movement("roll", [](Cell& c) {
    return std::vector{roll(c.input({5, 67}), 9, 1), roll(c.input({67}), -2, 0)};
  }));
  rows.push_back(movement("repeat", [](Cell& c) {
    return std::vector{repeat(c.input({5, 11}), 3, 1), repeat(c.input({c.n(), 2}), 2, 0)};
  }));
  rows.push_back(movement("tile", [](Cell& c) {
    return std::vector{tile(c.input({5, 11}), {2, 3}), tile(c.input({c.n()}), {2, 1})};
  }));
  rows.push_back(movement("chunk", [](Cell& c) { return chunk(c.input({3, 35}), 4, 1); }));
  rows.push_back(movement("split", [](Cell& c) {
    return split(c.input({c.n() + 3, 5}), {c.n(), 3}, 0);
  }));
  rows.push_back(movement("concat", [](Cell& c) {
    return std::vector{concat({c.input({3, 17}), c.input({3, 1}), c.input({3, 34})}, 1),
                       concat({c.input({c.n(), 3}), c.input({2, 3})}, 0)};
  }));
  rows.push_back(movement("stack", [](Cell& c) {
    return std::vector{stack({c.input({33}), flip(c.input({33}), {0})}, 1),
                       stack({c.input({c.n()}), c.input({c.n()})})};
  }));
  rows.push_back(movement("update_slice", [](Cell& c) {
    return std::vector{update_slice(c.input({5, 33}), 1, 7, c.input({5, 9})),
                       update_slice(c.input({40, 3}), 0, c.n(), c.input({2, 3})),
                       update_slice(c.input({5, 33}), 1, 0, c.input({5, 1})),
                       update_slice(c.input({5, 33}), 1, 24, c.input({5, 9})),
                       update_slice(c.input({5, 33}), 1, 33, c.input({5, 0})),
                       update_slice(c.input({5, 33}), 0, 0, c.input({5, 33})),
                       update_slice(c.input({c.n() + 2, 3}), 0, c.n(), c.input({2, 3})),
                       update_slice(c.input({c.n(), 3}), 0, 0, c.input({c.n(), 3}))};
  }));
  rows.push_back(movement("unfold", [](Cell& c) {
    return std::vector{unfold(c.input({3, 40}), 1, 5, 2, 3), unfold(c.input({c.n() + 4}), 0, 3)};
  }));
  rows.push_back(movement("diagonal", [](Cell& c) {
    return std::vector{diagonal(c.input({3, 9, 9}), 2), diagonal(c.input({40, 35}), -1)};
  }));
  rows.push_back(movement("contiguous", [](Cell& c) {
    return std::vector{contiguous(c.seen(Seen::kReshaped)), contiguous(c.input({c.n()}))};
  }));
}

Tensor index(Cell& cell, Shape shape) { return cell.input(i64, std::move(shape), Fill::kIndex); }

void add_indexing(std::vector<Row>& rows) {
  const auto indexing = [](const std::string& op, const Moves& moves) {
    return moved("Indexing", op, moves);
  };
  rows.push_back(indexing("gather", [](Cell& c) {
    return std::vector{gather(c.input({4, 33}), 0, index(c, {2, 33})),
                       gather(c.seen(Seen::kFlipped), 1, index(c, {4, 9}))};
  }));
  rows.push_back(indexing("take_along", [](Cell& c) {
    return std::vector{take_along(c.input({5, 33}), index(c, {1, 7}), 1),
                       take_along(c.input({4, 1}), index(c, {c.n(), 6}), 0)};
  }));
  rows.push_back(indexing("index_select", [](Cell& c) {
    return std::vector{index_select(c.input({5, 33}), 0, index(c, {c.n()})),
                       index_select(c.seen(Seen::kPermuted), 1, index(c, {2, 3}))};
  }));
  rows.push_back(indexing("embedding", [](Cell& c) {
    return std::vector{embedding(c.input({4, 67}), index(c, {c.n(), 2}))};
  }));
  rows.push_back(indexing("gather_nd", [](Cell& c) {
    return std::vector{gather_nd(c.input({4, 5, 33}), index(c, {7, 2}))};
  }));
  rows.push_back(indexing("scatter", [](Cell& c) {
    return std::vector{scatter(c.input({4, 33}), 0, index(c, {3, 33}), c.input({3, 33})),
                       scatter(c.input({2, c.n() + 4}), 1, index(c, {2, c.n()}),
                               c.input({2, c.n()}), ScatterMode::kMax)};
  }));
  rows.push_back(indexing("index_put", [](Cell& c) {
    return std::vector{index_put(c.input({5, 33}), 0, index(c, {3}), c.input({3, 33}))};
  }));
  rows.push_back(indexing("scatter_nd", [](Cell& c) {
    return std::vector{scatter_nd(c.input({4, 5, 9}), index(c, {6, 2}), c.input({6, 9}))};
  }));
}

}  // namespace

void add_movement(std::vector<Row>& rows) {
  add_shapes(rows);
  add_parts(rows);
  add_indexing(rows);
}

void add_creation(std::vector<Row>& rows) {
  const auto creation = [&](const std::string& op, const Moves& moves) {
    rows.push_back(moved("Creation", op, moves));
  };
  creation("full", [](Cell& c) { return std::vector{full(c.graph(), {c.n(), 3}, 1, c.dtype())}; });
  creation("zeros", [](Cell& c) { return std::vector{zeros(c.graph(), {c.n()}, c.dtype())}; });
  creation("ones", [](Cell& c) { return std::vector{ones(c.graph(), {5, 7}, c.dtype())}; });
  creation("full_like", [](Cell& c) { return std::vector{full_like(c.input({5, c.n()}), 1)}; });
  creation("zeros_like", [](Cell& c) { return std::vector{zeros_like(c.input({c.n()}))}; });
  creation("ones_like", [](Cell& c) { return std::vector{ones_like(c.input({c.n()}))}; });
  creation("eye", [](Cell& c) {
    return std::vector{eye(c.graph(), 9, Dim(33), 2, c.dtype()),
                       eye(c.graph(), c.n(), std::nullopt, -1, c.dtype())};
  });
  creation("iota", [](Cell& c) {
    return std::vector{iota(
        c.graph(), {c.n(), 2}, [](auto i) { return i[0] + 2 * i[1]; }, c.dtype())};
  });
  creation("arange", [](Cell& c) {
    return std::vector{arange(c.graph(), c.n(), c.dtype()), arange(c.graph(), 0, 7, 2, c.dtype())};
  });
  creation("arange_fractions", [](Cell& c) {
    return std::vector{arange_fractions(c.graph(), 0.0, 7.0, 0.25, c.dtype())};
  });
  creation("linspace",
           [](Cell& c) { return std::vector{linspace(c.graph(), 0.0, 7.0, 33, c.dtype())}; });
  creation("tril", [](Cell& c) {
    return std::vector{tril(c.input({9, 33}), 1), tril(c.input({c.n(), 5}))};
  });
  creation("triu", [](Cell& c) {
    return std::vector{triu(c.input({9, 33}), -1), triu(c.input({c.n(), 5}))};
  });
  creation("one_hot", [](Cell& c) {
    return std::vector{one_hot(c.input({c.n()}, Fill::kIndex), 5),
                       one_hot(index(c, {7}), 4, c.dtype())};
  });
  for (const bool normal : {false, true})
    rows.push_back({"Creation", normal ? "randn" : "rand", [normal](Cell& c) {
                      const auto make = normal ? randn : rand;
                      c.add("static", make(c.graph(), {5, 67}, 7, c.dtype()));
                      c.add("n", make(c.graph(), {c.n()}, 8, c.dtype()));
                    }});
  creation("random_bits", [](Cell& c) {
    return std::vector{bitcast(random_bits(c.graph(), {67}, 3), c.dtype()),
                       bitcast(random_bits(c.graph(), {c.n()}, 3), c.dtype())};
  });
}

}  // namespace luminal::device_ops
