#!/usr/bin/env python3
"""What the programs of the benchmarks refuse, and what rows they write. Nothing here depends on how long anything takes.

  programs_test.py PATTERNS_BENCH NETS_BENCH COMPILE_BENCH
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import bench_bars  # noqa: E402

PATTERNS, NETS, COMPILE = "", "", ""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


class Refusals(unittest.TestCase):
    def refused(self, program: str, *arguments: str) -> str:
        done = run(program, *arguments)
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stdout, "", "nothing may be measured before")
        return done.stderr

    def test_a_filter_that_fits_nothing(self):
        for program, name in ((PATTERNS, "softmax"), (COMPILE, "gpt block"), (COMPILE, "digit cnn")):
            told = self.refused(program, "--filter", "no such case")
            self.assertIn("no case has 'no such case'", told)
            self.assertIn(name, told)

    def test_a_search_needs_no_number(self):
        for program in (PATTERNS, COMPILE):
            self.assertIn("no case has 'no such case'", self.refused(program, "--search", "--filter", "no such case"))

    def test_a_file_that_cannot_be_written(self):
        for program in (PATTERNS, COMPILE):
            self.assertIn("/nowhere/rows.json", self.refused(program, "--json", "/nowhere/rows.json"))

    def test_bad_values(self):
        for arguments in (
            ("--device", "gpu"),
            ("--seconds", "0"),
            ("--seconds", "inf"),
            ("--search", "-1"),
            ("--search", "soon"),
            ("--check", "zzz"),
            ("--trace", "zzz"),
            ("--json",),
            ("--zzz", "1"),
            ("zzz",),
        ):
            self.assertIn(arguments[0], self.refused(PATTERNS, *arguments))
        for name in ("--json", "--seconds", "--filter"):
            self.assertIn(f"{name} needs a value", self.refused(PATTERNS, name))
            self.assertIn(f"{name} needs a value", self.refused(PATTERNS, name, "--check", "off"))
        for arguments in (
            ("--device", "gpu"),
            ("--layers", "0"),
            ("--layers", "2,x"),
            ("--search", "nan"),
            ("--json",),
            ("--seconds", "1"),
        ):
            self.assertIn(arguments[0].strip("-"), self.refused(COMPILE, *arguments))

    def test_peers_of_a_compiler(self):
        self.assertIn("compile has no --peers", self.refused(COMPILE, "--peers", sys.executable))


def cases_of(suite: str, program: str) -> list[dict]:
    """All that a suite has, as far as bars tell cases apart: it lists them if a filter fits none."""
    names = [line.strip() for line in run(program, "--filter", "no such case").stderr.splitlines()[1:]]
    if suite == "compile":
        pairs = [(f"{name}, {what}", "f32") for name in names for what in ("first plan", "plan file")]
    else:
        pairs = [tuple(name.rsplit(" ", 1)) for name in names]
    return [{"suite": suite, "case": case, "dtype": dtype, "device": "cpu", "fast_us": 1, "ours_us": 1} for case, dtype in pairs]


class Bars(unittest.TestCase):
    def test_every_bar_is_about_cases_that_there_are_and_no_case_has_two(self):
        cases = [*cases_of("patterns", PATTERNS), *cases_of("nets", NETS), *cases_of("compile", COMPILE)]
        bars = [bar for bar in bench_bars.BARS if not bar.gain and not bar.searched_in]
        for bar in bars:
            self.assertTrue(any(bench_bars.is_about(bar, case) for case in cases), bar)
        for case in cases:
            number = sum(bench_bars.is_about(bar, case) for bar in bars)
            self.assertLessEqual(number, 1, case)
            if case["suite"] == "nets":
                self.assertEqual(number, 1, case)


class Rows(unittest.TestCase):
    def test_compile_tells_of_plans_searches_and_reloads(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.json"
            done = run(
                COMPILE, "--device", "cpu", "--filter", "rnn 20", "--search", "0.1", "--json", str(path), "--commit", "abc"
            )
            self.assertEqual(done.returncode, 0, done)
            rows = json.loads(path.read_text())
        names = [row["case"] for row in rows]
        for what in ("first plan", "warm plan", "plan file", "search", "search again"):
            self.assertIn(f"rnn 20, {what}", names)
        for row in rows:
            self.assertEqual((row["suite"], row["device"], row["commit"]), ("compile", "cpu", "abc"))
            self.assertGreater(row["e_nodes"], 0)
            self.assertNotEqual(row["processor"], "")


if __name__ == "__main__":
    PATTERNS, NETS, COMPILE = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
