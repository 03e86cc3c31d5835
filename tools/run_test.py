"""Tests of ./run: what it says to a mistake. What it does well is what CI runs."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*arguments):
    return subprocess.run([ROOT / "run", *arguments], capture_output=True, text=True, check=False)


class RunTest(unittest.TestCase):
    def expect_error(self, arguments, code, message):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.splitlines()[0], message)

    def test_help_names_every_command(self):
        text = run("help").stdout
        for command in ("demo", "test", "build", "bench", "fuzz", "docs", "lint", "fmt", "help"):
            self.assertIn(f"\n  {command} ", text)
        self.assertEqual(run().stdout, text)

    def test_unknown_words_are_named(self):
        self.expect_error(["frobnicate"], 2, "run: unknown command 'frobnicate'")
        for command in ("build", "test"):
            self.expect_error(
                [command, "debug"], 1, "run: there is no preset 'debug'; presets are release, dev, asan and tsan"
            )
        self.expect_error(["bench", "nothing"], 1, "run: there is no suite benchmarks/nothing; ./run bench lists them")
        for tool, code in (("report", 1), ("bars", 2)):
            result = run("bench", tool, "/nowhere/rows.json")
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(f"bench {tool}: cannot read /nowhere/rows.json", result.stderr)
        self.expect_error(["docs", "pages"], 1, "run: docs takes 'outputs' or nothing, got 'pages'")
        self.expect_error(["fuzz", "soon"], 1, "run: fuzz takes a number of seconds, got 'soon'")

    def test_what_the_demo_says_to_try_next_is_built_with_it(self):
        next_lines = (ROOT / "examples" / "00_demo.cpp").read_text().split('"Next: ')[1]
        programs = re.findall(r"build/release/bin/(\S+)", next_lines)
        self.assertEqual(programs, ["luminal"])
        self.assertIn("luminal_command(luminal-command OUTPUT luminal ", (ROOT / "CMakeLists.txt").read_text())
        self.assertRegex((ROOT / "run").read_text(), r"run_demo\(\) \{[^}]*--target demo luminal-command\b")


if __name__ == "__main__":
    unittest.main()
