#!/usr/bin/env python3
"""Tests of check_layers.py: a small checkout that is good, and one change each that must be found."""

import pathlib
import tempfile
import unittest

import check_layers

TABLE = """
| folder | holds | may include |
| --- | --- | --- |
| `support` | errors | – |
| `runtime` | devices | `support` |
| `graph` | the IR | `support` |
| `codegen` | code | `graph`, `runtime/artifact.h` |
"""
CMAKE = """
luminal_layer(support LINKS fmt::fmt)
luminal_layer(runtime DEPENDS support)
luminal_layer(graph DEPENDS support LINKS runtime)
luminal_layer(codegen DEPENDS graph runtime COMPILED_AS llvm)
"""
HEADER = "// What it is.\n#pragma once\n"


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/architecture.md", TABLE)
        self.write("CMakeLists.txt", CMAKE)
        self.write("luminal/support/error.h", HEADER)
        self.write("luminal/runtime/artifact.h", HEADER)
        self.write("luminal/runtime/device.h", HEADER)
        self.write("luminal/graph/graph.h", HEADER + '#include "luminal/support/error.h"\n')
        self.write(
            "luminal/codegen/emit.cpp",
            '#include <llvm/IR/IRBuilder.h>\n#include "luminal/runtime/artifact.h"\n#include "luminal/support/error.h"\n',
        )

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def assert_found(self, *parts):
        problems = check_layers.check(self.root)
        self.assertEqual(len(problems), 1, problems)
        for part in parts:
            self.assertIn(part, problems[0])

    def test_a_checkout_that_keeps_the_table_has_no_offence(self):
        self.assertEqual(check_layers.check(self.root), [])

    def test_an_include_of_a_layer_above_is_found(self):
        self.write("luminal/support/bad.cpp", '#include "luminal/graph/graph.h"\n')
        self.assert_found("luminal/support/bad.cpp", "support may not include graph")

    def test_an_include_of_a_sibling_is_found_in_a_test_too(self):
        self.write("luminal/graph/bad_test.cpp", '#include "luminal/runtime/device.h"\n')
        self.assert_found("luminal/graph/bad_test.cpp", "graph may not include runtime")

    def test_a_single_allowed_header_does_not_open_its_layer(self):
        self.write("luminal/codegen/bad.cpp", '  #  include "luminal/runtime/device.h"\n')
        self.assert_found("codegen may not include runtime (luminal/runtime/device.h)")

    def test_a_layer_missing_in_the_table_is_found(self):
        self.write("luminal/extra/extra.cpp", '#include "luminal/support/error.h"\n')
        self.assert_found("luminal/extra is not in the table")

    def test_only_the_public_header_stands_above_the_layers(self):
        self.write("luminal/luminal.h", HEADER + '#include "luminal/graph/graph.h"\n')
        self.assertEqual(check_layers.check(self.root), [])
        self.write("luminal/graph/bad.cpp", '#include "luminal/luminal.h"\n')
        self.assert_found("graph may not include luminal.h")

    def test_a_header_that_does_not_exist_is_found(self):
        self.write("luminal/graph/bad.cpp", '#include "luminal/graph/nothing.h"\n')
        self.assert_found("luminal/graph/nothing.h, which does not exist")

    def test_a_relative_include_is_found(self):
        self.write("luminal/graph/bad.cpp", '#include "graph.h"\n')
        self.assert_found("named from the root")

    def test_a_header_without_comment_is_found(self):
        self.write("luminal/graph/bad.h", "#pragma once\n")
        self.assert_found("luminal/graph/bad.h", "begin with a comment")

    def test_a_header_without_pragma_once_is_found(self):
        self.write("luminal/graph/bad.h", "// What it is.\n")
        self.assert_found("#pragma once")

    def test_a_macro_in_a_header_is_found(self):
        self.write("luminal/graph/bad.h", HEADER + "#define FOR_ALL(x) x\n")
        self.assert_found("FOR_ALL")

    def test_foreign_headers_stay_in_their_folder(self):
        self.write("luminal/codegen/llvm/jit.h", HEADER + "#include <llvm/IR/Module.h>\n")
        self.assertEqual(check_layers.check(self.root), [])
        self.write("luminal/codegen/jit.h", HEADER + "#include <llvm/IR/Module.h>\n")
        self.assert_found("luminal/codegen/jit.h", "codegen/llvm only")

    def test_cuda_headers_stay_in_their_folders(self):
        self.write("luminal/runtime/cuda/driver.h", HEADER + "#include <cuda.h>\n")
        self.assertEqual(check_layers.check(self.root), [])
        self.write("luminal/graph/bad.h", HEADER + "#include <cuda.h>\n")
        self.assert_found("includes cuda.h")

    def test_a_cmake_dependency_beyond_the_table_is_found(self):
        self.write("CMakeLists.txt", CMAKE + "luminal_layer(support\n  DEPENDS graph)\n")
        self.assert_found("CMakeLists.txt: support depends on graph")

    def test_a_row_that_names_a_row_below_it_is_found(self):
        self.write("docs/architecture.md", TABLE.replace("| errors | –", "| errors | `graph`"))
        self.assertIn("`support` may include `graph`, which is no row above it", check_layers.check(self.root)[0])

    def test_a_missing_table_is_found(self):
        self.write("docs/architecture.md", "# Architecture\n")
        self.assert_found("the table of layers was not found")


if __name__ == "__main__":
    unittest.main()
