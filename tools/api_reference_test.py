#!/usr/bin/env python3
"""Tests of api_reference.py: a small checkout whose headers are complete, and one change each that must be found."""

import pathlib
import shutil
import tempfile
import unittest

import api_reference

HEADER = """// What it is.
#pragma once
#include "luminal/tensor/tensor.h"
namespace luminal {
/// A number of things.
struct Thing {
  int count = 0;  ///< how many
  bool operator==(const Thing&) const = default;
};
/// Makes one.
Thing make();
}  // namespace luminal
"""
REACHED = """#pragma once
namespace luminal {
/// Adds.
int add(int a, int b);
}  // namespace luminal
"""


class ApiReference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs/api").mkdir(parents=True)
        for name in ("Doxyfile", "filter.sed", "namespaces.dox", "style.css"):
            shutil.copy(api_reference.ROOT / "docs/api" / name, self.root / "docs/api")
        self.write("docs/api/main_page.md", "# Reference\n")
        self.write("docs/api/namespaces.dox", "/// @namespace luminal\n/// Things.\n")
        self.write("luminal/luminal.h", HEADER)
        self.write("luminal/tensor/tensor.h", REACHED)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def problems(self):
        return api_reference.problems(True, self.root)

    def test_complete_headers_are_accepted(self):
        self.assertEqual(self.problems(), [])

    def test_headers_are_found_through_includes(self):
        self.assertEqual(
            api_reference.reached(["luminal/luminal.h"], self.root), ["luminal/luminal.h", "luminal/tensor/tensor.h"]
        )

    def test_a_function_without_a_comment_is_named_with_its_place(self):
        self.write("luminal/tensor/tensor.h", REACHED.replace("/// Adds.\n", "\n"))
        (found,) = self.problems()
        self.assertIn("luminal/tensor/tensor.h:4", found)
        self.assertIn("add(int a, int b)", found)
        self.assertIn("is not documented", found)

    def test_fields_and_types_are_public_too(self):
        self.write("luminal/luminal.h", HEADER.replace("  ///< how many", ""))
        self.assertIn("count", self.problems()[0])
        self.write("luminal/luminal.h", HEADER.replace("/// A number of things.\n", ""))
        self.assertTrue(any("Thing" in line for line in self.problems()))


if __name__ == "__main__":
    unittest.main()
