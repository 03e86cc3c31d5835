"""matmul of any ranks, dot, outer and einsum."""

import math

import torch

from .case_writer import EXACT, FLOATS, NUMBERS, Family, close
from .values import randoms, wide

MATMULS = [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((5, 7), (7, 3)),
           ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (2, 4, 3)),
           ((2, 3, 4), (4,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((2, 1, 1, 2, 3), (1, 3, 1, 3, 2)),
           ((1, 2, 1, 2, 2, 3), (2, 1, 2, 1, 3, 2)), ((1, 33), (33, 1)), ((17, 19), (19, 13))]
EINSUMS = [("ij,jk->ik", (3, 4), (4, 2)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)), ("i,i->", (5,), (5,)),
           ("i,j->ij", (3,), (4,)), ("ij->ji", (3, 4)), ("ij->i", (3, 4)), ("ij->", (3, 4)), ("ii->i", (4, 4)), ("ii->", (4, 4)),
           ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("ijk,kl,lm->ijm", (2, 3, 4), (4, 5), (5, 2)),
           ("ab,ab->ab", (2, 3), (2, 3)), ("ij,jk", (3, 4), (4, 2)), ("abcdef,cf->abde", (1, 2, 3, 1, 2, 2), (3, 2)),
           ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("...i->...", (2, 3, 4)), ("iij->j", (3, 3, 2)), ("i,i,i->i", (4,), (4,), (4,))]


def contraction(function, tensors, dtype: str):
    """Computed in f64; integers are exact."""
    return function(*[wide(tensor) for tensor in tensors]).to(tensors[0].dtype)


def tolerance(dtype: str, length: int) -> str:
    return close(dtype, 4 + length, math.sqrt(length + 1)) if dtype in FLOATS else EXACT


def add_cases(family: Family) -> None:
    for number, dtype in enumerate(NUMBERS):
        seed = 200 + 10 * number
        small = dtype not in ("f32", "f64", "i32")
        for left, right in MATMULS[:10] + MATMULS[12:13] if small else MATMULS:
            a, b = randoms(dtype, left, seed=seed), randoms(dtype, right, seed=seed + 1)
            family.add("matmul", [a, b], contraction(torch.matmul, [a, b], dtype), tolerance(dtype, left[-1]))
        for length in [0, 1, 7]:
            a, b = randoms(dtype, (length,), seed=seed), randoms(dtype, (length,), seed=seed + 1)
            family.add("dot", [a, b], contraction(torch.dot, [a, b], dtype), tolerance(dtype, length))
            c = randoms(dtype, (4,), seed=seed + 2)
            family.add("outer", [a, c], torch.outer(a, c))
        for equation, *shapes in EINSUMS[:4] if small else EINSUMS:
            tensors = [randoms(dtype, shape, seed=seed + index) for index, shape in enumerate(shapes)]
            expected = contraction(lambda *t: torch.einsum(equation, *t), tensors, dtype)
            family.add("einsum", tensors, expected, tolerance(dtype, 20), equation=equation)
    add_special(family)


def add_mixed(family: Family) -> None:
    """Operands of two dtypes meet in the promoted one; `dtype` names another accumulator."""
    for left, right in [("f32", "f16"), ("i8", "i32"), ("f16", "bf16"), ("i32", "f32"), ("u8", "i8")]:
        a, b = randoms(left, (3, 5), seed=290), randoms(right, (5, 2), seed=291)
        result = torch.promote_types(a.dtype, b.dtype)
        expected = (a.double() @ b.double()).to(result)
        family.add("matmul", [a, b], expected, close("f32", 16, 2) if result.is_floating_point else EXACT)
    a, b = torch.full((2, 300), 100, dtype=torch.int8), torch.full((300, 2), -100, dtype=torch.int8)
    family.add("matmul", [a, b], a.int() @ b.int(), dtype="i32")
    family.add("matmul", [a, b], (a.int() @ b.int()).to(torch.int8))  # wraps


def add_special(family: Family) -> None:
    add_mixed(family)
    nan, inf = math.nan, math.inf
    a = torch.tensor([[nan, 1.0], [inf, 0.0], [inf, -inf], [1.0, 0.0]])
    b = torch.tensor([[1.0, 0.0], [1.0, 2.0]])
    family.add("matmul", [a, b], a @ b)
    # bf16 data summed in bf16 would stop growing at 256.
    ones = torch.ones((1, 600), dtype=torch.bfloat16)
    family.add("matmul", [ones, ones.T.contiguous()], torch.full((1, 1), 600.0).to(torch.bfloat16))
