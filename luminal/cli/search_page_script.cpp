#include "luminal/cli/compile_page.h"

namespace luminal::cli {

const std::string_view kSearchPageScript = R"js(
// The search: what was tried when, and what became of it.

const MOST_TRIAL_ROWS = 300;
const secondsText = s => s.toFixed(s < 10 ? 2 : 1) + " s";

// Trials with names instead of places. Those that the database had come first for each kernel.
function trialsOf(search) {
  const names = search.kernels.map(k => k.label + (k.shapes ? " (" + k.shapes + ")" : ""));
  search.kernels.forEach((k, n) => {
    const is_one_of_many = names.filter(name => name === names[n]).length > 1;
    k.name = names[n] + (is_one_of_many ? " " + k.identity.slice(0, 6) : "");
    k.known = k.best = Infinity;
    const explained = data.explanation.kernels.find(each => each.identity === k.identity);
    const used = explained && explained.ways.find(way => way.used);
    k.usedWay = used ? used.schedule : null;
    k.uses = explained ? explained.uses : 0;
  });
  const trials = search.trials.map(([kernel, at, us, spread, way, why, detail, isDefault], number) =>
    ({number, of: search.kernels[kernel], at, us, spread, way, why, detail, isDefault}));
  for (const trial of trials) if (trial.us > 0) {
    const k = trial.of;
    if (trial.isDefault || !k.base) k.base = trial.us;
    if (trial.at === null) k.known = Math.min(k.known, trial.us);
  }
  for (const trial of trials) {
    const k = trial.of;
    const is_best = trial.at === null ? trial.us === k.known : trial.us < k.best;
    trial.outcome = trial.us <= 0 ? "rejected" : is_best ? "best" : "slower";
    if (trial.outcome === "best") k.best = trial.us;
    trial.used = trial.us > 0 && trial.way === k.usedWay;
  }
  return trials;
}
const outcomeText = trial => trial.outcome === "rejected" ? "rejected: " + trial.why :
  (trial.outcome === "best" ? trial.at === null ? "best before" : "new best" : "slower") +
  (trial.used ? ", used" : "");
const outcomeNode = trial => make("span", {class: "outcome " + trial.outcome}, outcomeText(trial));
const timeText = trial => trial.us > 0 ? duration(trial.us) : "";
const whenText = trial => trial.at === null ? "before" : secondsText(trial.at);
const againstText = trial => trial.us > 0 && trial.of.base ?
  (trial.us / trial.of.base).toFixed(2) + " \u00d7" : "";

// ---- The chart. One kernel has times; all of them are compared with their default schedules.

function niceStep(least) {
  const unit = Math.pow(10, Math.floor(Math.log10(least)));
  return unit * [1, 2, 5, 10].find(n => n * unit >= least * 0.9999);
}
function ticksOf(low, high, most) {
  const ticks = [];
  if (high / low > 8) {  // decades, with as much between them as there is room for
    const decades = Math.log10(high / low), parts = decades > most ? [1] : decades > most / 3 ? [1, 3] : [1, 2, 5];
    for (let unit = Math.pow(10, Math.floor(Math.log10(low))); unit <= high; unit *= 10)
      for (const part of parts) if (part * unit >= low && part * unit <= high) ticks.push(part * unit);
    return ticks;
  }
  const step = niceStep((high - low) / most);
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at);
  return ticks;
}

// Where things are: a strip for what was rejected above, one for what was known before on the left.
function scalesOf(trials, value, width) {
  const timed = trials.filter(trial => trial.at !== null), known = trials.filter(trial => trial.at === null);
  const height = width < 500 ? 280 : 340, left = 62, right = width - 16, top = 58, bottom = height - 42;
  const strip = !known.length ? 0 : timed.length ? Math.min(110, 0.2 * (right - left)) : right - left;
  const last = Math.max(0.01, ...timed.map(trial => trial.at));
  const values = trials.filter(trial => trial.us > 0).map(value);
  const low = 0.94 * Math.min(...values, Infinity), high = 1.06 * Math.max(...values, 0);
  const scales = {height, left, right, top, bottom, last, start: left + strip, strip, low, high};
  const place = new Map(known.map((trial, k) => [trial, left + strip * (k + 0.5) / known.length]));
  const inner = strip ? 10 : 4;
  scales.time = at => scales.start + inner + (right - scales.start - inner - 4) * at / last;
  scales.x = trial => trial.at === null ? place.get(trial) : scales.time(trial.at);
  scales.y = v => bottom - (bottom - top) * Math.log(v / low) / Math.log(high / low);
  return scales;
}
function axes(svg, at, all) {
  const text = (x, y, words, anchor) => svg.append(makeSvg("text", {x, y, "text-anchor": anchor || "start"}, words));
  const line = (x1, y1, x2, y2, kind) => svg.append(makeSvg("line", {x1, y1, x2, y2, class: kind}));
  if (at.low < at.high) for (const tick of ticksOf(at.low, at.high, 5)) {
    line(at.left, at.y(tick), at.right, at.y(tick), "grid");
    text(at.left - 6, at.y(tick) + 4, all ? +tick.toPrecision(3) + " \u00d7" : duration(tick), "end");
  }
  text(8, 16, all ? "time against the default schedule (logarithmic)" : "time of one run of the kernel (logarithmic)");
  text(at.left - 6, at.top - 17, "rejected", "end");
  line(at.left, at.top - 8, at.right, at.top - 8, "grid");
  line(at.left, at.top - 8, at.left, at.bottom, "edge");
  line(at.left, at.bottom, at.right, at.bottom, "edge");
  if (at.strip) {
    line(at.start, at.top - 30, at.start, at.bottom, "edge");
    text(at.left + at.strip / 2, at.bottom + 16, "known before", "middle");
    if (at.start >= at.right) return;
  }
  const step = niceStep(at.last / Math.max(2, Math.floor((at.right - at.start) / 80)));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  for (let s = 0; s <= at.last * 1.0001; s += step) {
    line(at.time(s), at.bottom, at.time(s), at.bottom + 4, "edge");
    text(at.time(s), at.bottom + 16, s.toFixed(digits) + " s", s + step > at.last && at.right - at.time(s) < 14 ? "end" : "middle");
  }
  text(at.right, at.height - 8, "time since the search began", "end");
}
// Steps down, from the first time on to the end.
function stepPath(points, at) {
  let path = "";
  for (const [x, value] of points)
    path += (path ? "H" + x.toFixed(1) + "V" : "M" + x.toFixed(1) + " ") + at.y(value).toFixed(1);
  return path + "H" + at.right;
}
function bestLines(svg, trials, at, value, all) {
  const kernels = new Map();
  for (const trial of trials) if (trial.outcome === "best") {
    if (!kernels.has(trial.of)) kernels.set(trial.of, []);
    kernels.get(trial.of).push([at.x(trial), value(trial)]);
  }
  for (const [kernel, points] of kernels)
    svg.append(makeSvg("path", {d: stepPath(points, at), class: all ? "so-far" : "so-far main"},
      makeSvg("title", {}, kernel.name + ": best so far")));
  if (all && kernels.size > 1) planLine(svg, trials, at);
}
// All kernels of the plan as they are used in a run, each at its best so far.
function planLine(svg, trials, at) {
  const now = new Map();
  for (const trial of trials) if (trial.us > 0 && trial.of.uses) now.set(trial.of, trial.of.base);
  const sum = times => [...times].reduce((total, [kernel, us]) => total + kernel.uses * us, 0);
  const first = sum(now), points = [];
  if (!first) return;
  for (const trial of [...trials].sort((a, b) => at.x(a) - at.x(b))) {
    if (trial.outcome !== "best" || !now.has(trial.of)) continue;
    now.set(trial.of, Math.min(now.get(trial.of), trial.us));
    points.push([at.x(trial), sum(now) / first]);
  }
  svg.append(makeSvg("path", {d: stepPath([[at.left, 1], ...points], at), class: "so-far main"},
    makeSvg("title", {}, "all kernels of the plan: best so far")));
}
function mark(trial, at, value, choose) {
  const x = at.x(trial), attributes = {"data-trial": trial.number, onclick: () => choose(trial),
    class: "trial " + trial.outcome + (trial.used ? " used" : "")};
  const title = makeSvg("title", {}, trial.of.name + "\n" + trial.way + "\n" + outcomeText(trial) +
    (trial.us > 0 ? ", " + timeText(trial) : trial.detail ? "\n" + trial.detail : ""));
  if (trial.us > 0) return makeSvg("circle", {cx: x, cy: at.y(value(trial)), r: 4.5, ...attributes}, title);
  const y = at.top - 21;
  return makeSvg("path", {d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`, ...attributes}, title);
}
function searchChart(trials, all, width, choose) {
  const value = all ? trial => trial.us / trial.of.base : trial => trial.us;
  const at = scalesOf(trials, value, width);
  const svg = makeSvg("svg", {viewBox: `0 0 ${width} ${at.height}`, class: "chart", id: "search-chart"});
  axes(svg, at, all);
  bestLines(svg, trials, at, value, all);
  for (const kind of ["slower", "best", "rejected"])  // the best stand in front
    for (const trial of trials) if (trial.outcome === kind) svg.append(mark(trial, at, value, choose));
  return svg;
}
function searchLegend(all) {
  const entry = (words, shape) => make("span", {},
    makeSvg("svg", {viewBox: "0 0 18 12", class: "chart"}, shape), words);
  const dot = kind => makeSvg("circle", {cx: 9, cy: 6, r: 4.5, class: kind});
  return make("div", {class: "keys muted", id: "search-legend"},
    entry("became the best", dot("best")), entry("slower", dot("slower")),
    entry("rejected", makeSvg("path", {d: "M5 2l8 8m0 -8l-8 8", class: "rejected"})),
    entry("used in the plan", makeSvg("circle", {cx: 9, cy: 6, r: 4, class: "best used"})),
    entry("best so far" + (all ? ", all kernels of the plan" : ""), makeSvg("path", {d: "M0 6H18", class: "so-far main"})),
    all ? entry("of one kernel", makeSvg("path", {d: "M0 6H18", class: "so-far"})) : null);
}

// ---- Words around it.

function searchStatus(search) {
  const say = words => make("p", {class: "said-by"}, words), all = [];
  if (search.recalled) all.push(say("Recalled from the database: an earlier search of this program ended with this plan, " +
    "so nothing was measured now. What is shown is what the database holds of the plan's kernels."));
  if (search.unreliable) all.push(say("Other work on the machine disturbed the times; search again when it is quiet."));
  if (search.interrupted) all.push(say("The search was interrupted and ended with what there was."));
  else if (!search.finished && !search.recalled)
    all.push(say("The time was over before everything was tried: a longer search may find more."));
  return all;
}
function searchCards(search, trials) {
  const card = (value, what) => make("div", {class: "card"}, make("b", {}, value), make("span", {}, what));
  // Whole plans are counted apart, as the tab Plans and the text do.
  const isPlan = trial => trial.of.label === "a whole plan";
  const ways = trials.filter(trial => !isPlan(trial)), now = ways.filter(trial => trial.at !== null);
  const cards = make("div", {class: "cards"});
  if (search.fast > 0) cards.append(card(duration(search.best), "one run of the plan that was found"),
    card((search.fast / search.best).toFixed(2) + " \u00d7", "as fast as the cost model's, " + duration(search.fast)));
  cards.append(card(String(now.length), "trials now"), card(String(ways.length - now.length), "known before"),
    card(String(ways.filter(trial => trial.us <= 0).length), "rejected"),
    card(String(new Set(ways.map(trial => trial.of)).size), "kernels tried"),
    card(String(trials.length - ways.length), "timings of whole plans"));
  return cards;
}
function trialTable(id, trials, choose) {
  const head = trials.slice(0, MOST_TRIAL_ROWS);
  const nodes = [sortable(id, ["#at", "kernel", "way", "#time", "#of default", "outcome"], head.map(trial => ({trial, cells: [
    [whenText(trial), trial.at === null ? -1 : trial.at], [trial.of.name, trial.of.name], [trial.way, trial.way],
    [timeText(trial), trial.us], [againstText(trial), trial.us / trial.of.base || 0],
    [outcomeNode(trial), outcomeText(trial)]]})), row => choose(row.trial))];
  if (trials.length > head.length) nodes.push(make("p", {class: "muted"}, amount(trials.length - head.length, "trial") +
    " more; choose a kernel to see its own"));
  return nodes;
}
function rejectedTable(trials, choose) {
  return sortable("rejected-table", ["#at", "kernel", "way", "why", "in detail"], trials.map(trial => ({trial, cells: [
    [whenText(trial), trial.at === null ? -1 : trial.at], [trial.of.name, trial.of.name], [trial.way, trial.way],
    [trial.why, trial.why], [trial.detail, trial.detail]]})), row => choose(row.trial));
}
function showTrial(panel, trial) {
  const list = make("dl", {});
  const field = (name, value) => value && list.append(make("dt", {}, name), make("dd", {}, value));
  field("kernel", trial.of.name);
  field("way", trial.way + (trial.isDefault ? " (the default)" : ""));
  field("outcome", outcomeNode(trial));
  field("reason", trial.detail);
  field("time", trial.us > 0 ? timeText(trial) + " \u00b1 " + duration(trial.spread) + (trial.of.base ?
    ", " + againstText(trial) + " the default" : "") : "");
  field("tried", trial.at === null ? "by an earlier search" : secondsText(trial.at) + " after the search began");
  panel.replaceChildren(list);
}

function showSearch(section, search) {
  const all = trialsOf(search);
  section.append(make("h2", {}, "What the search did"), ...searchStatus(search), searchCards(search, all));
  const holder = make("div", {id: "search-trials"});
  if (all.length) {
    const select = make("select", {id: "search-kernel", "aria-label": "Kernel"}, make("option", {value: ""}, "All kernels"));
    search.kernels.forEach((k, n) => select.append(make("option", {value: n},
      k.name + ", " + amount(all.filter(trial => trial.of === k).length, "trial"))));
    section.append(make("h2", {}, "Trials over time"), make("div", {class: "bar"}, select), holder);
    fillTrials(holder, select, search, all);
  }
  if (search.gains.length) section.append(make("h2", {}, "What tuning gained"),
    table(["kernel", "schedule", "#before", "#after", "#uses"], search.gains.map(gain =>
      [gain.label, gain.schedule, duration(gain.before), duration(gain.after), String(gain.uses)])));
  section.append(make("details", {}, make("summary", {}, "As text"), make("pre", {}, search.text)));
}
function fillTrials(holder, select, search, all) {
  let width = 0, redraw = null;
  const fill = () => {
    const kernel = select.value === "" ? null : search.kernels[+select.value];
    const trials = kernel ? all.filter(trial => trial.of === kernel) : all;
    const rejected = trials.filter(trial => trial.us <= 0);
    const panel = make("div", {id: "trial"}, make("p", {class: "muted"}, "Click a point or a line for what was tried there."));
    const choose = trial => {
      for (const point of holder.querySelectorAll(".trial"))
        point.classList.toggle("chosen", point.dataset.trial === String(trial.number));
      showTrial(panel, trial);
    };
    const place = make("div", {});
    redraw = () => place.replaceChildren(searchChart(trials, !kernel, Math.max(280, width), choose));
    holder.replaceChildren(searchLegend(!kernel), place, panel);
    if (width) redraw();
    if (rejected.length) holder.append(make("h2", {}, "Rejected, and why"), rejectedTable(rejected, choose));
    holder.append(make("h2", {}, "Trials in order"), ...trialTable("trials-table", trials, choose));
  };
  select.onchange = fill;
  fill();
  new ResizeObserver(() => {  // text keeps its size, whatever the width
    if (Math.round(holder.clientWidth) === width) return;
    width = Math.round(holder.clientWidth);
    redraw();
  }).observe(holder);
}
)js";

}  // namespace luminal::cli
