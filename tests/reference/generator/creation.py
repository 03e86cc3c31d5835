"""Tensors made from nothing: arange, linspace, eye, full, tril, triu, one_hot."""

import torch

from .case_writer import ALL, DTYPES, FLOATS, INTEGERS, Family, close
from .values import edge_list, randoms

ARANGES = [(0, 5, 1), (2, 11, 3), (5, 0, -2), (3, 3, 1), (-4, 4, 1), (0, 1, 7)]
FLOAT_ARANGES = [(0.0, 1.0, 0.25), (1.5, -1.0, -0.5), (0.0, 2.1, 0.3)]
LINSPACES = [(0.0, 1.0, 5), (-3.0, 3.0, 7), (2.0, -1.0, 4), (5.0, 5.0, 3), (1.0, 9.0, 1), (0.0, 1.0, 0)]
EYES = [(3, 3), (2, 4), (4, 2), (1, 1), (0, 3)]
MATRICES = [(3, 3), (2, 5), (5, 2), (2, 3, 4), (1, 1), (0, 4)]
DIAGONALS = [0, 1, -1, 3, -4]


def add_ranges(family: Family) -> None:
    for dtype in FLOATS + ["i64", "i32"]:
        for start, stop, step in ARANGES + (FLOAT_ARANGES if dtype in FLOATS else []):
            expected = torch.arange(start, stop, step, dtype=torch.float64).to(DTYPES[dtype])
            tolerance = close(dtype, 2) if dtype in FLOATS else "exact"
            family.add("arange", [], expected, tolerance, start=start, stop=stop, step=step, dtype=dtype)
    for dtype in FLOATS:
        for start, stop, count in LINSPACES:
            expected = torch.linspace(start, stop, count, dtype=torch.float64).to(DTYPES[dtype])
            family.add("linspace", [], expected, close(dtype, 4), start=start, stop=stop, count=count, dtype=dtype)


def add_constants(family: Family) -> None:
    for dtype in ALL:
        for rows, columns in EYES:
            family.add("eye", [], torch.eye(rows, columns, dtype=DTYPES[dtype]), rows=rows, columns=columns, dtype=dtype)
        for shape in [(), (3,), (2, 0, 3), (1, 2, 1, 2, 1, 2)]:
            family.add("zeros", [], torch.zeros(shape, dtype=DTYPES[dtype]), shape=shape, dtype=dtype)
            family.add("ones", [], torch.ones(shape, dtype=DTYPES[dtype]), shape=shape, dtype=dtype)
        for value in edge_list(dtype):
            expected = torch.full((2,), value, dtype=torch.float64 if dtype in FLOATS else DTYPES[dtype])
            family.add("full", [], expected.to(DTYPES[dtype]), shape=(2,), value=value, dtype=dtype)


def add_triangles(family: Family) -> None:
    for dtype in ALL:
        for shape in MATRICES if dtype == "f32" else MATRICES[:2]:
            x = randoms(dtype, shape, seed=len(shape))
            for diagonal in DIAGONALS:
                family.add("tril", [x], torch.tril(x, diagonal), diagonal=diagonal)
                family.add("triu", [x], torch.triu(x, diagonal), diagonal=diagonal)


def add_one_hot(family: Family) -> None:
    for dtype in INTEGERS:
        index = torch.tensor([[0, 2], [3, 1]]).to(DTYPES[dtype])
        for result in ["i64", "f32", "bool"]:
            expected = torch.nn.functional.one_hot(index.long(), 4).to(DTYPES[result])
            family.add("one_hot", [index], expected, classes=4, dtype=result)
    empty = torch.zeros((0,), dtype=torch.int64)
    family.add("one_hot", [empty], torch.zeros((0, 3)), classes=3, dtype="f32")
    family.add("one_hot", [torch.tensor(2)], torch.tensor([0.0, 0.0, 1.0]), classes=3, dtype="f32")


def add_cases(family: Family) -> None:
    add_ranges(family)
    add_constants(family)
    add_triangles(family)
    add_one_hot(family)
