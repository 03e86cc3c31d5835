#!/usr/bin/env python3
"""Clicks through the pages that `luminal viz` and `luminal explain --html` write, in a headless browser.

  page_test.py LUMINAL [SCREENSHOTS]    LUMINAL is the command; pictures of every part go to the folder, if one is named

Speaks to chromedriver by itself (the WebDriver protocol), so that it needs no more than the browser: Debian's chromium and
chromium-driver. Without them it exits 77, which ctest counts as skipped.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

SKIPPED = 77
# Seconds until something that does not happen is taken to fail: a busy machine may take many.
PATIENCE = 120
NASTY = "</script><script>window.bad=1</script><img src=x onerror='window.bad=2'>"
NASTY_GRAPH = f'%0: f32[4] = input "{NASTY}"\n%1: f32[4] = exp %0 name="<b>bold</b>"\noutput "y" = %1\n'

# Two definitions, each of which reads what is inside of the other.
MUTUAL_GRAPH = """%0: f32[4] = input "x"
%1: f32[4] = exp %0
%2: f32[4] = sin %1
%3: f32[4] = tanh %2
%4: f32[4] = sqrt %3
%5: f32[4] = add %1, %4
output "y" = %5
named %4 = inner() %3
named %2 = first() %1
named %5 = outer() %0, %4
"""

DATA = re.compile(r'(id="compile-data">)(.*?)(</script>)', re.S)


def changed_json(text: str, change) -> str:
    data = json.loads(text)
    change(data)
    return json.dumps(data).replace("<", "\\u003c")


def with_all_outcomes(data: dict) -> None:
    """Two kernels with trials of every kind, whatever the machine was able to try."""
    data["search"] |= {"recalled": False, "finished": False, "interrupted": False, "unreliable": True}
    data["search"]["kernels"] = [
        {"label": "matmul + gelu", "identity": "aa" * 16, "shapes": "S0=128"},
        {"label": "softmax", "identity": "bb" * 16, "shapes": ""},
    ]
    data["search"]["trials"] = [
        [0, None, 40.0, 0.2, "old way", "", "", False],
        [0, 0.13, 50.0, 0.5, "default way", "", "", True],
        [0, 0.25, 30.0, 0.5, "tiles 6x16", "", "", False],
        [0, 0.25, 35.0, 0.5, "tiles 4x16", "", "", False],
        [0, 0.26, 0, 0, "tiles 9x99", "wrong result", NASTY, False],
        [1, 0.71, 9.0, 0.1, "rows", "", "", True],
        [1, 0.72, 0, 0, "columns", "timeout", "it did not end within 100 ms", False],
        [1, 0.73, 8.0, 0.1, "halves", "", "", False],
    ]


def as_recalled(data: dict) -> None:
    with_all_outcomes(data)
    data["search"] |= {"recalled": True, "finished": True, "unreliable": False}
    for trial in data["search"]["trials"]:
        trial[1] = None


def as_quicker_than_possible(data: dict) -> None:
    for step in data["steps"]:
        if step.get("measured_us"):
            step["measured_us"] = step["floor_us"] / 1.36


class Browser:
    """A browser with one window."""

    def __init__(self) -> None:
        # It takes a free port and says which: one that was free a moment ago may be another's by now.
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.session = ""

    def begin(self) -> None:
        said = ""
        while (port := re.search("started successfully on port ([0-9]+)", said)) is None:
            line = self.driver.stdout.readline()
            if line == "":
                raise AssertionError("chromedriver ended: " + said)
            said += line
        self.base = f"http://127.0.0.1:{port[1]}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900"]
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]

    def call(self, method: str, path: str, body: dict | None = None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def open(self, file: pathlib.Path, part: str = "") -> None:
        self.call("POST", self.session + "/url", {"url": "about:blank"})
        self.call("POST", self.session + "/url", {"url": file.as_uri() + ("#" + part if part else "")})

    def script(self, text: str, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": text, "args": list(arguments)})

    def click(self, selector: str) -> None:
        """A click with the mouse, at the element's middle: something in front of it is an error."""
        found = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"{self.session}/element/{next(iter(found.values()))}/click", {})

    def type(self, selector: str, text: str) -> None:
        found = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        element = next(iter(found.values()))
        self.call("POST", f"{self.session}/element/{element}/clear", {})
        self.call("POST", f"{self.session}/element/{element}/value", {"text": text})

    def resize(self, width: int, height: int) -> None:
        """As a screen of that size: windows have a least width."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("POST", self.session + "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics})

    def wait(self, condition: str) -> None:
        """Until a JavaScript expression holds."""
        end = time.monotonic() + PATIENCE
        while not self.script("return !!(" + condition + ")"):
            if time.monotonic() > end:
                raise AssertionError("never became true: " + condition)
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        log = self.call("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]

    def picture(self, file: pathlib.Path) -> None:
        file.write_bytes(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def close(self) -> None:
        try:
            if self.session:
                self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.communicate()


class Page(unittest.TestCase):
    luminal = ""
    pictures: pathlib.Path | None = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        # What is fused depends on the number of threads: on many cores attention is cut in several.
        cls.environment = os.environ | {"LUMINAL_CACHE_DIR": cls.folder.name + "/cache", "LUMINAL_THREADS": "2"}
        cls.pages = {name: cls.page(name, name) for name in ("gpt-block", "llama-32", "top-tokens")}
        nasty = pathlib.Path(cls.folder.name) / "nasty.graph"
        nasty.write_text(NASTY_GRAPH)
        cls.pages["nasty"] = cls.page(str(nasty), "nasty")
        mutual = pathlib.Path(cls.folder.name) / "mutual.graph"
        mutual.write_text(MUTUAL_GRAPH)
        cls.pages["mutual"] = cls.page(str(mutual), "mutual")
        plan = pathlib.Path(cls.folder.name) / "saved.plan"
        subprocess.run([cls.luminal, "compile", "gpt-block", "-o", str(plan)], check=True, stdout=subprocess.DEVNULL, env=cls.environment)
        cls.pages["saved"] = cls.page(str(plan), "saved")
        for name, graph in (("gpt-block", "gpt-block"), ("llama-32", "llama-32"), ("nasty", str(nasty))):
            cls.pages["explain-" + name] = cls.explained(graph, "explain-" + name)
        cls.pages["quick"] = cls.changed("explain-gpt-block", "quick", as_quicker_than_possible)
        cls.pages["search"] = cls.searched("gpt-block", "search")
        cls.pages["all-outcomes"] = cls.changed("search", "all-outcomes", with_all_outcomes)
        cls.pages["recalled"] = cls.changed("search", "recalled", as_recalled)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.browser.begin()

    @classmethod
    def page(cls, graph: str, name: str, *options: str) -> pathlib.Path:
        file = pathlib.Path(cls.folder.name) / (name + ".html")
        subprocess.run([cls.luminal, "viz", graph, "-o", str(file), *options], check=True, stdout=subprocess.DEVNULL, env=cls.environment)
        return file

    @classmethod
    def searched(cls, graph: str, name: str) -> pathlib.Path:
        """The page of a search with some trials: how many fit into its time is up to the machine."""
        seconds, trials = 4, 0
        while trials <= 3:
            if seconds > 200:
                raise AssertionError(f"{trials} trials in a search of {seconds / 2} seconds")
            file = cls.page(graph, name, "--search", str(seconds), "--database", str(pathlib.Path(cls.folder.name) / "tuning.db"))
            trials = len(json.loads(DATA.search(file.read_text())[2])["search"]["trials"])
            seconds *= 2
        return file

    @classmethod
    def changed(cls, of: str, name: str, change) -> pathlib.Path:
        """A page whose data is that of another one, changed."""
        file = pathlib.Path(cls.folder.name) / (name + ".html")
        file.write_text(DATA.sub(lambda found: found[1] + changed_json(found[2], change) + found[3], cls.pages[of].read_text(), count=1))
        return file

    @classmethod
    def explained(cls, graph: str, name: str) -> pathlib.Path:
        file = pathlib.Path(cls.folder.name) / (name + ".html")
        subprocess.run([cls.luminal, "explain", graph, "--html", str(file)], check=True, stdout=subprocess.DEVNULL, env=cls.environment)
        return file

    def tearDown(self) -> None:
        self.assertEqual(self.browser.complaints(), [])

    def shown(self) -> str:
        return self.browser.script("return [...document.querySelectorAll('main > section')].filter(s => !s.hidden).map(s => s.id).join()")

    def take(self, name: str) -> None:
        if self.pictures is not None:
            time.sleep(0.4)
            self.browser.picture(self.pictures / (name + ".png"))

    def test_every_part_opens(self) -> None:
        for name in ("gpt-block", "llama-32"):
            self.browser.open(self.pages[name])
            for part in ("overview", "written", "simplified", "egraph", "kernels", "limits", "why", "memory", "run"):
                self.browser.click("#tab-" + part)
                self.assertEqual(self.shown(), "part-" + part)
                self.take(f"{name}-{part}")
            self.assertLess(self.browser.script("return document.querySelectorAll('*').length"), 20000)

    def test_a_saved_plan_has_the_parts_that_its_file_holds(self) -> None:
        self.browser.open(self.pages["saved"])
        self.assertIn("This is a saved plan", self.browser.script("return document.querySelector('#saved').textContent"))
        tabs = self.browser.script("return [...document.querySelectorAll('[id^=tab-]')].map(tab => tab.id.slice(4)).join()")
        self.assertEqual(tabs, "overview,simplified,kernels,limits,why,memory,run")
        for part in tabs.split(","):
            self.browser.click("#tab-" + part)
            self.assertEqual(self.shown(), "part-" + part)
            self.take(f"saved-{part}")

    def test_the_drawing_is_drawn(self) -> None:
        self.browser.open(self.pages["gpt-block"], "written")
        inside = "document.querySelector('#part-written iframe').contentDocument"
        self.browser.wait(f"{inside} && {inside}.getElementById('canvas') && {inside}.getElementById('canvas').width > 300")
        self.assertIn("100 nodes", self.browser.script(f"return {inside}.getElementById('summary').textContent"))
        self.assertEqual("none", self.browser.script(f"return {inside}.getElementById('theme').style.display"))

    def test_layers_have_names_and_stand_below_each_other(self) -> None:
        for part in ("written", "simplified"):
            evaluate = self.drawing("llama-32", part)
            evaluate("layers = graph.groups.filter(g => g.label.startsWith('layer ')).sort((a, b) => a.result - b.result)")
            self.assertEqual(evaluate("layers.map(g => g.label)"), [f"layer {k} of 32" for k in range(1, 33)])
            self.assertEqual(evaluate("graph.groups.filter(g => g.parent < 0).length"), 32)
            middles = evaluate("layers.map(g => picture.boxes.get('g' + g.id)).map(b => b.x + b.w / 2)")
            self.assertLess(max(middles) - min(middles), 200)
            tops = evaluate("layers.map(g => picture.boxes.get('g' + g.id).y)")
            self.assertEqual(tops, sorted(set(tops)))
            self.take("layers-" + part)

    def drawing(self, name: str, part: str):
        """Opens a drawing; what evaluates scripts in it."""
        self.browser.open(self.pages[name], part)
        frame = f"document.querySelector('#part-{part} iframe')"
        self.browser.wait(f"{frame} && {frame}.contentDocument.getElementById('fit') && {frame}.contentDocument.getElementById('fit').onclick")
        return lambda text: self.browser.script(f"return {frame}.contentWindow.eval(arguments[0])", text)

    def test_wires_go_from_box_to_box(self) -> None:
        loose = """
            picture.wires.filter(wire => {
              const a = picture.boxes.get(wire.from), b = picture.boxes.get(wire.to), p = wire.points;
              const up = a.y > b.y, first = p[0], last = p[p.length - 1];
              const meets = (point, box, y) => point.x >= box.x && point.x <= box.x + box.w && Math.abs(point.y - y) < 0.01;
              return !meets(first, a, up ? a.y : a.y + a.h) || !meets(last, b, up ? b.y + b.h : b.y) ||
                     p.some((point, k) => k && (up ? point.y > p[k - 1].y : point.y < p[k - 1].y));
            }).map(wire => wire.from + " to " + wire.to)"""
        going_up = "picture.wires.filter(wire => picture.boxes.get(wire.from).y > picture.boxes.get(wire.to).y).length"
        for name in ("gpt-block", "llama-32", "mutual"):
            for part in ("written", "simplified"):
                evaluate = self.drawing(name, part)
                for state in ("close",) if name == "mutual" else ("close", "open"):
                    evaluate(f"document.getElementById('{state}').click()")
                    self.assertEqual(evaluate(loose), [], f"{name} {part} {state}")
                    if name == "mutual":
                        self.assertGreater(evaluate(going_up), 0)
                    elif name == "llama-32" or state == "open":
                        self.assertEqual(evaluate(going_up), 0, f"{name} {part} {state}")

    def test_a_drawing_on_a_narrow_page_begins_at_its_edge(self) -> None:
        self.browser.resize(390, 844)
        self.browser.open(self.pages["gpt-block"], "written")
        frame = "document.querySelector('#part-written iframe')"
        self.browser.wait(f"{frame} && {frame}.contentDocument.getElementById('canvas') && {frame}.contentDocument.getElementById('canvas').width > 300")
        left = self.browser.script(f"return {frame}.contentWindow.eval('camera.x')")
        room = self.browser.script(f"return {frame}.contentWindow.eval('size().w - picture.w * camera.zoom')")
        self.browser.resize(1400, 900)
        self.assertLess(room, 0)
        self.assertLessEqual(left, 24)
        self.assertGreaterEqual(left, room - 24)

    def test_classes_are_found_opened_and_followed(self) -> None:
        self.browser.open(self.pages["llama-32"], "egraph")
        self.assertEqual(self.browser.script("return document.querySelectorAll('#classes > details').length"), 150)
        self.browser.click("#class-more")
        self.assertEqual(self.browser.script("return document.querySelectorAll('#classes > details').length"), 300)
        everything = self.browser.script("return document.querySelector('#class-count').textContent")
        self.browser.type("#class-search", "sum-of-products")
        self.browser.wait(f"document.querySelector('#class-count').textContent !== {json.dumps(everything)}")
        self.browser.click("#classes > details summary")
        self.browser.wait("document.querySelector('#classes > details .body')")
        text = self.browser.script("return document.querySelector('#classes > details .body').textContent")
        self.assertIn("by sum-of-products-is-product", text)
        self.browser.click("#classes > details .body a.class")
        label = self.browser.script("return document.querySelector('#classes details[open]').dataset.class")
        self.assertRegex(label, "^[%c][0-9]+$")
        self.take("llama-32-class")

    def test_kernels_show_their_code(self) -> None:
        self.browser.open(self.pages["gpt-block"], "kernels")
        self.browser.click(".step:nth-child(2)")
        self.assertEqual(self.browser.script("return document.querySelectorAll('.step[aria-selected=true]').length"), 1)
        for number, part in ((1, "sums in registers"), (2, "define"), (3, "ret")):
            self.browser.click(f"#step .tabs button:nth-child({number})")
            self.assertIn(part, self.browser.script("return document.querySelector('#code').textContent"))
            self.take(f"gpt-block-code-{number}")

    def test_a_step_of_the_run_leads_to_its_kernel(self) -> None:
        self.browser.open(self.pages["gpt-block"], "run")
        widest = "[...document.querySelectorAll('#lane button')].sort((a, b) => b.offsetWidth - a.offsetWidth)[0]"
        title = self.browser.script(f"const b = {widest}; b.id = 'widest'; return b.title")
        self.browser.click("#widest")
        self.assertEqual(self.shown(), "part-kernels")
        self.assertTrue(title.startswith(self.browser.script("return document.querySelector('#step h2').textContent")))

    def test_steps_on_the_host_say_so(self) -> None:
        self.browser.open(self.pages["top-tokens"], "kernels")
        host = "[...document.querySelectorAll('.step')].find(s => s.style.cssText.includes('host'))"
        self.assertTrue(self.browser.script(f"const b = {host}; if (b) b.click(); return !!b"))
        self.assertIn("runs on the host", self.browser.script("return document.querySelector('#step').textContent"))

    def test_a_search_is_drawn_with_what_it_tried(self) -> None:
        self.browser.open(self.pages["search"])
        self.browser.click("#tab-search")
        self.assertEqual(self.shown(), "part-search")
        self.browser.wait("document.querySelector('#search-chart')")
        trials = self.browser.script("return data.search.trials.length")
        self.assertEqual(self.browser.script("return document.querySelectorAll('#search-chart .trial').length"), trials)
        self.assertGreater(self.browser.script("return document.querySelectorAll('#search-chart .so-far').length"), 0)
        inside = """
            const box = document.querySelector('#search-chart').getBoundingClientRect();
            return [...document.querySelectorAll('#search-chart text, #search-chart .trial')].filter(e => {
              const b = e.getBoundingClientRect();
              return b.left < box.left || b.right > box.right + 1 || b.top < box.top || b.bottom > box.bottom;
            }).map(e => e.textContent);"""
        self.assertEqual(self.browser.script(inside), [])
        self.take("search")
        self.browser.script("const s = document.querySelector('#search-kernel'); s.value = '0'; s.onchange()")
        shown = self.browser.script("return document.querySelectorAll('#search-chart .trial').length")
        self.assertEqual(shown, self.browser.script("return data.search.trials.filter(t => t[0] === 0).length"))
        self.assertEqual(self.browser.script(inside), [])
        self.take("search-one-kernel")

    def test_trials_say_what_became_of_them(self) -> None:
        self.browser.open(self.pages["all-outcomes"], "search")
        self.browser.wait("document.querySelector('#search-chart')")
        count = lambda kind: self.browser.script(f"return document.querySelectorAll('#search-chart .trial.{kind}').length")
        self.assertEqual([count(kind) for kind in ("best", "slower", "rejected")], [4, 2, 2])
        legend = self.browser.script("return document.querySelector('#search-legend').textContent")
        for words in ("became the best", "slower", "rejected", "used in the plan", "best so far"):
            self.assertIn(words, legend)
        chart = self.browser.script("return [...document.querySelectorAll('#search-chart text')].map(t => t.textContent)")
        self.assertIn("time since the search began", chart)
        self.assertIn("0.2 s", chart)  # less than a second is told apart
        self.assertIn("known before", chart)
        self.assertIn("time against the default schedule (logarithmic)", chart)
        self.browser.click("#search-chart .trial.rejected")
        said = self.browser.script("return document.querySelector('#trial').textContent")
        self.assertIn("wrong result", said)
        self.assertIn(NASTY, said)
        self.browser.click("#trials-table tbody tr:nth-child(3)")
        self.assertIn("tiles 6x16", self.browser.script("return document.querySelector('#trial').textContent"))
        self.assertIn("0.60", self.browser.script("return document.querySelector('#trial').textContent"))
        self.assertEqual(self.browser.script("return document.querySelector('#search-chart .chosen').dataset.trial"), "2")
        rows = self.browser.script("return [...document.querySelectorAll('#rejected-table tbody tr')].map(r => r.textContent)")
        self.assertEqual(len(rows), 2)
        self.assertIn("it did not end within 100 ms", rows[1])
        self.assertIn("disturbed the times", self.browser.script("return document.querySelector('#part-search').textContent"))
        self.assertIsNone(self.browser.script("return window.bad === undefined ? null : window.bad"))
        self.take("all-outcomes")

    def test_a_recalled_search_says_so(self) -> None:
        self.browser.open(self.pages["recalled"], "search")
        self.browser.wait("document.querySelector('#search-chart')")
        text = self.browser.script("return document.querySelector('#part-search').textContent")
        self.assertIn("Recalled from the database", text)
        self.assertNotIn("time since the search began", text)
        self.assertEqual(self.browser.script("return document.querySelectorAll('#search-chart .trial').length"), 8)
        self.take("recalled")

    def test_every_part_of_an_explanation_opens(self) -> None:
        for name in ("explain-gpt-block", "explain-llama-32"):
            self.browser.open(self.pages[name])
            for part in ("limits", "why", "memory"):
                self.browser.click("#tab-" + part)
                self.assertEqual(self.shown(), "part-" + part)
                self.take(f"{name}-{part}")
            self.assertLess(self.browser.script("return document.querySelectorAll('*').length"), 20000)

    def test_times_stand_beside_what_is_possible(self) -> None:
        self.browser.open(self.pages["explain-gpt-block"])
        widths = self.browser.script("return [...document.querySelectorAll('#bars .time')].map(b => b.offsetWidth)")
        self.assertGreater(len(widths), 5)
        self.assertEqual(widths, sorted(widths, reverse=True))
        self.assertIn("of best", self.browser.script("return document.querySelector('#bars').textContent"))

    def test_more_than_the_best_is_explained(self) -> None:
        self.browser.open(self.pages["quick"])
        self.assertIn("136 % of best", self.browser.script("return document.querySelector('#bars').textContent"))
        self.assertIn("nearer cache", self.browser.script("return document.querySelector('#above-best').textContent"))

    def test_steps_have_the_numbers_of_the_text(self) -> None:
        said = subprocess.run([self.luminal, "explain", "gpt-block", "--no-times", "--all"], check=True, capture_output=True, text=True, env=self.environment).stdout
        every_run = said[said.index("in every run:") : said.index("Kernels")]
        numbers = [int(number) for number in re.findall(r"^ +([0-9]+)\.  ", every_run, re.M)]
        self.assertGreater(numbers[0], 1)
        self.browser.open(self.pages["explain-gpt-block"])
        cells = "return [...document.querySelectorAll('#steps-table td:first-child')].map(c => +c.textContent)"
        self.assertEqual(self.browser.script(cells), numbers)
        self.browser.click("#tab-memory")
        memory = self.browser.script("return document.querySelector('#part-memory').textContent")
        self.assertIn("at step " + re.search(r"\(step ([0-9]+)\)", said)[1], memory)
        ends = self.browser.script("return [...document.querySelectorAll('#arena text')].map(t => t.textContent)")
        self.assertEqual(ends[-2:], [f"step {numbers[0]}", f"step {numbers[-1]}"])
        self.browser.open(self.pages["gpt-block"], "run")
        cells = "return [...document.querySelectorAll('#part-run table td:first-child')].map(c => +c.textContent)"
        self.assertEqual(sorted(self.browser.script(cells)), numbers)

    def test_loops_have_the_dims_of_the_graph(self) -> None:
        self.browser.open(self.pages["llama-32"], "kernels")
        loops = "\n".join(self.browser.script("return data.loops"))
        self.assertIn("past + 1", loops)
        self.assertIsNone(re.search(r"\bS[0-9]", loops))

    def test_columns_sort_both_ways(self) -> None:
        self.browser.open(self.pages["explain-llama-32"])
        heads = self.browser.script("return [...document.querySelectorAll('#steps-table th')].map(h => h.textContent)")
        column = heads.index("times") + 1
        cells = f"return [...document.querySelectorAll('#steps-table td:nth-child({heads.index('no.') + 1})')].map(c => +c.textContent)"
        in_order = self.browser.script(cells)
        self.assertEqual(in_order, sorted(in_order))
        self.browser.click("#steps-table th:nth-child(1)")
        self.assertEqual(self.browser.script(cells), sorted(in_order, reverse=True))
        self.browser.click("#steps-table th:nth-child(1)")
        self.assertEqual(self.browser.script(cells), sorted(in_order))
        self.browser.click(f"#steps-table th:nth-child({column})")
        self.assertEqual(self.browser.script("return document.querySelectorAll('#steps-table th[aria-sort=descending]').length"), 1)

    def test_a_step_leads_to_the_reasons_of_its_kernel(self) -> None:
        self.browser.open(self.pages["explain-gpt-block"])
        self.browser.click("#steps-table tbody tr:first-child")
        self.assertEqual(self.shown(), "part-why")
        self.assertEqual(self.browser.script("return document.querySelector('#reason h2').textContent"), "layer_norm")
        text = self.browser.script("return document.querySelector('#reason').textContent")
        self.assertIn("Why not more is fused", text)
        self.assertIn("it would cost more by the model", text)
        self.browser.click("#reasons .step:nth-child(5)")
        self.assertIn("attention", self.browser.script("return document.querySelector('#reason h2').textContent"))

    def test_memory_is_drawn_over_the_run(self) -> None:
        self.browser.open(self.pages["explain-gpt-block"], "memory")
        self.assertGreater(self.browser.script("return document.querySelectorAll('#arena rect').length"), 4)
        inside = """
            const box = document.querySelector('#arena').getBoundingClientRect();
            return [...document.querySelectorAll('#arena rect')].every(r => {
              const b = r.getBoundingClientRect();
              return b.left >= box.left && b.right <= box.right + 1 && b.top >= box.top && b.bottom <= box.bottom;
            });"""
        self.assertTrue(self.browser.script(inside))

    def test_text_of_users_stays_text(self) -> None:
        self.browser.open(self.pages["nasty"])
        for part in ("written", "egraph", "kernels", "limits", "why", "memory", "run"):
            self.browser.click("#tab-" + part)
        self.browser.click("#tab-egraph")
        self.assertIn(NASTY, self.browser.script("return document.querySelector('#classes').textContent"))
        self.assertIsNone(self.browser.script("return window.bad === undefined ? null : window.bad"))
        self.assertEqual(self.browser.script("return document.querySelectorAll('main img, main b b').length"), 0)

    def test_light_and_dark(self) -> None:
        self.browser.open(self.pages["gpt-block"], "simplified")
        before = self.browser.script("return document.documentElement.dataset.theme")
        inside = "document.querySelector('iframe').contentDocument"
        self.browser.wait(f"{inside} && {inside}.getElementById('canvas')")
        self.browser.click("#theme")
        after = self.browser.script("return document.documentElement.dataset.theme")
        self.assertNotEqual(before, after)
        self.browser.wait(f"{inside}.documentElement.dataset.theme === '{after}'")
        self.take("gpt-block-" + after)

    def test_nothing_hangs_over_the_edge_at_any_size(self) -> None:
        over = """
            const section = [...document.querySelectorAll('main > section')].find(s => !s.hidden);
            return Math.max(document.documentElement.scrollWidth - innerWidth, section.scrollWidth - section.clientWidth);"""
        for width, height in ((360, 740), (768, 1000), (1280, 800), (1920, 1080)):
            self.browser.resize(width, height)
            for name in ("gpt-block", "explain-gpt-block", "all-outcomes"):
                self.browser.open(self.pages[name])
                self.assertEqual(self.browser.script("return innerWidth"), width)
                for part in self.browser.script("return [...document.querySelectorAll('#tabs button')].map(b => b.id.slice(4))"):
                    self.browser.click("#tab-" + part)
                    self.assertLessEqual(self.browser.script(over), 0, f"{name} {part} at {width}")
                    self.take(f"size-{width}-{name}-{part}")
        self.browser.resize(1400, 900)

    def test_tabs_are_one_row_and_the_chosen_one_is_in_view(self) -> None:
        for width in (360, 768, 1280):
            self.browser.resize(width, 800)
            self.browser.open(self.pages["gpt-block"])
            self.assertEqual(self.browser.script("return new Set([...document.querySelectorAll('#tabs button')].map(b => b.offsetTop)).size"), 1)
            self.browser.click("#tab-run")
            box = self.browser.script("const b = document.querySelector('#tab-run').getBoundingClientRect(); return [b.left, b.right]")
            self.assertGreaterEqual(box[0], 0)
            self.assertLessEqual(box[1], width)
        self.browser.resize(1400, 900)

    def test_fit_shows_the_whole_graph(self) -> None:
        frame = "document.querySelector('#part-written iframe').contentWindow"
        for name in ("gpt-block", "llama-32"):
            for width in (360, 768, 1280):
                self.browser.resize(width, 800)
                self.browser.open(self.pages[name], "written")
                self.browser.wait(f"{frame}.document.getElementById('fit') && {frame}.document.getElementById('fit').onclick")
                self.browser.script(f"{frame}.document.getElementById('open').click(); {frame}.document.getElementById('fit').click()")
                edges = self.browser.script(
                    f"return {frame}.eval('[camera.x, camera.y, size().w - camera.x - picture.w * camera.zoom, '"
                    " + 'size().h - camera.y - picture.h * camera.zoom, document.documentElement.clientWidth - size().w]')"
                )
                self.assertGreaterEqual(min(edges), 0, f"{name} at {width}: {edges}")
                self.take(f"fit-{name}-{width}")
        self.browser.resize(1400, 900)


def main() -> int:
    for program in ("chromedriver", "chromium"):
        if shutil.which(program) is None:
            print(f"skipped: there is no {program}; Debian has it in chromium and chromium-driver")
            return SKIPPED
    Page.luminal = sys.argv[1]
    if len(sys.argv) > 2:
        Page.pictures = pathlib.Path(sys.argv[2])
        Page.pictures.mkdir(parents=True, exist_ok=True)
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
