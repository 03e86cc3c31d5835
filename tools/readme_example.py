#!/usr/bin/env python3
"""The examples of documents as tests. In the README the first ```cpp block is the program, the ```text block after it what it
prints; in any document a ```egglog block and the ```text block after it are a program for luminal-egg and its output.

  readme_example.py extract README.md OUT.cpp     writes the program
  readme_example.py compare README.md PROGRAM     runs it and compares its output
  readme_example.py egglog DOCUMENT LUMINAL_EGG   hands each ```egglog block to the command and compares its output
"""

import difflib
import pathlib
import re
import subprocess
import sys


def example_of(readme: str) -> tuple[str, str]:
    """The program and its output, as the README shows them."""
    found = re.search(r"^```cpp\n(.*?)^```$.*?^```text\n(.*?)^```$", readme, re.S | re.M)
    if not found:
        sys.exit("README.md holds no ```cpp block that is followed by a ```text block")
    return found.group(1), found.group(2)


def egglog_examples_of(document: str) -> list[tuple[str, str]]:
    """Every egglog program of a document and its output."""
    found = re.findall(r"^```egglog\n(.*?)^```$(?:(?!^```).)*?^```text\n(.*?)^```$", document, re.S | re.M)
    if not found or len(found) != len(re.findall(r"^```egglog$", document, re.M)):
        sys.exit("the document must hold ```egglog blocks, each followed by a ```text block")
    return found


def same(expected: str, printed: str) -> bool:
    """Whether two lines say the same. Numbers may differ by rounding, which is not the same on every processor."""
    words = [re.sub(r"[][]", " ", line).split() for line in (expected, printed)]
    if re.sub(r"[^][]", "", expected) != re.sub(r"[^][]", "", printed) or len(words[0]) != len(words[1]):
        return False
    for one, other in zip(*words):
        try:
            if one != other and abs(float(one) - float(other)) > 1e-6 * abs(float(one)):
                return False
        except ValueError:
            return False
    return True


def compare(expected: str, program: str, given: str = "") -> int:
    finished = subprocess.run([program], capture_output=True, text=True, input=given)
    sys.stderr.write(finished.stderr)
    if finished.returncode != 0:
        print(f"the example ended with {finished.returncode}")
        return 1
    wanted, printed = expected.splitlines(), finished.stdout.splitlines()
    if len(wanted) == len(printed) and all(map(same, wanted, printed)):
        return 0
    print("\n".join(difflib.unified_diff(wanted, printed, "the document says", "it prints", lineterm="")))
    return 1


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] not in ("extract", "compare", "egglog"):
        sys.exit(__doc__)
    if sys.argv[1] == "egglog":
        examples = egglog_examples_of(pathlib.Path(sys.argv[2]).read_text())
        return max(compare(output, sys.argv[3], program) for program, output in examples)
    program, output = example_of(pathlib.Path(sys.argv[2]).read_text())
    if sys.argv[1] == "compare":
        return compare(output, sys.argv[3])
    pathlib.Path(sys.argv[3]).write_text(f'#line 1 "README.md example"\n{program}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
