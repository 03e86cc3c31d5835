#!/usr/bin/env python3
"""Tests of readme_example.py: what is taken from a README, and that a wrong output is noticed."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import readme_example

README = """
# Title
```cmake
not this
```
```cpp
int main() {}
```
It prints
```text
1 2
3
```
```cpp
nor this
```
"""


class ReadmeExample(unittest.TestCase):
    def program_that_prints(self, text, code=0):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "program"
        program.write_text(f"#!/bin/sh\nprintf '{text}'\nexit {code}\n")
        program.chmod(0o755)
        return str(program)

    def compare(self, program):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = readme_example.compare("1 2\n3\n", program)
        return code, said.getvalue()

    def test_the_first_program_and_the_output_after_it_are_taken(self):
        self.assertEqual(readme_example.example_of(README), ("int main() {}\n", "1 2\n3\n"))

    def test_a_readme_without_output_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "no ```cpp block"):
            readme_example.example_of(README.replace("```text", "```"))

    def test_the_shown_output_passes(self):
        self.assertEqual(self.compare(self.program_that_prints("1 2\\n3\\n"))[0], 0)

    def test_numbers_may_differ_by_rounding(self):
        self.assertTrue(readme_example.same("[[0.0320586 1]", "[[0.03205861 1]"))
        self.assertFalse(readme_example.same("[[0.0320586 1]", "[[0.0320687 1]"))
        self.assertFalse(readme_example.same("[[0.5]", "[0.5]"))
        self.assertFalse(readme_example.same("(Shift x 1)", "(Shift y 1)"))

    def test_another_output_fails_with_the_difference(self):
        code, said = self.compare(self.program_that_prints("1 2\\n4\\n"))
        self.assertEqual(code, 1)
        self.assertIn("-3\n+4", said)

    def test_a_bad_exit_code_fails(self):
        code, said = self.compare(self.program_that_prints("1 2\\n3\\n", code=3))
        self.assertEqual(code, 1)
        self.assertIn("ended with 3", said)

    def test_each_egglog_block_goes_with_the_output_after_it(self):
        document = "```egglog\n(a)\n```\nprints\n```text\n1\n```\n```egglog\n(b)\n```\n```text\n2\n```\n"
        self.assertEqual(readme_example.egglog_examples_of(document), [("(a)\n", "1\n"), ("(b)\n", "2\n")])
        with self.assertRaisesRegex(SystemExit, "each followed by"):
            readme_example.egglog_examples_of(document + "```egglog\n(c)\n```\n")
        with self.assertRaisesRegex(SystemExit, "each followed by"):
            readme_example.egglog_examples_of("no block")


if __name__ == "__main__":
    unittest.main()
