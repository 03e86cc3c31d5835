"""Ops that move elements and never compute: the bits must come out as they went in."""

import torch
import torch.nn.functional as F

from .case_writer import ALL, DTYPES, Family
from .values import randoms

SEVEN = (2, 1, 3, 1, 2, 1, 2)

RESHAPES = [((6,), [2, 3]), ((2, 3), [-1]), ((2, 3, 4), [4, -1]), ((2, 3, 4), [3, 1, -1, 2]), ((1,), []), ((), [1, 1]),
            ((0, 3), [3, 0]), ((0, 3), [0]), (SEVEN, [3, -1, 4])]
PERMUTES = [((2, 3), [1, 0]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4), [-1, 1, 0]), ((), []), (SEVEN, [6, 2, 0, 5, 4, 3, 1]), ((0, 2, 3), [2, 0, 1])]
TRANSPOSES = [((2, 3), 0, 1), ((2, 3, 4), 1, -1), ((2, 3, 4), 0, 2), (SEVEN, 2, 6)]
EXPANDS = [((1,), [4]), ((3, 1), [3, 5]), ((3,), [2, 3]), ((1, 2, 1), [4, 3, 2, 5]), ((), [2, 2]), ((1, 3), [0, 3]), ((1, 1), [1, 1])]
SLICES = [((7,), 0, 1, 5, 1), ((7,), 0, 0, 7, 2), ((7,), 0, 1, 7, 3), ((7,), 0, -3, 7, 1), ((4, 5), 1, 2, -1, 1),
          ((4, 5), 0, 1, 1, 1), ((4, 5), 0, 3, 4, 1), ((2, 6, 3), 1, 0, 6, 4), ((5,), 0, 0, 100, 1), (SEVEN, 2, 1, 3, 1)]
# NumPy only: PyTorch has no negative steps. bf16 goes by its bits.
BACKWARD_SLICES = [((7,), 0, 5, 1, -1), ((7,), 0, -1, 0, -2), ((3, 6), 1, 4, -7, -1), ((7,), 0, 6, 2, -3), ((4,), 0, 1, 3, -1)]
STORAGE = {"bf16": torch.int16}
PADS = [((3,), [(1, 2)]), ((2, 3), [(0, 0), (1, 0)]), ((2, 3), [(2, 1), (0, 2)]), ((1, 2, 2), [(0, 1), (1, 0), (2, 2)]), ((0,), [(1, 1)])]
MODE_PADS = [((1, 1, 5), [(2, 3)]), ((1, 2, 4, 5), [(1, 2), (3, 1)]), ((2, 1, 3), [(0, 2)]), ((1, 1, 3, 3, 3), [(1, 1), (0, 2), (2, 0)])]
FLIPS = [((5,), [0]), ((2, 3), [1]), ((2, 3), [0, 1]), ((2, 3, 4), [0, -1]), ((1,), [0]), ((0, 2), [0, 1])]
ROLLS = [((5,), 2, 0), ((5,), -1, 0), ((5,), 7, 0), ((3, 4), 1, 1), ((3, 4), -5, 0), ((2, 0), 1, 1)]
TILES = [((3,), [2]), ((2, 3), [2, 1]), ((2, 3), [1, 3]), ((2,), [2, 3]), ((2, 1, 2), [1, 2, 2]), ((3,), [0])]
INTERLEAVES = [((3,), 2, 0), ((2, 3), 3, 1), ((2, 3), 2, 0), ((2, 2, 2), 2, -1)]
CHUNKS = [((6,), 3, 0), ((7,), 3, 0), ((4, 6), 2, 1), ((2, 5), 2, -1)]
CONCATS = [([(2,), (3,)], 0), ([(2, 3), (2, 1), (2, 2)], 1), ([(1, 3), (2, 3)], -2), ([(0, 2), (3, 2)], 0), ([(2, 2)], 0)]
STACKS = [([(3,), (3,)], 0), ([(2, 3)] * 3, 1), ([(2, 3)] * 2, -1), ([(), ()], 0)]
UNFOLDS = [((7,), 0, 3, 1), ((7,), 0, 3, 2), ((2, 8), 1, 2, 3), ((5, 2), 0, 5, 1), ((2, 6, 3), 1, 2, 2)]
DIAGONALS = [((3, 3), 0, 0, 1), ((3, 5), 1, 0, 1), ((3, 5), -2, 0, 1), ((2, 3, 4), 0, 1, 2), ((2, 3, 4), 1, 0, 2), ((2, 3, 4), -1, -1, 0)]
SPLITS = [((6,), 0, [2, 3]), ((2, 12), 1, [2, 3, 2]), ((4, 2), 0, [1, 4]), ((6, 2), 0, [-1, 3])]
MERGES = [((2, 3), 0, 2), ((2, 3, 4), 1, 2), ((2, 3, 4), 0, 3), ((2, 1, 4), 0, 2)]


class Counter:
    """Data of the next shape, each time with another seed."""

    def __init__(self, dtype: str):
        self.dtype, self.seed = dtype, 600

    def __call__(self, shape) -> torch.Tensor:
        self.seed += 1
        return randoms(self.dtype, shape, seed=self.seed)


def add_shapes(family: Family, data: Counter) -> None:
    for shape, target in RESHAPES:
        x = data(shape)
        family.add("reshape", [x], x.reshape(target), shape=target)
    for shape, axes in PERMUTES:
        x = data(shape)
        family.add("permute", [x], x.permute(axes), axes=axes)
    for shape, first, second in TRANSPOSES:
        x = data(shape)
        family.add("transpose", [x], x.transpose(first, second), first=first, second=second)
    for shape, target in EXPANDS:
        x = data(shape)
        family.add("expand", [x], x.expand(target), shape=target)
    x = data((1, 3, 1, 2))
    for axis in [0, 2, -2]:
        family.add("squeeze", [x], x.squeeze(axis), axis=axis)
    for axis in [0, 2, 4, -1]:
        family.add("unsqueeze", [x], x.unsqueeze(axis), axis=axis)
    y = data((2, 3, 2, 2))
    for first, last in [(0, -1), (1, 2), (1, -1), (2, 2)]:
        family.add("flatten", [y], y.flatten(first, last), first=first, last=last)
    for shape, axis, sizes in SPLITS:
        x = data(shape)
        family.add("split_dims", [x], x.unflatten(axis, sizes), axis=axis, sizes=sizes)
    for shape, first, count in MERGES:
        x = data(shape)
        family.add("merge_dims", [x], x.flatten(first, first + count - 1), first=first, count=count)


def add_selections(family: Family, data: Counter) -> None:
    for shape, axis, begin, end, step in SLICES:
        x = data(shape)
        index = [slice(None)] * axis + [slice(begin, end, step)]
        family.add("slice", [x], x[tuple(index)], axis=axis, begin=begin, end=end, step=step)
    for shape, axis, begin, end, step in BACKWARD_SLICES:
        x = data(shape)
        index = [slice(None)] * axis + [slice(begin, end, step)]
        expected = torch.from_numpy(x.view(STORAGE.get(data.dtype, x.dtype)).numpy()[tuple(index)].copy()).view(x.dtype)
        family.add("slice", [x], expected, axis=axis, begin=begin, end=end, step=step)
    for shape, axis, position in [((4,), 0, 2), ((2, 3, 4), 1, -1), ((2, 3, 4), -1, 0)]:
        x = data(shape)
        family.add("select", [x], x.select(axis, position), axis=axis, position=position)
    for shape, sizes, axis in [((7,), [3, 0, 4], 0), ((2, 6), [1, 5], 1)]:
        x = data(shape)
        family.add("split", [x], list(x.split(sizes, axis)), sizes=sizes, axis=axis)
    for shape, axes in FLIPS:
        x = data(shape)
        family.add("flip", [x], x.flip(axes), axes=axes)
    for shape, shift, axis in ROLLS:
        x = data(shape)
        family.add("roll", [x], x.roll(shift, axis), shift=shift, axis=axis)
    for shape, axis, size, step in UNFOLDS:
        x = data(shape)
        family.add("unfold", [x], x.unfold(axis, size, step), axis=axis, size=size, step=step)
    for shape, offset, first, second in DIAGONALS:
        x = data(shape)
        family.add("diagonal", [x], x.diagonal(offset, first, second), offset=offset, first=first, second=second)
    for shape, count, axis in CHUNKS:
        x = data(shape)
        family.add("chunk", [x], list(x.chunk(count, axis)), count=count, axis=axis)


def torch_padding(amounts):
    """PyTorch lists the last axis first."""
    return [amount for pair in reversed(amounts) for amount in pair]


def add_growth(family: Family, data: Counter) -> None:
    for shape, amounts in PADS:
        x = data(shape)
        value = 1 if data.dtype == "bool" else 3
        expected = F.pad(x, torch_padding(amounts), value=value)
        flat = [amount for pair in amounts for amount in pair]
        family.add("pad", [x], expected, amounts=flat, mode="constant", value=value)
    for shape, amounts in [((5,), [(-1, 2)]), ((4, 5), [(1, -2), (-1, -1)])]:
        x = data(shape)
        flat = [amount for pair in amounts for amount in pair]
        family.add("pad", [x], F.pad(x, torch_padding(amounts)), amounts=flat, mode="constant", value=0)
    for shape, repeats in TILES:
        x = data(shape)
        family.add("tile", [x], x.tile(repeats), repeats=repeats)
    for shape, count, axis in INTERLEAVES:
        x = data(shape)
        family.add("repeat_interleave", [x], x.repeat_interleave(count, axis), count=count, axis=axis)
    for shapes, axis in CONCATS:
        tensors = [data(shape) for shape in shapes]
        family.add("concat", tensors, torch.cat(tensors, axis), axis=axis)
    for shapes, axis in STACKS:
        tensors = [data(shape) for shape in shapes]
        family.add("stack", tensors, torch.stack(tensors, axis), axis=axis)


def add_mode_pads(family: Family) -> None:
    for dtype in ["f32", "f64"]:
        data = Counter(dtype)
        for shape, amounts in MODE_PADS:
            x = data(shape)
            leading = [0, 0] * (len(shape) - len(amounts))
            flat = leading + [amount for pair in amounts for amount in pair]
            for mode in ["reflect", "replicate", "circular"]:
                limit = 0 if mode == "reflect" else 1
                if any(amount > extent - 1 + limit for pair, extent in zip(amounts, shape[-len(amounts):]) for amount in pair):
                    if mode != "replicate":
                        continue
                family.add("pad", [x], F.pad(x, torch_padding(amounts), mode=mode), amounts=flat, mode=mode)


def add_cases(family: Family) -> None:
    for dtype in ALL:
        data = Counter(dtype)
        add_shapes(family, data)
        add_selections(family, data)
        add_growth(family, data)
    add_mode_pads(family)
