"""Convolutions and pools of one, two and three dimensions."""

import math

import torch
import torch.nn.functional as F

from .case_writer import EXACT, FLOATS, Family, close
from .values import randoms, wide

CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
MAXIMUM = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}

# input, weight, then stride, padding, dilation, groups
CONVOLUTIONS = [
    ((1, 1, 5), (1, 1, 3), [1], [0], [1], 1), ((2, 3, 9), (4, 3, 3), [2], [1], [1], 1),
    ((1, 4, 11), (6, 2, 3), [1], [2], [2], 2), ((1, 4, 7), (4, 1, 3), [3], [1], [1], 4),
    ((2, 2, 6), (3, 2, 1), [1], [0], [1], 1), ((1, 2, 8), (2, 2, 8), [1], [0], [1], 1),
    ((1, 1, 5, 5), (1, 1, 3, 3), [1, 1], [0, 0], [1, 1], 1), ((2, 3, 7, 6), (4, 3, 3, 2), [2, 1], [1, 1], [1, 1], 1),
    ((1, 4, 6, 8), (6, 2, 2, 3), [1, 2], [0, 1], [2, 1], 2), ((1, 3, 5, 5), (3, 1, 3, 3), [1, 1], [1, 1], [1, 1], 3),
    ((1, 2, 9, 9), (2, 2, 3, 3), [2, 2], [2, 2], [3, 3], 1), ((0, 2, 5, 5), (3, 2, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    ((1, 1, 4, 4, 4), (1, 1, 2, 2, 2), [1, 1, 1], [0, 0, 0], [1, 1, 1], 1),
    ((1, 2, 5, 4, 6), (4, 1, 3, 2, 3), [2, 1, 2], [1, 0, 1], [1, 2, 1], 2),
]
# input, kernel, stride, padding (at most half the kernel)
POOLS = [((1, 1, 6), [2], [2], [0]), ((2, 3, 9), [3], [2], [1]), ((1, 2, 7), [7], [1], [0]), ((1, 1, 5), [1], [3], [0]),
         ((1, 2, 6, 7), [2, 3], [2, 2], [0, 0]), ((2, 1, 7, 5), [3, 3], [1, 2], [1, 1]), ((1, 2, 5, 5), [5, 5], [5, 5], [2, 2]),
         ((1, 1, 4, 5, 6), [2, 2, 2], [2, 1, 2], [0, 0, 0]), ((1, 2, 4, 4, 4), [3, 3, 3], [2, 2, 2], [1, 1, 1])]


def add_convolution_cases(family: Family) -> None:
    add_asymmetric_convolutions(family)
    for number, dtype in enumerate(FLOATS + ["i32"]):
        for seed, (shape, weight_shape, stride, padding, dilation, groups) in enumerate(CONVOLUTIONS):
            if dtype in ("f16", "bf16", "i32") and seed % 3:
                continue
            rank = len(stride)
            x, weight = randoms(dtype, shape, seed=300 + seed), randoms(dtype, weight_shape, seed=400 + seed)
            expected = CONVOLVE[rank](wide(x), wide(weight), None, stride, padding, dilation, groups)
            length = math.prod(weight_shape[1:])
            tolerance = close(dtype, 4 + length, 2) if dtype in FLOATS else EXACT
            attributes = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
            family.add("conv", [x, weight], expected.to(x.dtype), tolerance, **attributes)
            if seed % 2 == 0 and dtype in FLOATS:
                bias = randoms(dtype, weight_shape[:1], seed=450 + seed)
                shifted = expected + bias.double().reshape(-1, *[1] * rank)
                family.add("conv", [x, weight, bias], shifted.to(x.dtype), tolerance, **attributes)


def add_asymmetric_convolutions(family: Family) -> None:
    for dtype in ["f64", "f32"]:
        x, weight = randoms(dtype, (1, 2, 6, 5), seed=470), randoms(dtype, (3, 2, 3, 2), seed=471)
        for before_after in [[1, 0, 0, 2], [0, 3, 1, 1]]:
            padded = F.pad(x.double(), before_after[2:] + before_after[:2])
            family.add("conv", [x, weight], F.conv2d(padded, weight.double()).to(x.dtype), close(dtype, 16, 2), stride=[1, 1],
                       padding_pairs=before_after, dilation=[1, 1], groups=1)


def add_pooling_cases(family: Family) -> None:
    for dtype in FLOATS:
        for seed, (shape, kernel, stride, padding) in enumerate(POOLS):
            x = randoms(dtype, shape, seed=500 + seed)
            average = AVERAGE[len(kernel)](x.double(), kernel, stride, padding).to(x.dtype)
            family.add("avg_pool", [x], average, close(dtype, 8, 0.5), kernel=kernel, stride=stride, padding=padding)
            if any(padding):
                average = AVERAGE[len(kernel)](x.double(), kernel, stride, padding, count_include_pad=False).to(x.dtype)
                family.add("avg_pool", [x], average, close(dtype, 8, 0.5), kernel=kernel, stride=stride, padding=padding,
                           count_padding=False)
            maximum = MAXIMUM[len(kernel)](x.double(), kernel, stride, padding).to(x.dtype)
            family.add("max_pool", [x], maximum, kernel=kernel, stride=stride, padding=padding)
    x = randoms("f32", (1, 2, 9, 8), seed=519)
    family.add("max_pool", [x], F.max_pool2d(x, [3, 2], [2, 1], [1, 0], [2, 3]), kernel=[3, 2], stride=[2, 1], padding=[1, 0],
               dilation=[2, 3])
    below_zero = -randoms("f32", (1, 1, 6), seed=520).abs() - 1  # padding must not count as 0
    family.add("max_pool", [below_zero], F.max_pool1d(below_zero, 3, 2, 1), kernel=[3], stride=[2], padding=[1])
    nan = torch.tensor([[[1.0, math.nan, -math.inf, -math.inf, math.inf, 2.0]]])
    family.add("max_pool", [nan], F.max_pool1d(nan, 2, 2), kernel=[2], stride=[2], padding=[0])
