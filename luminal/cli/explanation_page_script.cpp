#include "luminal/cli/explanation_page.h"

namespace luminal::cli {

const std::string_view kExplanationScript = R"js(
// What explains a plan, as tabs: times and limits, kernels and reasons, memory, plans of a search.

const MOST_BARS = 24;
const bytesText = n => n >= 1e9 ? (n / 1e9).toFixed(2) + " GB" : n >= 1e6 ? (n / 1e6).toFixed(2) + " MB" :
  n >= 1e3 ? (n / 1e3).toFixed(1) + " KB" : n.toFixed(0) + " B";
const countText = n => n >= 1e9 ? (n / 1e9).toFixed(2) + " G" : n >= 1e6 ? (n / 1e6).toFixed(2) + " M" :
  n >= 1e3 ? (n / 1e3).toFixed(1) + " k" : n.toFixed(0);
const percentText = part => (100 * part).toFixed(0) + " %";
const stepTime = step => step.measured_us || step.estimated_us || 0;
const stepName = step => step.label + (step.parts ? ", " + step.part + " of " + step.parts : "");

// Equal steps are one: the same kernels in the same launch.
function sumsOf(steps) {
  const sums = new Map();
  steps.forEach(step => {
    const key = [step.kind, step.part, step.schedule, step.kernels.length ? "" : step.label,
                 ...step.kernels].join(" ");
    const sum = sums.get(key) || {step, first: step.number, count: 0, us: 0, floor: 0, bytes: 0, flops: 0,
                                  estimate: 0};
    sum.count++;
    sum.us += step.measured_us || 0;
    sum.floor += step.floor_us || 0;
    sum.bytes += step.bytes || 0;
    sum.flops += step.flops || 0;
    sum.estimate += step.estimated_us || 0;
    sums.set(key, sum);
  });
  return [...sums.values()];
}

// A table whose columns sort at a click. Cells are [text, value]; heads of numbers begin with "#".
function sortable(id, heads, rows, choose) {
  const body = make("tbody", {});
  let by = -1, down = true;
  const fill = () => {
    const order = [...rows];
    if (by >= 0) order.sort((a, b) => {
      const x = a.cells[by][1], y = b.cells[by][1];
      const sign = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -sign : sign;
    });
    body.replaceChildren(...order.map(row => make("tr", choose ? {class: "choice",
        onclick: () => choose(row)} : {},
      ...row.cells.map(([text], k) => make("td", heads[k].startsWith("#") ? {class: "n"} : {}, text)))));
  };
  const cells = heads.map((head, k) => make("th", {class: head.startsWith("#") ? "n sorts" : "sorts",
      "aria-sort": "none", tabindex: "0"}, head.replace("#", "")));
  cells.forEach((cell, k) => {
    const sort = () => {
      down = by === k ? !down : heads[k].startsWith("#");
      by = k;
      cells.forEach(c => c.setAttribute("aria-sort", "none"));
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      fill();
    };
    cell.onclick = sort;
    cell.onkeydown = event => { if (event.key === "Enter") sort(); };
  });
  fill();
  return make("div", {class: "scroll"}, make("table", {id},
    make("thead", {}, make("tr", {}, ...cells)), body));
}

// ---- Times and limits.

function barRow(sum, most, measured) {
  const us = measured ? sum.us : sum.estimate;
  const floor = Math.min(sum.floor, us);
  const bar = make("div", {class: "time-bar"});
  bar.append(make("div", {class: "time", style: "width:" + (100 * us / most).toFixed(2) + "%"}));
  if (sum.floor > 0)
    bar.append(make("div", {class: "floor", style: "width:" + (100 * floor / most).toFixed(2) + "%"}));
  const said = duration(us) + (sum.floor > 0 && us > 0 ? "  \u00b7  " + percentText(sum.floor / us) + " of best" : "");
  return make("div", {class: "bar-row", title: sum.step.implementation + (sum.step.bound ?
      ", bound by " + sum.step.bound : "")},
    make("span", {class: "what"}, (sum.count > 1 ? sum.count + " \u00d7 " : "") + stepName(sum.step)),
    bar, make("span", {class: "said"}, said));
}
function limitCards(all, run) {
  const card = (value, what) => make("div", {class: "card"}, make("b", {}, value), make("span", {}, what));
  const cards = make("div", {class: "cards"});
  const whole = all.run_us || all.measured_us;
  if (whole) cards.append(card(duration(whole), "one run, measured"));
  if (all.run_us) cards.append(card(duration(all.measured_us), "its steps, each timed apart"));
  if (all.floor_us && whole)
    cards.append(card(duration(all.floor_us), "at best, by this machine's limits"),
                 card(percentText(all.floor_us / whole), "of what is possible"));
  if (all.estimated_us) cards.append(card(duration(all.estimated_us), "one run, by the model"));
  cards.append(card(String(run.filter(s => s.kind === "launch").length), "launches of a run"),
               card(String(all.kernels.length), "different kernels"),
               card(bytesText(all.memory.peak_bytes), "most memory between steps"));
  return cards;
}
function showLimits(section, all) {
  const run = all.steps.filter(step => !step.once), sums = sumsOf(run);
  const measured = run.some(step => step.measured_us);
  section.append(make("h2", {}, "How fast, and how fast it could be"), limitCards(all, run));
  if (all.not_run) section.append(make("p", {}, "Not run: " + all.not_run));
  const dims = Object.entries(all.dims);
  const facts = dims.map(([name, value]) => name + " = " + value);
  if (all.machine) {
    facts.push(amount(all.machine.threads, "thread"),
      countText(all.machine.f32_flops_per_second) + "flop/s in f32");
    for (const level of all.machine.reads)
      facts.push(bytesText(level.bytes_per_second) + "/s read of " + bytesText(level.bytes));
  }
  if (facts.length) section.append(make("p", {class: "muted"}, facts.join("  \u00b7  ")));
  const longest = [...sums].sort((a, b) => (measured ? b.us - a.us : b.estimate - a.estimate));
  const most = Math.max(1e-9, ...longest.map(sum => measured ? sum.us : sum.estimate));
  section.append(make("h2", {}, "Where the time goes"));
  if (measured && all.machine) section.append(make("p", {class: "legend muted"},
    make("i", {class: "floor"}), "the least that bytes and products take here", make("i", {class: "time"}),
    "time beyond that"));
  if (sums.some(sum => sum.us > 0 && sum.floor > sum.us)) section.append(make("p", {class: "muted", id: "above-best"},
    "More than 100 % of best: data was still in a nearer cache than the one that holds all of a run, whose limit " +
    "counts, or other work ran while limits were measured."));
  const bars = make("div", {class: "bars", id: "bars"});
  for (const sum of longest.slice(0, MOST_BARS)) bars.append(barRow(sum, most, measured));
  section.append(bars);
  if (longest.length > MOST_BARS) section.append(make("p", {class: "muted"},
    amount(longest.length - MOST_BARS, "shorter step") + " in the table below"));
  const heads = ["#no.", "step", "by", "#times", "#measured", "#at best", "#of best", "bound by",
                 "#estimate", "#bytes", "#flops"];
  const cell = (value, text) => [value > 0 ? text(value) : "", value || 0];
  const rows = sums.map(sum => ({sum, cells: [[String(sum.first), sum.first],
    [stepName(sum.step), stepName(sum.step)], [sum.step.implementation, sum.step.implementation],
    [String(sum.count), sum.count], cell(sum.us, duration), cell(sum.floor, duration),
    cell(sum.us > 0 ? sum.floor / sum.us : 0, percentText), [sum.step.bound || "", sum.step.bound || ""],
    cell(sum.estimate, duration), cell(sum.bytes, bytesText), cell(sum.flops, countText)]}));
  section.append(make("h2", {}, "Steps in order; equal ones are one line"),
    sortable("steps-table", heads, rows, row => row.sum.step.kernels.length &&
             showReasons(row.sum.step.kernels[0])));
}

// ---- Kernels and reasons.

let reasonsOf = null;  // fills the panel of a kernel, once the tab is made
function showReasons(kernel) {
  openTab("why");
  reasonsOf(kernel);
}
function refusedList(refused) {
  return make("ul", {}, ...refused.map(each => make("li", {}, make("b", {}, each.template), ": " + each.why)));
}
function boundaryNode(boundary) {
  const body = make("div", {class: "boundary"}, make("div", {}, make("code", {}, boundary.value),
    boundary.readers.length ? " goes to " + boundary.readers.join(" | ") : ""), make("div", {}, boundary.why));
  if (boundary.fused_us) {
    const most = Math.max(boundary.stored_us, boundary.fused_us);
    for (const [name, us] of [["stored", boundary.stored_us], ["fused", boundary.fused_us]])
      body.append(make("div", {class: "bar-row small"}, make("span", {class: "what"}, name +
          (name === "fused" ? ", by " + boundary.fused_by : "")),
        make("div", {class: "time-bar"}, make("div", {class: name === "stored" ? "floor" : "time",
          style: "width:" + (100 * us / most).toFixed(2) + "%"})), make("span", {class: "said"}, duration(us))));
  }
  if (boundary.refused && boundary.refused.length)
    body.append(make("details", {}, make("summary", {}, "Templates that refuse the fused kernel"),
                     make("div", {class: "body"}, refusedList(boundary.refused))));
  return body;
}
function wayTable(ways) {
  const time = way => way.measured_us || way.estimated_us || 0;
  return sortable("ways-table", ["way", "", "#time"], ways.map(way => ({cells: [
    [way.schedule, way.schedule],
    [way.used ? "used" : way.rejected || way.why || "", way.used ? 0 : way.rejected ? 2 : 1],
    [time(way) ? (way.measured_us ? "" : "~") + duration(time(way)) : "", time(way)]]})));
}
function showWhy(section, all) {
  const list = make("div", {id: "reasons"}), panel = make("div", {id: "reason"});
  const total = kernel => all.steps.filter(s => !s.once && s.kernels.includes(kernel))
    .reduce((sum, s) => sum + stepTime(s) / s.kernels.length, 0);
  const times = all.kernels.map((_, k) => total(k)), most = Math.max(1e-9, ...times);
  all.kernels.forEach((kernel, k) => list.append(make("button", {class: "step", "data-kernel": k,
      style: kindColor("launch"), onclick: () => reasonsOf(k)},
    make("div", {class: "line"}, make("b", {}, kernel.label), make("span", {}, duration(times[k]))),
    make("small", {}, kernel.implementation + (kernel.uses > 1 ? "  \u00b7  " + kernel.uses + " times" : "")),
    make("div", {class: "share", style: "width:" + (100 * times[k] / most).toFixed(2) + "%"}))));
  reasonsOf = k => {
    const kernel = all.kernels[k];
    for (const button of list.children)
      button.setAttribute("aria-selected", button.dataset.kernel === String(k));
    const facts = make("dl", {});
    const field = (name, value) => value && facts.append(make("dt", {}, name), make("dd", {}, value));
    field("fused", kernel.fused.join(", ") + " (" + amount(kernel.nodes, "node") + " of the graph)");
    field("implementation", kernel.implementation);
    field("in a run", amount(kernel.uses, "time"));
    field("estimated", kernel.estimated_us ? duration(kernel.estimated_us) : "");
    field("moves", kernel.bytes ? bytesText(kernel.bytes) : "");
    field("computes", kernel.flops ? countText(kernel.flops) + "flop" + (kernel.defined_flops ?
      " by this algorithm; as it is defined it would take " + countText(kernel.defined_flops) + "flop" : "") : "");
    panel.replaceChildren(make("h2", {}, kernel.label), facts);
    if (kernel.loops) panel.append(make("h2", {}, "The loops of its code"),
                                   make("pre", {class: "loops"}, kernel.loops));
    if (kernel.not_fused.length) panel.append(make("h2", {}, "Why not more is fused"),
      ...kernel.not_fused.map(boundaryNode));
    if (kernel.ways.length) panel.append(make("h2", {}, "Ways to compute it"), wayTable(kernel.ways));
    if (kernel.refused.length) panel.append(make("h2", {}, "Templates that refused it"),
                                            refusedList(kernel.refused));
    if (panel.getBoundingClientRect().top > innerHeight / 2) panel.scrollIntoView();
  };
  section.append(make("div", {class: "split"}, list, panel));
  if (all.kernels.length) reasonsOf(times.indexOf(Math.max(...times)));
}

// ---- Memory: the arena over the steps of a run. Slots lie one above the other.

function memoryDrawing(all) {
  const memory = all.memory, run = all.steps.filter(step => !step.once);
  const buffers = memory.buffers.filter(b => b.place === "arena" && b.first_step !== undefined && b.bytes > 0);
  const wide = Math.min(1400, Math.max(320, innerWidth - 40));  // so that text has its size
  const svg = makeSvg("svg", {viewBox: `0 0 ${wide} 300`, id: "arena"});
  const add = (tag, attributes, title) => {
    const e = makeSvg(tag, attributes, title ? makeSvg("title", {}, title) : null);
    svg.append(e);
    return e;
  };
  const count = Math.max(1, run.length), heights = new Map();
  for (const b of buffers) heights.set(b.slot, Math.max(heights.get(b.slot) || 0, b.bytes));
  const total = Math.max(1, [...heights.values()].reduce((a, b) => a + b, 0));
  const left = 70, width = wide - left - 15, top = 15, height = 255;
  const before = all.steps.length - run.length;  // steps have the numbers that the text gives them
  const x = number => left + width * (number - before - 1) / count, size = bytes => height * bytes / total;
  const offsets = new Map();
  let at = 0;
  for (const slot of [...heights.keys()].sort((a, b) => a - b)) {
    offsets.set(slot, at);
    at += heights.get(slot);
    add("line", {x1: left, x2: left + width, y1: top + height - size(at), y2: top + height - size(at),
                 stroke: "var(--border)"});
  }
  const hues = new Map();
  for (const b of buffers) {
    const maker = all.steps[b.first_step - 1], name = maker ? maker.label : b.name;
    if (!hues.has(name)) hues.set(name, (168 + 67 * hues.size) % 360);
    add("rect", {x: x(b.first_step), width: Math.max(0.8, x(b.last_step + 1) - x(b.first_step)),
      y: top + height - size(offsets.get(b.slot) + b.bytes), height: Math.max(0.8, size(b.bytes)),
      fill: "hsl(" + hues.get(name) + " 45% 50% / 0.75)"},
      b.name + " " + b.type + ", " + bytesText(b.bytes) + "\nstep " + b.first_step + " to " +
      b.last_step + ", made by " + name);
  }
  let path = "M" + left + " " + (top + height);
  memory.live_bytes.forEach((bytes, k) => { path += "V" + (top + height - size(bytes)).toFixed(1) + "H" + x(before + k + 2).toFixed(1); });
  add("path", {d: path, fill: "none", stroke: "var(--text)", "stroke-width": 1.5});
  for (const part of [0, 0.5, 1]) {
    const label = add("text", {x: 6, y: top + height * (1 - part) + 4});
    label.textContent = bytesText(total * part);
  }
  const first = add("text", {x: left, y: 290}), last = add("text", {x: left + width, y: 290, "text-anchor": "end"});
  first.textContent = "step " + (before + 1);
  last.textContent = "step " + all.steps.length;
  return svg;
}
function showMemory(section, all) {
  const memory = all.memory;
  const card = (value, what) => make("div", {class: "card"}, make("b", {}, value), make("span", {}, what));
  section.append(make("h2", {}, "Where everything is"), make("div", {class: "cards"},
    card(bytesText(memory.arena_bytes), "for values between steps, in " + amount(memory.slots, "slot")),
    card(bytesText(memory.peak_bytes), "of that in use at most, at step " + memory.peak_step),
    card(bytesText(memory.input_bytes), "inputs and weights"),
    card(bytesText(memory.prepared_bytes), "made of weights and kept"),
    card(bytesText(memory.constant_bytes), "constants"), card(bytesText(memory.result_bytes), "results")));
  if (memory.slots) section.append(make("h2", {}, "Values between steps, over a run"), memoryDrawing(all),
    make("p", {class: "muted"}, "A rectangle is a tensor from the step that makes it to the last that reads it; " +
         "the line is how much of the memory holds values."));
  if (memory.aliases.length) section.append(make("h2", {}, "What has the memory of another"),
    table(["value", "in the memory of", "why"], memory.aliases.slice(0, 200).map(a => [a.value, a.of, a.why])));
  const kept = memory.buffers.filter(b => b.place !== "thread" && b.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes).slice(0, 200);
  section.append(make("h2", {}, "The largest tensors"), sortable("buffers-table",
    ["name", "type", "place", "#bytes"], kept.map(b => ({cells: [[b.name, b.name], [b.type, b.type],
      [b.place, b.place], [bytesText(b.bytes), b.bytes]]}))));
}

// ---- Plans that a search compared.

function showPlans(section, all) {
  section.append(make("h2", {}, "Plans that were compared"), sortable("plans-table",
    ["plan", "", "#a run", "#its kernels, each alone"], all.search.plans.map(plan => ({cells: [
      [plan.name, plan.name], [plan.used ? "used" : plan.rejected || plan.why || "", plan.used ? 0 : 1],
      [plan.measured_us ? duration(plan.measured_us) : "", plan.measured_us || Infinity],
      [plan.kernels_us ? duration(plan.kernels_us) : "", plan.kernels_us || Infinity]]}))),
    make("p", {class: "muted"}, amount(all.search.trials, "trial") + " now, " + all.search.known + " known before, " +
         all.search.rejected + " rejected" + (all.search.finished ? "" : "; the search was not finished")));
  const model = all.search.model;
  const ranks = q => "rank correlation " + q.rank_correlation.toFixed(2) + ", " +
    (100 * q.pairs_in_order).toFixed(0) + " % of pairs in order, typical factor " + q.typical_factor.toFixed(2);
  if (model) section.append(make("p", {class: "muted"}, "How well the cost model ranks the " + model.kernels +
    " kernels that were ever measured here: " + ranks(model.as_it_is) + "; with constants that fit them: " + ranks(model.fitted)));
}

function explanationTabs(all) {
  const tabs = [["limits", "Time and limits", "", section => showLimits(section, all)],
    ["why", "Why so", all.kernels.length, section => showWhy(section, all)],
    ["memory", "Memory", "", section => showMemory(section, all)]];
  if (all.search && all.search.plans.length) tabs.push(["plans", "Plans", all.search.plans.length, section => showPlans(section, all)]);
  return tabs;
}
)js";

}  // namespace luminal::cli
