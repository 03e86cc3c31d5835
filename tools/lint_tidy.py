#!/usr/bin/env python3
"""Runs clang-tidy over the sources and remembers what passed.

A file that passed is not looked at again until its text, the text of a project header it reaches, the configuration or the
clang-tidy version changes: build/lint-cache holds one empty file per good state. Tests are left out, because parsing gtest
costs more than it finds; the headers they use are checked through the sources that include them.

  lint_tidy.py [FILE...]     every source of the project when no file is named; exits 1 when something was found
"""

import concurrent.futures
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / "build/lint-cache"
TIDY = "clang-tidy-16"
FOLDERS = ("luminal", "examples", "benchmarks")
# No compilation database: the answer must not depend on which preset was configured.
FLAGS = ["-std=c++20", f"-I{ROOT}", "-isystem/usr/lib/llvm-19/include", "-Wno-everything"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"(luminal/[^"]+)"', re.M)


@functools.cache
def read(path: pathlib.Path) -> str:
    return path.read_text() if path.is_file() else ""


def with_headers(source: pathlib.Path) -> list[pathlib.Path]:
    """The file and every project header it reaches, sorted."""
    seen: set[pathlib.Path] = set()
    pending = [source]
    while pending:
        path = pending.pop()
        if path not in seen:
            seen.add(path)
            pending += [ROOT / header for header in INCLUDE.findall(read(path))]
    return sorted(seen)


@functools.cache
def configuration() -> str:
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    flags = " ".join(FLAGS).replace(str(ROOT), "")
    return version + flags + read(ROOT / ".clang-tidy")


def state_of(source: pathlib.Path) -> pathlib.Path:
    """The cache entry of the file's present state."""
    digest = hashlib.sha256(configuration().encode())
    for path in with_headers(source):
        digest.update(f"\0{path.relative_to(ROOT)}\0{read(path)}".encode())
    return CACHE / digest.hexdigest()


def tidy(source: pathlib.Path) -> str:
    """What clang-tidy says about the file; empty when it is good."""
    command = [TIDY, "--quiet", str(source), "--", *FLAGS]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if finished.returncode == 0:
        state_of(source).touch()
        return ""
    return finished.stdout or finished.stderr


def sources_of_project() -> list[pathlib.Path]:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.cpp")]
    return sorted(path for path in files if not path.name.endswith("_test.cpp"))


def main() -> int:
    CACHE.mkdir(parents=True, exist_ok=True)
    sources = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or sources_of_project()
    stale = [path for path in sources if not state_of(path).exists()]
    print(f"clang-tidy: {len(stale)} of {len(sources)} files changed since they passed", flush=True)
    reported: set[str] = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(tidy, stale):
            if said and said not in reported:
                reported.add(said)
                print(said.replace(f"{ROOT}/", ""), flush=True)
    return 1 if reported else 0


if __name__ == "__main__":
    sys.exit(main())
