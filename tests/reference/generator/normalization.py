"""softmax, log_softmax and the norms that centre or scale."""

import math

import torch
import torch.nn.functional as F

from .case_writer import FLOATS, Family, close
from .values import randoms, wide


def add(family: Family, op: str, tensors, function, epsilons: float, **attributes) -> None:
    """One case whose expected value is function(tensors in f64), rounded to the first tensor's dtype."""
    expected = function(*[wide(tensor) for tensor in tensors]).to(tensors[0].dtype)
    dtype = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}[tensors[0].dtype]
    family.add(op, tensors, expected, close(dtype, epsilons), **attributes)


def add_softmax(family: Family, dtype: str, seed: int) -> None:
    for shape in [(5,), (1,), (3, 7), (2, 3, 4), (2, 1, 3, 1, 2, 3), (0, 4), (3, 0)]:
        x = randoms(dtype, shape, seed=seed, scale=3)
        for axis in sorted({-1, 0, len(shape) // 2}):
            add(family, "softmax", [x], lambda t: torch.softmax(t, axis), 8, axis=axis)
            add(family, "log_softmax", [x], lambda t: torch.log_softmax(t, axis), 16, axis=axis)
    inf, nan = math.inf, math.nan
    rows = torch.tensor([[-inf, 0, 1], [1e4, -1e4, 1e4], [-inf, -inf, -inf], [nan, 1, 2], [inf, 0, 1]]).to(x.dtype)
    add(family, "softmax", [rows], lambda t: torch.softmax(t, 1), 8, axis=1)
    add(family, "log_softmax", [rows[:2]], lambda t: torch.log_softmax(t, 1), 16, axis=1)


def add_layer_norms(family: Family, dtype: str, seed: int) -> None:
    for shape, count in [((4, 6), 1), ((2, 3, 5), 1), ((2, 3, 5), 2), ((3, 1), 1), ((7,), 1)]:
        x = randoms(dtype, shape, seed=seed, scale=2)
        weight, bias = randoms(dtype, shape[-count:], seed=seed + 1), randoms(dtype, shape[-count:], seed=seed + 2)
        normalized = shape[-count:]
        add(family, "layer_norm", [x], lambda t: F.layer_norm(t, normalized, eps=1e-5), 24, axes=count, eps=1e-5)
        add(family, "layer_norm", [x, weight, bias],
            lambda t, w, b: F.layer_norm(t, normalized, w, b, 1e-3), 24, axes=count, eps=1e-3)
        if count == 1:
            add(family, "rms_norm", [x], lambda t: F.rms_norm(t, normalized, None, 1e-5), 16, eps=1e-5)
            add(family, "rms_norm", [x, weight], lambda t, w: F.rms_norm(t, normalized, w, 1e-6), 16, eps=1e-6)


def add_channel_norms(family: Family, dtype: str, seed: int) -> None:
    for shape, groups in [((2, 6, 5), 3), ((1, 4, 3, 3), 2), ((2, 4, 3), 1), ((2, 3, 2), 3)]:
        x = randoms(dtype, shape, seed=seed, scale=2)
        weight, bias = randoms(dtype, (shape[1],), seed=seed + 1), randoms(dtype, (shape[1],), seed=seed + 2)
        add(family, "group_norm", [x], lambda t: F.group_norm(t, groups, eps=1e-5), 24, groups=groups, eps=1e-5)
        add(family, "group_norm", [x, weight, bias],
            lambda t, w, b: F.group_norm(t, groups, w, b, 1e-5), 24, groups=groups, eps=1e-5)
        mean, variance = randoms(dtype, (shape[1],), seed=seed + 3), randoms(dtype, (shape[1],), seed=seed + 4).abs()
        variance = (variance.double() + 0.5).to(x.dtype)
        add(family, "batch_norm", [x, mean, variance, weight, bias],
            lambda t, m, v, w, b: F.batch_norm(t, m, v, w, b, False, 0.0, 1e-5), 24, eps=1e-5)


def add_vector_norms(family: Family, dtype: str, seed: int) -> None:
    for shape in [(5,), (3, 4), (2, 3, 4)]:
        x = randoms(dtype, shape, seed=seed, scale=2)
        for axis in sorted({-1, 0}):
            for p in [1.0, 2.0, 3.0]:
                add(family, "normalize", [x], lambda t: F.normalize(t, p, axis, 1e-12), 16, p=p, axis=axis, eps=1e-12)
            add(family, "mean_norm", [x], lambda t: t - t.mean(axis, keepdim=True), 8, axis=axis)
            add(family, "std_norm", [x], lambda t: t * torch.rsqrt((t * t).mean(axis, keepdim=True) + 1e-5), 16,
                axis=axis, eps=1e-5)
    zeros = torch.zeros((2, 3)).to(x.dtype)
    add(family, "normalize", [zeros], lambda t: F.normalize(t, 2.0, 1, 1e-6), 16, p=2.0, axis=1, eps=1e-6)


def add_integers(family: Family) -> None:
    """Integers are normalised as f32."""
    x = randoms("i32", (3, 4), seed=180)
    for op, function in {"softmax": torch.softmax, "log_softmax": torch.log_softmax}.items():
        family.add(op, [x], function(x.double(), 1).float(), close("f32", 16), axis=1)
    family.add("layer_norm", [x], F.layer_norm(x.double(), (4,)).float(), close("f32", 24), axes=1, eps=1e-5)


def add_cases(family: Family) -> None:
    add_integers(family)
    for number, dtype in enumerate(FLOATS):
        seed = 100 + 10 * number
        add_softmax(family, dtype, seed)
        add_layer_norms(family, dtype, seed)
        add_channel_norms(family, dtype, seed)
        add_vector_norms(family, dtype, seed)
