"""Values to test with: the edges of every dtype, and random data with fixed seeds."""

import math

import torch

from .case_writer import DTYPES, FLOATS

SMALL_RANGE = {"u8": (0, 10), "bool": (0, 2)}


def is_float(dtype: str) -> bool:
    return DTYPES[dtype].is_floating_point


def edge_list(dtype: str) -> list:
    """The special values of a dtype and a few ordinary ones."""
    if dtype == "bool":
        return [False, True]
    if not is_float(dtype):
        info = torch.iinfo(DTYPES[dtype])
        values = [info.min, info.min + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, info.max - 1, info.max]
        return sorted({value for value in values if info.min <= value <= info.max})
    info = torch.finfo(DTYPES[dtype])
    return [math.nan, math.inf, -math.inf, 0.0, -0.0, info.smallest_normal, -info.smallest_normal,
            info.smallest_normal * info.eps, -info.smallest_normal * info.eps * 3, info.max, info.min, info.eps,
            1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 100.0]


def edges(dtype: str) -> torch.Tensor:
    return torch.tensor(edge_list(dtype), dtype=torch.float64 if is_float(dtype) else DTYPES[dtype]).to(DTYPES[dtype])


def short_edges(dtype: str) -> torch.Tensor:
    """Fewer of them, for all pairs."""
    if not is_float(dtype):
        return edges(dtype)
    info = torch.finfo(DTYPES[dtype])
    values = [math.nan, math.inf, -math.inf, 0.0, -0.0, info.smallest_normal * info.eps, info.max, 1.0, -1.0, 2.5, -3.0]
    return torch.tensor(values, dtype=torch.float64).to(DTYPES[dtype])


def randoms(dtype: str, shape, seed: int = 1, scale: float = 1.0) -> torch.Tensor:
    """Normal floats, or small integers of both signs where the dtype has them."""
    generator = torch.Generator().manual_seed(seed)
    if is_float(dtype):
        return (torch.randn(shape, generator=generator, dtype=torch.float64) * scale).to(DTYPES[dtype])
    low, high = SMALL_RANGE.get(dtype, (-9, 10))
    return torch.randint(low, high, shape, generator=generator).to(DTYPES[dtype])


def distinct(dtype: str, shape, seed: int = 1) -> torch.Tensor:
    """No value twice (as long as the dtype can count the elements)."""
    count = math.prod(shape)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).reshape(shape)
    offset = 0 if dtype == "u8" else count // 2
    return (order - offset).to(DTYPES[dtype])


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """The same values in f64, where the reference of a float op is computed."""
    return tensor.double() if tensor.is_floating_point() else tensor


def truth(function, *tensors) -> torch.Tensor:
    """function computed in f64 and rounded once to the dtype of the first tensor."""
    return function(*[wide(tensor) for tensor in tensors]).to(tensors[0].dtype)


def float_dtypes_with(*, seed: int = 1):
    """(dtype, seed) for each float dtype, so that no two share their random data."""
    return [(dtype, seed + index) for index, dtype in enumerate(FLOATS)]
