"""Programs to measure e-graph engines with, as egglog text.

`decoder(layers, rules)` has the shape of a tensor compiler's input: about a hundred constructors, terms that carry their
dims and strides as lists, one let per node, and hundreds of rules with long bodies of which most never match. The
classics are small programs whose cost lies elsewhere: rewriting, points-to analysis, associativity with commutativity,
a large join.
"""

import argparse
import dataclasses
import pathlib
import random
import typing

UNARY = ["Exp2", "Log2", "Sin", "Sqrt", "Recip", "Floor", "Cast"]
BINARY = ["Add", "Mul", "Max", "Mod", "LessThan"]
KERNELS = 80


def declarations():
    lines = [
        "(datatype* (Dim (MNum i64) (MVar String) (MIter) (MMul Dim Dim) (MAdd Dim Dim) (MDiv Dim Dim))"
        " (Dims (ECons Dim Dims) (ENil))"
        " (DType (F32) (F16) (Bool))"
        " (Ir (Input i64 String DType) (Op Kind Irs))"
        " (Irs (ICons Ir Irs) (INil))"
        " (Kind " + " ".join(f"({name} Dims Dims Dims)" for name in UNARY) + " "
        + " ".join(f"({name} Dims Dims Dims Dims)" for name in BINARY)
        + " (Sum Dims Dim Dims Dim Dims) (MaxReduce Dims Dim Dims Dim Dims)"
        + " (Gather Dims Dims) (MatMul Dim Dim Dim Dims Dims DType) (Softmax Dims Dim) (Norm Dims Dim) (Silu Dims) (Rope Dims)"
        + "".join(f" (Kernel{i} Dims Dims)" for i in range(KERNELS)) + "))",
        "(function dtype (Ir) DType :merge new)",
        "(relation contiguous (Dims Dims))",
        "(ruleset types)(ruleset dims)(ruleset match)(ruleset fuse)(ruleset clean)",
    ]
    return lines


class Decoder:
    """A decoder-only transformer, one let per node."""

    def __init__(self, hidden=512, heads=8, ffn=1376):
        self.hidden, self.heads, self.ffn = hidden, heads, ffn
        self.lines, self.count = [], 0

    def let(self, text):
        self.count += 1
        name = f"$t{self.count}"
        self.lines.append(f"(let {name} {text})")
        return name

    @staticmethod
    def dim(value):
        return f"(MNum {value})" if isinstance(value, int) else f'(MVar "{value}")'

    def dims(self, values):
        text = "(ENil)"
        for value in reversed(values):
            text = f"(ECons {self.dim(value) if not str(value).startswith('(') else value} {text})"
        return text

    def strides(self, values):
        """Row-major strides as products over (MIter), the way index expressions are written."""
        text, step = "(ENil)", "(MNum 1)"
        for value in reversed(values):
            text = f"(ECons (MMul (MIter) {step}) {text})"
            step = f"(MMul {step} {self.dim(value)})" if step != "(MNum 1)" else self.dim(value)
        return text

    def inputs(self, names):
        text = "(INil)"
        for name in reversed(names):
            text = f"(ICons {name} {text})"
        return text

    def input(self, label):
        return self.let(f'(Input {self.count} "{label}" (F32))')

    def unary(self, op, x, shape):
        s = self.strides(shape)
        return self.let(f"(Op ({op} {self.dims(shape)} {s} {s}) {self.inputs([x])})")

    def binary(self, op, a, b, shape, broadcast=None):
        s = self.strides(shape)
        other = s if broadcast is None else self.broadcast(shape, broadcast)
        return self.let(f"(Op ({op} {self.dims(shape)} {s} {other} {s}) {self.inputs([a, b])})")

    def broadcast(self, shape, axis):
        values = ["(MMul (MIter) (MNum 1))" if i != axis else "(MMul (MIter) (MNum 0))" for i in range(len(shape))]
        return self.dims(values)

    def reduce(self, op, x, shape, axis):
        rest = shape[:axis] + shape[axis + 1:]
        return self.let(f"(Op ({op} {self.dims(rest)} {self.dim(shape[axis])} {self.strides(rest)} (MIter)"
                        f" {self.strides(rest)}) {self.inputs([x])})")

    def matmul(self, x, w, m, k, n):
        product = self.binary("Mul", x, w, [m, n, k], broadcast=0)
        return self.reduce("Sum", product, [m, n, k], 2)

    def norm(self, x, w, m, n):
        square = self.binary("Mul", x, x, [m, n])
        total = self.reduce("Sum", square, [m, n], 1)
        root = self.unary("Sqrt", total, [m])
        scale = self.unary("Recip", root, [m])
        scaled = self.binary("Mul", x, scale, [m, n], broadcast=1)
        return self.binary("Mul", scaled, w, [m, n], broadcast=0)

    def softmax(self, x, shape):
        top = self.reduce("MaxReduce", x, shape, len(shape) - 1)
        shifted = self.binary("Add", x, top, shape, broadcast=len(shape) - 1)
        power = self.unary("Exp2", shifted, shape)
        total = self.reduce("Sum", power, shape, len(shape) - 1)
        inverse = self.unary("Recip", total, shape[:-1])
        return self.binary("Mul", power, inverse, shape, broadcast=len(shape) - 1)

    def layer(self, x, index):
        h, d = self.hidden, self.hidden // self.heads
        normed = self.norm(x, self.input(f"norm1.{index}"), "s", h)
        q, k, v = (self.matmul(normed, self.input(f"{name}.{index}"), "s", h, h) for name in "qkv")
        turned = self.binary("Add", self.unary("Sin", q, ["s", h]), q, ["s", h])
        scores = self.matmul(turned, k, "s", d, "s")
        attention = self.matmul(self.softmax(scores, [self.heads, "s", "s"]), v, "s", "s", h)
        x = self.binary("Add", x, self.matmul(attention, self.input(f"o.{index}"), "s", h, h), ["s", h])
        normed = self.norm(x, self.input(f"norm2.{index}"), "s", h)
        gate = self.matmul(normed, self.input(f"gate.{index}"), "s", h, self.ffn)
        up = self.matmul(normed, self.input(f"up.{index}"), "s", h, self.ffn)
        sigmoid = self.unary("Recip", self.unary("Exp2", gate, ["s", self.ffn]), ["s", self.ffn])
        silu = self.binary("Mul", gate, sigmoid, ["s", self.ffn])
        product = self.binary("Mul", silu, up, ["s", self.ffn])
        return self.binary("Add", x, self.matmul(product, self.input(f"down.{index}"), "s", self.ffn, h), ["s", h])


def type_rules():
    rules = ["(rule ((= x (Input n s t))) ((set (dtype x) t)) :ruleset types)"]
    for name in UNARY:
        rules.append(f"(rule ((= x (Op ({name} s a o) (ICons y (INil)))) (= t (dtype y))) ((set (dtype x) t)) :ruleset types)")
    for name in BINARY:
        out = "(Bool)" if name == "LessThan" else "t"
        rules.append(f"(rule ((= x (Op ({name} s a b o) (ICons y (ICons z (INil))))) (= t (dtype y)) (= t (dtype z)))"
                     f" ((set (dtype x) {out})) :ruleset types)")
    for name in ["Sum", "MaxReduce"]:
        rules.append(f"(rule ((= x (Op ({name} s d a i o) (ICons y (INil)))) (= t (dtype y))) ((set (dtype x) t)) :ruleset types)")
    return rules


def dim_rules():
    return [
        "(rewrite (MMul (MNum 1) x) x :ruleset dims)",
        "(rewrite (MMul (MNum a) (MNum b)) (MNum (* a b)) :ruleset dims)",
        "(rewrite (MAdd (MNum a) (MNum b)) (MNum (+ a b)) :ruleset dims)",
        "(rewrite (MDiv x (MNum 1)) x :ruleset dims)",
        "(rule ((= o (ECons (MMul (MIter) (MNum 1)) (ENil))) (= s (ECons d (ENil)))) ((contiguous s o)) :ruleset dims)",
        "(rule ((contiguous s o) (= full (ECons d s)) (= strides (ECons (MMul (MIter) step) o))) ((contiguous full strides)) :ruleset dims)",
    ]


def matmul_rules(count, rng):
    """Library calls for one layout each: long bodies of which only the first few ever match."""
    rules = []
    for i in range(count):
        m, n, k = (f"(MMul (MIter) {step})" for step in
                   (rng.choice(["(MNum 1)", "(MNum 0)", "(MMul dn dk)", "dk", "dn", f"(MNum {3 + i})"]) for _ in range(3)))
        if i < 2:
            m, n, k = "sm", "sn", "sk"
        rules.append(
            "(rule ((= sum (Op (Sum so dk si (MIter) soo) (ICons mul (INil))))"
            " (= mul (Op (Mul ms as bs os) (ICons a (ICons b (INil)))))"
            " (= ms (ECons dm (ECons dn (ECons dk (ENil)))))"
            f" (= as (ECons {m} (ECons {n} (ECons {k} (ENil)))))"
            " (= bs (ECons b0 (ECons b1 (ECons b2 (ENil)))))"
            " (= so (ECons dm (ECons dn (ENil))))"
            f" (= ta (dtype a)) (= tb (dtype b)) (= ta {'(F32)' if i % 2 == 0 else '(F16)'}))"
            f" ((union sum (Op (MatMul dm dn dk as bs ta) (ICons a (ICons b (INil)))))) :ruleset match :name \"matmul{i}\")")
    return rules


def chain_rules(count, rng):
    """Fused kernels for chains of ops: each names its ops and shapes, few chains exist."""
    rules = []
    names = UNARY + BINARY
    for i in range(count):
        length = rng.choice([2, 2, 3, 3, 4, 6, 8])
        body, last = [], "x0"
        for j in range(length):
            op = rng.choice(names)
            kind = f"({op} sh{j} a{j} o{j})" if op in UNARY else f"({op} sh{j} a{j} b{j} o{j})"
            rest = "(INil)" if op in UNARY else f"(ICons y{j} (INil))"
            body.append(f"(= x{j} (Op {kind} (ICons x{j + 1} {rest})))")
            if j > 0:
                body.append(f"(= sh{j} sh{j - 1})")
            if rng.random() < 0.3:
                body.append(f"(contiguous sh{j} o{j})")
            if rng.random() < 0.2:
                body.append(f"(= (dtype x{j}) (F32))")
            last = f"x{j + 1}"
        rules.append(f"(rule ({' '.join(body)}) ((union x0 (Op (Kernel{i % KERNELS} sh0 o0) (ICons {last} (INil)))))"
                     f" :ruleset fuse :name \"chain{i}\")")
    return rules


def named_rules():
    return [
        "(rule ((= y (Op (Mul s a b o) (ICons p (ICons inv (INil))))) (= inv (Op (Recip rs ra ro) (ICons total (INil))))"
        " (= total (Op (Sum ss d si st so) (ICons p (INil)))) (= p (Op (Exp2 es ea eo) (ICons shifted (INil))))"
        " (= shifted (Op (Add hs ha hb ho) (ICons x (ICons top (INil))))) (= top (Op (MaxReduce ts d mi mt mo) (ICons x (INil)))))"
        " ((union y (Op (Softmax s d) (ICons x (INil))))) :ruleset fuse :name \"softmax\")",
        "(rule ((= y (Op (Mul s a b o) (ICons scaled (ICons w (INil))))) (= scaled (Op (Mul s a2 b2 o2) (ICons x (ICons inv (INil)))))"
        " (= inv (Op (Recip rs ra ro) (ICons root (INil)))) (= root (Op (Sqrt qs qa qo) (ICons total (INil))))"
        " (= total (Op (Sum ss d si st so) (ICons sq (INil)))) (= sq (Op (Mul ms ma mb mo) (ICons x (ICons x (INil))))))"
        " ((union y (Op (Norm s d) (ICons x (ICons w (INil)))))) :ruleset fuse :name \"norm\")",
        "(rule ((= y (Op (Mul s a b o) (ICons gate (ICons sig (INil))))) (= sig (Op (Recip s ra ro) (ICons e (INil))))"
        " (= e (Op (Exp2 s ea eo) (ICons gate (INil))))) ((union y (Op (Silu s) (ICons gate (INil))))) :ruleset fuse :name \"silu\")",
    ]


def decoder(layers, rules=500, seed=1):
    rng = random.Random(seed)
    lines = declarations()
    fixed = type_rules() + dim_rules() + named_rules()
    half = max(2, (rules - len(fixed)) // 4)
    lines += fixed + matmul_rules(half, rng) + chain_rules(max(0, rules - len(fixed) - half), rng)
    graph = Decoder()
    x = graph.input("x")
    for index in range(layers):
        x = graph.layer(x, index)
    lines += graph.lines
    lines.append("(run-schedule (saturate types) (saturate dims)"
                 " (repeat 3 (seq (saturate match) (saturate fuse) (saturate types) (saturate dims))))")
    lines.append("(print-size)")
    return "\n".join(lines) + "\n"


MATH = """
(datatype Math (Num i64) (Var String) (Add Math Math) (Sub Math Math) (Mul Math Math) (Div Math Math) (Pow Math Math)
  (Ln Math) (Sqrt Math) (Sin Math) (Cos Math) (D Math Math) (I Math Math))
(rewrite (Add a b) (Add b a))
(rewrite (Mul a b) (Mul b a))
(rewrite (Add a (Add b c)) (Add (Add a b) c))
(rewrite (Mul a (Mul b c)) (Mul (Mul a b) c))
(rewrite (Sub a b) (Add a (Mul (Num -1) b)))
(rewrite (Add a (Num 0)) a)
(rewrite (Mul a (Num 0)) (Num 0))
(rewrite (Mul a (Num 1)) a)
(rewrite (Sub a a) (Num 0))
(rewrite (Mul a (Add b c)) (Add (Mul a b) (Mul a c)))
(rewrite (Add (Mul a b) (Mul a c)) (Mul a (Add b c)))
(rewrite (Mul (Pow a b) (Pow a c)) (Pow a (Add b c)))
(rewrite (Pow x (Num 1)) x)
(rewrite (Pow x (Num 2)) (Mul x x))
(rewrite (D x (Add a b)) (Add (D x a) (D x b)))
(rewrite (D x (Mul a b)) (Add (Mul a (D x b)) (Mul b (D x a))))
(rewrite (D x (Sin x)) (Cos x))
(rewrite (D x (Cos x)) (Mul (Num -1) (Sin x)))
(rewrite (I (Num 1) x) x)
(rewrite (I (Cos x) x) (Sin x))
(rewrite (I (Add f g) x) (Add (I f x) (I g x)))
(rewrite (I (Sub f g) x) (Sub (I f x) (I g x)))
(rewrite (I (Mul a b) x) (Sub (Mul a (I b x)) (I (Mul (D x a) (I b x)) x)))
(I (Ln (Var "x")) (Var "x"))
(I (Add (Var "x") (Cos (Var "x"))) (Var "x"))
(I (Mul (Cos (Var "x")) (Var "x")) (Var "x"))
(D (Var "x") (Add (Num 1) (Mul (Num 2) (Var "x"))))
(D (Var "x") (Sub (Pow (Var "x") (Num 3)) (Mul (Num 7) (Pow (Var "x") (Num 2)))))
(Add (Mul (Var "y") (Add (Var "x") (Var "y"))) (Sub (Add (Var "x") (Num 2)) (Add (Var "x") (Var "x"))))
(Div (Num 1) (Sub (Div (Add (Num 1) (Sqrt (Var "five"))) (Num 2)) (Div (Sub (Num 1) (Sqrt (Var "five"))) (Num 2))))
(run ITERATIONS)
(print-size)
"""


def math(iterations=11):
    return MATH.replace("ITERATIONS", str(iterations))


def associative_commutative(leaves=10, iterations=12):
    term = '(Var "v0")'
    for i in range(1, leaves):
        term = f'(Add {term} (Var "v{i}"))'
    return ("(datatype T (Var String) (Add T T))\n(rewrite (Add a b) (Add b a))\n"
            f"(rewrite (Add (Add a b) c) (Add a (Add b c)))\n{term}\n(run {iterations})\n(print-size)\n")


def points_to(variables=2000, statements=4500, seed=3):
    rng = random.Random(seed)
    lines = ["(relation alloc (i64 i64)) (relation assign (i64 i64)) (relation load (i64 i64)) (relation store (i64 i64))",
             "(relation points (i64 i64)) (relation heap (i64 i64))",
             "(rule ((alloc v o)) ((points v o)))",
             "(rule ((assign v w) (points w o)) ((points v o)))",
             "(rule ((store v w) (points v o) (points w p)) ((heap o p)))",
             "(rule ((load v w) (points w o) (heap o p)) ((points v p)))"]
    for _ in range(statements):
        kind = rng.choices(["alloc", "assign", "load", "store"], [4, 4, 1, 1])[0]
        lines.append(f"({kind} {rng.randrange(variables)} {rng.randrange(variables)})")
    lines += ["(run-schedule (saturate (run)))", "(print-size)"]
    return "\n".join(lines) + "\n"


def join(rows=1000000, seed=5):
    """Paths of length two with about `rows` results, rows made by rules so that reading text costs nothing."""
    side = max(2, int(rows ** 0.5))
    return (f"(relation n (i64)) (relation a (i64 i64)) (relation b (i64 i64)) (relation c (i64 i64))\n"
            f"(rule ((n x) (< x {side})) ((n (+ x 1)) (a x (% (* x 7) 97)) (b (% (* x 5) 97) x)))\n"
            f"(ruleset paths)\n(rule ((a x y) (b y z)) ((c x z)) :ruleset paths)\n"
            f"(n 0)\n(run {side + 2})\n(run paths 1)\n(print-size)\n")


@dataclasses.dataclass(frozen=True)
class Program:
    """A program to measure. Those of one series grow in one size only."""
    text: typing.Callable[[], str]
    series: str = ""
    size: int = 0


def decoders():
    """Tensor programs in three series: more rules, more layers under few rules, more layers under 500 rules."""
    programs = {}
    for rules in (60, 120, 200, 300, 400, 500):
        programs[f"decoder_1_rules_{rules}"] = Program(lambda r=rules: decoder(1, rules=r), "rules", rules)
    for layers in (2, 4, 8, 16, 32):
        programs[f"decoder_{layers}_rules_60"] = Program(lambda n=layers: decoder(n, rules=60), "layers", layers)
    for layers in (1, 4, 16, 64, 256):  # 64 layers: 100,000 term nodes
        programs[f"decoder_{layers}"] = Program(lambda n=layers: decoder(n), "decoders", layers)
    return programs


PROGRAMS = {
    **decoders(),
    "math": Program(math),
    "associative_commutative": Program(associative_commutative),
    "points_to": Program(points_to),
    "join": Program(lambda: join(97 * 1000000)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where to write the programs")
    parser.add_argument("names", nargs="*", help="which programs; all if none is given")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or PROGRAMS:
        (arguments.folder / f"{name}.egg").write_text(PROGRAMS[name].text())


if __name__ == "__main__":
    main()
