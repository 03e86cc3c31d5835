#!/usr/bin/env python3
"""Checks that what docs/*.md says of the sources is there, so that documents cannot rot.

A C++ block is preceded by a line `<!-- examples/NAME.cpp -->`. Its lines must occur in that file, in one piece.
A name in back ticks that is written like a rule's, such as `product-chain`, must be the name of a rule, or of something else
that goes by such a name: a built-in case, a primitive of the rule language, a program.
"""
import pathlib
import re
import sys

RULE = re.compile(r':name "([^"]+)"')
LOOKS_LIKE_A_RULE = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`")
QUOTED = re.compile(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"')
PROGRAM = re.compile(r"luminal_command\(([a-z0-9-]+)")
BLOCK = re.compile(r"(?:<!--\s*(\S+)\s*-->\s*\n)?```cpp\n(.*?)```", re.DOTALL)


def problems(document: pathlib.Path, root: pathlib.Path) -> list[str]:
    """What is wrong with one document."""
    found = []
    for number, match in enumerate(BLOCK.finditer(document.read_text()), start=1):
        source, block = match.groups()
        where = f"{document.relative_to(root)}: block {number}"
        if source is None:
            found.append(f"{where} has no comment naming its example")
        elif not (root / source).is_file():
            found.append(f"{where}: there is no {source}")
        elif block not in (root / source).read_text():
            found.append(f"{where} is not in {source} as it stands")
    return found


def known_names(root: pathlib.Path) -> set[str]:
    """Rules, and what else is named like one."""
    places = [
        (RULE, "luminal/rules/*.egg"),
        (QUOTED, "luminal/cli/cases.cpp"),
        (QUOTED, "luminal/egraph/primitives_*.cpp"),
        (PROGRAM, "CMakeLists.txt"),
    ]
    return {name for pattern, glob in places for file in root.glob(glob) for name in pattern.findall(file.read_text())}


def unknown_names(document: pathlib.Path, root: pathlib.Path, known: set[str]) -> list[str]:
    """The names like those of rules that nothing goes by. A document may define rules of its own."""
    text = document.read_text()
    names = dict.fromkeys(LOOKS_LIKE_A_RULE.findall(text))
    where = document.relative_to(root)
    return [f"{where}: there is no rule `{name}`" for name in names if name not in known and name not in RULE.findall(text)]


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    known = known_names(root)
    documents = sorted((root / "docs").glob("*.md"))
    found = [line for document in documents for line in problems(document, root) + unknown_names(document, root, known)]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
