#!/usr/bin/env python3
"""Runs clang-tidy over the sources and remembers what passed.

A file that passed is not looked at again until its text, the text of a project header it reaches, the configuration or the
clang-tidy version changes: build/lint-cache holds one empty file per good state. Tests are left out, because parsing gtest
costs more than it finds; the headers they use are checked through the sources that include them.

Most of what clang-tidy does for a file is to read and walk the headers of the libraries. So files are checked several at a time,
as one text; when that says anything, each file of the text is checked alone, and what is told is what that finds.

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
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / "build/lint-cache"
TIDY = "clang-tidy-16"
FOLDERS = ("luminal", "examples", "benchmarks")
# No compilation database: the answer must not depend on which preset was configured.
FLAGS = ["-std=c++20", f"-I{ROOT}", "-isystem/usr/lib/llvm-19/include", "-Wno-everything"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"((?:luminal|benchmarks|tests)/[^"]+)"', re.M)
TOGETHER = 12
# A name that a file defines outside of functions and types: what stands after a type and before parameters, a value or a body.
# Qualified names are declared in a header.
OWN_NAME = re.compile(r"^(?!namespace|using)\w[^\n(){};=]*[ &*>](\w+)(?:\(| ?\{|;| =| : )", re.M)
USED_NAME = re.compile(r"^using (?:(\w+) = |[\w:]+::(\w+);).*", re.M)


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


def names_of(text: str) -> dict[str, str]:
    """What a file's text adds to its namespace: by name, the declaration where others may repeat it, else the text itself."""
    names = dict.fromkeys(OWN_NAME.findall(text), text)
    return names | {found[1] or found[2]: found[0] for found in USED_NAME.finditer(text)}


def agree(taken: dict[str, str], names: dict[str, str]) -> bool:
    return "main" not in taken | names and all(taken.get(name, means) == means for name, means in names.items())


def groups_of(sources: list[pathlib.Path]) -> list[list[pathlib.Path]]:
    """The files in groups that may stand in one text: of one folder, few enough, no name with two meanings, and programs
    alone."""
    groups: list[tuple[str, list[pathlib.Path], dict[str, str]]] = []
    for source in sources:
        folder = source.relative_to(ROOT).parts[0]
        names = names_of(read(source))
        for of, members, taken in groups:
            if of == folder and len(members) < TOGETHER and agree(taken, names):
                members.append(source)
                taken.update(names)
                break
        else:
            groups.append((folder, [source], names))
    return [members for _, members, _ in groups]


def clang_tidy(source: pathlib.Path) -> str:
    """What clang-tidy says about the file; empty when it is good."""
    # The headers of the project, wherever it lies.
    headers = f"--header-filter=^{re.escape(str(ROOT))}/({'|'.join(FOLDERS)})/"
    command = [TIDY, "--quiet", headers, f"--config-file={ROOT}/.clang-tidy", str(source), "--", *FLAGS]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return "" if finished.returncode == 0 else finished.stdout or finished.stderr


def tidy_alone(source: pathlib.Path) -> str:
    said = clang_tidy(source)
    if not said:
        state_of(source).touch()
    return said


def tidy(group: list[pathlib.Path]) -> list[str]:
    """What clang-tidy says about the files of a group."""
    if len(group) > 1:
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as together:
            together.write("\n".join(read(source) for source in group))
            together.flush()
            if not clang_tidy(pathlib.Path(together.name)):
                for source in group:
                    state_of(source).touch()
                return []
    return [said for said in map(tidy_alone, group) if said]


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
        for told in pool.map(tidy, groups_of(stale)):
            for said in told:
                if said not in reported:
                    reported.add(said)
                    print(said.replace(f"{ROOT}/", ""), flush=True)
    return 1 if reported else 0


if __name__ == "__main__":
    sys.exit(main())
