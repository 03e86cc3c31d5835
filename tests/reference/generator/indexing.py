"""Gather, scatter, masks, sorting."""

import math

import torch

from .case_writer import ALL, DTYPES, EQUAL, EXACT, FLOATS, NUMBERS, Family, close
from .values import distinct, randoms
from .reductions import special_rows

REDUCTIONS = {"set": None, "add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def indices(shape, bound: int, seed: int, dtype: str = "i64") -> torch.Tensor:
    return torch.randint(0, bound, shape, generator=torch.Generator().manual_seed(seed)).to(DTYPES[dtype])


def add_gathers(family: Family) -> None:
    for seed, dtype in enumerate(ALL):
        x = randoms(dtype, (4, 5, 3), seed=700 + seed)
        for axis, shape in [(0, (2, 5, 3)), (1, (4, 7, 3)), (2, (4, 5, 1)), (-1, (4, 5, 4)), (1, (4, 0, 3))]:
            index = indices(shape, x.shape[axis], seed)
            family.add("take_along", [x, index], torch.take_along_dim(x, index, axis), axis=axis)
        for axis, shape in [(0, (2, 3, 1)), (1, (4, 7, 2)), (-1, (1, 5, 6)), (2, (0, 5, 2))]:
            index = indices(shape, x.shape[axis], seed)
            family.add("gather", [x, index], torch.gather(x, axis, index), axis=axis)
        for axis, shape in [(0, (2, 1, 3)), (1, (1, 4, 1))]:
            index = indices(shape, x.shape[axis], seed)
            family.add("take_along", [x, index], torch.take_along_dim(x, index, axis), axis=axis)
        for axis, count in [(0, 6), (1, 2), (2, 1), (-2, 3), (0, 0)]:
            index = indices((count,), x.shape[axis], seed + 1, "i32" if seed % 2 else "i64")
            family.add("index_select", [x, index], torch.index_select(x, axis, index), axis=axis)
        index = indices((2, 3), 5, seed + 1)
        family.add("index_select", [x, index], x[:, index], axis=1)
        table = randoms(dtype, (7, 3), seed=720 + seed)
        for shape in [(5,), (2, 3), (), (0,), (1, 2, 1, 2)]:
            index = indices(shape, 7, seed + 2)
            family.add("embedding", [table, index], table[index])
    nan = torch.tensor([[math.nan, -0.0], [math.inf, 1.0]])
    family.add("index_select", [nan, torch.tensor([1, 0, 0])], nan[[1, 0, 0]], axis=0)


def add_scatters(family: Family) -> None:
    for seed, dtype in enumerate(NUMBERS):
        x = randoms(dtype, (4, 6), seed=740 + seed)
        for axis, shape in [(0, (3, 6)), (1, (4, 5)), (0, (7, 6)), (1, (4, 0))]:
            updates = randoms(dtype, shape, seed=760 + seed)
            if dtype == "i8":
                updates = updates.clamp(-2, 2)
            repeated = indices(shape, x.shape[axis], seed)
            for mode, reduce in REDUCTIONS.items():
                if mode == "set":
                    if shape[axis] > x.shape[axis]:
                        continue
                    order = [torch.randperm(x.shape[axis], generator=torch.Generator().manual_seed(seed + i)) for i in range(6)]
                    lines = torch.stack(order)[: shape[1 - axis], : shape[axis]]
                    index = lines.T.contiguous() if axis == 0 else lines
                    family.add("scatter", [x, index, updates], x.scatter(axis, index, updates), axis=axis, mode=mode)
                    continue
                expected = x.scatter_reduce(axis, repeated, updates, reduce)
                tolerance = close(dtype, 8) if dtype in FLOATS and mode in ("add", "mul") else EXACT
                if dtype in ("f16", "bf16") and mode in ("add", "mul"):
                    tolerance = close(dtype, 32)  # the order and width of the accumulation are free here
                family.add("scatter", [x, repeated, updates], expected, tolerance, axis=axis, mode=mode)
        add_index_put(family, dtype, seed)
        add_scatter_nd(family, dtype, seed)


def add_index_put(family: Family, dtype: str, seed: int) -> None:
    x = randoms(dtype, (4, 5, 2), seed=775 + seed)
    for axis, index in [(0, torch.tensor([2, 0])), (1, torch.tensor([4, 1, 3])), (-1, torch.tensor([1]))]:
        shape = list(x.shape)
        shape[axis] = index.numel()
        updates = randoms(dtype, shape, seed=776 + seed)
        family.add("index_put", [x, index, updates], x.index_copy(axis, index, updates), axis=axis, mode="set")
        family.add("index_put", [x, index, updates], x.index_add(axis, index, updates), axis=axis, mode="add")


def add_scatter_nd(family: Family, dtype: str, seed: int) -> None:
    """index[..., k] names the first k positions of x; the rest of x's axes are copied whole."""
    x = randoms(dtype, (4, 5, 2), seed=780 + seed)
    for index in [torch.tensor([[1], [3], [0]]), torch.tensor([[1, 4], [3, 0], [0, 2]]), torch.tensor([[2, 2, 1]]),
                  torch.tensor([[[0, 1], [1, 0]], [[2, 3], [3, 4]]])]:
        updates = randoms(dtype, (*index.shape[:-1], *x.shape[index.shape[-1]:]), seed=790 + seed)
        expected = x.clone()
        expected[tuple(index.unbind(-1))] = updates
        family.add("scatter_nd", [x, index, updates], expected, mode="set")
        added = x.clone()
        added.index_put_(tuple(index.unbind(-1)), updates, accumulate=True)
        family.add("scatter_nd", [x, index, updates], added, mode="add")
        gathered = x[tuple(index.unbind(-1))]
        family.add("gather_nd", [x, index], gathered)


def add_masks(family: Family) -> None:
    for seed, dtype in enumerate(ALL):
        x = randoms(dtype, (3, 4), seed=800 + seed)
        value = True if dtype == "bool" else 5
        for mask in [indices((3, 4), 2, seed).bool(), indices((4,), 2, seed).bool(), indices((3, 1), 2, seed).bool()]:
            family.add("masked_fill", [x, mask], x.masked_fill(mask, value), value=value)
    x = randoms("f32", (3, 4), seed=820)
    mask = indices((3, 4), 2, 821).bool()
    family.add("masked_fill", [x, mask], x.masked_fill(mask, -math.inf), value=-math.inf)


def add_sorting(family: Family) -> None:
    for seed, dtype in enumerate(NUMBERS):
        ties = randoms(dtype, (3, 11), seed=830 + seed)
        ties = ties.round() if dtype in FLOATS else ties
        samples = [(ties, 1), (ties, 0), (randoms(dtype, (1,), seed=831), 0), (randoms(dtype, (2, 0), seed=832), 1),
                   (distinct(dtype, (2, 5, 3), seed=833), 1), (distinct(dtype, (33,), seed=834), -1)]
        if dtype in FLOATS:
            samples += [(special_rows(dtype), 1)]
        for x, axis in samples:
            for descending in [False, True]:
                values, positions = torch.sort(x, dim=axis, descending=descending, stable=True)
                family.add("sort", [x], values, axis=axis, descending=descending)
                family.add("argsort", [x], positions, axis=axis, descending=descending)
        for x, axis, count in [(samples[4][0], 1, 3), (samples[4][0], -1, 3), (samples[4][0], 0, 1), (samples[5][0], 0, 10), (ties, 1, 4)]:
            for largest in [True, False]:
                # The first of equal elements, as a stable sort gives; PyTorch leaves it open.
                values, positions = torch.sort(x, dim=axis, descending=largest, stable=True)
                outputs = [values.narrow(axis, 0, count), positions.narrow(axis, 0, count)]
                family.add("topk", [x], outputs, EQUAL, count=count, axis=axis, largest=largest)


def add_sorting_edges(family: Family) -> None:
    flags = torch.tensor([[True, False, True, False], [False, False, True, True]])
    for descending in [False, True]:
        values, positions = torch.sort(flags, dim=1, descending=descending, stable=True)
        family.add("sort", [flags], values, axis=1, descending=descending)
        family.add("argsort", [flags], positions, axis=1, descending=descending)
    for dtype in FLOATS:
        rows = special_rows(dtype)
        for largest in [True, False]:
            values, positions = torch.sort(rows, dim=1, descending=largest, stable=True)
            family.add("topk", [rows], [values[:, :2], positions[:, :2]], EQUAL, count=2, axis=1, largest=largest)
            family.add("topk", [rows], [values[:, :0], positions[:, :0]], EQUAL, count=0, axis=1, largest=largest)
            family.add("topk", [rows], [values, positions], EQUAL, count=4, axis=1, largest=largest)


def add_cases(family: Family) -> None:
    add_sorting_edges(family)
    add_gathers(family)
    add_scatters(family)
    add_masks(family)
    add_sorting(family)
