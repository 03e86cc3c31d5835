"""The page made of benchmark rows."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from html.parser import HTMLParser

import bench_report


def row(case, ours, commit="a1", at=1, peers=None, flops=0, fast=None, processor=""):
    return {"suite": "patterns", "case": case, "device": "cpu", "dtype": "f32", "ours_us": ours, "fast_us": fast or ours, "peers": peers or {},
            "bytes": 4e6, "flops": flops, "bandwidth_fraction": 0.8, "compute_fraction": 0.5 if flops else 0.0, "commit": commit, "measured_at": at,
            "processor": processor}


class Balanced(HTMLParser):
    """Fails on tags that do not close as they were opened."""

    VOID = {"meta", "input", "line", "circle", "rect", "polyline"}

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag in self.VOID or (tag == "title" and not self.open):
            return
        assert self.open and self.open[-1] == tag, f"</{tag}> after {self.open[-3:]}"
        self.open.pop()


class BenchReport(unittest.TestCase):
    def test_the_newest_row_of_a_case_is_shown(self):
        page = bench_report.page([row("add", 20.0, at=2), row("add", 40.0, at=1)])
        self.assertIn("<td>20.0</td>", page)
        self.assertNotIn("<td>40.0</td>", page)

    def test_speed_ups_and_losses_are_told_apart(self):
        page = bench_report.page([row("fast one", 10.0, peers={"torch": 30.0}), row("slow one", 10.0, peers={"torch": 5.0})])
        self.assertIn("3.00x", page)
        self.assertIn('class="win"', page)
        self.assertIn('class="loss"', page)
        self.assertIn("slower in 1", page)

    def test_rows_of_two_commits_make_a_history(self):
        page = bench_report.page([row("add", 20.0, "old", 1), row("add", 10.0, "new", 2)])
        self.assertIn("0.50 of the first time", page)
        self.assertIn("polyline", page)

    def test_processors_have_a_history_each(self):
        rows = [row("add", ours, commit, at, processor=processor)
                for processor, ours, commit, at in (("haswell", 40.0, "old", 1), ("znver5", 10.0, "old", 2), ("haswell", 20.0, "new", 3), ("znver5", 9.0, "new", 4))]
        page = bench_report.page(rows)
        self.assertIn("add f32 on haswell: 0.50 of the first time", page)
        self.assertIn("add f32 on znver5: 0.90 of the first time", page)
        self.assertIn("<td>znver5</td><td>9.0</td>", page)

    def test_axes_have_round_values_within_their_range(self):
        ticks = bench_report.LogScale([0.5, 4.0], 0, 100, tight=True).ticks()
        self.assertEqual([round(tick, 6) for tick in ticks], [0.5, 0.7, 1.0, 1.5, 2.0, 3.0])
        self.assertEqual(bench_report.LogScale([0.9, 1.1], 0, 100, tight=True).ticks(), [0.9, 1.0, 1.1])
        self.assertEqual(bench_report.LogScale([3.0, 40.0], 0, 100).decades(), [1.0, 10.0, 100.0])

    def test_names_of_many_commits_leave_each_other_room(self):
        page = bench_report.page([row("add", 20.0 + n, f"commit{n:02}", n) for n in range(60)])
        history = page[page.index('aria-label="history'):]
        self.assertIn(">commit00<", history)
        self.assertIn(">commit59<", history)
        self.assertLess(history.count(">commit"), 13)

    def test_products_are_below_the_roof(self):
        page = bench_report.page([row("matmul", 10.0, flops=2e6)])
        self.assertIn("f32: 400 GFLOP/s", page)

    def test_without_any_bandwidth_there_is_no_roof(self):
        page = bench_report.page([{**row("matmul", 10.0, flops=2e6), "bandwidth_fraction": 0.0}])
        self.assertIn("there is no roofline to show", page)

    def test_tables_name_the_quickest_peer_and_the_nearest_limit(self):
        told = bench_report.tables([row("add", 10.0, peers={"torch": 30.0, "other": 12.0}), row("matmul", 10.0, flops=2e6, fast=20.0)])
        self.assertIn("| add f32 | 10.0 |  | 0.80 of copy | other | 1.20 |", told)
        self.assertIn("| matmul f32 | 10.0 | 2.00 | 0.80 of copy |  |  |", told)

    def test_bars_are_on_the_page_and_in_the_tables(self):
        rows = [row("transpose 8x8", 10.0, peers={"a<b": 30.0})]
        page, told = bench_report.page(rows), bench_report.tables(rows)
        self.assertIn('<tr class="below"><td>transpose 8x8 f32</td><td>10.0</td><td>0.800 of copy</td><td>a&lt;b</td><td>3.000</td>', page)
        self.assertIn("| transpose 8x8 f32 | 10.0 | 0.800 of copy | a<b | 3.000 | below | 0.85 of copy is asked |", told)
        for text in (page, told):
            self.assertIn("1 below", text)
            self.assertIn("0.85 of copy, 2.5 of the best peer", text)
        for text in (bench_report.page([row("own", 1.0)]), bench_report.tables([row("own", 1.0)])):
            self.assertIn("No case of these rows has a bar.", text)

    def test_gains_of_the_search_are_listed(self):
        self.assertIn("add f32: 2.00x", bench_report.page([row("add", 10.0, fast=20.0)]))

    def test_the_page_is_well_formed_and_names_are_escaped(self):
        page = bench_report.page([row("a<b", 10.0, peers={"torch": 30.0}, flops=1e6), row("matmul 512", 10.0, flops=1e6), row("c", 3.0, "b", 3), row("c", 2.0, "c", 4)])
        checker = Balanced()
        checker.feed(page)
        self.assertEqual(checker.open, [])
        self.assertIn("a&lt;b", page)

    def test_bad_files_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for content, said in (("{", "cannot read"), ("{}", "is no list of rows"), ('[{"suite": "x"}]', "has no case")):
                file = pathlib.Path(folder) / "rows.json"
                file.write_text(content)
                errors = io.StringIO()
                with contextlib.redirect_stderr(errors):
                    self.assertEqual(bench_report.main(["--out", f"{folder}/page.html", str(file)]), 1)
                self.assertIn(said, errors.getvalue())

    def test_files_become_a_page(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            file = pathlib.Path(folder) / "rows.json"
            file.write_text(json.dumps([row("add", 20.0)]))
            self.assertEqual(bench_report.main(["--out", f"{folder}/new/page.html", str(file)]), 0)
            self.assertIn("Benchmarks", (pathlib.Path(folder) / "new/page.html").read_text())


if __name__ == "__main__":
    unittest.main()
