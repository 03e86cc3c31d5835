"""Rows of benchmarks, as `./run bench SUITE --json FILE` writes them: reading, checking, and telling cases apart."""

import argparse
import json
import math
import pathlib
import sys

NAMES = ("suite", "case", "device", "dtype")
NUMBERS = ("ours_us", "fast_us", "bytes", "flops", "bandwidth_fraction", "compute_fraction")
KEPT = pathlib.Path(__file__).resolve().parent.parent / "build" / "bench-rows"  # where ./run bench keeps rows
REMEDY = "./run bench SUITE --json FILE writes a list of rows"


class BadRows(Exception):
    """A file that is not a list of rows; says which and why."""


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max  # NaN is not


def check_names(row: dict, where: str) -> None:
    """What rows are told apart by."""
    row.setdefault("commit", "")
    for key in (*NAMES, "commit", "processor"):
        if not isinstance(row[key], str):
            raise BadRows(f"{where}: {key} is {row[key]!r}; {REMEDY}")
    if not is_number(row.setdefault("measured_at", 0)):
        raise BadRows(f"{where}: measured_at is {row['measured_at']!r}; {REMEDY}")


def check_numbers(row: dict, where: str) -> None:
    """Times are more than nothing, other numbers no less; a peer without a time has failed."""
    row.setdefault("read_fraction", 0.0)  # older rows have none
    row.setdefault("peak_gflops", 0.0)
    if ("search_budget_s" in row) != ("search_s" in row):
        raise BadRows(f"{where}: of search_budget_s and search_s there is only one; {REMEDY}")
    row.setdefault("search_budget_s", 0.0)  # nor these
    row.setdefault("search_s", 0.0)
    for key in (*NUMBERS, "read_fraction", "peak_gflops", "threads", "search_budget_s", "search_s"):
        if not is_number(row[key]) or row[key] < 0 or (key.endswith("_us") and row[key] == 0):
            raise BadRows(f"{where}: {key} is {row[key]!r}; {REMEDY}")
    peers = row.get("peers", {})
    if not isinstance(peers, dict):
        raise BadRows(f"{where}: peers is {peers!r}; {REMEDY}")
    row["peers"] = {peer: us for peer, us in peers.items() if us is not None}
    row["failed_peers"] = [peer for peer, us in peers.items() if us is None]
    for peer, us in row["peers"].items():
        if not is_number(us) or us <= 0:
            raise BadRows(f"{where}: the time of {peer} is {us!r}; {REMEDY}")


def add_row_arguments(parser: argparse.ArgumentParser) -> None:
    """What every tool takes that reads rows."""
    parser.add_argument("--processor", default="", help="what rows were measured on that do not say it, such as znver4")
    parser.add_argument("--threads", type=int, default=0, help="how many threads ran rows that do not say it")
    parser.add_argument("rows", nargs="*", type=pathlib.Path, help="files of rows; all that ./run bench has kept if there are none")


def read_rows(paths: list[pathlib.Path], processor: str = "", threads: int = 0) -> list[dict]:
    """All rows of the files (none: of all that were kept), each checked; `processor` is what those were measured on that do not say it, with
    so many `threads` (0: it is not known)."""
    paths = paths or sorted(KEPT.glob("*.json"))
    if not paths:
        raise BadRows("no rows yet; ./run bench patterns makes some")
    rows = []
    for path in paths:
        try:
            found = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise BadRows(f"cannot read {path}: {error}; {REMEDY}") from error
        if not isinstance(found, list):
            raise BadRows(f"{path} is no list of rows; {REMEDY}")
        for number, row in enumerate(found):
            if not isinstance(row, dict):
                raise BadRows(f"row {number} of {path} is {row!r}; {REMEDY}")
            missing = [key for key in (*NAMES, *NUMBERS) if key not in row]
            if missing:
                raise BadRows(f"row {number} of {path} has no {', '.join(missing)}; {REMEDY}")
            row["processor"] = row.get("processor") or processor
            row["threads"] = row.get("threads") or threads
            check_names(row, f"row {number} of {path}")
            check_numbers(row, f"row {number} of {path}")
        rows += found
    if not rows:
        raise BadRows(f"there are no rows in {', '.join(map(str, paths))}; {REMEDY}")
    return rows


def key_of(row: dict) -> tuple:
    """What is one case: processors differ in what they reach, so rows of one say nothing of another."""
    return row["suite"], row["case"], row["dtype"], row["device"], row.get("processor", "")


def by_case(rows: list[dict]) -> dict[tuple, list[dict]]:
    """The rows of each case, oldest first; cases as they first come."""
    cases: dict[tuple, list[dict]] = {}
    for row in sorted(rows, key=lambda row: row.get("measured_at", 0)):
        cases.setdefault(key_of(row), []).append(row)
    return cases


def newest(rows: list[dict]) -> list[dict]:
    """One row of each case."""
    return [found[-1] for found in by_case(rows).values()]


def speedups(row: dict) -> dict[str, float]:
    return {peer: us / row["ours_us"] for peer, us in row.get("peers", {}).items() if us > 0}


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0.0


def name_of(row: dict) -> str:
    processor = row.get("processor", "")
    return f'{row["case"]} {row["dtype"]}' + (f" on {processor}" if processor else "")
