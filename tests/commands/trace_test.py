#!/usr/bin/env python3
"""Traces of the `luminal` command: LUMINAL_TRACE gives JSON that viewers take, with all stages, whatever becomes of the process.

  trace_test.py LUMINAL    LUMINAL is the command
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# Times are written with three digits of a microsecond.
ROUNDING = 0.002
# Code of our own that measures what the machine can do.
MEASURES = {"read", "peak of f32", "peak of bf16", "peak of i8"}
# Seconds that are waited for what happens in the end however busy the machine is: less than ctest waits, which says nothing then.
PATIENCE = 300


class Trace(unittest.TestCase):
    luminal = ""

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name) / "trace.json"
        self.page = str(pathlib.Path(self.folder.name) / "page.html")
        self.environment = os.environ | {"LUMINAL_TRACE": str(self.file), "LUMINAL_CACHE_DIR": self.folder.name, "LUMINAL_THREADS": "2"}

    def tearDown(self) -> None:
        self.folder.cleanup()

    def traced(self, *arguments: str) -> list[dict]:
        subprocess.run([self.luminal, *arguments], check=True, stdout=subprocess.DEVNULL, env=self.environment)
        events = json.loads(self.file.read_text())
        self.check(events)
        return [event for event in events if event["ph"] == "X"]

    def check(self, events: list[dict]) -> None:
        """Threads have names, and spans of a thread lie within each other or apart."""
        self.assertEqual(events[0]["name"], "process_name")
        named = {event["tid"] for event in events if event["name"] == "thread_name"}
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual({event["tid"] for event in spans}, named)
        for thread in named:
            open_ends = []
            for span in sorted((s for s in spans if s["tid"] == thread), key=lambda s: (s["ts"], -s["dur"])):
                self.assertTrue(span["name"] and span["cat"], span)
                self.assertGreaterEqual(span["dur"], 0)
                while open_ends and open_ends[-1] <= span["ts"] + ROUNDING:
                    open_ends.pop()
                end = span["ts"] + span["dur"]
                if open_ends:
                    self.assertLessEqual(end, open_ends[-1] + ROUNDING, span)
                open_ends.append(end)

    def inside(self, spans: list[dict], name: str) -> set[str]:
        """Names of what lies within spans of a name."""
        around = [span for span in spans if span["name"] == name]
        self.assertTrue(around, name)
        return {
            span["name"]
            for span in spans
            for one in around
            if span is not one and one["ts"] - ROUNDING <= span["ts"] and span["ts"] + span["dur"] <= one["ts"] + one["dur"] + ROUNDING
        }

    def last_names(self) -> list[str]:
        """What a process that still runs came to."""
        text = self.file.read_text() if self.file.exists() else ""
        return re.findall(r'"name": ?"([^"]*)"', text)[-5:]

    def test_a_compile_has_all_stages(self) -> None:
        spans = self.traced("viz", "gpt-block", "-o", self.page)
        passes = {span["name"] for span in spans if span["cat"] == "pass"}
        self.assertGreaterEqual(len(passes), 5, passes)
        self.assertLessEqual(passes, self.inside(spans, "passes"))
        self.assertLessEqual({"e-graph", "saturate", "read definitions"}, self.inside(spans, "rules"))
        self.assertLessEqual({"rules", "choose kernels", "steps and memory", "code", "load"}, self.inside(spans, "plan"))
        code = {span["name"] for span in spans if span["cat"] == "kernel code"}
        self.assertIn("layer_norm", code)
        self.assertIn("layer_norm", self.inside(spans, "code"))
        steps = [span for span in spans if span["cat"] == "step"]
        self.assertIn("layer_norm", {span["name"] for span in steps})
        self.assertIn("f32[", steps[0]["args"]["type"])
        self.assertEqual(sum(span["cat"] == "run" for span in spans), 2)  # one that prepares, one of those that are measured

    def test_the_interpreter_tells_its_ops(self) -> None:
        graph = pathlib.Path(self.folder.name) / "small.graph"
        graph.write_text('%0: f32[4] = input "x"\n%1: f32[4] = exp %0\noutput "y" = %1\n')
        spans = self.traced("run", str(graph), "--device", "interpreter")
        ops = self.inside(spans, "run (interpreter)")
        self.assertTrue(any("exp" in name for name in ops), ops)

    def test_a_search_tells_trials_and_not_every_run(self) -> None:
        # How long it takes to come to the end of the first trial is up to the machine.
        seconds, measured, timed = 4, [], []
        while not (measured and timed) and seconds < 200:
            spans = self.traced("viz", "mlp", "--search", str(seconds), "-o", self.page, "--database", self.folder.name + "/tuning.db")
            tuned = [span["name"] for span in spans if span["cat"] == "tune"]
            measured = [kernel for kernel in tuned if "measure" in self.inside(spans, kernel)]
            tried = [outcome for span in spans if span["name"].startswith("try ") for outcome in span["args"].values()]
            timed = [outcome for outcome in tried if "us" in outcome]
            seconds *= 2
        self.assertTrue(measured)
        self.assertTrue(timed, tried[:1])
        for kernel in measured:
            self.assertLessEqual({f"build {kernel}", f"check {kernel}", "measure", kernel}, self.inside(spans, kernel))
        # Code is named by the ops that it computes, also where it is only tried. How far a search comes, and so whether it
        # tries a product in parts, is up to the machine.
        code = {span["name"] for span in spans if span["cat"] == "kernel code"} - MEASURES
        ops = {op.removeprefix("part of ") for name in code for op in name.split(" + ")}
        self.assertEqual(ops, {"matmul", "add", "relu"})
        self.assertIn("search for a plan", {span["name"] for span in spans})
        self.assertFalse({"run", "step"} & {s["cat"] for s in spans if s["name"] in self.inside(spans, "measure")})

    def test_a_trace_that_gets_lost_is_a_failure(self) -> None:
        environment = {**self.environment, "LUMINAL_TRACE": "/dev/full"}
        said = subprocess.run([self.luminal, "explain", "mlp", "--no-times"], env=environment, capture_output=True, text=True)
        self.assertEqual(said.returncode, 1)
        self.assertIn('trace: "/dev/full" lacks events, since writing failed: No space left on device', said.stderr)

    def test_a_killed_process_leaves_a_trace(self) -> None:
        arguments = [self.luminal, "viz", "gpt-block", "--search", "3600", "-o", self.page, "--database", self.folder.name + "/tuning.db"]
        with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment) as process:
            try:
                end = time.monotonic() + PATIENCE
                while not self.file.exists() or self.file.read_text().count('"measure"') < 2:
                    self.assertIsNone(process.poll(), "it ended by itself")
                    if time.monotonic() > end:
                        self.fail(f"too little was measured in {PATIENCE} s; the last it told of are {self.last_names()}")
                    time.sleep(0.05)
            finally:
                process.send_signal(signal.SIGKILL)
        events = json.loads(self.file.read_text() + "]")  # viewers need no end
        self.assertIn("measure", {event["name"] for event in events})


if __name__ == "__main__":
    Trace.luminal = sys.argv[1]
    sys.exit(0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1)
