"""Tests of check_docs.py: a block that drifted from its example is found."""
import pathlib
import tempfile
import unittest

import check_docs

FENCE = "```"


class CheckDocs(unittest.TestCase):
    def problems(self, document: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "example.cpp").write_text("int a;\nint b;\nint c;\n")
            (root / "docs" / "page.md").write_text(document)
            return check_docs.problems(root / "docs" / "page.md", root)

    def block(self, text: str, source: str = "example.cpp") -> str:
        return f"<!-- {source} -->\n{FENCE}cpp\n{text}{FENCE}\n"

    def test_an_excerpt_is_fine(self):
        self.assertEqual(self.problems(self.block("int a;\nint b;\n") + self.block("int c;\n")), [])

    def test_a_block_that_drifted_is_found(self):
        self.assertEqual(self.problems(self.block("int a;\nint c;\n")), ["docs/page.md: block 1 is not in example.cpp as it stands"])

    def test_a_block_without_a_source_is_found(self):
        self.assertEqual(self.problems(f"{FENCE}cpp\nint a;\n{FENCE}\n"), ["docs/page.md: block 1 has no comment naming its example"])

    def test_a_missing_example_is_found(self):
        self.assertEqual(self.problems(self.block("int a;\n", "gone.cpp")), ["docs/page.md: block 1: there is no gone.cpp"])


if __name__ == "__main__":
    unittest.main()
