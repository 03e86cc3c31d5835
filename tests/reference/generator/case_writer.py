"""The format of the case files.

A family is two files: NAME.cases, lines of text, and NAME.bin, the bytes of all tensors. Lines are

    case OP TOLERANCE [KEY=VALUE ...]    begins a case; its tensors follow
    in DTYPE SHAPE OFFSET                an input: row-major little-endian elements at OFFSET of NAME.bin
    out DTYPE SHAPE OFFSET               an expected output

SHAPE is extents joined by x ("2x0x3"), or "-" for a scalar. A VALUE has no spaces; lists are joined
by commas, and an empty list is "[]". Equal tensors are stored once. TOLERANCE is one of

    exact             the same bits, but any NaN matches any NaN
    equal             as exact, but -0 matches 0
    ulps:N            at most N representable values apart (infinity follows the largest finite value);
                      zeros have the same sign
    close:RTOL:ATOL   |actual - expected| <= ATOL + RTOL * |expected|; infinities and NaN must match
"""

import pathlib

import torch

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u32": torch.uint32,
    "u16": torch.uint16,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

FLOATS = ["f64", "f32", "f16", "bf16"]
INTEGERS = ["i64", "i32", "i16", "i8", "u8"]
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + ["bool"]

EXACT = "exact"
EQUAL = "equal"


def ulps(count: int) -> str:
    return f"ulps:{count}"


def close(dtype: str, epsilons: float, scale: float = 1.0) -> str:
    """Relative error of some machine epsilons of `dtype`, absolute error of as many at size `scale`."""
    relative = epsilons * torch.finfo(DTYPES[dtype]).eps
    return f"close:{relative:.3g}:{relative * scale:.3g}"


def tensor_bytes(tensor: torch.Tensor) -> bytes:
    packed = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)  # contiguous() keeps odd strides of size-1 axes
    return packed.reshape(-1).view(torch.uint8).numpy().tobytes() if packed.numel() else b""


def format_value(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(format_value(element) for element in value) or "[]"
    if isinstance(value, torch.dtype):
        return NAMES[value]
    text = repr(value) if isinstance(value, float) else str(value)
    assert " " not in text and text, repr(value)
    return text


class Family:
    """Collects the cases of one family and writes its two files."""

    def __init__(self, name: str):
        self.name = name
        self.lines: list[str] = []
        self.blob = bytearray()
        self.offsets: dict[bytes, int] = {}
        self.case_count = 0

    def add(self, op: str, inputs, outputs, tolerance: str = EXACT, **attributes) -> None:
        """One case. Attributes that are None are left out."""
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        pairs = [f"{key}={format_value(value)}" for key, value in attributes.items() if value is not None]
        self.lines.append(" ".join(["case", op, tolerance, *pairs]))
        self.lines += [self._tensor_line("in", tensor) for tensor in inputs]
        self.lines += [self._tensor_line("out", tensor) for tensor in outputs]
        self.case_count += 1

    def write(self, folder: pathlib.Path) -> int:
        text = "".join(line + "\n" for line in self.lines).encode()
        (folder / f"{self.name}.cases").write_bytes(text)
        (folder / f"{self.name}.bin").write_bytes(bytes(self.blob))
        return len(text) + len(self.blob)

    def _tensor_line(self, kind: str, tensor: torch.Tensor) -> str:
        data = tensor_bytes(tensor)
        if data not in self.offsets:
            self.offsets[data] = len(self.blob)
            self.blob += data
        shape = "x".join(str(extent) for extent in tensor.shape) or "-"
        return f"{kind} {NAMES[tensor.dtype]} {shape} {self.offsets[data]}"
