#!/usr/bin/env python3
"""Makes one page of benchmark rows: bars, speed-ups over each peer, a roofline, and the history over commits.

  bench_report.py [--out PAGE.html|TABLES.md] [--processor NAME] [--threads N] [ROWS.json...]

Each file is what `./run bench SUITE --json FILE` wrote; without one, all rows are taken that `./run bench` has kept. Of rows of one
case the newest is shown; older ones make its history. The page needs no network and no server. A file that ends in .md gets tables in
Markdown instead, for documents.
"""

import argparse
import html
import math
import pathlib
import sys

import bench_bars
from bench_rows import BadRows, add_row_arguments, by_case, geometric_mean, name_of, newest, read_rows, speedups

COLOURS = ("#2f6fde", "#d9822b", "#3a9d5d", "#b0479b", "#c23b3b", "#5b6b7d", "#8a6d3b", "#1f9e9e")


# --- plots -----------------------------------------------------------------------------------------------------------------


class LogScale:
    """Positions of values on a logarithmic axis from `start` to `end` pixels: whole decades, or no more than the values need."""

    def __init__(self, values: list[float], start: float, end: float, tight: bool = False):
        low, high = math.log10(min(values)), math.log10(max(values))
        if tight:
            self.low, self.high = low - 0.02, high + 0.02
        else:
            self.low, self.high = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def decades(self) -> list[float]:
        return [10.0**power for power in range(math.ceil(self.low), math.floor(self.high) + 1)]

    def ticks(self) -> list[float]:
        """Round values, closer where the axis is short."""
        span = self.high - self.low
        parts = (1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9) if span < 0.5 else (1, 1.5, 2, 3, 5, 7) if span < 1.2 else (1, 2, 5)
        values = [part * 10.0**power for power in range(math.floor(self.low), math.ceil(self.high) + 1) for part in parts]
        return [value for value in values if self.low - 1e-9 <= math.log10(value) <= self.high + 1e-9]


def svg(width: int, height: int, parts: list[str], label: str) -> str:
    body = "\n".join(parts)
    return f'<div class="scroll"><svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}">\n{body}\n</svg></div>'


def text(x: float, y: float, said: str, anchor: str = "start", kind: str = "", colour: str = "") -> str:
    fill = f' style="fill:{colour}"' if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{fill}>{html.escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str, colour: str = "") -> str:
    stroke = f' style="stroke:{colour}"' if colour else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"{stroke}/>'


def dot(x: float, y: float, colour: str, said: str, radius: float = 4.5) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"><title>{html.escape(said)}</title></circle>'


def plain(value: float) -> str:
    """A number for an axis."""
    return f"{value:g}" if 1e-3 <= value < 1e4 else f"{value:.0e}"


def roofline(rows: list[dict]) -> str:
    """Work per byte against rate, below the roof that the same runs measured."""
    points = [row for row in rows if row["flops"] > 0 and row["bytes"] > 0 and row["compute_fraction"] > 0]
    bandwidths = [row["bytes"] / row["ours_us"] / 1e3 / row["bandwidth_fraction"] for row in rows if row["bandwidth_fraction"] > 0]
    if not points or not bandwidths:
        return "<p>No row counts products, or none knows the bandwidth: there is no roofline to show.</p>"
    width, height = 900, 420
    rates = [row["flops"] / row["ours_us"] / 1e3 for row in points]  # GFLOP/s
    peaks = {dtype: max(rate / row["compute_fraction"] for row, rate in zip(points, rates) if row["dtype"] == dtype)
             for dtype in sorted({row["dtype"] for row in points})}
    bandwidth = sorted(bandwidths)[len(bandwidths) // 2]
    intensities = [row["flops"] / row["bytes"] for row in points]
    xs = LogScale([*intensities, 0.1], 60, width - 20)
    ys = LogScale([*rates, *peaks.values()], height - 40, 20)
    parts = [line(xs.at(v), 20, xs.at(v), height - 40, "grid") + text(xs.at(v), height - 22, plain(v), "middle") for v in xs.decades()]
    parts += [line(60, ys.at(v), width - 20, ys.at(v), "grid") + text(54, ys.at(v) + 4, plain(v), "end") for v in ys.decades()]
    for number, (dtype, peak) in enumerate(peaks.items()):
        corner = peak / bandwidth
        colour = COLOURS[number % len(COLOURS)]
        left = max(10.0**xs.low, 10.0**ys.low / bandwidth)
        parts.append(line(xs.at(left), ys.at(left * bandwidth), xs.at(corner), ys.at(peak), "roof", colour))
        parts.append(line(xs.at(corner), ys.at(peak), width - 20, ys.at(peak), "roof", colour))
        parts.append(text(width - 24, ys.at(peak) - 6, f"{dtype}: {peak:.0f} GFLOP/s", "end", colour=colour))
    for row, rate, intensity in zip(points, rates, intensities):
        colour = COLOURS[list(peaks).index(row["dtype"]) % len(COLOURS)]
        parts.append(dot(xs.at(intensity), ys.at(rate), colour, f'{name_of(row)}: {rate:.0f} GFLOP/s, {row["compute_fraction"]:.2f} of the peak'))
    parts.append(text(width / 2, height - 4, "flops per byte that has to move", "middle", "axis"))
    parts.append(text(64, 16, f"GFLOP/s; memory at {bandwidth:.0f} GB/s", "start", "axis"))
    return svg(width, height, parts, "roofline")


def speedup_plot(rows: list[dict], peer: str) -> str:
    """A bar for each case: how many times as quick as the peer."""
    bars = sorted(((speedups(row)[peer], row) for row in rows if peer in speedups(row)), key=lambda bar: -bar[0])
    step, left, width = 19, 290, 900
    xs = LogScale([*(value for value, _ in bars), 0.5, 2.0], left, width - 70, tight=True)
    height = step * len(bars) + 50
    parts = []
    for value in xs.ticks():
        parts.append(line(xs.at(value), 4, xs.at(value), height - 40, "one" if value == 1 else "grid"))
        parts.append(text(xs.at(value), height - 24, f"{plain(value)}x", "middle"))
    parts.append(text((left + width - 70) / 2, height - 6, f"time of {peer} over ours; more than 1x: we are quicker", "middle", "axis"))
    for number, (value, row) in enumerate(bars):
        y = 6 + number * step
        begin, end = sorted((xs.at(1), xs.at(value)))
        kind = "win" if value >= 1 else "loss"
        parts.append(f'<rect x="{begin:.1f}" y="{y}" width="{max(end - begin, 1):.1f}" height="{step - 6}" class="{kind}">'
                     f'<title>{html.escape(name_of(row))}: {row["ours_us"]:.1f} us, {peer} {row["peers"][peer]:.1f} us</title></rect>')
        parts.append(text(left - 8, y + 11, name_of(row), "end"))
        parts.append(text(max(end, xs.at(1)) + 5, y + 11, f"{value:.2f}x"))
    return svg(width, height, parts, f"speed-up over {peer}")


def history_plot(cases: dict[tuple, list[dict]]) -> str:
    """Time of each case over commits, relative to its first measurement."""
    moments = sorted({(row.get("measured_at", 0), row.get("commit", "")) for rows in cases.values() for row in rows})
    commits = list(dict.fromkeys(commit for _, commit in moments))
    series = {key: rows for key, rows in cases.items() if len({row.get("commit", "") for row in rows}) > 1}
    if not series:
        return "<p>All rows are of one commit: history starts with the next.</p>"
    width, height = 900, 360
    ratios = {key: [(commits.index(row.get("commit", "")), row["ours_us"] / rows[0]["ours_us"]) for row in rows]
              for key, rows in series.items()}
    ys = LogScale([0.95, 1.05, *(ratio for points in ratios.values() for _, ratio in points)], height - 40, 24, tight=True)

    def x_of(commit: int) -> float:
        return 60 + commit * (width - 100) / max(len(commits) - 1, 1)

    parts = []
    for value in ys.ticks():
        parts.append(line(60, ys.at(value), width - 40, ys.at(value), "one" if value == 1 else "grid"))
        parts.append(text(54, ys.at(value) + 4, f"{plain(value)}x", "end"))
    # Names of commits need room; the first and the last are always told.
    every = math.ceil(len(commits) / 10)
    shown = [n for n in range(len(commits)) if n % every == 0 and len(commits) - 1 - n >= every] + [len(commits) - 1]
    parts += [text(x_of(n), height - 20, commits[n][:8] or "?", "middle") for n in shown]
    for number, (key, points) in enumerate(ratios.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x_of(commit):.1f},{ys.at(ratio):.1f}" for commit, ratio in points)
        name = name_of(series[key][0])
        said = f"{name}: {points[-1][1]:.2f} of the first time"
        parts.append(f'<polyline points="{path}" style="stroke:{colour}" class="series"><title>{html.escape(said)}</title></polyline>')
        parts += [dot(x_of(commit), ys.at(ratio), colour, f"{name} at {commits[commit][:8] or '?'}: {ratio:.2f} of the first time", 2.5)
                  for commit, ratio in points]
    parts.append(text(64, 16, "time relative to the first measurement; lower is quicker", "start", "axis"))
    return svg(width, height, parts, "history over commits")


# --- the page --------------------------------------------------------------------------------------------------------------


def summary(rows: list[dict], peers: list[str]) -> str:
    cards = []
    for peer in peers:
        values = [speedups(row)[peer] for row in rows if peer in speedups(row)]
        behind = sum(value < 1 for value in values)
        cards.append(f"<div class=card><b>{geometric_mean(values):.2f}x</b><span>over {html.escape(peer)}, geometric mean of {len(values)} cases; "
                     f"slower in {behind}</span></div>")
    searched = [row["fast_us"] / row["ours_us"] for row in rows if row["fast_us"] != row["ours_us"]]
    if searched:
        cards.append(f"<div class=card><b>{geometric_mean(searched):.2f}x</b><span>search over the first plan, geometric mean of {len(searched)} "
                     f"cases; worst {min(searched):.2f}x</span></div>")
    cards.append(f"<div class=card><b>{len(rows)}</b><span>cases</span></div>")
    return "<div class=cards>" + "".join(cards) + "</div>"


def gains(rows: list[dict]) -> str:
    """The ten cases that the search improved most."""
    best = sorted(((row["fast_us"] / row["ours_us"], row) for row in rows if row["fast_us"] != row["ours_us"]), key=lambda gain: -gain[0])[:10]
    if not best:
        return "<p>No row was searched.</p>"
    items = "".join(f'<li>{html.escape(name_of(row))}: {gain:.2f}x ({row["fast_us"]:.1f} to {row["ours_us"]:.1f} us)</li>' for gain, row in best)
    return f"<ol>{items}</ol>"


def table(rows: list[dict], peers: list[str]) -> str:
    heads = ["suite", "case", "dtype", "processor", "ours us", "first plan us", "of copy", "of peak", *peers]
    lines = []
    for row in rows:
        ratios = speedups(row)
        cells = [row["suite"], row["case"], row["dtype"], row.get("processor", ""), f'{row["ours_us"]:.1f}', f'{row["fast_us"]:.1f}', f'{row["bandwidth_fraction"]:.2f}',
                 f'{row["compute_fraction"]:.2f}' if row["flops"] else "", *(f"{ratios[peer]:.2f}x" if peer in ratios else "" for peer in peers)]
        behind = ' class="behind"' if any(value < 1 for value in ratios.values()) else ""
        lines.append(f"<tr{behind}>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    return f"<table id=rows><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def bars_table(rows: list[dict]) -> str:
    """Whether the bars hold: a table, bar by bar."""
    found = bench_bars.judged(rows)
    if not found:
        return "<p>No case of these rows has a bar.</p>"
    head = "".join(f"<th>{html.escape(name)}</th>" for name in bench_bars.HEADS)
    lines = []
    for bar, cases in bench_bars.by_bar(found).items():
        lines.append(f'<tr><th colspan="{len(bench_bars.HEADS)}">{html.escape(bar.title)}: {html.escape(bench_bars.asked(bar))}</th></tr>')
        lines += [f'<tr class="{each.verdict}">' + "".join(f"<td>{html.escape(cell)}</td>" for cell in bench_bars.cells(each)) + "</tr>"
                  for each in cases]
    return (f"<p>{html.escape(bench_bars.counts(found, rows))}.</p>"
            f'<div class="scroll"><table id=bars><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>')


STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --faint: #8793a1; --grid: #e3e8ee; --paper: #fff; --card: #f4f7fa; --win: #3a9d5d; --loss: #c23b3b; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde4ec; --faint: #8b98a7; --grid: #2c3440; --paper: #14181e; --card: #1d232c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 980px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
svg { width: 100%; min-width: 680px; height: auto; } svg text { font-size: 11.5px; fill: var(--ink); } svg text.axis { fill: var(--faint); }
.grid { stroke: var(--grid); } .one { stroke: var(--faint); stroke-dasharray: 3 3; } .roof { stroke-width: 2; } .series { fill: none; stroke-width: 1.6; }
.win { fill: var(--win); } .loss { fill: var(--loss); }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; } .card { background: var(--card); border-radius: 10px; padding: .8rem 1rem; max-width: 220px; }
.card b { display: block; font-size: 1.5rem; } .card span { color: var(--faint); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th { text-align: left; background: var(--paper); } #rows th { cursor: pointer; position: sticky; top: 0; } td, th { padding: .2rem .5rem; border-bottom: 1px solid var(--grid); white-space: nowrap; }
tr.behind td, tr.below td { color: var(--loss); } tr.open td { color: var(--faint); } #bars th[colspan] { padding-top: .8rem; } #bars td:last-child { white-space: normal; min-width: 13rem; } input { font: inherit; padding: .3rem .6rem; width: 16rem; max-width: 100%; }
"""

SCRIPT = """
const body = document.querySelector('#rows tbody');
document.querySelector('#filter').addEventListener('input', event => {
  const wanted = event.target.value.toLowerCase();
  for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
});
document.querySelectorAll('#rows th').forEach((head, column) => head.addEventListener('click', () => {
  const falling = head.dataset.order === 'rising';
  head.dataset.order = falling ? 'falling' : 'rising';
  const value = row => row.cells[column].textContent;
  const order = (a, b) => {
    const [x, y] = [parseFloat(value(a)), parseFloat(value(b))];
    return Number.isNaN(x) || Number.isNaN(y) ? value(a).localeCompare(value(b)) : x - y;
  };
  [...body.rows].sort((a, b) => falling ? order(b, a) : order(a, b)).forEach(row => body.append(row));
}));
"""


def page(rows: list[dict]) -> str:
    """The whole page."""
    cases = by_case(rows)
    shown = newest(rows)
    peers = sorted({peer for row in shown for peer in row.get("peers", {})})
    parts = [f"<h2>Speed-up over {html.escape(peer)}</h2>{speedup_plot(shown, peer)}" for peer in peers]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Benchmarks</title><style>{STYLE}</style></head>
<body><h1>Benchmarks</h1>
{summary(shown, peers)}
<h2>Bars</h2>{bars_table(rows)}
<h2>Roofline</h2>{roofline(shown)}
<h2>Where searching helped most</h2>{gains(shown)}
{"".join(parts)}
<h2>History</h2>{history_plot(cases)}
<h2>All cases</h2><p><input id="filter" placeholder="filter the rows" aria-label="filter the rows"></p>
<div class="scroll">{table(shown, peers)}</div>
<script>{SCRIPT}</script></body></html>
"""


# --- tables for documents --------------------------------------------------------------------------------------------------


def limit_of(row: dict) -> str:
    """How much of which limit a case reaches: of those that the run measured, the one that it is nearest to."""
    fractions = {"copy": row["bandwidth_fraction"], "read": row.get("read_fraction", 0.0), "peak": row["compute_fraction"] if row["flops"] else 0.0}
    name, fraction = max(fractions.items(), key=lambda found: found[1])
    return f"{fraction:.2f} of {name}"


def bars_in_markdown(rows: list[dict]) -> str:
    """Whether the bars hold: a table for each."""
    found = bench_bars.judged(rows)
    parts = ["## Bars", bench_bars.counts(found, rows) + "." if found else "No case of these rows has a bar."]
    for bar, cases in bench_bars.by_bar(found).items():
        lines = [f"| {' | '.join(bench_bars.HEADS)} |", "| --- | --: | --- | --- | --: | --- | --- |"]
        parts += [f"**{bar.title}**: {bench_bars.asked(bar)}", "\n".join([*lines, *(f"| {' | '.join(bench_bars.cells(each))} |" for each in cases)])]
    return "\n\n".join(parts) + "\n"


def tables(rows: list[dict]) -> str:
    """Whether the bars hold, then a table for each suite, with the quickest peer of each case."""
    shown = newest(rows)
    parts = [bars_in_markdown(rows)]
    for suite in dict.fromkeys(row["suite"] for row in shown):
        lines = [f"## {suite}", "", "| case | ours, us | over the first plan | limit | quickest peer | over it |", "| --- | --: | --: | --- | --- | --: |"]
        for row in (row for row in shown if row["suite"] == suite):
            ratios = speedups(row)
            peer = min(ratios, key=ratios.get) if ratios else ""
            gain = f'{row["fast_us"] / row["ours_us"]:.2f}' if row["fast_us"] != row["ours_us"] else ""
            lines.append(f'| {name_of(row)} | {row["ours_us"]:.1f} | {gain} | {limit_of(row)} | {peer} | {f"{ratios[peer]:.2f}" if peer else ""} |')
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run bench report", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/bench-report.html"))
    add_row_arguments(parser)
    given = parser.parse_args(arguments)
    try:
        rows = read_rows(given.rows, given.processor, given.threads)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(tables(rows) if given.out.suffix == ".md" else page(rows))
    except (BadRows, OSError) as error:
        print(f"bench report: {error}", file=sys.stderr)
        return 1
    print(f"bench report: {len(rows)} rows on {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
