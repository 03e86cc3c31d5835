"""Which dtype an op gives for operands of two dtypes, and for a tensor with a number."""

import numpy as np
import torch

from .case_writer import ALL, DTYPES, FLOATS, Family
from .values import is_float

PAIR_OPS = {"add": torch.add, "mul": torch.mul, "maximum": torch.maximum, "less": torch.lt, "equal": torch.eq}
SCALAR_OPS = {"add_scalar": torch.add, "mul_scalar": torch.mul, "sub_scalar": torch.sub, "less_scalar": torch.lt}


def sample(dtype: str, values) -> torch.Tensor:
    return torch.tensor(values).to(DTYPES[dtype])


def add_pairs(family: Family) -> None:
    for left in ALL:
        for right in ALL:
            if left == right == "bool":
                continue
            a, b = sample(left, [3, 0, 1, 5]), sample(right, [2, 1, 0, 5])
            for op, function in PAIR_OPS.items():
                family.add(op, [a, b], function(a, b))
            condition = torch.tensor([True, False, True, False])
            family.add("where", [condition, a, b], torch.where(condition, a, b))
            divisor = sample(right, [2, 1, 1, 5])
            family.add("div", [a, divisor], a / divisor)
            family.add("logical_and", [a, b], torch.logical_and(a, b))
            family.add("greater_equal", [a, b], torch.ge(a, b))
            if "bool" not in (left, right):
                family.add("floor_div", [a, divisor], torch.floor_divide(a, divisor), "equal")
                family.add("remainder", [a, divisor], torch.remainder(a, divisor), "equal")


def add_ranks(family: Family) -> None:
    """A rank-0 tensor is a tensor: it promotes like any other (NumPy's rule since 2.0; PyTorch lets it
    give way to tensors of higher rank, so the dtypes here are those of the rank-1 case)."""
    for left, right in [("f32", "f64"), ("i8", "i64"), ("f16", "f32"), ("i32", "f16")]:
        a, b = sample(left, [3, 0, 1]), sample(right, [2])
        family.add("add", [a, b.reshape(())], a + b)


def add_scalars(family: Family) -> None:
    """A number takes the tensor's dtype, unless it is of a higher kind (bool < integer < float)."""
    for dtype in ALL:
        a = sample(dtype, [3, 0, 1, 5])
        for scalar in [2, 1.5]:
            for op, function in SCALAR_OPS.items():
                if dtype == "bool" and op == "sub_scalar":
                    continue  # PyTorch refuses bool - int; NumPy gives an integer
                family.add(op, [a], function(a, scalar), scalar=scalar)
            if dtype in FLOATS:
                family.add("div_scalar", [a], a / scalar, scalar=scalar)
                # torch computes 1.5 / a as 1.5 * (1 / a), which rounds twice.
                family.add("scalar_div", [a], torch.full_like(a, scalar) / a, scalar=scalar)
            if dtype != "bool":
                family.add("scalar_sub", [a], scalar - a, scalar=scalar)
                family.add("remainder_scalar", [a], torch.remainder(a, scalar), "equal", scalar=scalar)
            if dtype in FLOATS:
                tolerance = "ulps:1"
                family.add("pow_scalar", [a], torch.pow(a.double(), scalar).to(a.dtype), tolerance, scalar=scalar)
        if dtype not in FLOATS and dtype != "bool":
            family.add("pow_scalar", [a], torch.pow(a, 2), scalar=2)


def add_wide_unsigned(family: Family) -> None:
    """u32 and u16, whose arithmetic PyTorch lacks: NumPy's, which wraps likewise."""
    for name, dtype in [("u32", np.uint32), ("u16", np.uint16)]:
        high = np.iinfo(dtype).max
        values = np.array([0, 1, 2, 3, 7, 255, 256, high // 2, high // 2 + 1, high - 1, high], dtype=dtype)
        a, b = np.meshgrid(values, values, indexing="ij")
        tensors = [torch.from_numpy(a.copy()), torch.from_numpy(b.copy())]
        operations = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
                      "less": np.less, "equal": np.equal, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor}
        for op, function in operations.items():
            family.add(op, tensors, torch.from_numpy(function(a, b)))
        safe = np.maximum(b, 1)
        for op, function in {"floor_div": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod, "trunc_div": np.floor_divide}.items():
            family.add(op, [tensors[0], torch.from_numpy(safe)], torch.from_numpy(function(a, safe)))
        family.add("sum", [tensors[0]], torch.from_numpy(a.astype(np.int64).sum(1)), axes=[1], keepdim=False)
        family.add("max", [tensors[0]], torch.from_numpy(a.max(0)), axes=[0], keepdim=False)


def add_cases(family: Family) -> None:
    add_wide_unsigned(family)
    add_pairs(family)
    add_ranks(family)
    add_scalars(family)
