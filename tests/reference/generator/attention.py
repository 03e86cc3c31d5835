"""Rotary embeddings and scaled dot-product attention, by their formulas in f64."""

import math

import torch
import torch.nn.functional as F

from .case_writer import DTYPES, FLOATS, Family, close
from .values import randoms


def rope(x: torch.Tensor, positions: torch.Tensor, base: float, interleaved: bool) -> torch.Tensor:
    """x [..., sequence, width]; pairs are (2i, 2i+1) if interleaved, else (i, i + width/2)."""
    width = x.shape[-1]
    frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = positions.double()[..., None] * frequency
    cosine, sine = angle.cos(), angle.sin()
    if interleaved:
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)
    low, high = x[..., : width // 2], x[..., width // 2 :]
    return torch.cat([low * cosine - high * sine, high * cosine + low * sine], -1)


def add_rope(family: Family) -> None:
    for seed, dtype in enumerate(FLOATS):
        for shape in [(5, 4), (2, 3, 6, 8), (1, 1, 1, 2)]:
            x = randoms(dtype, shape, seed=900 + seed)
            for start in [0, 37]:
                positions = torch.arange(start, start + shape[-2])
                for interleaved in [False, True]:
                    for base in [10000.0, 500.0]:
                        expected = rope(x.double(), positions, base, interleaved).to(x.dtype)
                        # An f32 angle of 40 radians carries an error of 2e-6 itself.
                        tolerance = close(dtype, 64 if dtype in ("f32", "f64") else 8)
                        family.add("rope", [x, positions], expected, tolerance, base=base, interleaved=interleaved)


def attention(query, key, value, *, mask=None, causal=False, scale=None, window=None, softcap=None):
    """query [.., heads, q, d], key and value [.., kv_heads, k, d]. Causal aligns the ends: query i sees keys up to
    i + k - q. A window of w sees the last w of those. Heads of the query share key heads in equal groups."""
    groups = query.shape[-3] // key.shape[-3]
    key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    scores = query @ key.transpose(-1, -2) * (scale if scale is not None else 1 / math.sqrt(query.shape[-1]))
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    q, k = scores.shape[-2:]
    row, column = torch.arange(q)[:, None] + (k - q), torch.arange(k)[None, :]
    if causal:
        scores = scores.masked_fill(column > row, -math.inf)
    if window is not None:
        scores = scores.masked_fill(column <= row - window, -math.inf)
    return torch.softmax(scores, -1) @ value


def add_attention(family: Family) -> None:
    shapes = [((1, 2, 3, 4), (1, 2, 5, 4)), ((2, 4, 5, 8), (2, 2, 5, 8)), ((1, 6, 4, 4), (1, 1, 4, 4)), ((2, 1, 1, 4), (2, 1, 7, 4))]
    for number, dtype in enumerate(FLOATS):
        for seed, (q_shape, kv_shape) in enumerate(shapes):
            query = randoms(dtype, q_shape, seed=920 + seed)
            key, value = randoms(dtype, kv_shape, seed=930 + seed), randoms(dtype, kv_shape, seed=940 + seed)
            keep = torch.randint(0, 3, (q_shape[-2], kv_shape[-2]), generator=torch.Generator().manual_seed(seed)) > 0
            keep[:, 0] = True
            bias = randoms(dtype, keep.shape, seed=950 + seed)
            options = [{}, {"causal": True}, {"scale": 0.25}, {"causal": True, "window": 2}, {"softcap": 3.0},
                       {"causal": True, "softcap": 2.0, "scale": 0.5}]
            for option in options:
                add_one(family, dtype, [query, key, value], option)
            add_one(family, dtype, [query, key, value, keep], {"mask": "bool"})
            add_one(family, dtype, [query, key, value, bias], {"mask": "add"})
        add_odd_shapes(family, dtype)
    check_against_torch()


def add_odd_shapes(family: Family, dtype: str) -> None:
    """No batch, two batch axes, values wider than keys, one key, a query that sees nothing (NaN)."""
    for seed, (q_shape, k_shape, width) in enumerate([((2, 3, 4), (2, 5, 4), 6), ((2, 1, 2, 3, 4), (2, 1, 2, 3, 4), 4), ((1, 3, 2), (1, 1, 2), 1)]):
        query, key = randoms(dtype, q_shape, seed=970 + seed), randoms(dtype, k_shape, seed=980 + seed)
        value = randoms(dtype, (*k_shape[:-1], width), seed=990 + seed)
        add_one(family, dtype, [query, key, value], {})
        add_one(family, dtype, [query, key, value], {"causal": True})  # more queries than keys: the first see none
    keep = torch.ones((3, 5), dtype=torch.bool)
    keep[1] = False
    query, key, value = (randoms(dtype, shape, seed=995 + i) for i, shape in enumerate([(2, 3, 4), (2, 5, 4), (2, 5, 4)]))
    add_one(family, dtype, [query, key, value, keep], {"mask": "bool"})
    add_one(family, dtype, [query, key, value], {"window": 2})


def add_one(family: Family, dtype: str, tensors, option) -> None:
    query, key, value = [tensor.double() for tensor in tensors[:3]]
    mask = None if len(tensors) == 3 else (tensors[3] if tensors[3].dtype == torch.bool else tensors[3].double())
    arguments = {name: option[name] for name in option if name != "mask"}
    expected = attention(query, key, value, mask=mask, **arguments).to(DTYPES[dtype])
    family.add("attention", tensors, expected, close(dtype, 32 if dtype in ("f32", "f64") else 12), **option)


def check_against_torch() -> None:
    """The formula above is PyTorch's wherever PyTorch has the option."""
    query, key, value = (randoms("f64", (2, 4, 5, 8), seed=960 + i) for i in range(3))
    ours = attention(query, key[:, :2], value[:, :2], causal=True, scale=0.3)
    theirs = F.scaled_dot_product_attention(query, key[:, :2], value[:, :2], is_causal=True, scale=0.3, enable_gqa=True)
    torch.testing.assert_close(ours, theirs)


def add_cases(family: Family) -> None:
    add_rope(family)
    add_attention(family)
