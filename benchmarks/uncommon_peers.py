"""The cases of benchmarks/uncommon in PyTorch that no other suite has: shapes of what is given, and the function, by name."""

import torch
from torch.nn import functional as F


def dense(m, n, k):
    weight, bias = torch.randn(n, k), torch.randn(n)
    return [(m, k)], lambda x: F.relu(F.linear(x, weight, bias))


def windows(image, weight, **options):
    filters = torch.randn(*weight)
    function = F.conv1d if len(image) == 3 else F.conv2d
    return [image], lambda x: function(x, filters, **options)


def attention(heads, queries, keys, width):
    def function(q, k, v):
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]

    return [(heads, queries, width), (heads, keys, width), (heads, keys, width)], function


# What follows a name are the sizes of the one array that the function is given.
ONE_ARRAY = {
    "softmax of columns": lambda x: x.softmax(0),
    "softmax of the middle": lambda x: x.softmax(1),
    "group norm": lambda x: F.group_norm(x, 16),
    "channel means": lambda x: x.mean((0, 2)),
    "sum of the middle": lambda x: x.sum(1),
    "column max": lambda x: x.amax(0),
    "argmax": lambda x: x.argmax(1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "cumsum of columns": lambda x: x.cumsum(0),
    "heads first": lambda x: x.permute(0, 2, 1, 3).contiguous(),
    "channels last": lambda x: x.transpose(1, 2).contiguous(),
    "channels first": lambda x: x.transpose(1, 2).contiguous(),
    "reversed rows": lambda x: x.flip(1),
    "upsample": lambda x: x.expand(64, 56, 2, 56, 2).reshape(64, 112, 112),
    "pad": lambda x: F.pad(x, (1, 1, 1, 1)),
}
SEVERAL_SIZES = {"dense": dense, "cross attention": attention}
NAMED = {
    "transposed matmul 100x100x10000": ([(10000, 100), (10000, 100)], lambda a, b: a.t() @ b),
    "conv 1x1 256x64x56": windows((1, 256, 56, 56), (64, 256, 1, 1)),
    "conv 5x5 32x32x28": windows((1, 32, 28, 28), (32, 32, 5, 5), padding=2),
    "conv 7x7 3x64x224 by 2": windows((1, 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3),
    "conv 16x16 3x768x224 by 16": windows((1, 3, 224, 224), (768, 3, 16, 16), stride=16),
    "dilated conv 3x3 64x64x28": windows((1, 64, 28, 28), (64, 64, 3, 3), padding=2, dilation=2),
    "batch conv 3x3 16x16x32x28": windows((16, 16, 28, 28), (32, 16, 3, 3), padding=1),
    "grouped conv 3x3 128x128x28": windows((1, 128, 28, 28), (128, 32, 3, 3), padding=1, groups=4),
    "depthwise conv 5x5 240x28": windows((1, 240, 28, 28), (240, 1, 5, 5), padding=2, groups=240),
    "depthwise conv 3x3 96x112 by 2": windows((1, 96, 112, 112), (96, 1, 3, 3), stride=2, padding=1, groups=96),
    "conv1d 80x384x3000": windows((1, 80, 3000), (384, 80, 3), padding=1),
    "max pool 3x3 64x112 by 2": ([(1, 64, 112, 112)], lambda x: F.max_pool2d(x, 3, 2, 1)),
    "average pool 2x2 16x64x56": ([(16, 64, 56, 56)], lambda x: F.avg_pool2d(x, 2)),
}


def make(name):
    """The shapes and the function of a case, or nothing."""
    if name in NAMED:
        return NAMED[name]
    what, _, last = name.rpartition(" ")
    sizes = [int(size) for size in last.split("x")] if last[:1].isdigit() else []
    if what in ONE_ARRAY and sizes:
        return [tuple(sizes)], ONE_ARRAY[what]
    if what in SEVERAL_SIZES and sizes:
        return SEVERAL_SIZES[what](*sizes)
    return None
