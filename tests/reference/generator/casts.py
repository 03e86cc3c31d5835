"""Casts between all dtypes, by the rules of luminal/graph/dtype.h, and bitcasts."""

import math

import numpy as np
import torch

from .case_writer import DTYPES, Family
from .values import edges, is_float, randoms

CASTS = ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16", "i8", "u32", "u16", "u8", "bool"]
EIGHT_BITS = ("f8e4m3", "f8e5m2")
BITCASTS = [("f64", "i64"), ("f32", "i32"), ("f32", "u32"), ("f16", "i16"), ("f16", "bf16"), ("bf16", "u16"), ("u8", "i8"),
            ("u16", "i16"), ("u32", "i32"), ("f8e4m3", "u8"), ("f8e5m2", "i8"), ("f8e5m2", "f8e4m3")]


def round_to_odd(value) -> float:
    """value rounded to f32 so that a second rounding to a narrower format gives what one would have given."""
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
    if math.isnan(nearest) or int_or_float_equal(nearest, value):
        return float(nearest)
    largest = np.finfo(np.float32).max
    truncated = nearest
    if abs(float(nearest)) == math.inf:
        truncated = np.copysign(largest, nearest)
    elif (value > 0) == (float(nearest) > value):
        truncated = np.nextafter(nearest, np.float32(0))
    return float((truncated.view(np.uint32) | np.uint32(1)).view(np.float32))


def int_or_float_equal(nearest: np.float32, value) -> bool:
    if isinstance(value, int):
        return int(nearest) == value
    return float(nearest) == value


def documented_to_float(values: list, target: str) -> torch.Tensor:
    """Rounds once, ties to even; f8e4m3 has no infinity and saturates."""
    if target == "f64":
        return torch.tensor([float(value) for value in values], dtype=torch.float64)
    if target == "f32":
        return torch.tensor(values, dtype=torch.int64 if isinstance(values[0], int) else torch.float64).float()
    odd = torch.tensor([round_to_odd(value) for value in values], dtype=torch.float64).float()
    if target == "f8e4m3":
        odd = odd.clamp(-448.0, 448.0)
    return odd.to(DTYPES[target])


def documented_to_integer(values: list, target: str) -> torch.Tensor:
    """Floats truncate and saturate, NaN is 0; integers wrap."""
    info = torch.iinfo(DTYPES[target])
    def convert(value) -> int:
        if isinstance(value, int):
            return (value - info.min) % (info.max - info.min + 1) + info.min
        if math.isnan(value):
            return 0
        return info.max if value >= info.max else info.min if value <= info.min else int(value)
    numpy_dtype = {"i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8}
    return torch.from_numpy(np.array([convert(value) for value in values], dtype=numpy_dtype[target]))


def plain_values(tensor: torch.Tensor) -> list:
    """Python numbers of the same value: ints and bools as int, floats as float."""
    if tensor.dtype.is_floating_point:
        return tensor.double().tolist()
    return [int(value) for value in tensor.to(torch.int64).tolist()]


def samples(dtype: str) -> torch.Tensor:
    """Edges and values near the rounding and overflow thresholds of the narrower formats."""
    if dtype in EIGHT_BITS:
        return torch.arange(256, dtype=torch.int32).to(torch.uint8).view(DTYPES[dtype])
    if dtype in ("u32", "u16"):
        high = torch.iinfo(DTYPES[dtype]).max
        return torch.tensor([0, 1, 2, 127, 128, 255, 256, high // 2, high // 2 + 1, high - 1, high]).to(DTYPES[dtype])
    if dtype == "i64":  # the last two lie just above a tie of f32, bf16 that rounding to f64 first would hide
        return torch.cat([edges(dtype), torch.tensor([2**60 + 2**36 + 1, 2**60 + 2**52 + 1])])
    if not is_float(dtype):
        return edges(dtype)
    thresholds = [65504.0, 65519.0, 65520.0, 65536.0, 448.0, 463.0, 464.0, 465.0, 480.0, 57344.0, 61439.0, 61440.0, 3.3895e38,
                  3.40282357e38, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8 + 2**-30, 1 + 2**-11 + 2**-40,
                  1 + 2**-4, 1 + 3 * 2**-4, 1 + 2**-3 + 2**-4, 2.0**-14, 2.0**-24, 2.0**-25, 2.0**-25 * 1.5, 2.0**-9, 2.0**-10,
                  2.0**-10 * 1.001, 2.0**-16, 2.0**-17, 2.0**-133, 2.0**-149, 2.0**-150, 126.9, 127.5, 128.0, 255.5, 256.0, 32767.9,
                  65535.5, 2147483647.0, 2147483648.0, 4294967295.0, 4294967296.0, 2.0**62, 2.0**63, 0.9999, 1e300]
    both = torch.tensor(thresholds + [-value for value in thresholds], dtype=torch.float64)
    return torch.cat([edges(dtype), both.to(DTYPES[dtype]), randoms(dtype, (9,), seed=970, scale=50)])


def add_casts(family: Family) -> None:
    for source in CASTS:
        x = samples(source)
        values = plain_values(x)
        for target in CASTS:
            if target == source:
                expected = x
            elif target == "bool":
                expected = torch.tensor([value != 0 for value in values])
            elif is_float(target):
                expected = documented_to_float(values, target)
            else:
                expected = documented_to_integer(values, target)
            family.add("cast", [x], expected, dtype=target)
    for shape in [(0,), (), (1, 1), (2, 0, 3)]:
        x = randoms("f32", shape, seed=980)
        family.add("cast", [x], x.to(torch.bfloat16), dtype="bf16")


def add_bitcasts(family: Family) -> None:
    for source, target in BITCASTS:
        for a, b in [(source, target), (target, source)]:
            x = samples(a)
            family.add("bitcast", [x], x.view(DTYPES[b]), dtype=b)


def add_cases(family: Family) -> None:
    add_casts(family)
    add_bitcasts(family)
