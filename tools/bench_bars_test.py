"""Whether benchmark rows hold the bars."""

import contextlib
import io
import json
import pathlib
import re
import tempfile
import unittest

import bench_bars

ROOT = pathlib.Path(__file__).resolve().parent.parent


def row(case, ours=100.0, dtype="f32", suite="patterns", at=1, copy=0.0, read=0.0, products=0.0, fast=None, gb_s=50.0, **others):
    """A row that reaches such shares of the machine, which copies at so many GB/s."""
    return {"suite": suite, "case": case, "device": "cpu", "dtype": dtype, "ours_us": ours, "fast_us": fast or ours, "peers": {},
            "bytes": copy * gb_s * 1e3 * ours, "flops": 1e6 if products else 0, "bandwidth_fraction": copy, "read_fraction": read,
            "compute_fraction": products, "commit": "a", "processor": "", "measured_at": at, **others}


class Bars(unittest.TestCase):
    def one(self, *rows) -> bench_bars.Judged:
        found = bench_bars.judged(list(rows))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def verdict(self, *rows) -> str:
        return self.one(*rows).verdict

    def test_both_the_share_of_the_machine_and_the_ratio_to_the_best_peer_are_asked(self):
        quick, slow = {"torch": 300.0, "other": 900.0}, {"torch": 900.0, "other": 240.0}
        self.assertEqual(self.verdict(row("add 8x8", copy=0.9, peers=quick)), "holds")
        self.assertEqual(self.verdict(row("add 8x8", copy=0.84, peers=quick)), "below")
        found = self.one(row("add 8x8", copy=0.9, peers=slow))
        self.assertEqual((found.verdict, found.peer, found.speedup), ("below", "other", 2.4))
        self.assertIn("2.587 possible", found.notes[0])  # 0.97 / 0.375

    def test_a_bar_that_the_machine_cannot_reach_is_a_limit(self):
        # The peer has 0.55 of what copying allows, and kernels 0.97 at most: 0.97 / 0.55 = 1.764.
        found = self.one(row("add 8x8", copy=0.88, peers={"torch": 160.0}))
        self.assertEqual(found.verdict, "limit")
        self.assertIn("1.764 possible at most: it has 0.550 of copy", found.notes[0])

    def test_rows_of_cores_that_share_no_cache_say_so(self):
        peers = {"torch": 300.0}
        self.assertEqual(self.one(row("add 8x8", copy=0.9, peers=peers, round_trip_ns=560)).notes, ["cores apart"])
        self.assertEqual(self.one(row("add 8x8", copy=0.9, peers=peers, round_trip_ns=110)).notes, [])

    def test_half_of_what_matrix_registers_do_will_do(self):
        def product(share, **others):
            return row("matmul 512", dtype="bf16", products=share, peers={"torch": 110.0}, **others)

        self.assertEqual(self.verdict(product(0.6)), "below")
        self.assertEqual(self.verdict(product(0.6, matrix_registers=False)), "below")
        self.assertEqual(self.verdict(product(0.6, matrix_registers=True)), "holds")
        self.assertIn("0.5 of products is asked", self.one(product(0.4, matrix_registers=True)).notes[0])

    def test_only_searches_of_the_default_budget_say_whether_it_is_kept(self):
        def searched(budget, took):
            return row("anything 1", suite="nets", search_budget_s=budget, search_s=took)

        self.assertEqual(self.verdict(searched(60, 59.9)), "holds")
        self.assertEqual(self.verdict(searched(60, 60.1)), "below")
        self.assertEqual(bench_bars.judged([searched(10, 9.0), row("anything 2", suite="nets")]), [])

    def test_it_is_no_limit_if_ours_is_not_near_it(self):
        self.assertEqual(self.verdict(row("add 8x8", copy=0.8, peers={"torch": 145.0})), "below")

    def test_a_peer_beyond_what_the_machine_can_do_shows_no_limit(self):
        found = self.one(row("row sum 8x8", read=1.0, peers={"torch": 66.0}))
        self.assertEqual(found.verdict, "below")
        self.assertIn("measure again", found.notes[0])

    def test_a_limit_that_ours_is_beyond_does_not_bind(self):
        found = self.one(row("row sum 8x8", read=1.6, peers={"torch": 110.0}))
        self.assertEqual(found.verdict, "below")
        self.assertIn("read does not bind", found.notes[0])
        self.assertEqual(self.verdict(row("conv 3x3 64x64x56", products=1.6, peers={"torch": 150.0})), "holds")
        self.assertEqual(self.verdict(row("conv 3x3 64x64x56", products=1.6, peers={"torch": 110.0})), "below")

    def test_only_large_arrays_show_that_a_share_of_copying_cannot_be(self):
        for dtype in ("f32", "bf16"):  # one of them is bound by the vector units
            values = {"dtype": dtype, "copy": 1.2, "peers": {"torch": 300.0}, "processor": "znver4", "threads": 2}
            found = self.one(row("softmax 8x8", bytes=64 << 20, **values))
            self.assertEqual(found.verdict, "open")
            self.assertRegex(found.notes[0], r"nothing has \d+\.\d\d of (copy|vector units): measure again")
            small = self.verdict(row("softmax 8x8", bytes=(64 << 20) - 1, **values))
            self.assertEqual(small, "holds" if dtype == "f32" else "open")  # no cache helps vector units
        self.assertEqual(self.verdict(row("add 8x8", copy=1.1, bytes=1 << 30, peers={"torch": 300.0})), "holds")
        # Few products (Winograd) and weights in the caches are no faults.
        self.assertEqual(self.verdict(row("conv 3x3 64x64x56", products=1.6, bytes=1 << 30, peers={"torch": 150.0})), "holds")
        self.assertEqual(self.verdict(row("gemv 8x8", read=1.2, bytes=1 << 30)), "holds")

    def test_without_peers_a_share_that_is_reached_gives_no_verdict(self):
        found = self.one(row("add 8x8", copy=0.9))
        self.assertEqual((found.verdict, found.notes), ("open", ["no peers in these rows"]))
        self.assertEqual(self.verdict(row("add 8x8", copy=0.8)), "below")
        self.assertEqual(self.verdict(row("attention 12x512x64", products=0.8)), "open")

    def test_a_limit_that_the_row_does_not_measure_gives_no_verdict(self):
        found = self.one(row("gemv 8x8", copy=0.9))
        self.assertEqual(found.verdict, "open")
        self.assertIn("do not measure read", found.notes[0])
        # The peers alone do not hold a bar that asks for a share as well, but they may show that it is not held.
        for case in ("matmul 1024", "softmax 8x8"):
            self.assertEqual(self.verdict(row(case, peers={"torch": 300.0})), "open", case)
            self.assertEqual(self.verdict(row(case, peers={"torch": 90.0})), "below", case)

    def test_the_newest_row_counts(self):
        self.assertEqual(self.verdict(row("gemv 8x8", read=0.97, at=2), row("gemv 8x8", read=0.5, at=1)), "holds")

    def test_a_newer_row_without_peers_leaves_what_the_peers_say(self):
        compared = row("add 8x8", copy=0.86, peers={"torch": 240.0}, at=1)
        found = self.one(compared, row("add 8x8", 95.0, copy=0.9, at=2))
        self.assertEqual((found.verdict, found.peer, found.speedup, found.share), ("below", "torch", 2.4, 0.9))
        self.assertIn("peers are of an older row, 100.0 us", found.notes)
        # Shares are those of the newest row, and so are ratios once it has peers.
        held = row("add 8x8", copy=0.86, peers={"torch": 300.0}, at=1)
        self.assertEqual(self.verdict(held, row("add 8x8", copy=0.9, at=2)), "holds")
        self.assertEqual(self.verdict(held, row("add 8x8", copy=0.8, at=2)), "below")
        self.assertEqual(self.verdict(compared, row("add 8x8", copy=0.9, peers={"torch": 300.0}, at=2)), "holds")

    def test_processors_are_told_apart(self):
        found = bench_bars.judged([row("gemv 8x8", read=0.3, processor="haswell", at=1), row("gemv 8x8", read=0.97, processor="znver5", at=2)])
        self.assertEqual([(each.row["processor"], each.verdict) for each in found], [("haswell", "below"), ("znver5", "holds")])
        self.assertEqual([bench_bars.cells(each)[0] for each in found], ["gemv 8x8 f32 on haswell", "gemv 8x8 f32 on znver5"])

    def test_peers_that_failed_are_named(self):
        failed = {"failed_peers": ["onnxruntime", "torch_compile"]}
        found = self.one(row("add 8x8", copy=0.9, peers={"torch": 300.0}, **failed))
        self.assertEqual((found.verdict, found.notes), ("holds", ["failed: onnxruntime, torch_compile"]))
        self.assertIn("failed: onnxruntime, torch_compile", self.one(row("add 8x8", copy=0.9, **failed)).notes)

    def test_bars_differ_by_kind_and_dtype(self):
        for case, dtype, shares, at_least in (
            ("row sum 8x8", "f32", {"read": 0.9}, 1.5),
            ("column sum 8x8", "f32", {"read": 0.5}, None),
            ("matmul 512", "f64", {"products": 0.9}, 1.1),
            ("matmul 512", "bf16", {"products": 0.9}, 1.05),
            ("attention 12x512x64", "f32", {"products": 0.5}, 1.3),
            ("causal attention 12x2048x64", "bf16", {"products": 0.5}, 2.0),
            ("strided conv 3x3 64x128x56", "f32", {"products": 0.9}, 1.2),
        ):
            if at_least is None:
                self.assertEqual(self.verdict(row(case, dtype=dtype, peers={"torch": 1000.0}, **shares)), "below")
                continue
            self.assertEqual(self.verdict(row(case, dtype=dtype, peers={"torch": 100.0 * at_least}, **shares)), "holds", case)
            self.assertEqual(self.verdict(row(case, dtype=dtype, peers={"torch": 99.0 * at_least}, **shares)) == "holds", False, case)
        self.assertEqual(self.verdict(row("matmul 130", products=0.86, peers={"torch": 200.0})), "holds")
        self.assertEqual(self.verdict(row("matmul 512", products=0.86, peers={"torch": 200.0})), "below")
        self.assertEqual(self.verdict(row("linear 1x8x8", read=0.9)), "below")
        self.assertEqual(self.verdict(row("4-bit linear 1x8x8", read=0.9)), "holds")
        self.assertEqual(bench_bars.judged([row("linear 4x8x8", read=0.1), row("matmul 128", dtype="bf16", products=0.1)]), [])
        self.assertEqual(bench_bars.judged([row("gemv 8x8", read=0.1, device="cuda")]), [])

    def test_networks_are_bound_by_what_they_are_nearest_to_and_decoding_by_reading(self):
        self.assertEqual(self.one(row("gpt block 128", suite="nets", read=0.1, products=0.9, peers={"torch": 160.0})).limit, "products")
        found = self.one(row("gpt block 128", suite="nets", read=0.1, products=0.92, peers={"torch": 115.0}))
        self.assertEqual(found.verdict, "limit")
        self.assertEqual(self.verdict(row("gpt block 128", suite="nets", read=0.1, products=0.8, peers={"torch": 100.0})), "below")
        # Weights in the caches are read more quickly than memory is.
        self.assertEqual(self.one(row("gpt block decode 128", suite="nets", read=3.0, products=0.3, peers={"torch": 110.0})).limit, "products")
        self.assertEqual(self.verdict(row("gpt2 decode 128", suite="nets", read=0.92, products=0.1, peers={"torch": 110.0})), "holds")
        self.assertEqual(self.verdict(row("gpt2 decode 128", suite="nets", read=0.88, products=0.1, peers={"torch": 900.0})), "below")

    def test_searches_may_not_lose_and_those_that_found_nothing_are_left_out(self):
        self.assertEqual(self.verdict(row("odd one", suite="uncommon", fast=99.0)), "holds")
        self.assertEqual(self.verdict(row("odd one", suite="uncommon", fast=97.0)), "below")
        self.assertEqual(bench_bars.judged([row("odd one", suite="uncommon")]), [])

    def test_compiling_has_times_to_keep(self):
        self.assertEqual(self.verdict(row("gpt block, first plan", 0.99e6, suite="compile")), "holds")
        self.assertEqual(self.verdict(row("gpt block, first plan", 1.01e6, suite="compile")), "below")
        self.assertEqual(self.verdict(row("mlp 32, plan file", 0.21e6, suite="compile")), "below")


class VectorUnits(unittest.TestCase):
    def found(self, case="softmax 8x8", **others) -> bench_bars.Judged:
        values = {"dtype": "bf16", "copy": 0.67, "gb_s": 82.0, "processor": "znver4", "threads": 2, "peers": {"torch": 900.0}, **others}
        (found,) = bench_bars.judged([row(case, **values)])
        return found

    def test_where_they_bind_the_bar_is_a_share_of_what_they_allow(self):
        found = self.found()
        self.assertEqual((found.verdict, found.limit), ("holds", "vector units"))
        self.assertAlmostEqual(found.share, 0.67 * 82 / 63.7)
        self.assertEqual(self.found(copy=0.65).verdict, "below")

    def test_they_allow_less_where_they_are_slower_in_the_same_run(self):
        self.assertAlmostEqual(self.found(peak_gflops=472.0).share, 0.67 * 82 / 63.7)
        self.assertAlmostEqual(self.found(peak_gflops=420.0).share, 0.67 * 82 / 63.7 * 472 / 420)
        self.assertEqual(self.found(peak_gflops=2000.0).limit, "copy")

    def test_products_that_were_disturbed_allow_no_slow_kernel(self):
        disturbed = {"dtype": "f32", "read": 0.3, "bytes": 0.3 * 30 * 1e5, "peak_gflops": 30.0}  # of 30 GB/s
        self.assertEqual(self.found("4-bit linear 1x8x8", **disturbed).verdict, "below")
        self.assertEqual(self.found("4-bit linear 1x8x8", **{**disturbed, "read": 0.99, "bytes": 0.99 * 30 * 1e5}).verdict, "open")

    def test_they_bind_less_where_memory_is_slower(self):
        found = self.found(gb_s=45.0)
        self.assertEqual((found.verdict, found.limit), ("below", "copy"))
        self.assertAlmostEqual(self.found("log softmax 8x8", gb_s=60.0).share, 0.67 * 60 / 57.3)

    def test_they_bind_kernels_that_read_too(self):
        found = self.found("4-bit linear 1x8x8", dtype="f32", read=0.72, bytes=0.72 * 60 * 1e5)  # of 60 GB/s
        self.assertEqual((found.verdict, found.limit), ("holds", "vector units"))
        self.assertAlmostEqual(found.share, 0.72 * 60 / 46.2)
        self.assertEqual(self.found("4-bit linear 1x8x8", dtype="bf16", read=0.72).limit, "read")

    def test_nothing_is_known_of_other_processors_threads_dtypes_and_functions(self):
        for others in ({"processor": ""}, {"processor": "haswell"}, {"threads": 16}, {"threads": 0}, {"dtype": "f32"}, {"case": "layer norm 8x8"}):
            self.assertEqual(self.found(**others).limit, "copy", others)

    def test_the_rates_are_those_of_the_document(self):
        table = (ROOT / "docs" / "kernels.md").read_text().split("### What bounds kernels of bf16")[1].split("\n## ")[0]
        told = {name.replace("`", "").replace(" by ", " "): float(rate)
                for name, rate in re.findall(r"^\| ([^|,]+)(?:, [^|]+)? \| \d+[^|]* \| ([\d.]+) \|", table, re.MULTILINE)}
        (dtypes,) = bench_bars.VECTOR_RATES.values()
        for dtype, rates in dtypes.items():
            for name, rate in rates.items():
                self.assertEqual(told[f"{name} of {dtype}"], rate)


class Told(unittest.TestCase):
    def run_on(self, rows, *arguments) -> tuple[int, str, str]:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.json"
            path.write_text(rows if isinstance(rows, str) else json.dumps(rows))
            output, errors = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
                status = bench_bars.main([*arguments, str(path)])
            return status, output.getvalue(), errors.getvalue()

    def all_bars(self, **others) -> list[dict]:
        """A row that holds each bar."""
        peers, shares = {"torch": 900.0}, {"read": 1.0, "products": 1.0, "copy": 1.0}
        cases = ("add 8x8", "column sum 8x8", "row sum 8x8", "matmul 512", "matmul 128", "gemv 8x8", "4-bit linear 1x8x8",
                 "attention 12x512x64", "conv 3x3 8x8", "depthwise conv 3x3 8x8")
        rows = [row(case, peers=peers, **shares, **others) for case in cases]
        rows += [row(case, dtype="bf16", peers=peers, **shares, **others) for case in ("matmul 512", "attention 12x512x64")]
        rows += [row(case, suite="nets", peers=peers, **shares, **others) for case in ("mlp 32", "gpt2 decode 128")]
        rows += [row(case, suite="compile", **others) for case in ("gpt block, first plan", "mlp 32, plan file")]
        rows += [row("digit cnn 32, unknown", suite="nets", search_budget_s=60, search_s=12.5, **others)]
        return [*rows, row("odd", suite="uncommon", fast=200.0, **others)]

    def test_the_status_says_whether_something_is_below_or_was_not_measured(self):
        rows = self.all_bars()
        status, told, _ = self.run_on(rows)
        self.assertEqual(status, 0, told)
        self.assertIn("18 hold, 0 at a limit of the machine that is below the bar, 0 below, 0 without a verdict", told)
        self.assertNotIn("no rows", told)
        self.assertEqual(self.run_on([*rows, row("add 9x9", copy=0.88, peers={"torch": 160.0})])[0], 0)
        self.assertEqual(self.run_on([*rows, row("attention 12x2048x64", products=0.8)])[0], 3)
        self.assertEqual(self.run_on([*rows, row("gemv 9x9", read=0.9)])[0], 1)

    def test_bars_without_any_row_are_named_and_counted(self):
        rows = self.all_bars()
        status, told, _ = self.run_on(rows[2:])
        self.assertEqual(status, 3)
        self.assertIn("16 hold, 0 at a limit of the machine that is below the bar, 0 below, 2 without a verdict", told)
        self.assertIn("no rows for 2 of 18 bars: elementwise, gelu, softmax, norms, transposed copy; column sums\n", told)
        self.assertEqual(self.run_on([row("gemv 9x9", read=0.9)])[0], 1)

    def test_rows_of_one_processor_leave_the_bars_of_another_open(self):
        status, told, _ = self.run_on([*self.all_bars(processor="znver5"), *self.all_bars(processor="haswell")[1:]])
        self.assertEqual(status, 3)
        self.assertIn("no rows of haswell for 1 of 18 bars: elementwise", told)
        self.assertNotIn("no rows of znver5", told)

    def test_processor_and_threads_are_told_for_rows_that_do_not_say_them(self):
        rows = [row("softmax 8x8", dtype="bf16", copy=0.67, gb_s=82.0)]
        self.assertIn("0.670 of copy", self.run_on(rows, "--processor", "znver4")[1])
        self.assertIn("0.862 of vector units", self.run_on(rows, "--processor", "znver4", "--threads", "2")[1])

    def test_bars_cases_and_counts_are_told(self):
        rows = [row("gemv 8x8", read=0.97), row("add 8x8", copy=0.8), row("cumsum 8x8", copy=0.1), row("odd", suite="uncommon", fast=200.0)]
        told = self.run_on(rows)[1]
        self.assertIn("one row times a matrix: 0.95 of read\n", told)
        self.assertRegex(told, r"\n  add 8x8 f32 +100.0  0.800 of copy +below +0.85 of copy is asked; no peers in these rows\n")
        self.assertIn("2 hold, 0 at a limit of the machine that is below the bar, 1 below, 15 without a verdict", told)
        self.assertIn("1 not compared with peers", told)
        self.assertIn("searches gain 2.000", told)
        self.assertIn("1 case has no bar", told)

    def test_bad_files_are_named_with_the_remedy(self):
        for content, said in (("{", "cannot read"), ("{}", "is no list of rows"), ('[{"suite": "x"}]', "has no case"), ("[]", "there are no rows"),
                              (json.dumps([row("add 8x8", ours_us=10**400)]), "ours_us is 1000")):
            status, output, errors = self.run_on(content)
            self.assertEqual((status, output), (2, ""))
            self.assertIn(said, errors)
            self.assertIn("rows.json", errors)
            self.assertIn("./run bench SUITE --json FILE", errors)


if __name__ == "__main__":
    unittest.main()
