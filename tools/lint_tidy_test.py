#!/usr/bin/env python3
"""Tests of lint_tidy.py: when a file counts as changed since it passed. clang-tidy itself is not run."""

import pathlib
import tempfile
import unittest
from unittest import mock

import lint_tidy


class States(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, value in (("ROOT", self.root), ("configuration", lambda: self.configuration)):
            patch = mock.patch.object(lint_tidy, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.configuration = "checks"
        self.write("luminal/a.cpp", '#include "luminal/a.h"\n')
        self.write("luminal/a.h", '#include "luminal/b.h"\n')
        self.write("luminal/b.h", '#include "luminal/a.h"\nint b();\n')

    def write(self, path, text):
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)

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


if __name__ == "__main__":
    unittest.main()
