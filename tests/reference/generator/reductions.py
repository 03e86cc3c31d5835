"""Reductions over any axes, positions of extremes, and scans."""

import itertools
import math

import torch

from .case_writer import DTYPES, EQUAL, EXACT, FLOATS, INTEGERS, NUMBERS, Family, close
from .values import randoms, wide


def axis_sets(rank: int) -> list[list[int]]:
    sets = [list(c) for n in range(1, rank + 1) for c in itertools.combinations(range(rank), n)]
    return sets + ([[-1], [-rank]] if rank > 1 else [])


def special_rows(dtype: str) -> torch.Tensor:
    """Rows with NaN first, NaN last, infinities of one sign, of both signs, zeros of both signs, ties."""
    nan, inf = math.nan, math.inf
    rows = [[nan, 1, 2, 3], [3, 2, 1, nan], [1, inf, 2, inf], [-inf, 1, -inf, 2], [inf, -inf, 0, 1],
            [0.0, -0.0, 0.0, -0.0], [2, 5, 5, 1], [-3, -3, -3, -3], [-inf, -inf, -inf, -inf], [nan, inf, -inf, nan]]
    return torch.tensor(rows, dtype=DTYPES[dtype])


def norm(x, axes, keepdim, p):
    return torch.linalg.vector_norm(x, p, axes, keepdim)


def prod(x, axes, keepdim):
    for axis in sorted((a % x.dim() for a in axes), reverse=True):
        x = x.prod(axis, keepdim=keepdim)
    return x


# op -> (function of f64 data, axes, keepdim; attributes)
FLOAT_REDUCTIONS = {
    "sum": (lambda x, a, k: torch.sum(x, a, k), {}),
    "mean": (lambda x, a, k: torch.mean(x, a, k), {}),
    "prod": (prod, {}),
    "var": (lambda x, a, k: torch.var(x, a, correction=1, keepdim=k), {"correction": 1}),
    "var_population": (lambda x, a, k: torch.var(x, a, correction=0, keepdim=k), {"correction": 0}),
    "std": (lambda x, a, k: torch.std(x, a, correction=1, keepdim=k), {"correction": 1}),
    "norm_1": (lambda x, a, k: norm(x, a, k, 1), {"p": 1.0}),
    "norm_2": (lambda x, a, k: norm(x, a, k, 2), {"p": 2.0}),
    "norm_3": (lambda x, a, k: norm(x, a, k, 3), {"p": 3.0}),
    "norm_inf": (lambda x, a, k: norm(x, a, k, math.inf), {"p": math.inf}),
    "logsumexp": (lambda x, a, k: torch.logsumexp(x, a, k), {}),
}
EXTREME_REDUCTIONS = {"max": torch.amax, "min": torch.amin}
BOOL_REDUCTIONS = {"any": torch.any, "all": torch.all}


def op_name(key: str) -> str:
    return key.split("_")[0]


def add_float_reductions(family: Family) -> None:
    for seed, dtype in enumerate(FLOATS):
        tolerance = close(dtype, 16, 0.5)
        for shape in [(3, 5, 2), (7,), (1,), (1, 4)] + ([(2, 1, 3, 2, 1, 2)] if dtype in ("f32", "f64") else []):
            x = randoms(dtype, shape, seed=10 + seed)
            sets = axis_sets(len(shape)) if len(shape) < 4 else [[0, 2], [1, 3, 5], [0, 1, 2, 3, 4, 5], [4]]
            for axes, (number, (key, (function, attributes))) in itertools.product(sets, enumerate(FLOAT_REDUCTIONS.items())):
                keepdim = (number + len(axes)) % 2 == 0
                count = math.prod(shape[a] for a in axes)
                if key in ("var", "std") and count < 2:
                    continue
                expected = function(x.double(), axes, keepdim).to(DTYPES[dtype])
                family.add(op_name(key), [x], expected, tolerance, axes=axes, keepdim=keepdim, **attributes)
        add_special_float_rows(family, dtype, tolerance)


def add_special_float_rows(family: Family, dtype: str, tolerance: str) -> None:
    rows = special_rows(dtype)
    for key in ["sum", "mean", "prod", "norm_2", "norm_inf", "logsumexp"]:
        function, attributes = FLOAT_REDUCTIONS[key]
        expected = function(rows.double(), [1], False).to(DTYPES[dtype])
        family.add(op_name(key), [rows], expected, tolerance, axes=[1], keepdim=False, **attributes)


def add_extremes(family: Family) -> None:
    for seed, dtype in enumerate(NUMBERS):
        for shape in [(3, 5, 2), (1,)]:
            x = randoms(dtype, shape, seed=20 + seed)
            for number, axes in enumerate(axis_sets(len(shape))):
                for op, function in EXTREME_REDUCTIONS.items():
                    family.add(op, [x], function(x, axes, number % 2 == 0), axes=axes, keepdim=number % 2 == 0)
        if dtype in FLOATS:
            rows = special_rows(dtype)
            for op, function in EXTREME_REDUCTIONS.items():
                family.add(op, [rows], function(rows, 1), EQUAL, axes=[1], keepdim=False)


def add_integer_reductions(family: Family) -> None:
    """Sums and products of integers are those of i64, as in NumPy and PyTorch."""
    for seed, dtype in enumerate(INTEGERS + ["bool"]):
        x = randoms(dtype, (3, 5, 2), seed=30 + seed)
        for axes in axis_sets(3):
            family.add("sum", [x], torch.sum(x, axes), axes=axes, keepdim=False)
        family.add("prod", [x], prod(x, [1], False), axes=[1], keepdim=False)
        if dtype != "bool":
            extremes = torch.tensor([torch.iinfo(x.dtype).max, torch.iinfo(x.dtype).min, torch.iinfo(x.dtype).max], dtype=x.dtype)
            family.add("sum", [extremes], torch.sum(extremes), axes=[0], keepdim=False)
    for dtype in NUMBERS + ["bool"]:
        x = randoms(dtype, (4, 3), seed=40) * (randoms("i8", (4, 3), seed=41) > 0).to(DTYPES[dtype])
        for op, function in BOOL_REDUCTIONS.items():
            for axes in [[0], [1], [0, 1]]:
                family.add(op, [x], function(x.bool(), axes), axes=axes, keepdim=False)
    nan = torch.tensor([[math.nan, 0.0], [0.0, -0.0]])
    for op, function in BOOL_REDUCTIONS.items():
        family.add(op, [nan], function(nan.bool(), [1]), axes=[1], keepdim=False)


def add_empty(family: Family) -> None:
    for dtype in ["f32", "f16", "i64"]:
        x = torch.zeros((0, 3), dtype=DTYPES[dtype])
        for axes, keepdim in [([0], False), ([0], True), ([1], False), ([0, 1], False)]:
            family.add("sum", [x], torch.sum(x, axes, keepdim), axes=axes, keepdim=keepdim)
            family.add("prod", [x], prod(x, axes, keepdim), axes=axes, keepdim=keepdim)
            family.add("any", [x], torch.any(x.bool(), axes, keepdim), axes=axes, keepdim=keepdim)
            family.add("all", [x], torch.all(x.bool(), axes, keepdim), axes=axes, keepdim=keepdim)
        family.add("max", [x], torch.amax(x, 1), axes=[1], keepdim=False)
        if dtype != "i64":
            family.add("mean", [x], torch.mean(x, [0]), axes=[0], keepdim=False)
            family.add("logsumexp", [x], torch.logsumexp(x, [0]), axes=[0], keepdim=False)


def documented_extremes_of_nothing(family: Family) -> None:
    """The lowest (highest) value of the dtype; PyTorch refuses."""
    for dtype in NUMBERS:
        info = torch.finfo(DTYPES[dtype]) if dtype in FLOATS else torch.iinfo(DTYPES[dtype])
        low, high = (-math.inf, math.inf) if dtype in FLOATS else (info.min, info.max)
        x = torch.zeros((2, 0), dtype=DTYPES[dtype])
        family.add("max", [x], torch.full((2,), low, dtype=x.dtype), axes=[1], keepdim=False)
        family.add("min", [x], torch.full((2, 1), high, dtype=x.dtype), axes=[1], keepdim=True)


def add_fractions_of_integers(family: Family) -> None:
    """Means, deviations and norms of integers are f32."""
    for dtype in INTEGERS + ["bool"]:
        x = randoms(dtype, (4, 5), seed=45)
        tolerance = close("f32", 16, 0.5)
        for key in ["mean", "var", "std", "norm_2", "norm_1", "logsumexp"]:
            function, attributes = FLOAT_REDUCTIONS[key]
            expected = function(x.double(), [1], False).float()
            family.add(op_name(key), [x], expected, tolerance, axes=[1], keepdim=False, **attributes)


def add_rare_norms(family: Family) -> None:
    for dtype in FLOATS:
        x = randoms(dtype, (4, 5), seed=46)
        x[1, 2] = 0
        for p in [0.0, -math.inf, 0.5, 4.0]:
            for axes in [[0], [1], [0, 1]]:
                expected = norm(x.double(), axes, False, p).to(x.dtype)
                family.add("norm", [x], expected, close(dtype, 64), axes=axes, keepdim=False, p=p)


def add_long_sums(family: Family) -> None:
    """Long enough to need a wider accumulator: in bf16 a sum of ones would stop at 256, in f16 at 2048."""
    for dtype, count in [("bf16", 700), ("f16", 5000), ("f32", 3001), ("f64", 1001)]:
        x = torch.ones(count, dtype=DTYPES[dtype])
        for op, function in {"sum": torch.sum, "mean": torch.mean}.items():
            family.add(op, [x], function(x.double()).to(x.dtype), close(dtype, 1), axes=[0], keepdim=False)


def add_positions(family: Family) -> None:
    for seed, dtype in enumerate(NUMBERS):
        x = randoms(dtype, (3, 6, 2), seed=50 + seed)
        for axis in [0, 1, 2, -1]:
            for keepdim in [False, True]:
                family.add("argmax", [x], torch.argmax(x, axis, keepdim), axis=axis, keepdim=keepdim)
                family.add("argmin", [x], torch.argmin(x, axis, keepdim), axis=axis, keepdim=keepdim)
        if dtype in FLOATS:
            rows = special_rows(dtype)
            family.add("argmax", [rows], torch.argmax(rows, 1), axis=1, keepdim=False)
            family.add("argmin", [rows], torch.argmin(rows, 1), axis=1, keepdim=False)
        family.add("argmax", [x], torch.argmax(x))
        family.add("argmin", [x], torch.argmin(x))
    for flags in [torch.tensor([[False, True, True], [False, False, False]])]:
        family.add("argmax", [flags], flags.int().argmax(1), axis=1, keepdim=False)
    one = torch.tensor([[5.0]])
    family.add("argmax", [one], torch.argmax(one, 1), axis=1, keepdim=False)


def add_reduction_cases(family: Family) -> None:
    add_float_reductions(family)
    add_extremes(family)
    add_integer_reductions(family)
    add_empty(family)
    documented_extremes_of_nothing(family)
    add_fractions_of_integers(family)
    add_rare_norms(family)
    add_long_sums(family)
    add_positions(family)


def add_scan_cases(family: Family) -> None:
    for seed, dtype in enumerate(NUMBERS):
        for shape in [(9,), (3, 17), (2, 3, 4), (1,), (0,), (2, 0, 3)]:
            x = randoms(dtype, shape, seed=60 + seed)
            tolerance = close(dtype, 16, 4) if dtype in FLOATS else EXACT
            for axis in range(-1, len(shape)):
                for op, function in {"cumsum": torch.cumsum, "cumprod": torch.cumprod}.items():
                    expected = function(wide(x), axis)
                    expected = expected.to(x.dtype) if dtype in FLOATS else expected
                    family.add(op, [x], expected, tolerance, axis=axis)
                if x.numel():
                    family.add("cummax", [x], torch.cummax(x, axis).values, EQUAL, axis=axis)
                    family.add("cummin", [x], torch.cummin(x, axis).values, EQUAL, axis=axis)
        long = randoms(dtype, (129,), seed=61)
        if dtype in FLOATS:
            family.add("cumsum", [long], torch.cumsum(wide(long), 0).to(long.dtype), close(dtype, 32, 8), axis=0)
        else:
            family.add("cumsum", [long], torch.cumsum(long, 0), axis=0)
        if dtype in FLOATS:
            rows = special_rows(dtype)
            family.add("cumsum", [rows], torch.cumsum(rows, 1), close(dtype, 16), axis=1)
            family.add("cummax", [rows], torch.cummax(rows, 1).values, EQUAL, axis=1)
