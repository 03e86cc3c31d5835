// Index expressions as kernels read them: the linear position and the conditions of views that real
// networks build (merged and split heads, windows of convolutions, rotary halves, caches, padding).
// Shared by the suite that proves simplification right and the benchmark that shows what it gains.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "luminal/graph/view.h"

namespace luminal::rules {

using graph::Shape;
using graph::View;
using symbolic::Expr;

/// The expressions that one load needs.
struct CorpusEntry {
  std::string name;
  std::vector<Expr> exprs;
};

/// Position and conditions of a view.
inline CorpusEntry entry_of(std::string name, const View& view) {
  CorpusEntry entry{std::move(name), {view.linear_index()}};
  for (const auto& [value, extent] : view.conditions()) {
    entry.exprs.push_back(
        symbolic::logical_and(symbolic::greater_equal(value, 0), symbolic::less(value, extent)));
  }
  return entry;
}

namespace corpus {

inline Expr batch() { return Expr::variable("batch", {1, 1 << 16}); }
inline Expr seq() { return Expr::variable("seq", {1, 1 << 20}); }
inline Expr past() { return Expr::variable("past", {0, 1 << 20}); }
inline Expr height() { return Expr::variable("height", {1, 1 << 14}); }
inline Expr width() { return Expr::variable("width", {1, 1 << 14}); }

inline View permuted(const View& view, std::initializer_list<int> axes) {
  return view.permute(std::vector<int>(axes));
}
inline View split(const View& view, int axis, std::initializer_list<Expr> extents) {
  return view.split(axis, std::vector<Expr>(extents));
}
inline View padded(const View& view, int axis, const Expr& before, const Expr& after) {
  return view.pad(axis, before, after, graph::Scalar()).value();
}

/// Attention: heads split off, moved to the front, merged with the batch, and back.
inline void add_attention(std::vector<CorpusEntry>& entries) {
  const View hidden = View::identity({batch(), seq(), 4096});
  const View heads = permuted(split(hidden, 2, {32, 128}), {0, 2, 1, 3});
  entries.push_back(entry_of("attention: heads", heads));
  entries.push_back(entry_of("attention: heads merged with batch", heads.merge(0, 2)));
  entries.push_back(entry_of("attention: flat heads", heads.merge(0, 4)));
  const View context = View::identity({batch(), 32, seq(), 128});
  entries.push_back(
      entry_of("attention: context back", permuted(context, {0, 2, 1, 3}).merge(2, 2)));
  entries.push_back(
      entry_of("attention: context back, flat", permuted(context, {0, 2, 1, 3}).merge(0, 4)));
  const View groups = View::identity({batch(), past() + seq(), 8, 96});
  entries.push_back(entry_of("attention: grouped keys",
                             permuted(groups, {0, 2, 1, 3}).insert_axis(2, 5).merge(1, 2)));
  entries.push_back(
      entry_of("attention: grouped keys, flat",
               permuted(groups, {0, 2, 1, 3}).insert_axis(2, 5).merge(1, 2).merge(0, 4)));
  entries.push_back(
      entry_of("attention: qkv slice",
               split(View::identity({batch(), seq(), 3 * 768}).slice(2, 768, 2 * 768), 2, {12, 64})
                   .merge(0, 2)));
}

/// Rotary embedding: halves swapped, pairs interleaved.
inline void add_rotary(std::vector<CorpusEntry>& entries) {
  const View head = View::identity({batch(), 32, seq(), 128});
  entries.push_back(entry_of("rotary: second half", head.slice(3, 64, 128)));
  entries.push_back(entry_of("rotary: halves as pairs, flat",
                             permuted(split(head, 3, {2, 64}), {0, 1, 2, 4, 3}).merge(0, 5)));
  entries.push_back(
      entry_of("rotary: first half moved up", padded(head.slice(3, 0, 64), 3, 64, 0)));
  entries.push_back(
      entry_of("rotary: pairs swapped, flat", split(head, 3, {64, 2}).flip(4).merge(0, 5)));
  const View table = View::identity({4096, 64});
  entries.push_back(entry_of("rotary: table rows", table.slice(0, past(), past() + seq())
                                                       .insert_axis(0, batch())
                                                       .insert_axis(1, 32)
                                                       .merge(0, 4)));
}

/// Convolutions: windows over padded images, and the matrix they become.
inline void add_convolution(std::vector<CorpusEntry>& entries) {
  const View image = View::identity({batch(), 64, height(), width()});
  const View border = padded(padded(image, 2, 1, 1), 3, 1, 1);
  const View windows = border.window(2, 3).window(3, 3);
  entries.push_back(entry_of("convolution: 3x3 same", windows));
  entries.push_back(
      entry_of("convolution: 3x3 columns", permuted(windows, {0, 2, 3, 1, 4, 5}).merge(3, 3)));
  const View fixed = padded(padded(View::identity({batch(), 3, 224, 224}), 2, 3, 3), 3, 3, 3);
  const View strided = fixed.window(2, 7, 2).window(3, 7, 2);
  entries.push_back(entry_of("convolution: 7x7 stride 2", strided));
  entries.push_back(entry_of("convolution: 7x7 matrix",
                             permuted(strided, {0, 2, 3, 1, 4, 5}).merge(3, 3).merge(0, 3)));
  const View audio = padded(View::identity({batch(), 80, seq()}), 2, 1, 1);
  entries.push_back(entry_of("convolution: audio stride 2", audio.window(2, 3, 2)));
  const View pool = View::identity({batch(), 128, 56, 56}).window(2, 2, 2).window(3, 2, 2);
  entries.push_back(entry_of("pool: 2x2 flat", pool.merge(0, 4)));
  entries.push_back(entry_of("convolution: dilated", image.window(2, 3, 1, 2).window(3, 3, 1, 2)));
}

/// Layouts: transposes, patches, channels last, concatenation, flips, diagonals.
inline void add_layouts(std::vector<CorpusEntry>& entries) {
  const View image = View::identity({batch(), 3, height(), width()});
  entries.push_back(
      entry_of("layout: channels last, flat", permuted(image, {0, 2, 3, 1}).merge(0, 4)));
  entries.push_back(entry_of("layout: rows of pixels", permuted(image, {0, 2, 3, 1}).merge(1, 2)));
  const View photo = View::identity({batch(), 3, 224, 224});
  const View patches = split(split(photo, 2, {14, 16}), 4, {14, 16});
  entries.push_back(
      entry_of("layout: patches", permuted(patches, {0, 2, 4, 1, 3, 5}).merge(3, 3).merge(1, 2)));
  entries.push_back(entry_of("layout: flipped image, flat", image.flip(3).flip(2).merge(0, 4)));
  entries.push_back(entry_of("layout: concat of past and new",
                             padded(View::identity({batch(), seq(), 8, 128}), 1, past(), 0)));
  entries.push_back(
      entry_of("layout: concat, flat",
               padded(View::identity({batch(), seq(), 8, 128}), 1, past(), 0).merge(0, 4)));
  entries.push_back(entry_of("layout: matrix transposed, flat",
                             permuted(View::identity({seq(), 4096}), {1, 0}).merge(0, 2)));
  entries.push_back(entry_of("layout: diagonal", View::identity({seq(), seq()}).diagonal(0, 1)));
  entries.push_back(entry_of("layout: odd reshape",
                             View::identity({batch(), 6, 35}).reshape(Shape{batch(), 10, 21})));
  entries.push_back(
      entry_of("layout: pixel shuffle",
               permuted(split(View::identity({batch(), 64, height(), width()}), 1, {16, 2, 2}),
                        {0, 1, 4, 2, 5, 3})
                   .merge(4, 2)
                   .merge(2, 2)));
}

}  // namespace corpus

/// All entries.
inline std::vector<CorpusEntry> view_corpus() {
  std::vector<CorpusEntry> entries;
  corpus::add_attention(entries);
  corpus::add_rotary(entries);
  corpus::add_convolution(entries);
  corpus::add_layouts(entries);
  return entries;
}

}  // namespace luminal::rules
