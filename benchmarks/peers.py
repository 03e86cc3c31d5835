"""The cases of benchmarks/micro, patterns, uncommon and nets in PyTorch and ONNX Runtime, and products in OpenBLAS, timed on request.

Speaks lines with the benchmark program: `case NAME|DTYPE` is answered by the peers that have it (`!PEER` if it failed),
`time PEER` by the seconds of one call. Answers go to the original standard output; whatever libraries print goes to standard error.
"""

import os
import sys
import time
import warnings

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import uncommon_peers  # noqa: E402

torch.set_num_threads(int(os.environ.get("LUMINAL_THREADS") or 0) or len(os.sched_getaffinity(0)))
torch.set_grad_enabled(False)
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "i32": torch.int32, "i8": torch.int8}


class Call(nn.Module):
    """A function as a module, which the exporter asks for."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def rms_norm(x):
    return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6).to(x.dtype)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, x):
        return self.layers(x)


class DigitCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, x):
        return self.layers(x)


class ResidualBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(64, 64, 3, padding=1)
        self.second = nn.Conv2d(64, 64, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.second(F.relu(self.first(x))))


class GptBlock(nn.Module):
    """A pre-norm block of width 768 with 12 heads; with `past`, one more token after that many cached ones."""

    def __init__(self, past=0):
        super().__init__()
        width = 768
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.past = past

    @staticmethod
    def heads(x):
        return x.unflatten(-1, (12, 64)).transpose(0, 1)

    def forward(self, x, keys=None, values=None):
        h = self.norm1(x)
        q, k, v = self.heads(self.q(h)), self.heads(self.k(h)), self.heads(self.v(h))
        if self.past:
            k, v = torch.cat([keys, k], 1), torch.cat([values, v], 1)
        mixed = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=not self.past)[0]
        x = x + self.o(mixed.transpose(0, 1).flatten(1))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2 small: logits of the last token."""

    def __init__(self, past):
        super().__init__()
        self.words, self.places = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.blocks = nn.ModuleList(GptBlock(past) for _ in range(12))
        self.norm = nn.LayerNorm(768)
        self.past = past

    def forward(self, ids, keys=None, values=None):
        x = self.words(ids) + self.places.weight[self.past:self.past + len(ids)]
        for i, block in enumerate(self.blocks):
            x = block(x, keys[i] if self.past else None, values[i] if self.past else None)
        return self.norm(x[-1:]) @ self.words.weight.t()


class LlamaLayer(nn.Module):
    def __init__(self):
        super().__init__()
        width, hidden = 2048, 8192
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = nn.Linear(width, 512, bias=False), nn.Linear(width, 512, bias=False)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, cos, sin, keys, values):
        def rotated(t):
            a, b = t.chunk(2, -1)
            return t * cos + torch.cat([-b, a], -1) * sin

        h = self.norm1(x)
        q, k, v = (p(h).unflatten(-1, (-1, 64)).transpose(0, 1) for p in (self.q, self.k, self.v))
        q, k = rotated(q), rotated(k)
        if keys is not None:
            k, v = torch.cat([keys, k], 1), torch.cat([values, v], 1)
        mixed = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=keys is None, enable_gqa=True)[0]
        x = x + self.o(mixed.transpose(0, 1).flatten(1))
        n = self.norm2(x)
        return x + self.down(F.silu(self.gate(n)) * self.up(n))


class Llama1b(nn.Module):
    """Llama 3.2 1B: logits of the last token."""

    def __init__(self, past):
        super().__init__()
        self.words = nn.Embedding(128256, 2048)
        self.layers = nn.ModuleList(LlamaLayer() for _ in range(16))
        self.norm = nn.RMSNorm(2048)
        self.past = past

    def forward(self, ids, keys=None, values=None):
        x = self.words(ids)
        positions = torch.arange(self.past, self.past + len(ids), dtype=torch.float32)
        angles = positions[:, None] * 500000.0 ** (-torch.arange(0, 64, 2, dtype=torch.float32) / 64)
        angles = torch.cat([angles, angles], -1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for i, layer in enumerate(self.layers):
            x = layer(x, cos, sin, keys[i] if self.past else None, values[i] if self.past else None)
        return self.norm(x[-1:]) @ self.words.weight.t()


# The ops of benchmarks/micro: how many arrays they take, and the function.
PRIMITIVES = {
    "recip": (1, torch.reciprocal), "sqrt": (1, torch.sqrt), "exp": (1, torch.exp), "exp2": (1, torch.exp2),
    "log": (1, torch.log), "log2": (1, torch.log2), "sin": (1, torch.sin), "cos": (1, torch.cos), "tanh": (1, torch.tanh),
    "erf": (1, torch.erf), "atan": (1, torch.atan), "floor": (1, torch.floor), "round": (1, torch.round),
    "mul": (2, torch.mul), "mod": (2, torch.fmod), "max": (2, torch.maximum), "pow": (2, torch.pow),
    "div": (2, lambda a, b: torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc")),
    "less_than": (2, torch.lt), "equal": (2, torch.eq), "select": (2, lambda a, b: torch.where(a < b, a, b)),
    "bit_and": (2, torch.bitwise_and), "bit_or": (2, torch.bitwise_or), "bit_xor": (2, torch.bitwise_xor),
    "shift_left": (2, torch.bitwise_left_shift), "shift_right": (2, torch.bitwise_right_shift),
    "sum": (1, lambda x: x.sum(-1)), "prod": (1, lambda x: x.prod(-1)), "reduce_max": (1, lambda x: x.amax(-1)),
    "cast to bf16": (1, lambda x: x.to(torch.bfloat16)), "cast to f32": (1, lambda x: x.to(torch.float32)),
    "cast to i8": (1, lambda x: x.to(torch.int8)), "bitcast": (1, lambda x: x.view(torch.int32).clone()),
    "copy": (1, lambda x: x.flip(0)), "gather": (1, lambda x: x.index_select(0, REVERSED)),
    "scatter": (2, lambda x, updates: x.index_copy(0, REVERSED, updates)),
    "constant": (0, lambda: torch.full((4096, 4096), 1.5)),
    "iota": (0, lambda: torch.arange(4096 * 4096, dtype=torch.int32).view(4096, 4096)),
}
REVERSED = torch.arange(4095, -1, -1)


def four_bit_linear(m, n, k, dtype, block=32):
    """Rows times four-bit weights with a scale and a zero per block."""
    weights = torch.ops.aten._convert_weight_to_int4pack_for_cpu(torch.randint(16, (n, k), dtype=torch.int32), 1)
    scales = torch.randn(k // block, n, 2).to(dtype)
    return Call(lambda x: torch.ops.aten._weight_int4pack_mm_for_cpu(x, weights, block, scales))


def byte_products(what, sizes):
    """The same products of bytes, summed in i32."""
    def rand(*shape):
        return torch.randint(-30, 30, shape, dtype=torch.int8)

    if what == "matmul":
        m, n, k = sizes if len(sizes) == 3 else sizes * 3
        return Call(torch._int_mm), [rand(m, k), rand(k, n)]
    if what == "gemv":
        n, k = sizes
        return Call(lambda w, x: torch._int_mm(w, x[:, None])), [rand(n, k), rand(k)]
    if what in ("linear", "skinny"):
        m, n, k = sizes
        return Call(lambda x, w: torch._int_mm(x, w.t())), [rand(m, k), rand(n, k)]
    return None, []


def make(name, dtype):
    """The module and inputs of a case, or nothing."""
    words = name.split()
    sizes = [int(n) for n in words[-1].replace("x", " ").split()] if words[-1][0].isdigit() else []
    what = " ".join(words[:-1]) if sizes else name

    def rand(*shape):
        return torch.randn(*shape).to(dtype) if dtype.is_floating_point else torch.randint(1, 30, shape, dtype=dtype)

    if dtype == torch.int8 and what != "transpose":
        return byte_products(what, sizes)
    if what in PRIMITIVES and len(sizes) == 2:
        count, function = PRIMITIVES[what]
        return Call(function), [rand(*sizes).abs() + 0.1 if dtype.is_floating_point else rand(*sizes) for _ in range(count)]

    elementwise = {
        "add": (2, torch.add),
        "chain": (2, lambda a, b: (a + b).sin().abs().sqrt()),
        "gelu tanh": (1, lambda x: F.gelu(x, approximate="tanh")),
        "gelu erf": (1, F.gelu),
        "softmax": (1, lambda x: torch.softmax(x, -1)),
        "log softmax": (1, lambda x: torch.log_softmax(x, -1)),
        "layer norm": (1, lambda x: F.layer_norm(x, x.shape[-1:])),
        "rms norm": (1, rms_norm),
        "row sum": (1, lambda x: x.sum(-1)),
        "column sum": (1, lambda x: x.sum(0)),
        "full sum": (1, lambda x: x.sum()),
        "transpose": (1, lambda x: x.t().contiguous()),
        "cumsum": (1, lambda x: x.cumsum(-1)),
        "argsort": (1, lambda x: x.argsort(stable=True)),
        "matmul": None, "gemv": None, "batched matmul": None, "attention": None, "causal attention": None,
    }
    if what in elementwise and elementwise[what]:
        count, function = elementwise[what]
        return Call(function), [rand(*sizes) for _ in range(count)]
    if what == "topk":
        return Call(lambda x: x.topk(sizes[0])), [rand(sizes[1])]
    if what == "embedding":
        count, rows, width = sizes
        ids = torch.randint(rows, (count,))
        return Call(lambda table: F.embedding(ids, table)), [rand(rows, width)]
    if what == "scatter add":
        index = torch.randint(sizes[1], tuple(sizes))
        return Call(lambda x, updates: x.scatter_add(1, index, updates)), [rand(*sizes), rand(*sizes)]
    if what == "matmul":
        m, n, k = sizes if len(sizes) == 3 else sizes * 3
        return Call(torch.matmul), [rand(m, k), rand(k, n)]
    if what == "gemv":
        n, k = sizes
        return Call(lambda w, x: w @ x), [rand(n, k), rand(k)]
    if what in ("linear", "skinny"):
        m, n, k = sizes
        return Call(F.linear), [rand(m, k), rand(n, k)]
    if what == "4-bit linear":
        return four_bit_linear(*sizes, dtype), [rand(sizes[0], sizes[2])]
    if what == "batched matmul":
        b, m, k, n = sizes
        return Call(torch.matmul), [rand(b, m, k), rand(b, k, n)]
    if what in ("attention", "causal attention"):
        causal = what != "attention"
        h, s, d = sizes
        function = Call(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
        return function, [rand(1, h, s, d) for _ in range(3)]
    if what == "given filters conv 3x3":
        c, o, size = sizes
        function = Call(lambda x, w, bias: F.conv2d(x, w, bias, padding=1))
        return function, [rand(1, c, size, size), rand(o, c, 3, 3), rand(o)]
    if what in ("conv 3x3", "strided conv 3x3"):
        c, o, size = sizes
        stride = 1 if what == "conv 3x3" else 2
        return nn.Conv2d(c, o, 3, stride=stride, padding=1).to(dtype), [rand(1, c, size, size)]
    if what == "depthwise conv 3x3":
        c, size = sizes
        return nn.Conv2d(c, c, 3, padding=1, groups=c).to(dtype), [rand(1, c, size, size)]
    if what == "mlp":
        return Mlp().to(dtype), [rand(sizes[0], 784)]
    if what == "digit cnn":
        return DigitCnn().to(dtype), [rand(sizes[0], 1, 28, 28)]
    if what == "residual block":
        return ResidualBlock().to(dtype), [rand(1, 64, sizes[0], sizes[0])]
    if what == "gpt block":
        return GptBlock().to(dtype), [rand(sizes[0], 768)]
    if what == "gpt block decode":
        past = sizes[0]
        return GptBlock(past).to(dtype), [rand(1, 768), rand(12, past, 64), rand(12, past, 64)]
    if what in ("gpt2 decode", "gpt2 prefill"):
        past = sizes[0] if what.endswith("decode") else 0
        caches = [rand(12, 12, past, 64), rand(12, 12, past, 64)] if past else []
        return Gpt2(past).to(dtype), [torch.zeros(1 if past else sizes[0], dtype=torch.long), *caches]
    if what in ("llama 1b decode", "llama 1b prefill"):
        past = sizes[0] if what.endswith("decode") else 0
        torch.set_default_dtype(dtype)  # twice the memory otherwise, and as long to fill
        module = Llama1b(past)
        torch.set_default_dtype(torch.float32)
        caches = [rand(16, 8, past, 64), rand(16, 8, past, 64)] if past else []
        return module, [torch.zeros(1 if past else sizes[0], dtype=torch.long), *caches]
    uncommon = uncommon_peers.make(name)
    if uncommon:
        shapes, function = uncommon
        return Call(function), [rand(*shape) for shape in shapes]
    return None, []


def onnx_session(module, inputs):
    """A call of ONNX Runtime, where the package is there and takes the graph."""
    import io

    import onnxruntime

    data = io.BytesIO()
    torch.onnx.export(module, tuple(inputs), data, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(data.getvalue(), options, providers=["CPUExecutionProvider"])
    feeds = {given.name: value.numpy() for given, value in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feeds)


def onnx_byte_session(name, inputs):
    """MatMulInteger, which the exporter of PyTorch does not know."""
    import onnxruntime
    from onnx import TensorProto, helper

    a, b = (value.numpy() for value in inputs)
    if name.startswith(("linear", "skinny")):
        b = b.T.copy()
    types = [helper.make_tensor_value_info(which, TensorProto.INT8, value.shape) for which, value in (("a", a), ("b", b))]
    constants = [helper.make_tensor("b", TensorProto.INT8, b.shape, b.tobytes(), raw=True)] if name.startswith("linear") else []
    given = types[:1] if constants else types
    shape = list(a.shape[:-1]) + list(b.shape[1:])
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "product", given,
                              [helper.make_tensor_value_info("y", TensorProto.INT32, shape)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {value.name: array for value, array in zip(given, (a, b))}
    return lambda: session.run(None, feeds)


def openblas_call(name, inputs):
    """The product in OpenBLAS, which numpy brings."""
    import numpy

    a, b = (value.numpy() for value in inputs)
    if name.startswith(("linear", "skinny")):
        b = b.T
    out = numpy.matmul(a, b)
    return lambda: numpy.matmul(a, b, out=out)


def start(name, dtype_name):
    """The calls that can be timed for a case, by peer, and the peers that failed."""
    torch._dynamo.reset()
    dtype = DTYPES.get(dtype_name)
    module, inputs = make(name, dtype) if dtype else (None, [])
    if module is None:
        return {}, []
    module = module.eval()
    calls = {"torch_eager": lambda: module(*inputs)}
    compiled = torch.compile(module)
    attempts = {"torch_compile": lambda: lambda: compiled(*inputs)}
    if dtype == torch.float32:
        attempts["onnxruntime"] = lambda: onnx_session(module, inputs)
    if dtype == torch.int8 and len(inputs) == 2:
        attempts["onnxruntime"] = lambda: onnx_byte_session(name, inputs)
    if dtype in (torch.float32, torch.float64) and name.startswith(("matmul", "batched matmul", "gemv", "linear", "skinny")):
        attempts["openblas"] = lambda: openblas_call(name, inputs)
    failed = []
    for peer, attempt in attempts.items():
        try:
            call = attempt()
            call()
            calls[peer] = call
        except Exception as error:  # a peer that cannot run a case has no number in its row
            failed.append(peer)
            print(f"{peer} cannot run {name}: {error}", file=sys.stderr)
    for call in calls.values():
        call()
    return calls, failed


def seconds(call):
    """Seconds of one call, from as many as make 5 ms."""
    begin = time.perf_counter()
    call()
    once = time.perf_counter() - begin
    repeats = max(1, int(5e-3 / max(once, 1e-7)))
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def main():
    calls = {}
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "case":
            calls, failed = start(*rest.split("|"))
            print(" ".join([*calls, *(f"!{peer}" for peer in failed)]), file=answers, flush=True)
        elif command == "time":
            print(seconds(calls[rest]), file=answers, flush=True)


main()
