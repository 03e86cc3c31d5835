"""Elementwise ops of two and three operands of one dtype: arithmetic, comparison, logic, bits, where, clip."""

import math

import numpy as np
import torch

from .case_writer import ALL, DTYPES, EQUAL, FLOATS, INTEGERS, NUMBERS, Family, ulps
from .values import is_float, randoms, short_edges, truth

ARITHMETIC = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}
EXTREMA = {"maximum": torch.maximum, "minimum": torch.minimum}
COMPARISONS = {"equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le,
               "greater": torch.gt, "greater_equal": torch.ge}
LOGIC = {"logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor}
BITS = {"bit_and": torch.bitwise_and, "bit_or": torch.bitwise_or, "bit_xor": torch.bitwise_xor}

# Pairs of shapes that broadcast: scalars, missing axes, stretched axes, empty ones, high ranks.
BROADCASTS = [((), ()), ((), (3,)), ((1,), (5,)), ((4, 1), (1, 3)), ((3,), (2, 3)), ((2, 1, 3), (4, 1)),
              ((0, 3), (1, 3)), ((2, 0), (1,)), ((1, 0, 1), (5, 1, 7)), ((7,), (7,)),
              ((2, 1, 2, 1, 2, 1), (1, 3, 1, 2, 1, 2)), ((1, 2, 1, 2, 1, 2, 1), (2, 1, 1, 1, 1, 1, 3))]


def all_pairs(dtype: str):
    """Every special value against every other, by broadcasting a column against a row."""
    values = short_edges(dtype)
    return values.reshape(-1, 1), values.reshape(1, -1)


def flat_pairs(dtype: str, keep):
    """As all_pairs, but one-dimensional and without the pairs that `keep` refuses."""
    values = short_edges(dtype)
    pairs = [(a, b) for a in values.tolist() for b in values.tolist() if keep(a, b)]
    return [torch.tensor(side, dtype=values.dtype) for side in zip(*pairs)]


def exact_fmod(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """C's fmod, which is always exact; PyTorch's vector code gives NaN where the quotient is huge."""
    with np.errstate(invalid="ignore"):
        return torch.from_numpy(np.fmod(a.double().numpy(), b.double().numpy())).to(a.dtype)


def exact_remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """PyTorch's definition on top of it: the sign of the divisor, rounded once where the divisor is added."""
    rest = exact_fmod(a, b)
    return torch.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def add_broadcasts(family: Family) -> None:
    for seed, (left, right) in enumerate(BROADCASTS):
        for dtype in ["f32", "i32"]:
            a, b = randoms(dtype, left, seed=2 * seed), randoms(dtype, right, seed=2 * seed + 1)
            family.add("add", [a, b], a + b)
            family.add("sub", [a, b], a - b)
            family.add("less", [a, b], a < b)
            family.add("where", [a > 0, b, a], torch.where(a > 0, b, a))


def add_arithmetic(family: Family) -> None:
    for dtype in NUMBERS:
        a, b = all_pairs(dtype)
        for op, function in ARITHMETIC.items():
            family.add(op, [a, b], function(a, b))
        for op, function in EXTREMA.items():
            family.add(op, [a, b], function(a, b), EQUAL)
    for dtype in FLOATS:
        a, b = all_pairs(dtype)
        family.add("div", [a, b], torch.div(a, b))
        family.add("fmod", [a, b], exact_fmod(a, b))
        family.add("remainder", [a, b], exact_remainder(a, b), EQUAL)
        family.add("pow", [a, b], truth(torch.pow, a, b), ulps(1))
        x, y = randoms(dtype, (31,), seed=5, scale=10), randoms(dtype, (31,), seed=6)
        family.add("div", [x, y], x / y)
        family.add("fmod", [x, y], exact_fmod(x, y))
        family.add("remainder", [x, y], exact_remainder(x, y), EQUAL)
        family.add("pow", [x.abs(), y], truth(torch.pow, x.abs(), y), ulps(2))
        add_floor_division(family, dtype, x, y)


def add_floor_division(family: Family, dtype: str, x: torch.Tensor, y: torch.Tensor) -> None:
    """Finite operands whose quotient is not within an ulp of an integer: there every definition agrees."""
    exact = x.double() / y.double()
    keep = (exact - exact.round()).abs() > 0.02
    keep &= exact.abs() < 1 / (8 * torch.finfo(DTYPES[dtype]).eps)
    x, y = x[keep], y[keep]
    family.add("floor_div", [x, y], torch.floor_divide(x, y), EQUAL)
    a = torch.tensor([7.0, -7.0, 7.0, -7.0, 6.0, -6.0, 0.0, 1.0, -1.0, math.nan, 2.0, 5.0, -5.0], dtype=DTYPES[dtype])
    b = torch.tensor([2.0, 2.0, -2.0, -2.0, 3.0, 3.0, 5.0, 0.0, 0.0, 2.0, math.nan, 4.0, -4.0], dtype=DTYPES[dtype])
    family.add("floor_div", [a, b], torch.floor_divide(a, b), EQUAL)


def documented_wrap(value: int, dtype: str) -> int:
    info = torch.iinfo(DTYPES[dtype])
    return (value - info.min) % (info.max - info.min + 1) + info.min


def documented_division(a: int, b: int, op: str, dtype: str) -> int:
    """Integer division by zero is 0, so is the remainder; MIN / -1 wraps to MIN."""
    if b == 0:
        return 0
    truncated = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    result = {"trunc_div": truncated, "fmod": a - truncated * b, "floor_div": a // b, "remainder": a % b}[op]
    return documented_wrap(result, dtype)


def add_integer_division(family: Family) -> None:
    for dtype in INTEGERS:
        info = torch.iinfo(DTYPES[dtype])
        a, b = flat_pairs(dtype, lambda a, b: b != 0 and not (b == -1 and a == info.min))
        family.add("trunc_div", [a, b], torch.div(a, b, rounding_mode="trunc"))
        family.add("floor_div", [a, b], torch.floor_divide(a, b))
        family.add("remainder", [a, b], torch.remainder(a, b))
        family.add("fmod", [a, b], torch.fmod(a, b))
        a, b = flat_pairs(dtype, lambda a, b: b == 0 or (b == -1 and a == info.min))
        for op in ["trunc_div", "fmod", "floor_div", "remainder"]:
            expected = [documented_division(p, q, op, dtype) for p, q in zip(a.tolist(), b.tolist())]
            family.add(op, [a, b], torch.tensor(expected, dtype=a.dtype))
        base, exponent = flat_pairs(dtype, lambda a, b: b <= 8)
        family.add("pow", [base, exponent], torch.pow(base, exponent))


def documented_shift(value: int, amount: int, op: str, dtype: str) -> int:
    bits = torch.iinfo(DTYPES[dtype]).bits
    if op == "shift_left":
        return documented_wrap(value << amount, dtype) if 0 <= amount < bits else 0
    return value >> amount if 0 <= amount < bits else (-1 if value < 0 else 0)


def add_bits(family: Family) -> None:
    for dtype in INTEGERS:
        a, b = all_pairs(dtype)
        for op, function in BITS.items():
            family.add(op, [a, b], function(a, b))
        family.add("bit_not", [a], torch.bitwise_not(a))
        bits = torch.iinfo(DTYPES[dtype]).bits
        values, amounts = short_edges(dtype), torch.tensor([0, 1, 3, bits - 1, bits, 127], dtype=DTYPES[dtype])
        if dtype != "u8":
            amounts = torch.cat([amounts, torch.tensor([-1, -5], dtype=DTYPES[dtype])])
        for op in ["shift_left", "shift_right"]:
            table = [[documented_shift(v, s, op, dtype) for s in amounts.tolist()] for v in values.tolist()]
            family.add(op, [values.reshape(-1, 1), amounts], torch.tensor(table, dtype=DTYPES[dtype]))
    flags = torch.tensor([False, True])
    for op, function in BITS.items():
        family.add(op, [flags.reshape(2, 1), flags], function(flags.reshape(2, 1), flags))
    family.add("bit_not", [flags], torch.bitwise_not(flags))


def add_comparisons(family: Family) -> None:
    for dtype in ALL:
        a, b = all_pairs(dtype)
        for op, function in COMPARISONS.items():
            family.add(op, [a, b], function(a, b))
        for op, function in LOGIC.items():
            family.add(op, [a, b], function(a, b))
        family.add("logical_not", [a], torch.logical_not(a))
        condition = torch.arange(a.numel() ** 2).reshape(a.numel(), -1) % 3 == 0
        family.add("where", [condition, a, b], torch.where(condition, a, b))


def add_clip(family: Family) -> None:
    for dtype in NUMBERS:
        x = short_edges(dtype)
        low, high = (-1.5, 2.25) if is_float(dtype) else (1, 5)
        family.add("clip", [x], torch.clamp(x, low, high), min=low, max=high)
        family.add("clip", [x], torch.clamp(x, high, low), min=high, max=low)  # crossed bounds: the upper wins


def add_cases(family: Family) -> None:
    add_broadcasts(family)
    add_arithmetic(family)
    add_integer_division(family)
    add_bits(family)
    add_comparisons(family)
    add_clip(family)
