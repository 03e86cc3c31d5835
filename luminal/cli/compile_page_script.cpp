#include "luminal/cli/compile_page.h"

namespace luminal::cli {

const std::string_view kCompilePageScript = R"js(
const PAGE_OF_CLASSES = 150;  // as many are made at a time

// Parts of the page. Each is filled when it is first shown.

const steps = data.steps.filter(step => !step.prepare);
const prepare = data.steps.filter(step => step.prepare);
const runTotal = data.run.reduce((sum, step) => sum + step.us, 0);
const estimate = steps.reduce((sum, step) => sum + step.estimate, 0);

function showOverview(section) {
  const card = (value, what) => make("div", {class: "card"}, make("b", {}, value),
                                     make("span", {}, what));
  const launches = steps.filter(step => step.kind === "launch").length;
  const byRules = data.classes.reduce((n, c) => n + c[3].filter(node => node[2]).length, 0);
  const distinct = new Set(steps.map(step => step.code).filter(code => code >= 0)).size;
  if (data.saved) section.append(make("p", {class: "muted", id: "saved"}, data.saved));
  const compiled = (...cards) => data.saved ? [] : cards;  // of a saved plan nothing is known of it
  section.append(make("h2", {}, "What became of it"), make("div", {class: "cards"},
    ...compiled(card(data.nodesWritten?.toLocaleString("en"), "nodes as written")),
    card(data.nodesSimplified.toLocaleString("en"), "nodes after passes"),
    ...compiled(card(data.classes.length.toLocaleString("en"), "classes of equal tensors"),
                card(byRules.toLocaleString("en"), "definitions found by rules")),
    card(String(launches), "kernel launches of a run"),
    ...compiled(card(String(distinct), "different pieces of code"),
                card(duration(data.compileSeconds * 1e6),
                     data.search ? "to search and compile" : "to compile")),
    card(data.run.length ? duration(data.runMicroseconds || runTotal) : duration(estimate),
         data.run.length ? "one run, measured" : "one run, estimated")));
  const dims = Object.entries(data.dims);
  if (dims.length) section.append(make("p", {class: "muted"},
    "Dims: " + dims.map(([name, value]) => name + " = " + value).join(", ")));
  if (data.run.length) {
    const kinds = new Map();  // equal layers are one line
    for (const step of data.run) {
      const key = step.name + "  " + step.type, kind = kinds.get(key) || {step, count: 0, us: 0};
      kind.count++;
      kind.us += step.us;
      kinds.set(key, kind);
    }
    const longest = [...kinds.values()].sort((a, b) => b.us - a.us).slice(0, 10);
    section.append(make("h2", {}, "Where a run spends its time"),
      table(["steps", "result", "#how many", "#time of all", "#share"], longest.map(kind =>
        [kind.step.name, kind.step.type, String(kind.count), duration(kind.us),
         (100 * kind.us / runTotal).toFixed(1) + " %"])));
  }
  if (data.passes.length) section.append(make("h2", {}, "Passes that changed something"),
    table(["pass", "#round", "#nodes before", "#after", "#time"], data.passes.map(pass =>
      [pass.name, String(pass.round), String(pass.before), String(pass.after), duration(pass.us)])));
  if (data.rules.length) section.append(make("h2", {}, "Rules that matched"),
    table(["rule", "ruleset", "#matches", "#rows visited", "#time"],
      [...data.rules].sort((a, b) => b.us - a.us).map(rule =>
        [rule.name, rule.ruleset, String(rule.matches), String(rule.rows), duration(rule.us)])));
}

function showDrawing(section, html) {
  section.classList.add("whole");
  const frame = make("iframe", {title: "graph"});
  frame.srcdoc = html;
  frame.onload = () => dressFrame(frame);
  section.append(frame);
}

// The e-graph: classes are lines until they are opened.

const classAt = new Map(data.classes.map((each, k) => [each[0], k]));
let shownClasses = [], classList = null, classMore = null, classSearch = null;
function searchText(each) {
  if (!each.text)
    each.text = (each[0] + " " + each[1] + " " + each[2].join(" ") + " " +
                 each[3].map(n => n[0] + " " + n[1] + " " + n[2]).join(" ")).toLowerCase();
  return each.text;
}
function classLink(label) {
  return make("a", {class: "class", onclick: () => goToClass(label)}, label);
}
function fillClass(body, each) {
  for (const [, text, rule] of each[3])
    body.append(make("div", {class: "node"}, make("code", {}, text), " ",
                     rule ? make("span", {class: "by"}, "by " + rule) : null));
  const reads = [...new Set(each[3].flatMap(node => node[3]))];
  if (reads.length) body.append(make("div", {}, make("span", {class: "muted"}, "reads "),
                                     ...reads.map(classLink)));
  if (each[4].length) body.append(make("div", {}, make("span", {class: "muted"}, "read by "),
                                       ...each[4].map(classLink)));
}
function classLine(each) {
  const ops = [...new Set(each[3].map(node => node[0]))].join(", ");
  const byRules = each[3].filter(node => node[2]).length;
  const line = make("details", {"data-class": each[0]}, make("summary", {},
    make("b", {}, each[0]), make("code", {}, each[1]), make("span", {class: "ops"}, ops),
    each[2].length ? make("span", {}, each[2].join(" ")) : null,
    byRules ? make("span", {class: "tag"}, "+" + byRules + " by rules") : null));
  line.ontoggle = () => {
    if (!line.open || line.lastChild.className === "body") return;
    const body = make("div", {class: "body"});
    fillClass(body, each);
    line.append(body);
  };
  return line;
}
function addClasses(count) {
  const from = classList.childElementCount;
  for (const each of shownClasses.slice(from, from + count)) classList.append(classLine(each));
  const left = shownClasses.length - classList.childElementCount;
  classMore.hidden = left <= 0;
  classMore.textContent = "Show more (" + left + " left)";
}
function findClasses(text) {
  const wanted = text.trim().toLowerCase().split(/\s+/).filter(word => word);
  shownClasses = data.classes.filter(each => wanted.every(w => searchText(each).includes(w)));
  byId("class-count").textContent = shownClasses.length + " of " + data.classes.length + " classes";
  classList.replaceChildren();
  addClasses(PAGE_OF_CLASSES);
}
function goToClass(label) {
  if (!shownClasses.some(each => each[0] === label)) { classSearch.value = ""; findClasses(""); }
  const at = shownClasses.indexOf(data.classes[classAt.get(label)]);
  if (at < 0) return;
  addClasses(Math.max(0, at + 20 - classList.childElementCount));
  const line = classList.children[at];
  line.open = true;
  line.scrollIntoView({block: "center"});
}
function showEGraph(section) {
  classSearch = make("input", {type: "search", id: "class-search", spellcheck: "false",
    placeholder: "op, name, shape, rule or %id"});
  classList = make("div", {id: "classes"});
  classMore = make("button", {id: "class-more", onclick: () => addClasses(PAGE_OF_CLASSES)});
  const rulesOnly = make("button", {onclick: () => {
    classSearch.value = "";
    findClasses("");
    shownClasses = shownClasses.filter(each => each[3].some(node => node[2]));
    byId("class-count").textContent = shownClasses.length + " of " + data.classes.length + " classes";
    classList.replaceChildren();
    addClasses(PAGE_OF_CLASSES);
  }}, "Touched by rules");
  let waiting = 0;
  classSearch.oninput = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => findClasses(classSearch.value), 120);
  };
  section.append(make("div", {class: "bar"}, classSearch, rulesOnly,
    make("span", {class: "muted", id: "class-count"})), classList, classMore);
  findClasses("");
}

// Kernels: steps on the left, one of them on the right.

let shownStep = null;
function stepButton(step, k, most) {
  const time = measured(step), us = time === null ? step.estimate : time;
  const button = make("button", {class: "step", style: kindColor(step.kind),
      "data-step": k, onclick: () => chooseStep(k)},
    make("div", {class: "line"}, make("b", {}, step.label || step.kind),
         make("span", {}, step.prepare ? "once" : us > 0 ? (time === null ? "~" : "") + duration(us) : "")),
    make("small", {}, step.type + (step.schedule ? "  \u00b7  " + step.schedule.split(" ")[0] : "") +
                      (step.byRules ? "  \u00b7  by rules" : "")));
  if (!step.prepare && us > 0)
    button.append(make("div", {class: "share", style: "width: " + (100 * us / most).toFixed(2) + "%"}));
  return button;
}
// Steps of the run are those of the plan in the same order; what is prepared did not run again.
function measured(step) {
  if (data.run.length !== steps.length || step.prepare) return null;
  return data.run[steps.indexOf(step)].us;
}
function showStep(k) {
  shownStep = k;
  openTab("kernels");
  const step = data.steps[k], panel = byId("step");
  for (const button of document.querySelectorAll(".step"))
    button.setAttribute("aria-selected", button.dataset.step === String(k));
  const time = measured(step);
  panel.replaceChildren(make("h2", {}, step.label || step.kind));
  const list = make("dl", {});
  const field = (name, value) => value && list.append(make("dt", {}, name), make("dd", {}, value));
  field("step", String(k + 1));
  field("result", step.type);
  field("node", step.node < 0xffffffff ? "%" + step.node + (step.byRules ? ", made by rules" : "") : "");
  field("kind", {launch: "a launch of generated code", host: "runs on the host", copy: "a copy",
                 check: "a check of positions"}[step.kind] + (step.prepare ? ", once per weights" : ""));
  field("schedule", step.schedule);
  field("estimated", step.estimate > 0 ? duration(step.estimate) : "");
  field("measured", time === null ? "" : duration(time));
  if (step.code >= 0) field("shared by", amount(data.steps.filter(s => s.code === step.code).length, "step"));
  panel.append(list);
  const texts = [];
  if (step.loops >= 0) texts.push(["Loops", data.loops[step.loops]]);
  if (step.code >= 0)
    texts.push(["LLVM IR", data.code[step.code].ir], ["Assembly", data.code[step.code].assembly]);
  if (!texts.length) {
    panel.append(make("p", {class: "muted"}, data.saved && step.kind === "launch" ?
      "A plan holds the machine code of its kernels, not their text." : "No code of its own."));
    return;
  }
  const bar = make("div", {class: "tabs"}), pre = make("pre", {id: "code"});
  const open = name => {
    for (const button of bar.children) button.setAttribute("aria-selected", button.textContent === name);
    pre.textContent = texts.find(text => text[0] === name)[1];
  };
  for (const [name] of texts) bar.append(make("button", {onclick: () => open(name)}, name));
  panel.append(bar, pre);
  open(texts[0][0]);
}
// Where both halves stand below each other, the step that was asked for comes into view.
function chooseStep(k) {
  showStep(k);
  const panel = byId("step");
  if (panel.getBoundingClientRect().top > innerHeight / 2) panel.scrollIntoView();
}
function showKernels(section) {
  const most = Math.max(1e-9, ...steps.map(step => measured(step) ?? step.estimate));
  const left = make("div", {id: "steps"});
  data.steps.forEach((step, k) => { if (!step.prepare) left.append(stepButton(step, k, most)); });
  if (prepare.length) left.append(make("h2", {}, "Made once of weights and constants"));
  data.steps.forEach((step, k) => { if (step.prepare) left.append(stepButton(step, k, most)); });
  section.append(make("div", {class: "split"}, left, make("div", {id: "step"})));
  if (shownStep === null && data.steps.length)
    showStep(data.steps.indexOf(steps.length ? steps[0] : prepare[0]));
}

// One run on a line of time.

const hues = new Map();  // one colour for equal steps
function hueOf(name) {
  if (!hues.has(name)) hues.set(name, (168 + 67 * hues.size) % 360);
  return hues.get(name);
}
function showRun(section) {
  const lane = make("div", {class: "lane", id: "lane"});
  const planSteps = data.run.length === steps.length ? steps : null;
  let at = 0;
  data.run.forEach((step, k) => {
    lane.append(make("button", {title: step.name + "  " + step.type + "  " + duration(step.us),
      style: "left:" + 100 * at / runTotal + "%;width:" + 100 * step.us / runTotal + "%;" +
             "--kind: hsl(" + hueOf(step.name) + " 45% 42%)",
      onclick: () => planSteps && showStep(data.steps.indexOf(planSteps[k]))},
      100 * step.us / runTotal > 4 ? step.name : ""));
    at += step.us;
  });
  section.append(make("h2", {}, "One run, step after step"), lane,
    make("div", {class: "axis"}, make("span", {}, "0"), make("span", {}, duration(runTotal / 2)),
         make("span", {}, duration(runTotal))));
  const order = data.run.map((step, k) => [step, k]).sort((a, b) => b[0].us - a[0].us).slice(0, 200);
  section.append(make("h2", {}, "By time"), table(["#no.", "step", "result", "#time", "#share"],
    order.map(([step, k]) => [String(prepare.length + k + 1), step.name, step.type, duration(step.us),
                              (100 * step.us / runTotal).toFixed(1) + " %"])));
}

// Tabs.

const written = [["written", "As written", data.nodesWritten, s => showDrawing(s, data.drawings.written)]];
const egraph = [["egraph", "E-graph", data.classes.length, showEGraph]];
const tabs = [["overview", "Overview", "", showOverview], ...(data.saved ? [] : written),
  ["simplified", "After passes", data.nodesSimplified, s => showDrawing(s, data.drawings.simplified)],
  ...(data.saved ? [] : egraph), ["kernels", "Kernels", steps.length, showKernels]];
tabs.push(...explanationTabs(data.explanation));
if (data.search)
  tabs.push(["search", "Search", data.search.trials.length, s => showSearch(s, data.search)]);
if (data.run.length) tabs.push(["run", "Run", data.run.length, showRun]);
startPage(data.title, tabs);
)js";

}  // namespace luminal::cli
