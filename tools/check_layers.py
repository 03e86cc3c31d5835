#!/usr/bin/env python3
"""Checks that the sources keep to the architecture.

The table of layers in docs/architecture.md is the one place that says who may include whom. This script reads it and reports
every include under luminal/ that it does not allow, every luminal_layer() in CMakeLists.txt that depends on more, and every
header that breaks the form all headers have (an opening comment, `#pragma once`, no macro of its own, no foreign headers that
belong to one folder).

  check_layers.py [ROOT]     ROOT is the checkout, the one this script is in when left out; exits 1 with a list of offences
"""

import dataclasses
import pathlib
import re
import sys

# Headers of large foreign libraries: in a .h they would reach everybody, so each stays in the folders named here.
FOREIGN_HEADERS = [
    (re.compile(r"^(llvm|llvm-c|mlir)/"), ("codegen/llvm",)),
    (re.compile(r"^(cuda|cudaTypedefs|nvrtc|cublasLt|cublas_v2|cuda_\w+|nvJitLink)\.h$"), ("runtime/cuda", "codegen/cuda")),
    (re.compile(r"^(pybind11|nanobind)/|^Python\.h$"), ("python",)),
]
ALLOWED_MACROS = {"LUMINAL_CHECK"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
MACRO = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)


@dataclasses.dataclass
class Layer:
    """One row of the table: the layers it may include and everything below them, and single headers of other layers."""

    name: str
    includes: list[str]
    headers: list[str]


def parse_table(document: str) -> dict[str, Layer]:
    """The layers of the table whose header row begins with `folder` and ends with `may include`, in order."""
    layers: dict[str, Layer] = {}
    in_table = False
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|"):
            in_table = False
        elif cells[0] == "folder" and cells[-1] == "may include":
            in_table = True
        elif in_table and not set(cells[0]) <= set("-: "):
            allowed = re.findall(r"`([^`]+)`", cells[-1])
            for name in re.findall(r"`([^`]+)`", cells[0]):
                layers[name] = Layer(name, [a for a in allowed if "/" not in a], [a for a in allowed if "/" in a])
    return layers


def reach(layers: dict[str, Layer], name: str) -> tuple[set[str], set[str]]:
    """What a layer may include: whole layers (itself, its row, and all of theirs), and single headers."""
    seen: set[str] = set()
    headers: set[str] = set()
    pending = [name]
    while pending:
        current = pending.pop()
        if current in seen or current not in layers:
            continue
        seen.add(current)
        pending += layers[current].includes
        headers.update(layers[current].headers)
    return seen, headers


def check_table(layers: dict[str, Layer]) -> list[str]:
    """A row may name only rows above it: the order is the road of a tensor and there are no cycles."""
    problems = []
    above: set[str] = set()
    for layer in layers.values():
        for name in layer.includes + [header.split("/")[0] for header in layer.headers]:
            if name not in above:
                problems.append(f"docs/architecture.md: `{layer.name}` may include `{name}`, which is no row above it")
        above.add(layer.name)
    return problems


def check_cmake(layers: dict[str, Layer], cmake: str) -> list[str]:
    problems = []
    for call in re.findall(r"^luminal_layer\(([^)]*)\)", cmake, re.M):
        words = call.split()
        allowed, headers = reach(layers, words[0])
        allowed |= {header.split("/")[0] for header in headers}
        if words[0] not in layers:
            problems.append(f"CMakeLists.txt: layer {words[0]} is not in the table of docs/architecture.md")
            continue
        listed = words[words.index("DEPENDS") + 1 :] if "DEPENDS" in words else []
        for name in listed:
            if name in ("LINKS", "PRIVATE", "COMPILED_AS"):
                break
            if name not in allowed:
                problems.append(f"CMakeLists.txt: {words[0]} depends on {name}, which the table does not allow")
    return problems


def check_include(layers: dict[str, Layer], path: pathlib.PurePath, header: str) -> str | None:
    """path is relative to luminal/, header to the root of the checkout. The public header may include every layer."""
    place = header.removeprefix("luminal/")
    source_layer, target = path.parts[0], place.split("/")[0]
    if len(path.parts) == 1:
        return None
    if source_layer not in layers:
        return f"folder luminal/{source_layer} is not in the table of docs/architecture.md"
    allowed, headers = reach(layers, source_layer)
    if target in allowed or place in headers:
        return None
    return f"{source_layer} may not include {target}"


def check_header_form(path: pathlib.PurePath, text: str) -> list[str]:
    problems = []
    if not text.startswith("//"):
        problems.append("does not begin with a comment that says what it is")
    if not re.search(r"^#pragma once$", text, re.M):
        problems.append("has no #pragma once")
    for macro in MACRO.findall(text):
        if macro not in ALLOWED_MACROS:
            problems.append(f"defines the macro {macro}")
    for _, header in INCLUDE.findall(text):
        for pattern, homes in FOREIGN_HEADERS:
            if pattern.search(header) and not path.as_posix().startswith(tuple(home + "/" for home in homes)):
                problems.append(f"includes {header}, which may be in headers of {' and '.join(homes)} only")
    return problems


def check_file(root: pathlib.Path, layers: dict[str, Layer], file: pathlib.Path) -> list[str]:
    text = file.read_text()
    path = file.relative_to(root / "luminal")
    problems = check_header_form(path, text) if file.suffix == ".h" else []
    for bracket, header in INCLUDE.findall(text):
        if header.startswith("luminal/"):
            offence = check_include(layers, path, header)
            if offence:
                problems.append(f"{offence} ({header})")
            if not (root / header).is_file():
                problems.append(f"includes {header}, which does not exist")
        elif bracket == '"':
            problems.append(f'includes "{header}"; the project\'s own headers are named from the root: "luminal/..."')
    return [f"luminal/{path}: {problem}" for problem in problems]


def check(root: pathlib.Path) -> list[str]:
    """Every offence in the checkout, as lines for a reader."""
    layers = parse_table((root / "docs/architecture.md").read_text())
    if not layers:
        return ["docs/architecture.md: the table of layers was not found"]
    problems = check_table(layers) + check_cmake(layers, (root / "CMakeLists.txt").read_text())
    for file in sorted((root / "luminal").rglob("*")):
        if file.suffix in (".h", ".cpp"):
            problems += check_file(root, layers, file)
    return problems


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems = check(root)
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
