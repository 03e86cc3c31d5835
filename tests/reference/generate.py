#!/usr/bin/env python3
"""Writes the reference cases that tests/reference replays against the interpreter.

    python3 -m venv /path/outside/the/repository && . /path/outside/the/repository/bin/activate
    pip install torch numpy
    python tests/reference/generate.py            # rewrites tests/reference/data/
    python tests/reference/generate.py --check    # fails if the committed data differs

Values come from PyTorch on the CPU. Every random number has a fixed seed, so a run writes the same
bytes each time (with the same version of PyTorch; the ulps tolerances cover its last-bit changes).
The format is described in generator/case_writer.py and read by case_file.h.

Where the documented semantics of Luminal (luminal/graph/ops.h, dtype.h) differ from PyTorch's on
purpose, the expected value is computed here by the documented rule, in a function whose name begins
with `documented_`:
  - integer x / 0 = 0 and x % 0 = 0; MIN / -1 = MIN and MIN % -1 = 0 (PyTorch: undefined or an error)
  - shift amounts outside 0..bits-1: left gives 0, right gives 0 or -1 by sign (PyTorch: undefined)
  - float to integer saturates and NaN becomes 0 (PyTorch: undefined)
  - f8e4m3 saturates (PyTorch: overflow is NaN)
  - wide values to narrow floats round once (PyTorch rounds f64 to f16 by way of f32)
Points where PyTorch gives NaN for an infinite argument although the limit exists (silu, gelu, mish,
hardswish at -inf) are left out.
"""

import argparse
import pathlib
import sys
import tempfile

import torch

from generator import arithmetic, attention, casts, contractions, creation, indexing, movement
from generator import normalization, pooling, promotion, reductions, unary
from generator.case_writer import Family

FAMILIES = {
    "creation": creation.add_cases,
    "arithmetic": arithmetic.add_cases,
    "promotion": promotion.add_cases,
    "unary": unary.add_unary_cases,
    "activation": unary.add_activation_cases,
    "reduction": reductions.add_reduction_cases,
    "scan": reductions.add_scan_cases,
    "normalization": normalization.add_cases,
    "contraction": contractions.add_cases,
    "convolution": pooling.add_convolution_cases,
    "pooling": pooling.add_pooling_cases,
    "movement": movement.add_cases,
    "indexing": indexing.add_cases,
    "attention": attention.add_cases,
    "cast": casts.add_cases,
}

DATA = pathlib.Path(__file__).parent / "data"
MAX_BYTES = 5_000_000


def write_all(folder: pathlib.Path) -> int:
    """Writes every family below `folder`; gives the number of bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    for name, add_cases in FAMILIES.items():
        torch.manual_seed(0)
        family = Family(name)
        add_cases(family)
        size = family.write(folder)
        total += size
        print(f"{name:14} {family.case_count:5} cases {size:8} bytes")
    print(f"{'total':14} {total:20} bytes")
    return total


def differing_files(folder: pathlib.Path) -> list[str]:
    names = {path.name for path in folder.iterdir()} | {path.name for path in DATA.glob("*.cases")}
    def content(path: pathlib.Path) -> bytes:
        return path.read_bytes() if path.exists() else b""
    return sorted(name for name in names if content(folder / name) != content(DATA / name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed data instead of writing it")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sums must not depend on the machine
    if arguments.check:
        with tempfile.TemporaryDirectory() as folder:
            write_all(pathlib.Path(folder))
            differing = differing_files(pathlib.Path(folder))
        for name in differing:
            print(f"differs: {name}")
        return 1 if differing else 0
    if write_all(DATA) > MAX_BYTES:
        print(f"the data is larger than {MAX_BYTES} bytes", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
