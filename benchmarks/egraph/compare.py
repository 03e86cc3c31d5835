"""Runs the programs of generate_programs.py through luminal-egg and, where it installs, the `egglog` package of PyPI.

Prints one line per program: our time, what it costs per match and per row visited, the package's time, the ratio, and whether
both ended with the same table sizes. The decoders differ only in their number of layers, so their lines are the curve of cost
over size: the costs per match and row must stay flat. Times are processor seconds of the whole program, parsing included, so
that a busy machine does not distort them. A program on which the package uses more than its limits of time or memory is
reported as such.

    ./run bench egraph [--seconds N] [NAME...]
"""

import argparse
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

import generate_programs

PEER = """
import sys
from egglog.bindings import EGraph
egraph = EGraph()
for answer in egraph.run_program(*egraph.parse_program(open(sys.argv[1]).read())):
    print(answer)
"""


PROFILE = "Overall statistics:"


def measure(command, seconds, gigabytes):
    """Output and processor seconds of a command, or (None, why) if it did not end well."""
    def limit():
        size = int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode != 0:
        return None, f"ended with {done.returncode} after {spent:.1f} s"
    return done.stdout, spent


def sizes(output):
    """The last print-size of an output, as a set of pairs."""
    tables = re.findall(r"\(([^\s()]+) (\d+)\)", output.partition(PROFILE)[0])
    return sorted(tables[-len(set(name for name, _ in tables)):])


def unit_costs(output, seconds):
    """Nanoseconds of the whole program per match and per row visited, from the profile at the end of an output."""
    profile = output.partition(PROFILE)[2]
    counts = re.findall(r"num matches (\d+), rows visited (\d+), runs \d+$", profile, re.M)
    matches, rows = (sum(int(count[i]) for count in counts) for i in range(2))
    return " ".join(f"{seconds * 1e9 / max(count, 1):9.0f}" for count in (matches, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", help="path of luminal-egg")
    parser.add_argument("names", nargs="*", help="programs to run; all if none is given")
    parser.add_argument("--python", default=sys.executable, help="a Python that has the egglog package")
    parser.add_argument("--seconds", type=int, default=300, help="limit of the package per program")
    parser.add_argument("--gigabytes", type=float, default=8, help="memory limit of the package")
    arguments = parser.parse_args()
    peer = subprocess.run([arguments.python, "-c", "import egglog.bindings"], capture_output=True, check=False)
    if peer.returncode != 0:
        print("the egglog package is not installed: only our own times follow")
    empty = measure([arguments.python, "-c", "import egglog.bindings"], 60, 8)[1] if peer.returncode == 0 else 0
    print(f"{'program':26} {'bytes':>9} {'ours, s':>9} {'ns/match':>9} {'ns/row':>9} {'package, s':>11} {'ratio':>8}  sizes")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or generate_programs.PROGRAMS:
            path = pathlib.Path(folder) / f"{name}.egg"
            path.write_text(generate_programs.PROGRAMS[name]())
            ours, spent = measure([arguments.engine, "--stats", str(path)], 600, 64)
            line = f"{name:26} {path.stat().st_size:9} "
            line += spent if ours is None else f"{spent:9.3f} {unit_costs(ours, spent)}"
            if peer.returncode == 0 and ours is not None:
                theirs, other = measure([arguments.python, "-c", PEER, str(path)], arguments.seconds,
                                        arguments.gigabytes)
                if theirs is None:
                    line += f" {other}"
                else:
                    same = "same" if sizes(ours) == sizes(theirs) else "DIFFER"
                    line += f" {other - empty:11.3f} {(other - empty) / max(spent, 1e-3):8.1f}  {same}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
