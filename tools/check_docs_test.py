"""Tests of check_docs.py: a block that drifted from its example is found, and a rule that is not there."""
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

    def unknown(self, document: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {
                "luminal/rules/some.egg": '(rewrite (A x) x :ruleset exact :name "a-is-nothing")\n; not-a-name\n',
                "luminal/cli/cases.cpp": 'Case{"tiny-net", "a net"},\n',
                "luminal/egraph/primitives_base.cpp": 'add_filter(registry, "in-order", body);\n',
                "CMakeLists.txt": "luminal_command(luminal-egg SOURCE main.cpp)\n",
                "docs/page.md": document,
            }.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_docs.unknown_names(root / "docs/page.md", root, check_docs.known_names(root))

    def test_rules_and_what_else_has_such_a_name_are_known(self):
        self.assertEqual(self.unknown("`a-is-nothing` of `tiny-net` by `in-order` in `luminal-egg`; `--no-option`, `file.h`"), [])

    def test_a_document_may_define_rules(self):
        self.assertEqual(self.unknown('`own-rule`:\n    (rewrite (A x) x :name "own-rule")\n'), [])

    def test_a_rule_that_is_not_there_is_found_once(self):
        self.assertEqual(self.unknown("`not-a-name`, again `not-a-name`"), ["docs/page.md: there is no rule `not-a-name`"])

    def test_rules_cases_primitives_and_programs_of_the_project_are_found(self):
        known = check_docs.known_names(pathlib.Path(__file__).resolve().parent.parent)
        self.assertLessEqual({"product-chain", "llama-32", "ordering-min", "luminal-egg"}, known)


if __name__ == "__main__":
    unittest.main()
