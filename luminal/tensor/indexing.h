// Reading and writing at positions that are data. Index tensors hold integers of any width; an
// index outside its axis is an error when the graph runs (negative ones too).
#pragma once

#include "luminal/graph/ops.h"
#include "luminal/tensor/tensor.h"

namespace luminal {

using graph::ScatterMode;

/// result[i, j, ...] = x[i, index[i, j, ...], ...] with `axis` replaced by the index: index has x's
/// rank, and is at most as large along the other axes.
Tensor gather(const Tensor& x, int axis, const Tensor& index);
/// The same with the other axes of x and index broadcast.
Tensor take_along(const Tensor& x, const Tensor& index, int axis);
/// Whole slices: axis is replaced by the axes of `index`, of any rank.
Tensor index_select(const Tensor& x, int axis, const Tensor& index);
/// Rows of a table: [rows, width] and ids [...] give [..., width].
Tensor embedding(const Tensor& table, const Tensor& ids);
/// The last axis of `index` holds positions in the first axes of x: index [..., k] and x [n1..nk,
/// rest...] give [..., rest...].
Tensor gather_nd(const Tensor& x, const Tensor& index);

/// x with result[i, index[i, j, ...], ...] combined with updates[i, j, ...]: the writing form of
/// gather(). Where several updates meet they combine in row-major order; with kSet the last one
/// stays.
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& updates,
               ScatterMode mode = ScatterMode::kSet);
/// Whole slices: the writing form of index_select, for an index of rank 1.
Tensor index_put(const Tensor& x, int axis, const Tensor& index, const Tensor& updates,
                 ScatterMode mode = ScatterMode::kSet);
/// The writing form of gather_nd().
Tensor scatter_nd(const Tensor& x, const Tensor& index, const Tensor& updates,
                  ScatterMode mode = ScatterMode::kSet);

}  // namespace luminal
