"""Elementwise ops of one operand: math functions and activations."""

import numpy as np
import torch
import torch.nn.functional as F

from .case_writer import DTYPES, EQUAL, EXACT, FLOATS, INTEGERS, NUMBERS, Family, close, ulps
from .values import edges, randoms, truth

def exact_sqrt(x: torch.Tensor) -> torch.Tensor:
    """NumPy's, which is correctly rounded everywhere; PyTorch's vector code is off by one ulp on some machines."""
    wide = x.float() if x.element_size() < 4 else x
    with np.errstate(invalid="ignore"):
        return torch.from_numpy(np.sqrt(wide.numpy())).to(x.dtype)


# Correctly rounded by IEEE 754, so the result in the dtype itself is the reference.
EXACT_FUNCTIONS = {"neg": torch.neg, "abs": torch.abs, "recip": torch.reciprocal, "square": torch.square,
                   "sqrt": exact_sqrt, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round,
                   "trunc": torch.trunc, "isnan": torch.isnan, "isinf": torch.isinf, "isfinite": torch.isfinite}
# The rest are computed in f64 and rounded. The number is how many ulps an implementation in f32 may be off.
MATH_FUNCTIONS = {"rsqrt": (torch.rsqrt, 2), "exp": (torch.exp, 1), "exp2": (torch.exp2, 1), "expm1": (torch.expm1, 4),
                  "log": (torch.log, 1), "log2": (torch.log2, 1), "log1p": (torch.log1p, 4), "sin": (torch.sin, 1),
                  "cos": (torch.cos, 1), "tan": (torch.tan, 3), "tanh": (torch.tanh, 1), "sinh": (torch.sinh, 4),
                  "cosh": (torch.cosh, 4), "asin": (torch.asin, 4), "acos": (torch.acos, 4), "atan": (torch.atan, 1),
                  "erf": (torch.erf, 1)}
UNIT_DOMAIN = {"asin", "acos"}


def arguments(dtype: str, op: str) -> list[torch.Tensor]:
    """Edges, values around 1, small and large values, and shapes of one and no element."""
    unit = torch.linspace(-1, 1, 33, dtype=torch.float64).to(DTYPES[dtype])
    random = randoms(dtype, (3, 11), seed=3)
    if op in UNIT_DOMAIN:
        random = random.double().tanh().to(DTYPES[dtype])
    large = randoms(dtype, (17,), seed=4, scale=40)
    tiny = randoms(dtype, (9,), seed=5, scale=1e-3)
    return [edges(dtype), unit, random, large, tiny]


def add_unary_cases(family: Family) -> None:
    for dtype in FLOATS:
        for op, function in EXACT_FUNCTIONS.items():
            for x in arguments(dtype, op):
                family.add(op, [x], function(x))
        for x in arguments(dtype, "sign"):
            x = x[~x.isnan()]  # PyTorch gives sign(NaN) = 0, NumPy and we give NaN
            family.add("sign", [x], torch.sign(x), EQUAL)
        for op, (function, count) in MATH_FUNCTIONS.items():
            for x in arguments(dtype, op):
                family.add(op, [x], truth(function, x), ulps(count))
    for dtype in INTEGERS:
        x = edges(dtype)
        for op, function in {"neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "square": torch.square}.items():
            family.add(op, [x], function(x))
    add_integer_cases(family)
    for dtype in FLOATS:
        for shape in [(0,), (1,), (), (2, 1, 1, 2, 1, 3, 1)]:
            x = randoms(dtype, shape, seed=7)
            family.add("exp", [x], truth(torch.exp, x), ulps(1))
            family.add("neg", [x], -x)


def add_integer_cases(family: Family) -> None:
    """Functions with fractional results take integers and bool as f32; rounding leaves integers alone."""
    for dtype in INTEGERS + ["bool"]:
        x = edges(dtype)
        as_float = x.float()
        for op, (function, count) in MATH_FUNCTIONS.items():
            family.add(op, [x], truth(function, as_float), ulps(count))
        family.add("sqrt", [x], exact_sqrt(as_float))
        family.add("recip", [x], torch.reciprocal(as_float))
        for op, function in {"isnan": torch.isnan, "isinf": torch.isinf, "isfinite": torch.isfinite}.items():
            family.add(op, [x], function(x))
        if dtype != "bool":
            for op in ["floor", "ceil", "round", "trunc"]:
                family.add(op, [x], x)


ACTIVATIONS = {
    "relu": (torch.relu, {}, EQUAL),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.125), {"slope": 0.125}, None),
    "sigmoid": (torch.sigmoid, {}, None),
    "silu": (F.silu, {}, None),
    "gelu": (F.gelu, {}, None),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), {}, None),
    "softplus": (F.softplus, {}, None),
    "elu": (lambda x: F.elu(x, 1.5), {"alpha": 1.5}, None),
    "hardswish": (lambda x: x * (F.relu6(x + 3) / 6), {}, None),
    "mish": (F.mish, {}, None),
}


def add_activation_cases(family: Family) -> None:
    for dtype in FLOATS:
        for op, (function, attributes, tolerance) in ACTIVATIONS.items():
            for x in arguments(dtype, op):
                expected = truth(function, x)
                limit_unknown = expected.isnan() & ~x.isnan()
                x, expected = x[~limit_unknown], expected[~limit_unknown]
                family.add(op, [x], expected, tolerance or close(dtype, 8), **attributes)
    for dtype in INTEGERS:
        x = edges(dtype)
        family.add("relu", [x], torch.relu(x))
        family.add("sigmoid", [x], truth(torch.sigmoid, x.float()), close("f32", 8))
