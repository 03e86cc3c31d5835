"""Runs the programs of generate_programs.py through luminal-egg and, where it installs, the `egglog` package of PyPI.

Prints one line per program: its rules, the constructor calls of its ground terms, our time, what the whole program costs per
term node and what the search costs per match and per row visited, the rows visited per match, the package's time, the ratio,
and whether both ended with the same table sizes. The programs of a series differ in one size only, so their lines are a curve:
the costs per node, match and row must stay flat.

Times are processor seconds of the whole program, parsing included, so that a busy machine does not distort them. Where the
package uses more than its limits of time or memory, its larger programs of the same series are not tried; from two or more
programs that it did finish, the power of the size its time grows with is taken, and what it would take at that rate is
printed with a `~`.

    ./run bench egraph [--seconds N] [NAME...]
"""

import argparse
import dataclasses
import math
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


def count_rules(text):
    return len(re.findall(r"\((?:rule|rewrite) ", text))


def count_nodes(text):
    """Constructor calls in the ground terms of a program: those of its lets, and those of a line that is nothing but a term."""
    declared = re.compile(r"\((?:datatype|function|relation|ruleset|rule|rewrite|run|print)")
    nodes = 0
    for line in text.splitlines():
        if not declared.match(line):
            nodes += line.count("(") - line.count("(let ")
    return nodes


def costs(output, seconds, nodes):
    """The middle columns: nanoseconds per node, per match and per row, and rows per match, from the profile of an output."""
    profile = output.partition(PROFILE)[2]
    rules = re.findall(r"search ([0-9.]+)s, num matches (\d+), rows visited (\d+), runs \d+$", profile, re.M)
    search, matches, rows = (sum(float(rule[i]) for rule in rules) for i in range(3))
    per_node = f"{seconds * 1e9 / nodes:9.0f}" if nodes > 1000 else f"{'':9}"
    per_match = search * 1e9 / max(matches, 1)
    return f"{per_node} {per_match:9.0f} {search * 1e9 / max(rows, 1):8.0f} {rows / max(matches, 1):11.1f}"


@dataclasses.dataclass
class Peer:
    """The package: how to run it, and what is known of it in the series at hand."""
    python: str
    seconds: int
    gigabytes: float
    startup: float = 0
    series: str = ""
    stopped: str = ""
    points: list = dataclasses.field(default_factory=list)

    def column(self, program, path, ours, spent):
        """The last columns of a program's line."""
        if program.series != self.series or not program.series:
            self.series, self.stopped, self.points = program.series, "", []
        if not self.stopped:
            output, other = measure([self.python, "-c", PEER, str(path)], self.seconds, self.gigabytes)
            if output is not None:
                other = max(other - self.startup, 1e-3)
                self.points.append((program.size, other))
                same = "same" if sizes(ours) == sizes(output) else "DIFFER"
                return f"{other:11.3f} {other / max(spent, 1e-3):8.1f}  {same}"
            self.stopped = other
            if not self.guess(program):
                return other
            return f"{self.guess_column(program, spent)}  {other}"
        return f"{self.guess_column(program, spent)}  not tried" if self.guess(program) else "not tried"

    def guess(self, program):
        """What the package would take if its time went on growing as between the last two programs it finished."""
        if len(self.points) < 2:
            return None
        (small, before), (large, after) = self.points[-2:]
        power = max(1.0, math.log(after / before) / math.log(large / small))
        return after * (program.size / large) ** power

    def guess_column(self, program, spent):
        seconds = self.guess(program)
        return f"{'~' + format(seconds, '.1f'):>11} {'~' + format(seconds / max(spent, 1e-3), '.0f'):>8}"


def find_peer(arguments):
    """The package if it is installed."""
    command = [arguments.python, "-c", "import egglog.bindings"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        print("the egglog package is not installed: only our own times follow")
        return None
    return Peer(arguments.python, arguments.seconds, arguments.gigabytes, measure(command, 60, 8)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", help="path of luminal-egg")
    parser.add_argument("names", nargs="*", help="programs to run; all if none is given")
    parser.add_argument("--python", default=sys.executable, help="a Python that has the egglog package")
    parser.add_argument("--seconds", type=int, default=300, help="limit of the package per program")
    parser.add_argument("--gigabytes", type=float, default=12, help="memory limit of the package")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(generate_programs.PROGRAMS)
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}; there are {', '.join(generate_programs.PROGRAMS)}")
    peer = find_peer(arguments)
    print(f"{'program':24} {'rules':>5} {'nodes':>7} {'ours, s':>8} {'ns/node':>9} {'ns/match':>9} {'ns/row':>8} {'rows/match':>11}"
          f" {'package, s':>11} {'ratio':>8}  sizes")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or generate_programs.PROGRAMS:
            program = generate_programs.PROGRAMS[name]
            text = program.text()
            path = pathlib.Path(folder) / f"{name}.egg"
            path.write_text(text)
            nodes = count_nodes(text)
            ours, spent = measure([arguments.engine, "--stats", str(path)], 600, 64)
            line = f"{name:24} {count_rules(text):5} {nodes:7} "
            line += spent if ours is None else f"{spent:8.3f} {costs(ours, spent, nodes)}"
            if peer is not None and ours is not None:
                line += " " + peer.column(program, path, ours, spent)
            print(line, flush=True)


if __name__ == "__main__":
    main()
