#!/usr/bin/env python3
"""Says whether benchmark rows hold the bars: what ours has to reach of the machine and of the best peer.

  bench_bars.py [--processor NAME] [--threads N] [ROWS.json...]

Each file is what `./run bench SUITE --json FILE` wrote; without one, all rows are taken that `./run bench` has kept. Of rows of one case
the newest counts, and for ratios to peers the newest that has some. Everything that is compared is of one row, hence of one run. The exit
status is 1 if a case is below its bar, 2 if the rows cannot be read, 3 if nothing is below but something was not measured.
"""

import argparse
import dataclasses
import re
import sys

from bench_rows import BadRows, add_row_arguments, by_case, geometric_mean, name_of, newest, read_rows, speedups

# --- what is asked ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Bar:
    """What cases of one kind have to reach. Zero: it is not asked."""

    title: str
    suite: str  # a pattern, as are the names of cases: all of the name has to fit
    case: str
    dtypes: tuple[str, ...] = ()  # all if there are none
    of: tuple[str, ...] = ()  # limits of the machine, of which one binds
    share: float = 0.0  # of that limit
    share_of_matrices: float = 0.0  # of products, where matrix registers could do them; else the same
    ratio: float = 0.0  # the best peer's time over ours
    gain: float = 0.0  # the first plan's time over that of the plan that a search found
    within_us: float = 0.0
    searched_in: float = 0.0  # seconds, of a search that was given as many


# Sums read much and write little: reading binds. What writes as much as it reads: copying. Products: registers. Nine products per pixel of
# one channel: copying, since registers take 1.3 to 1.9 times as many in the time of a copy (116 G products and 54 to 82 GB a second), unless
# caches hold the planes; then registers, of which rows of 14 or 56 pixels leave an eighth of the lanes idle. A network is bound by reading
# its weights or by products; the weights of single blocks lie in the caches, so that only whole language models are sure to be bound by
# memory. The register peak of rows is that of fma or dots, or of matrix registers, of which half will do for matrices.
BARS = (
    Bar("elementwise, gelu, softmax, norms, transposed copy", "patterns",
        r"(add|chain|gelu tanh|gelu erf|softmax|log softmax|layer norm|rms norm|transpose) \d+x\d+", of=("copy",), share=0.85, ratio=2.5),
    Bar("column sums", "patterns", r"column sum \d+x\d+", of=("read",), share=0.85, ratio=2.5),
    Bar("row sums", "patterns", r"row sum \d+x\d+", of=("read",), share=0.85, ratio=1.5),
    Bar("f32 and f64 products of 512 to 2048, and batches", "patterns", r"matmul (512|1024|2048)|batched matmul 24x512x64x512", ("f32", "f64"),
        of=("products",), share=0.9, ratio=1.1),
    Bar("f32 and f64 products of 128 and of odd sizes", "patterns", r"matmul (128|130|1000x1003x997)|batched matmul 7x509x61x503", ("f32", "f64"),
        of=("products",), share=0.85, ratio=1.1),
    Bar("bf16 and i8 products of 512 to 2048", "patterns", r"matmul (512|1024|2048|1000x1003x997)", ("bf16", "i8"),
        of=("products",), share=0.9, share_of_matrices=0.5, ratio=1.05),
    Bar("one row times a matrix", "patterns", r"(gemv |linear 1x)\d+x\d+", of=("read",), share=0.95),
    Bar("one row times 4-bit weights", "patterns", r"4-bit linear 1x\d+x\d+", of=("read",), share=0.85),
    Bar("f32 attention", "patterns", r"(causal )?attention 12x(512|2048)x64", ("f32",), of=("products",), ratio=1.3),
    Bar("bf16 attention", "patterns", r"(causal )?attention 12x(512|2048)x64", ("bf16",), of=("products",), ratio=2.0),
    Bar("3x3 convolutions", "patterns", r"((given filters|strided) )?conv 3x3 [\dx]+", of=("products",), share=0.9, ratio=1.2),
    Bar("3x3 convolutions of single channels", "patterns", r"depthwise conv 3x3 [\dx]+", of=("copy", "products"), share=0.9, ratio=1.2),
    Bar("networks", "nets", r"(mlp|digit cnn|residual block|gpt block|gpt block decode|gpt2 prefill|llama 1b prefill) \d+",
        of=("read", "products"), ratio=1.5),
    Bar("decode of language models", "nets", r"(gpt2|llama 1b) decode \d+", of=("read",), share=0.9),
    Bar("first plan of a transformer block", "compile", r"gpt block, first plan", within_us=1e6),
    Bar("loading a plan", "compile", r"(mlp 32|digit cnn 32|residual block 56|gpt block|gpt 12 layers), plan file", within_us=2e5),
    Bar("default search of a network", "nets", r".*", searched_in=60.0),
    # Rows whose search ended with the first plan say nothing and are left out.
    Bar("search over the first plan", "micro|patterns|uncommon|nets", r".*", gain=0.98),
)

# What the vector units bind where memory is quick: the GB/s that they take in and give out at most, on a processor, with so many threads on a
# core each. Measured with the instructions of these kernels, none of which waits, or counted: "What bounds kernels of bf16" in docs/kernels.md. Other
# processors start other numbers of instructions in a cycle, and more cores have more units: nothing is known of them.
VECTOR_RATES = {
    ("znver4", 2): {
        "bf16": {"softmax": 63.7, "gelu tanh": 54.0, "gelu erf": 47.2, "log softmax": 57.3, "chain": 72.6},
        "f32": {"4-bit linear": 46.2},
    },
}
# Products in registers, in Gflop/s, while these rates hold (3.69 GHz). Units that others use too, and lower clocks, slow both down alike, so
# rates are scaled to the products that the same run measured.
VECTOR_PEAKS = {("znver4", 2): {"bf16": 472.0, "f32": 236.0}}
# So much slower they are where another has half of a core. Beyond that something disturbed the products alone.
SLOWEST_UNITS = 0.5

# Limits are measured between runs of ours, and peers between rounds of both. A share further beyond 1 is no error of measurement:
# caches hold part of what is read, there are fewer products than the row counts (Winograd), or the machine changed meanwhile.
BEYOND = 1.1
# What has to move so many bytes moves them through memory: no such case has had more than 0.985 of copying, on a quiet machine with
# 32 MB of cache. A share beyond `BEYOND` is then a fault of the run, such as a copy that something else disturbed.
PAST_CACHES = 64 << 20
# From here on a case is at its limit if its bar asks for no share.
AT_THE_LIMIT = 0.9
# Nanoseconds of a word to another thread and back from which on cores share no last cache: what one of them wrote reaches the other
# late, while memory is as quick as for two. Which it is changes on a virtual machine from one row to the next. (kLeastOfApart of
# luminal/runtime/cpu/round_trip.h is the same.)
APART = 300
# The most of a limit that any kernel reaches, ours or a peer's. Products: tiles are loaded and stored, the loop of the register peak does
# neither. Copying: in a whole run what computes between loads and stores has 0.970 at best (gelu of f32; log softmax 0.964).
ATTAINABLE = {"products": 0.98, "copy": 0.97}

# --- what a row is worth ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Judged:
    """One case and one bar."""

    bar: Bar
    row: dict
    limit: str = ""  # that binds; none if the bar has none, or the row does not measure it
    share: float = 0.0
    peer: str = ""  # the best
    speedup: float = 0.0
    verdict: str = "holds"
    notes: list[str] = dataclasses.field(default_factory=list)

    def add(self, verdict: str, note: str = "") -> None:
        """One part of the bar: the worst counts. What was not measured holds nothing, but what is below is below without it."""
        order = ("holds", "limit", "open", "below")
        self.verdict = max(self.verdict, verdict, key=order.index)
        if note:
            self.notes.append(note)


def is_about(bar: Bar, row: dict) -> bool:
    return (row["device"] == "cpu" and re.fullmatch(bar.suite, row["suite"]) is not None and re.fullmatch(bar.case, row["case"]) is not None
            and (not bar.dtypes or row["dtype"] in bar.dtypes) and (not bar.gain or row["fast_us"] != row["ours_us"])
            and row.get("search_budget_s", 0) >= bar.searched_in)


def vector_bound(row: dict, limit: str, share: float) -> float:
    """How much of a limit the vector units allow at most, of which the row has a share; 1 if they do not bind, or are not known to."""
    rates = VECTOR_RATES.get((row.get("processor", ""), row.get("threads", 0)), {})
    most = rates.get(row["dtype"], {}).get(re.sub(r" [\dx]+$", "", row["case"]))
    if most is None or limit not in ("copy", "read"):
        return 1.0
    if row.get("peak_gflops", 0) > 0:
        most *= max(SLOWEST_UNITS, row["peak_gflops"] / VECTOR_PEAKS[row["processor"], row["threads"]][row["dtype"]])
    return min(1.0, most / (row["bytes"] / row["ours_us"] / 1e3 / share))


def binding(bar: Bar, row: dict) -> tuple[str, float]:
    """The limit of the bar that binds, and how much of it ours has. A limit that ours is beyond binds only if there is no other."""
    shares = {"copy": row["bandwidth_fraction"], "read": row.get("read_fraction", 0.0), "products": row["compute_fraction"]}
    found = {limit: shares[limit] for limit in bar.of if shares[limit] > 0}
    for limit, share in list(found.items()):
        if (bound := vector_bound(row, limit, share)) < 1:
            found["vector units"] = share / bound
            del found[limit]
    candidates = {limit: share for limit, share in found.items() if share <= BEYOND} or found
    return max(candidates.items(), key=lambda limit: limit[1], default=("", 0.0))


def share_asked(bar: Bar, row: dict, limit: str) -> float:
    matrices = limit == "products" and row.get("matrix_registers", False)
    return bar.share_of_matrices if matrices and bar.share_of_matrices else bar.share


def judge_share(found: Judged) -> None:
    bar = found.bar
    asked = share_asked(bar, found.row, found.limit)
    if not found.limit:
        found.add("open", f"these rows do not measure {' or '.join(bar.of)}: run the suite again")
    elif found.share > BEYOND and (found.limit == "vector units" or (found.limit == "copy" and found.row["bytes"] >= PAST_CACHES)):
        found.add("open", f"nothing has {found.share:.2f} of {found.limit}: measure again")
    elif found.share >= asked:
        found.add("holds")
    else:
        found.add("below", f"{asked:g} of {found.limit} is asked")


def judge_ratio(found: Judged, compared: dict) -> None:
    """`compared` is the row that has peers."""
    bar, peer = found.bar, found.peer
    failed = {each for row in (found.row, compared) for each in row.get("failed_peers", [])}
    if failed:
        found.notes.append(f"failed: {', '.join(sorted(failed))}")
    if not peer:
        found.add("open", "no peers in these rows")
        return
    if compared is not found.row:
        found.notes.append(f"peers are of an older row, {compared['ours_us']:.1f} us")
    if found.speedup >= bar.ratio:
        found.add("holds")
        return
    asked = f"{bar.ratio:g} of {peer} is asked"
    limit, share = binding(bar, compared)
    if not limit:
        found.add("below", asked)
        return
    peers_share = share / found.speedup
    possible = max(ATTAINABLE.get(limit, 1.0) / peers_share, found.speedup)
    if share > BEYOND:
        found.add("below", f"{asked}; {limit} does not bind")
    elif peers_share > BEYOND:
        found.add("below", f"{asked}; it runs at {peers_share:.2f} of {limit}, as nothing can: measure again")
    elif possible >= bar.ratio:
        found.add("below", f"{asked}, {possible:.3f} possible")
    else:
        at_limit = share >= (share_asked(bar, compared, limit) or AT_THE_LIMIT)
        found.add("limit" if at_limit else "below", f"{asked}, {possible:.3f} possible at most: it has {peers_share:.3f} of {limit}")


def judge(bar: Bar, rows: list[dict]) -> Judged:
    """One case, of which there are such rows, oldest first. A newer row without peers does not undo what one with peers says."""
    row = rows[-1]
    compared = next((each for each in reversed(rows) if speedups(each)), row) if bar.ratio else row
    found = Judged(bar, row)
    found.limit, found.share = binding(bar, row)
    ratios = speedups(compared)
    if ratios:
        found.peer, found.speedup = min(ratios.items(), key=lambda peer: peer[1])
    if bar.share:
        judge_share(found)
    if bar.ratio:
        judge_ratio(found, compared)
    if bar.gain:
        gain = row["fast_us"] / row["ours_us"]
        found.add("holds" if gain >= bar.gain else "below", f"{gain:.3f} of the first plan" + ("" if gain >= bar.gain else f", {bar.gain:g} is asked"))
    if bar.within_us:
        kept = row["ours_us"] < bar.within_us
        found.add("holds" if kept else "below", "" if kept else f"less than {bar.within_us:.0f} us is asked")
    if bar.searched_in:
        kept = row["search_s"] < bar.searched_in
        found.add("holds" if kept else "below", f"searched for {row['search_s']:.1f} s")
    if row.get("round_trip_ns", 0) >= APART:
        found.notes.append("cores apart")
    return found


def judged(rows: list[dict]) -> list[Judged]:
    """Each case under each bar that its newest row has, bar by bar."""
    cases = by_case(rows).values()
    return [judge(bar, case) for bar in BARS for case in cases if is_about(bar, case[-1])]


def unmeasured(found: list[Judged], rows: list[dict]) -> dict[str, list[Bar]]:
    """Bars that no case is about, by the processor that has none."""
    missing = {}
    for processor in sorted({row.get("processor", "") for row in rows}):
        bars = {each.bar for each in found if each.row.get("processor", "") == processor}
        missing[processor] = [bar for bar in BARS if bar not in bars]
    return missing


def status(rows: list[dict]) -> int:
    """What the program ends with: nothing is known to hold that was not measured."""
    found = judged(rows)
    verdicts = {each.verdict for each in found}
    return 1 if "below" in verdicts else 3 if "open" in verdicts or any(unmeasured(found, rows).values()) else 0


# --- what is told ----------------------------------------------------------------------------------------------------------

HEADS = ("case", "ours, us", "of the machine", "best peer", "over it", "verdict", "")


def asked(bar: Bar) -> str:
    """The bar in words."""
    parts = [f"{bar.share:g} of {' or '.join(bar.of)}"] if bar.share else []
    parts += [f"{bar.ratio:g} of the best peer"] if bar.ratio else []
    parts += [f"{bar.gain:g} of the first plan"] if bar.gain else []
    parts += [f"less than {bar.within_us / 1e6:g} s"] if bar.within_us else []
    parts += [f"searched for less than {bar.searched_in:g} s"] if bar.searched_in else []
    return ", ".join(parts)


def cells(found: Judged) -> tuple[str, ...]:
    return (name_of(found.row), f'{found.row["ours_us"]:.1f}', f"{found.share:.3f} of {found.limit}" if found.limit else "", found.peer,
            f"{found.speedup:.3f}" if found.peer else "", found.verdict, "; ".join(found.notes))


def by_bar(found: list[Judged]) -> dict[Bar, list[Judged]]:
    return {bar: cases for bar in BARS if (cases := [each for each in found if each.bar == bar])}


def counts(found: list[Judged], rows: list[dict]) -> str:
    """How many hold, and what was not judged: bars without any row count as one case without a verdict each."""
    missing = unmeasured(found, rows)
    number = {verdict: sum(each.verdict == verdict for each in found) for verdict in ("holds", "limit", "below", "open")}
    number["open"] += sum(map(len, missing.values()))
    told = (f"{number['holds']} hold, {number['limit']} at a limit of the machine that is below the bar, {number['below']} below, "
            f"{number['open']} without a verdict")
    peerless = sum(bool(each.bar.ratio) and not each.peer for each in found)
    if peerless:
        told += f"; {peerless} not compared with peers, of which there are none in these rows"
    gains = [each.row["fast_us"] / each.row["ours_us"] for each in found if each.bar.gain]
    if gains:
        told += f"; searches gain {geometric_mean(gains):.3f} where they find another plan (geometric mean)"
    without = len(newest(rows)) - len({id(each.row) for each in found})
    told += f"; {without} {'case has' if without == 1 else 'cases have'} no bar"
    for processor, bars in missing.items():
        if bars:
            where = f" of {processor}" if processor else ""
            told += f"; no rows{where} for {len(bars)} of {len(BARS)} bars: {'; '.join(bar.title for bar in bars)}"
    return told


def text(rows: list[dict]) -> str:
    """Everything, for a terminal."""
    found = judged(rows)
    lines = [HEADS, *map(cells, found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    right = (1, 4)

    def told(line: tuple[str, ...]) -> str:
        parts = [cell.rjust(width) if column in right else cell.ljust(width) for column, (cell, width) in enumerate(zip(line, widths))]
        return ("  " + "  ".join(parts)).rstrip()

    parts = [told(HEADS)] if found else []
    for bar, cases in by_bar(found).items():
        parts += [f"{bar.title}: {asked(bar)}", *(told(cells(each)) for each in cases)]
    return "\n".join([*parts, counts(found, rows)])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run bench bars", description=__doc__.splitlines()[0])
    add_row_arguments(parser)
    given = parser.parse_args(arguments)
    try:
        rows = read_rows(given.rows, given.processor, given.threads)
    except BadRows as error:
        print(f"bench bars: {error}", file=sys.stderr)
        return 2
    print(text(rows))
    return status(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
