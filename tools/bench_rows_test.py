"""Reading benchmark rows."""

import json
import pathlib
import tempfile
import unittest
from unittest import mock

import bench_rows


def row(case, ours, at=1, **others):
    return {"suite": "patterns", "case": case, "device": "cpu", "dtype": "f32", "ours_us": ours, "fast_us": ours, "peers": {}, "bytes": 4e6,
            "flops": 0, "bandwidth_fraction": 0.8, "compute_fraction": 0.0, "measured_at": at, **others}


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def written(self, name, rows):
        path = self.folder / name
        path.write_text(json.dumps(rows))
        return path

    def test_rows_that_were_kept_are_taken_if_none_are_named(self):
        with mock.patch.object(bench_rows, "KEPT", self.folder):
            with self.assertRaisesRegex(bench_rows.BadRows, "no rows yet; ./run bench patterns makes some"):
                bench_rows.read_rows([])
            self.written("a.json", [row("add", 1.0)])
            self.written("b.json", [row("sub", 1.0)])
            self.assertEqual([each["case"] for each in bench_rows.read_rows([])], ["add", "sub"])

    def test_files_without_rows_are_named_with_the_remedy(self):
        path = self.written("empty.json", [])
        with self.assertRaisesRegex(bench_rows.BadRows, "no rows in .*empty.json; ./run bench SUITE --json FILE writes"):
            bench_rows.read_rows([path])
        with self.assertRaisesRegex(bench_rows.BadRows, "cannot read .*none.json.*; ./run bench SUITE --json FILE writes"):
            bench_rows.read_rows([self.folder / "none.json"])

    def test_the_processor_is_told_for_rows_that_do_not_say_it(self):
        path = self.written("rows.json", [row("add", 1.0), row("sub", 1.0, processor="haswell")])
        self.assertEqual([each["processor"] for each in bench_rows.read_rows([path], "znver4")], ["znver4", "haswell"])
        self.assertEqual([each["processor"] for each in bench_rows.read_rows([path])], ["", "haswell"])

    def test_threads_are_told_for_rows_that_do_not_say_them(self):
        path = self.written("rows.json", [row("add", 1.0), row("sub", 1.0, threads=16)])
        self.assertEqual([each["threads"] for each in bench_rows.read_rows([path], threads=2)], [2, 16])
        self.assertEqual([each["threads"] for each in bench_rows.read_rows([path])], [0, 16])

    def test_a_peer_without_a_time_has_failed(self):
        (found,) = bench_rows.read_rows([self.written("rows.json", [row("add", 1.0, peers={"torch": None, "other": 2.0})])])
        self.assertEqual((found["peers"], found["failed_peers"]), ({"other": 2.0}, ["torch"]))

    def test_what_a_search_was_given_and_took_are_numbers_and_both_there(self):
        with self.assertRaisesRegex(bench_rows.BadRows, "of search_budget_s and search_s there is only one"):
            bench_rows.read_rows([self.written("rows.json", [row("add", 1.0, search_budget_s=60)])])
        with self.assertRaisesRegex(bench_rows.BadRows, "search_budget_s is '60'"):
            bench_rows.read_rows([self.written("rows.json", [row("add", 1.0, search_budget_s="60", search_s=1)])])
        (found,) = bench_rows.read_rows([self.written("rows.json", [row("add", 1.0)])])
        self.assertEqual((found["search_budget_s"], found["search_s"]), (0.0, 0.0))

    def test_rows_of_two_processors_are_two_cases(self):
        rows = [row("add", 20.0, at=2, processor="znver5"), row("add", 40.0, at=1, processor="haswell")]
        self.assertEqual([bench_rows.name_of(each) for each in bench_rows.newest(rows)], ["add f32 on haswell", "add f32 on znver5"])
        self.assertEqual(bench_rows.name_of(row("add", 1.0)), "add f32")

    def test_the_newest_row_of_a_case_counts_and_of_equal_ones_the_last(self):
        shown = bench_rows.newest([row("add", 20.0, at=2), row("add", 40.0, at=1), row("sub", 5.0, at=1), row("sub", 6.0, at=1)])
        self.assertEqual({each["case"]: each["ours_us"] for each in shown}, {"add": 20.0, "sub": 6.0})


class Numbers(unittest.TestCase):
    def told(self, change) -> str:
        rows = [row("a", 1.0, peers={"torch": 2.0})]
        change(rows)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.json"
            path.write_text(json.dumps(rows))
            try:
                bench_rows.read_rows([path])
            except bench_rows.BadRows as error:
                self.assertIn(str(path), str(error))
                self.assertIn("; ./run bench SUITE --json FILE writes", str(error))
                return str(error)
        return ""

    def test_what_is_no_number_is_told(self):
        self.assertIn("ours_us is 0", self.told(lambda rows: rows[0].update(ours_us=0)))
        self.assertIn("fast_us is 'x'", self.told(lambda rows: rows[0].update(fast_us="x")))
        self.assertIn("bytes is None", self.told(lambda rows: rows[0].update(bytes=None)))
        self.assertIn("read_fraction is -1", self.told(lambda rows: rows[0].update(read_fraction=-1)))
        self.assertIn("torch is 'x'", self.told(lambda rows: rows[0].update(peers={"torch": "x"})))
        self.assertIn("peers is 3", self.told(lambda rows: rows[0].update(peers=3)))
        self.assertIn("row 0", self.told(lambda rows: rows.__setitem__(0, 5)))

    def test_what_is_no_name_or_moment_is_told(self):
        self.assertIn("suite is 3", self.told(lambda rows: rows[0].update(suite=3)))
        self.assertIn("case is None", self.told(lambda rows: rows[0].update(case=None)))
        self.assertIn("dtype is ['f32']", self.told(lambda rows: rows[0].update(dtype=["f32"])))
        self.assertIn("commit is 7", self.told(lambda rows: rows[0].update(commit=7)))
        self.assertIn("processor is 7", self.told(lambda rows: rows[0].update(processor=7)))
        self.assertIn("measured_at is 'x'", self.told(lambda rows: rows[0].update(measured_at="x")))
        self.assertIn("measured_at is None", self.told(lambda rows: rows[0].update(measured_at=None)))

    def test_numbers_beyond_all_floats_are_told(self):
        self.assertIn("ours_us is 1000", self.told(lambda rows: rows[0].update(ours_us=10**400)))
        self.assertIn("torch is 1000", self.told(lambda rows: rows[0].update(peers={"torch": 10**400})))
        self.assertIn("measured_at is -1000", self.told(lambda rows: rows[0].update(measured_at=-(10**400))))
        for value in (float("nan"), float("inf"), -float("inf")):
            self.assertIn(f"ours_us is {value}", self.told(lambda rows: rows[0].update(ours_us=value)))

    def test_threads_are_a_number(self):
        self.assertIn("threads is 'x'", self.told(lambda rows: rows[0].update(threads="x")))
        self.assertEqual(self.told(lambda rows: rows[0].update(threads=16)), "")


if __name__ == "__main__":
    unittest.main()
