#!/usr/bin/env python3
"""What the programs of the benchmarks refuse, and what rows they write. Nothing here depends on how long anything takes.

  programs_test.py PATTERNS_BENCH COMPILE_BENCH
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PATTERNS, COMPILE = "", ""


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
    PATTERNS, COMPILE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
