#!/usr/bin/env python3
"""Checks that the C++ blocks of docs/*.md stand in the example named above them, so that documents cannot rot.

A block is preceded by a line `<!-- examples/NAME.cpp -->`. Its lines must occur in that file, in one piece.
"""
import pathlib
import re
import sys

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


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    found = [line for document in sorted((root / "docs").glob("*.md")) for line in problems(document, root)]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
