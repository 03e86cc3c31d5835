#!/usr/bin/env python3
"""The API reference: runs Doxygen over luminal/luminal.h, every header it reaches, and those that authors of passes, rules,
schedules and devices use. Anything public without a `///` comment is an error that names it.

  api_reference.py          writes build/docs/html/index.html
  api_reference.py --check  only checks, which takes a second
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Beside luminal.h: for those who extend the compiler.
FURTHER = [
    "luminal/codegen/llvm/cpu_schedules.h",
    "luminal/graph/inference.h",
    "luminal/graph/pattern.h",
    "luminal/graph/rewriter.h",
    "luminal/graph/verify.h",
    "luminal/runtime/device.h",
]
# A vector as the standard library has it, with the same members.
LEFT_OUT = {"luminal/support/small_vector.h"}


def reached(headers: list[str], root: pathlib.Path) -> list[str]:
    """These headers and all of ours that they include, by name."""
    seen: set[str] = set()
    waiting = list(headers)
    while waiting:
        header = waiting.pop()
        if header not in seen:
            seen.add(header)
            waiting += re.findall(r'^#include "(luminal/[^"]+)"', (root / header).read_text(), re.M)
    return sorted(seen)


def settings(check: bool, root: pathlib.Path) -> str:
    """The Doxyfile: what is committed, the headers, and where the pages go."""
    wanted = [name for name in ["luminal/luminal.h", *FURTHER] if (root / name).is_file()]
    headers = [name for name in reached(wanted, root) if name not in LEFT_OUT]
    pages = sorted(str(path.relative_to(root)) for path in (root / "docs/api").glob("*.dox"))
    lines = [(root / "docs/api/Doxyfile").read_text()]
    lines += [f"INPUT += {name}" for name in ["docs/api/main_page.md", *pages, *headers]]
    lines.append("WARN_AS_ERROR = FAIL_ON_WARNINGS")
    if check:
        # Without any format nothing is looked at; a list of tags is the smallest one.
        lines += ["GENERATE_HTML = NO", "GENERATE_TAGFILE = /dev/null"]
    else:
        lines.append("OUTPUT_DIRECTORY = build/docs")
    return "\n".join(lines) + "\n"


def problems(check: bool, root: pathlib.Path) -> list[str]:
    """What Doxygen says is missing or wrong, by file."""
    finished = subprocess.run(["doxygen", "-"], input=settings(check, root), text=True, cwd=root, capture_output=True)
    said = sorted({line.removeprefix(f"{root}/") for line in finished.stderr.splitlines() if line.strip()})
    return said or ([f"doxygen ended with {finished.returncode}"] if finished.returncode else [])


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    check = sys.argv[1:] == ["--check"]
    if not check:
        (ROOT / "build/docs").mkdir(parents=True, exist_ok=True)
    found = problems(check, ROOT)
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print("the API reference is not complete: each of these needs a `///` comment", file=sys.stderr)
        return 1
    if not check:
        print("build/docs/html/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
