"""Which dtype an op gives for operands of two dtypes, and for a tensor with a number."""

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
            if is_float(left) or is_float(right):
                family.add("div", [a, b + b.logical_not().to(b.dtype)], a / (b + b.logical_not().to(b.dtype)))


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


def add_cases(family: Family) -> None:
    add_pairs(family)
    add_ranks(family)
    add_scalars(family)
