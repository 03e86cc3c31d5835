#include "luminal/graph/drawing_page.h"

namespace luminal::graph {

const std::string_view kDrawingViewerScript = R"js(
"use strict";
const byId = id => document.getElementById(id);
const graph = JSON.parse(byId("graph-data").textContent);
const canvas = byId("canvas"), overview = byId("overview"), pen = canvas.getContext("2d");
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const TITLE = "600 13px " + SANS, SMALL = "11.5px " + SANS, LABEL = "10.5px " + SANS;
const KINDS = ["input", "source", "elementwise", "reduction", "indexing", "barrier", "output"];
const OPEN_LIMIT = 250;  // nodes; larger graphs start with their groups closed

graph.nodes.forEach((node, id) => { node.id = id; node.users = []; });
graph.groups.forEach((group, id) => { group.id = id; group.size = 0; });
for (const node of graph.nodes) {
  for (const operand of node.operands) graph.nodes[operand.node].users.push(node.id);
  for (let g = node.group; g >= 0; g = graph.groups[g].parent) graph.groups[g].size++;
}

let open = new Set(), picture = null, selected = null, hits = [], hit = -1, hitSet = new Set();
let camera = {x: 0, y: 0, zoom: 1}, colors = {}, pending = false;

// Layout.

const amount = (n, what) => n + " " + what + (n === 1 ? "" : "s");
const shorten = (text, most) => text.length > most ? text.slice(0, most - 1) + "\u2026" : text;
const widthOf = (text, font) => { pen.font = font; return Math.ceil(pen.measureText(text).width); };
const isChip = node => node.op === "constant" && node.type.endsWith("[]");
const measure = {
  node(id) {
    const node = graph.nodes[id];
    node.line1 = shorten(node.title, 34);
    node.line2 = shorten(node.subtitle, 44);
    if (isChip(node)) return {w: Math.max(34, widthOf(node.line1, TITLE) + 24), h: 26};
    const w = Math.max(widthOf(node.line1, TITLE), widthOf(node.line2, SMALL)) + 30;
    return {w: Math.max(84, w), h: 44};
  },
  group(id) {
    const group = graph.groups[id];
    group.line1 = shorten(group.label, 48);
    group.line2 = amount(group.size, "node");
    return {w: Math.max(110, widthOf(group.line1, TITLE) + 48), h: 46};
  },
};
function refresh() { picture = layOut(graph, open, measure); redraw(); }

// What a box or search result refers to: "n12" or "g3".
const groupOf = key => key[0] === "n" ? graph.nodes[+key.slice(1)].group
                                      : graph.groups[+key.slice(1)].parent;
function reveal(key) {
  let changed = false;
  for (let g = groupOf(key); g >= 0; g = graph.groups[g].parent)
    if (!open.has(g)) { open.add(g); changed = true; }
  if (changed) refresh();
}
// Opens or closes a group and keeps its corner where it is on the screen.
function toggle(id) {
  const before = picture.boxes.get("g" + id), was = before && {x: before.x, y: before.y};
  open.has(id) ? open.delete(id) : open.add(id);
  refresh();
  const after = picture.boxes.get("g" + id);
  if (was && after) {
    camera.x += (after.x - was.x) * -camera.zoom;
    camera.y += (after.y - was.y) * -camera.zoom;
  }
  if (selected && !picture.boxes.has(selected)) select("g" + id);
  else showDetails();
  redraw();
}

// Camera.

const size = () => ({w: canvas.clientWidth, h: canvas.clientHeight});
function fit() {
  const {w, h} = size(), margin = Math.min(48, 0.06 * Math.min(w, h));
  camera.zoom = Math.min((w - 2 * margin) / picture.w, (h - 2 * margin) / picture.h, 1.15);
  camera.x = (w - picture.w * camera.zoom) / 2;
  camera.y = (h - picture.h * camera.zoom) / 2;
  redraw();
}
// As fit, but readable: tall graphs show their beginning.
function fitReadable() {
  fit();
  if (camera.zoom >= 0.55) return;
  camera.zoom = Math.min(0.8, Math.max(0.55, (size().w - 96) / picture.w));
  const first = [...picture.boxes.values()].filter(box => box.kind && box.y < 60);
  const left = Math.min(...first.map(box => box.x));
  const x = (left + Math.max(...first.map(box => box.x + box.w))) / 2;
  // The first boxes in the middle, but no room beside the graph while some of it is outside.
  const room = size().w - picture.w * camera.zoom, margin = 24;
  camera.x = room >= 0 ? room / 2 :
    Math.min(margin, Math.max(room - margin, size().w / 2 - x * camera.zoom));
  camera.y = 56;
  redraw();
}
function zoomAt(px, py, factor) {
  const zoom = Math.min(4, Math.max(Math.min(0.02, camera.zoom), camera.zoom * factor));
  camera.x = px - (px - camera.x) * zoom / camera.zoom;
  camera.y = py - (py - camera.y) * zoom / camera.zoom;
  camera.zoom = zoom;
  redraw();
}
function center(key) {
  const box = picture.boxes.get(key), {w, h} = size();
  camera.zoom = Math.max(camera.zoom, 0.8);
  camera.x = w / 2 - (box.x + box.w / 2) * camera.zoom;
  camera.y = h / 2 - (box.y + Math.min(box.h, 200) / 2) * camera.zoom;
  redraw();
}

// Drawing.

function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); drawOverview(); });
}
function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of [...KINDS, "page", "dot", "surface", "border", "text", "muted", "wire",
                      "accent", "feeds", "group", "hit"])
    colors[name] = style.getPropertyValue("--" + name).trim();
}
function rounded(x, y, w, h, r) {
  pen.beginPath();
  pen.roundRect(x, y, w, h, Math.min(r, w / 2, h / 2));
}
function prepare(target, context, w, h) {
  const ratio = window.devicePixelRatio || 1;
  if (target.width !== Math.round(w * ratio) || target.height !== Math.round(h * ratio)) {
    target.width = Math.round(w * ratio);
    target.height = Math.round(h * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, w, h);
}
function draw() {
  const {w, h} = size(), {x, y, zoom} = camera;
  prepare(canvas, pen, w, h);
  drawGrid(w, h);
  pen.translate(x, y);
  pen.scale(zoom, zoom);
  const view = {left: -x / zoom, top: -y / zoom, right: (w - x) / zoom, bottom: (h - y) / zoom};
  const inView = box => box.x < view.right && box.x + box.w > view.left &&
                        box.y < view.bottom && box.y + box.h > view.top;
  const boxes = [...picture.boxes.values()].filter(box => box.kind && inView(box));
  for (const box of boxes) if (box.open) drawOpenGroup(box);
  drawWires(view);
  if (camera.zoom >= 0.25) for (const box of boxes) if (box.open) drawHeader(box);
  for (const box of boxes) if (!box.open) box.kind === "n" ? drawNode(box) : drawClosedGroup(box);
}
function drawGrid(w, h) {
  const step = 26 * camera.zoom;
  if (step < 14) return;
  pen.fillStyle = colors.dot;
  for (let px = camera.x % step; px < w; px += step)
    for (let py = camera.y % step; py < h; py += step) pen.fillRect(px, py, 1.6, 1.6);
}
const keyOf = box => box.kind + box.ref;
function outline(box, radius) {
  const key = keyOf(box);
  if (key !== selected && !hitSet.has(key)) return;
  pen.lineWidth = 3;
  pen.strokeStyle = key === selected ? colors.accent : colors.hit;
  rounded(box.x - 2, box.y - 2, box.w + 4, box.h + 4, radius + 2);
  pen.stroke();
}
function drawOpenGroup(box) {
  rounded(box.x, box.y, box.w, box.h, 12);
  pen.globalAlpha = 0.07;
  pen.fillStyle = colors.group;
  pen.fill();
  pen.globalAlpha = 0.55;
  pen.lineWidth = 1.2;
  pen.strokeStyle = colors.group;
  pen.stroke();
  pen.globalAlpha = 1;
  outline(box, 12);
}
// Above the wires, so that they do not cross the name out.
function drawHeader(box) {
  const text = "\u25be  " + graph.groups[box.ref].line1;
  pen.font = TITLE;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.fillStyle = colors.page;
  pen.globalAlpha = 0.8;
  rounded(box.x + 8, box.y + 7, pen.measureText(text).width + 8, 18, 6);
  pen.fill();
  pen.globalAlpha = 1;
  pen.fillStyle = colors.group;
  pen.fillText(text, box.x + 12, box.y + 16);
}
function drawClosedGroup(box) {
  const group = graph.groups[box.ref];
  pen.fillStyle = colors.surface;
  pen.strokeStyle = colors.group;
  pen.lineWidth = 1.4;
  rounded(box.x + 4, box.y + 4, box.w, box.h, 10);  // a second sheet: there is more inside
  pen.fill();
  pen.stroke();
  rounded(box.x, box.y, box.w, box.h, 10);
  pen.fill();
  pen.stroke();
  outline(box, 10);
  drawLines(box, "\u25b8  " + group.line1, group.line2, colors.group);
}
function drawNode(box) {
  const node = graph.nodes[box.ref], chip = isChip(node);
  const color = colors[node.class], round = chip || node.class === "output" ? 22 : 9;
  rounded(box.x, box.y, box.w, box.h, round);
  pen.fillStyle = colors.surface;
  pen.fill();
  pen.globalAlpha = camera.zoom < 0.35 ? 0.55 : 0.13;  // from afar only the colour can be read
  pen.fillStyle = color;
  pen.fill();
  pen.globalAlpha = 1;
  pen.lineWidth = 1.3;
  pen.strokeStyle = color;
  pen.stroke();
  outline(box, round);
  drawLines(box, node.line1, chip ? "" : node.line2, colors.text);
}
function drawLines(box, first, second, color) {
  if (camera.zoom < 0.25) return;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = TITLE;
  pen.fillStyle = color;
  const x = box.x + box.w / 2, y = box.y + box.h / 2;
  pen.fillText(first, x, second ? y - 8 : y + 0.5);
  if (!second || camera.zoom < 0.4) return;
  pen.font = SMALL;
  pen.fillStyle = colors.muted;
  pen.fillText(second, x, y + 10);
}
function drawWires(view) {
  const labels = [];
  for (const wire of picture.wires) {
    const p = wire.points, first = p[0], last = p[p.length - 1];
    if (Math.max(first.y, last.y) < view.top || Math.min(first.y, last.y) > view.bottom) continue;
    const into = selected === wire.to, out = selected === wire.from;
    pen.strokeStyle = into ? colors.accent : out ? colors.feeds : colors.wire;
    pen.lineWidth = (into || out ? 2.4 : 1.3) * Math.max(1, 0.35 / camera.zoom);
    pen.globalAlpha = selected && !into && !out ? 0.45 : 0.9;
    pen.setLineDash(wire.operand.view ? [5, 4] : []);
    pen.beginPath();
    const start = into || out ? 0 : wire.fresh;
    pen.moveTo(p[start].x, p[start].y);
    for (let k = start + 1; k < p.length; k++) {
      const a = p[k - 1], b = p[k], bend = (b.y - a.y) / 2;
      if (Math.abs(a.x - b.x) < 0.5) pen.lineTo(b.x, b.y);
      else pen.bezierCurveTo(a.x, a.y + bend, b.x, b.y - bend, b.x, b.y);
    }
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = pen.strokeStyle;
    pen.beginPath();
    const back = p[p.length - 2].y > last.y ? 7 : -7;
    pen.moveTo(last.x, last.y);
    pen.lineTo(last.x - 3.5, last.y + back);
    pen.lineTo(last.x + 3.5, last.y + back);
    pen.fill();
    labels.push(wire);
  }
  pen.globalAlpha = 1;
  if (camera.zoom >= 0.6) drawLabels(labels, view);
}
// The shape on a wire, a little above its user; one that would cover another is left out.
function drawLabels(wires, view) {
  pen.font = LABEL;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const taken = [];
  for (const wire of wires) {
    const p = wire.points, last = p[p.length - 1], before = p[p.length - 2];
    if (last.y < view.top || last.y - 60 > view.bottom || wire.operand.shape === "[]") continue;
    const text = shorten(wire.operand.shape, 28) + (wire.count > 1 ? " \u00d7" + wire.count : "");
    const w = pen.measureText(text).width + 8;
    const y = last.y - Math.max(-15, Math.min(15, (last.y - before.y) / 2));
    const x = last.x, clash = taken.some(t => Math.abs(t.x - x) < (t.w + w) / 2 &&
                                              Math.abs(t.y - y) < 14);
    if (clash) continue;
    taken.push({x, y, w});
    pen.fillStyle = colors.page;
    pen.globalAlpha = 0.88;
    rounded(x - w / 2, y - 7, w, 14, 4);
    pen.fill();
    pen.globalAlpha = 1;
    pen.fillStyle = wire.operand.view ? colors.accent : colors.muted;
    pen.fillText(text, x, y + 0.5);
  }
}
function drawOverview() {
  const w = 190, h = 130, small = overview.getContext("2d"), {w: cw, h: ch} = size();
  prepare(overview, small, w, h);
  const scale = Math.min((w - 12) / picture.w, (h - 12) / picture.h);
  const dx = (w - picture.w * scale) / 2, dy = (h - picture.h * scale) / 2;
  overview.map = {scale, dx, dy};
  for (const box of picture.boxes.values()) {
    if (!box.kind) continue;
    small.globalAlpha = box.open ? 0.12 : 0.8;
    small.fillStyle = box.kind === "g" ? colors.group : colors[graph.nodes[box.ref].class];
    small.fillRect(dx + box.x * scale, dy + box.y * scale, Math.max(1, box.w * scale),
                   Math.max(1, box.h * scale));
  }
  small.globalAlpha = 1;
  small.strokeStyle = colors.accent;
  small.lineWidth = 1.5;
  small.strokeRect(dx - camera.x / camera.zoom * scale, dy - camera.y / camera.zoom * scale,
                   cw / camera.zoom * scale, ch / camera.zoom * scale);
}

// Details. All text goes in as text, never as markup.

function element(tag, text, name) {
  const result = document.createElement(tag);
  if (text !== undefined) result.textContent = text;
  if (name) result.className = name;
  return result;
}
function link(key, caption, code) {
  const button = element("button", caption, "link");
  if (code) button.append(element("code", code));
  button.onclick = () => { reveal(key); select(key); center(key); };
  return button;
}
const caption = id => {
  const node = graph.nodes[id];
  return "%" + id + "  " + (node.title === node.op ? node.op : node.title + "  (" + node.op + ")");
};
function section(panel, title, children) {
  if (children.length) panel.append(element("h3", title), ...children);
}
function fields(pairs) {
  const list = element("dl");
  for (const [name, value] of pairs)
    if (value) list.append(element("dt", name), element("dd", value));
  return list;
}
function showDetails() {
  const panel = byId("details");
  const wasHidden = panel.hidden;
  panel.hidden = !selected;
  panel.replaceChildren();
  if (wasHidden !== panel.hidden) redraw();
  if (!selected) return;
  const close = element("button", "\u00d7", "close");
  close.onclick = () => select(null);
  panel.append(close);
  selected[0] === "n" ? showNode(panel, graph.nodes[+selected.slice(1)])
                      : showGroup(panel, graph.groups[+selected.slice(1)]);
}
function showNode(panel, node) {
  panel.append(element("h2", node.title), element("div", node.op, "kind"));
  const [dtype] = node.type.split("[");
  panel.append(fields([["id", node.class === "output" ? "" : "%" + node.id], ["name", node.name],
                       ["dtype", dtype], ["shape", node.type.slice(dtype.length)],
                       ["attributes", node.attributes]]));
  section(panel, "Operands", node.operands.map(operand =>
    link("n" + operand.node, caption(operand.node) + "  " + operand.shape, operand.view)));
  section(panel, "Users", [...new Set(node.users)].map(id => link("n" + id, caption(id))));
  const around = [];
  for (let g = node.group; g >= 0; g = graph.groups[g].parent)
    around.push(link("g" + g, graph.groups[g].label));
  section(panel, "Part of", around);
}
function showGroup(panel, group) {
  panel.append(element("h2", group.label), element("div", "named definition", "kind"));
  panel.append(fields([["nodes", String(group.size)]]));
  const button = element("button", open.has(group.id) ? "Close" : "Open");
  button.onclick = () => toggle(group.id);
  panel.append(button);
  section(panel, "Result", [link("n" + group.result, caption(group.result))]);
  section(panel, "Part of", group.parent < 0 ? []
    : [link("g" + group.parent, graph.groups[group.parent].label)]);
}
function select(key) { selected = key; showDetails(); redraw(); }

// Search.

function find(text) {
  const wanted = text.trim().toLowerCase();
  hits = [];
  hit = -1;
  if (wanted) {
    for (const node of graph.nodes)
      if (("%" + node.id + " " + node.op + " " + node.title + " " + node.name + " " + node.type)
            .toLowerCase().includes(wanted)) hits.push("n" + node.id);
    const named = graph.groups.filter(g => g.label.toLowerCase().includes(wanted));
    for (const group of named.sort((p, q) => p.result - q.result)) hits.push("g" + group.id);
  }
  hitSet = new Set(hits);
  showHits();
  redraw();
}
function showHits() {
  byId("hits").textContent = !byId("search").value ? ""
    : hits.length ? (hit + 1) + " / " + hits.length : "none";
}
function nextHit(step) {
  if (!hits.length) return;
  hit = (hit + step + hits.length) % hits.length;
  reveal(hits[hit]);
  select(hits[hit]);
  center(hits[hit]);
  showHits();
}

// Mouse and keyboard.

function boxAt(event) {
  const x = (event.offsetX - camera.x) / camera.zoom, y = (event.offsetY - camera.y) / camera.zoom;
  let best = null;
  for (const box of picture.boxes.values())
    if (box.kind && x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h &&
        (!best || box.depth >= best.depth)) best = box;
  return best;
}
const onCaret = (box, event) =>
  box.kind === "g" && (event.offsetY - camera.y) / camera.zoom < box.y + (box.open ? 30 : box.h) &&
  (event.offsetX - camera.x) / camera.zoom < box.x + 32;
let drag = null;
canvas.onpointerdown = event => {
  drag = {x: event.clientX, y: event.clientY, moved: false};
  canvas.setPointerCapture(event.pointerId);
};
canvas.onpointermove = event => {
  if (!drag) return;
  const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(drag, {x: event.clientX, y: event.clientY, moved: true});
  canvas.classList.add("moving");
  camera.x += dx;
  camera.y += dy;
  redraw();
};
canvas.onpointerup = event => {
  canvas.classList.remove("moving");
  const clicked = drag && !drag.moved;
  drag = null;
  if (!clicked) return;
  const box = boxAt(event);
  if (box && onCaret(box, event)) toggle(box.ref);
  else select(box ? keyOf(box) : null);
};
canvas.ondblclick = event => {
  const box = boxAt(event);
  if (box && box.kind === "g" && !onCaret(box, event)) toggle(box.ref);
};
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoomAt(event.offsetX, event.offsetY, Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)));
}, {passive: false});
overview.onpointerdown = overview.onpointermove = event => {
  if (!event.buttons) return;
  const {scale, dx, dy} = overview.map, {w, h} = size();
  camera.x = w / 2 - (event.offsetX - dx) / scale * camera.zoom;
  camera.y = h / 2 - (event.offsetY - dy) / scale * camera.zoom;
  redraw();
};
byId("search").oninput = event => find(event.target.value);
byId("search").onkeydown = event => {
  if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") { event.target.value = ""; find(""); canvas.focus(); }
};
window.onkeydown = event => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey) return;
  if (event.key === "/") { event.preventDefault(); byId("search").focus(); }
  if (event.key === "f") fit();
  if (event.key === "Escape") select(null);
  if (event.key === "+") zoomAt(size().w / 2, size().h / 2, 1.25);
  if (event.key === "-") zoomAt(size().w / 2, size().h / 2, 0.8);
};
byId("fit").onclick = fit;
byId("open").onclick = () => { open = new Set(graph.groups.map(g => g.id)); refresh(); fit(); };
byId("close").onclick = () => {
  open = new Set();
  refresh();
  if (selected && !picture.boxes.has(selected)) select(null);
  fit();
};
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColors();
  redraw();
}
byId("theme").onclick = () =>
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
// Inside a page, that page has the button.
if (window !== window.parent) byId("theme").style.display = "none";
new ResizeObserver(redraw).observe(canvas);

byId("title").textContent = graph.title;
const outputs = graph.nodes.filter(node => node.class === "output").length;
byId("summary").textContent = [amount(graph.nodes.length - outputs, "node"),
  amount(outputs, "output"), amount(graph.groups.length, "named definition")].join(", ");
for (const kind of KINDS) {
  if (!graph.nodes.some(node => node.class === kind)) continue;
  const entry = element("span", kind);
  entry.style.setProperty("--swatch", "var(--" + kind + ")");
  byId("legend").append(entry);
}
if (graph.nodes.length <= OPEN_LIMIT) open = new Set(graph.groups.map(g => g.id));
picture = layOut(graph, open, measure);
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
fitReadable();
)js";

}  // namespace luminal::graph
