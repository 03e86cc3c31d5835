#!/usr/bin/env python3
"""Tests of lint_tidy.py: when a file counts as changed since it passed, and which files are checked together. clang-tidy itself
is not run."""

import pathlib
import tempfile
import unittest
from unittest import mock

import lint_tidy


class InAFolder(unittest.TestCase):
    """A test with a project of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.replace(ROOT=self.root, CACHE=self.root, configuration=lambda: self.configuration)
        self.configuration = "checks"
        lint_tidy.read.cache_clear()

    def replace(self, **values):
        for name, value in values.items():
            patch = mock.patch.object(lint_tidy, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, path, text):
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)
        return self.root / path


class States(InAFolder):
    def setUp(self):
        super().setUp()
        self.write("luminal/a.cpp", '#include "luminal/a.h"\n')
        self.write("luminal/a.h", '#include "luminal/b.h"\n')
        self.write("luminal/b.h", '#include "luminal/a.h"\nint b();\n')

    def state(self):
        lint_tidy.read.cache_clear()
        return lint_tidy.state_of(self.root / "luminal/a.cpp")

    def test_the_same_texts_have_the_same_state(self):
        self.assertEqual(self.state(), self.state())

    def test_a_change_in_a_header_of_a_header_is_a_change(self):
        before = self.state()
        self.write("luminal/b.h", "int b(int);\n")
        self.assertNotEqual(before, self.state())

    def test_a_change_of_configuration_is_a_change(self):
        before = self.state()
        self.configuration = "more checks"
        self.assertNotEqual(before, self.state())

    def test_a_change_elsewhere_is_none(self):
        before = self.state()
        self.write("luminal/c.h", "int c();\n")
        self.assertEqual(before, self.state())

    def test_tests_are_left_out(self):
        self.write("luminal/a_test.cpp", "")
        self.assertEqual(lint_tidy.sources_of_project(), [self.root / "luminal/a.cpp"])


class Groups(InAFolder):
    def sizes(self, *texts):
        lint_tidy.read.cache_clear()
        sources = [self.write(f"luminal/{number}.cpp", text) for number, text in enumerate(texts)]
        return [len(group) for group in lint_tidy.groups_of(sources)]

    def test_files_with_names_of_their_own_stand_together(self):
        self.assertEqual(self.sizes("int a() {\n  int x = 1;\n}\n", "int b() {\n  int x = 2;\n}\n"), [2])

    def test_a_name_is_defined_once_in_a_group(self):
        for text in ("int a() {", "struct a {", "constexpr int a = 1;", "constexpr char* a =\n", "vector<int> a(int x,", "A& a;"):
            self.assertEqual(self.sizes(text, text + "\n"), [1, 1], text)

    def test_what_headers_declare_is_no_name_of_the_file(self):
        self.assertEqual(self.sizes("int A::size() {", "int B::size() {"), [2])

    def test_the_same_declaration_may_stand_twice_and_another_of_the_name_not(self):
        self.assertEqual(self.sizes("using a::Node;\nint x;", "using a::Node;\nint y;", "using b::Node;"), [2, 1])
        self.assertEqual(self.sizes("using Row = int;\n", "using Row = long;\n"), [1, 1])

    def test_programs_stand_alone(self):
        self.assertEqual(self.sizes("int main() {", "int x;", "int main() {\n"), [1, 1, 1])

    def test_groups_are_of_one_folder_and_not_large(self):
        other = self.write("examples/other.cpp", "")
        several = [self.write(f"luminal/{number:02}.cpp", "") for number in range(lint_tidy.TOGETHER + 1)]
        self.assertEqual(lint_tidy.groups_of([other, *several]), [[other], several[:-1], several[-1:]])


class Findings(InAFolder):
    def setUp(self):
        super().setUp()
        self.good = self.write("luminal/good.cpp", "int good;\n")
        self.bad = self.write("luminal/bad.cpp", "int bad;\n")
        self.looked_at = []
        self.replace(clang_tidy=self.clang_tidy)

    def clang_tidy(self, source):
        self.looked_at.append(source)
        return "found" if "bad" in source.read_text() else ""

    def test_good_files_are_looked_at_once_and_remembered(self):
        also = self.write("luminal/also.cpp", "int also;\n")
        self.assertEqual(lint_tidy.tidy([self.good, also]), [])
        self.assertEqual(len(self.looked_at), 1)
        self.assertTrue(lint_tidy.state_of(self.good).exists() and lint_tidy.state_of(also).exists())

    def test_each_file_of_a_bad_group_is_looked_at_alone(self):
        self.assertEqual(lint_tidy.tidy([self.good, self.bad]), ["found"])
        self.assertEqual(self.looked_at[1:], [self.good, self.bad])
        self.assertTrue(lint_tidy.state_of(self.good).exists())
        self.assertFalse(lint_tidy.state_of(self.bad).exists())

    def test_files_that_are_bad_only_together_are_good(self):
        self.replace(clang_tidy=lambda source: "found" if source.parent != self.good.parent else "")
        self.assertEqual(lint_tidy.tidy([self.good, self.bad]), [])
        self.assertTrue(lint_tidy.state_of(self.bad).exists())


if __name__ == "__main__":
    unittest.main()
