#include "luminal/graph/drawing_page.h"

namespace luminal::graph {

const std::string_view kDrawingLayoutScript = R"js(
"use strict";
// A layered layout, done once per open group from the inside out. A container is the page or an
// open group; its items are nodes, groups, and ports where edges cross its border. Each container
// puts its items into layers (operands above users), orders the layers so that few edges cross,
// and moves items sideways towards their neighbours.
const GAP_X = 26, GAP_Y = 44, PAD = 18, HEADER = 30, LANE = 12;

function layOut(graph, open, measure) {
  const paths = graph.nodes.map(node => pathOf(graph, node, open));
  const containers = new Map();
  const containerOf = id => {
    if (!containers.has(id)) containers.set(id, {id, items: new Map(), edges: new Map()});
    return containers.get(id);
  };
  const itemOf = (id, key, make) => {
    const items = containerOf(id).items;
    if (!items.has(key)) items.set(key, Object.assign({key, layer: 0, x: 0, y: 0}, make()));
    return items.get(key);
  };
  for (const path of paths)
    for (const [id, key] of path) itemOf(id, key, () => ({kind: key[0], ref: +key.slice(1)}));
  const port = (id, key, kind) =>
    itemOf(id, kind + key, () => ({kind, ref: -1, w: 0, h: 0}));
  const connect = (id, from, to, producer) => {
    const edges = containerOf(id).edges, key = from + ">" + to + ">" + producer;
    if (!edges.has(key)) edges.set(key, {from, to, producer, points: []});
    return edges.get(key);
  };

  // An edge of the graph is a chain of edges, one per container it passes.
  const wires = [], seen = new Map();
  graph.nodes.forEach((node, user) => node.operands.forEach((operand, k) => {
    const a = paths[operand.node], b = paths[user];
    const from = a[a.length - 1][1], to = b[b.length - 1][1];
    if (from === to) return;
    const key = from + ">" + to + (to[0] === "n" ? "#" + k : "");
    if (seen.has(key)) { seen.get(key).count++; return; }
    let depth = 0;
    while (a[depth][1] === b[depth][1]) depth++;
    // Operands meet a node from left to right; a closed group takes all of them in its middle.
    const slot = to[0] === "n" ? (k + 1) / (node.operands.length + 1) : 0.5;
    const wire = {from, to, slot, operand, count: 1, parts: []};
    for (let d = a.length - 1; d > depth; d--) {
      port(a[d][0], from, "o");
      wire.parts.push([a[d][0], connect(a[d][0], a[d][1], "o" + from, from)]);
    }
    wire.parts.push([a[depth][0], connect(a[depth][0], a[depth][1], b[depth][1], from)]);
    for (let d = depth + 1; d < b.length; d++) {
      port(b[d][0], from, "i");
      wire.parts.push([b[d][0], connect(b[d][0], "i" + from, b[d][1], from)]);
    }
    wire.parts[wire.parts.length - 1][1].slot = slot;
    seen.set(key, wire);
    wires.push(wire);
  }));

  const place = id => {
    const container = containerOf(id);
    for (const item of container.items.values()) {
      if (item.kind === "g" && open.has(item.ref)) {
        item.inner = place(item.ref);
        item.w = Math.max(item.inner.w + 2 * PAD, measure.group(item.ref).w + PAD);
        item.h = item.inner.h + HEADER + PAD;
      } else if (item.kind === "n" || item.kind === "g") {
        Object.assign(item, item.kind === "n" ? measure.node(item.ref) : measure.group(item.ref));
      }
    }
    layOutContainer(container);
    return container;
  };
  const root = place(-1);
  const boxes = new Map();
  settle(root, 0, 0, boxes, 0);
  const drawn = new Set();
  for (const wire of wires) wire.points = pointsOf(wire, boxes, containers);
  spreadOverGroups(wires, boxes);
  for (const wire of wires) wire.fresh = sharedBeginning(wire.points, drawn);
  return {w: root.w, h: root.h, boxes, wires};
}

// Where a node is seen: [container, item] from the page down to the node or a closed group.
function pathOf(graph, node, open) {
  const groups = [];
  for (let g = node.group; g >= 0; g = graph.groups[g].parent) groups.unshift(g);
  const path = [];
  let container = -1;
  for (const g of groups) {
    path.push([container, "g" + g]);
    if (!open.has(g)) return path;
    container = g;
  }
  path.push([container, "n" + node.id]);
  return path;
}

function layOutContainer(container) {
  const items = [...container.items.values()];
  const edges = [...container.edges.values()].map(edge => ({
    edge, from: container.items.get(edge.from), to: container.items.get(edge.to)}));
  breakCycles(items, edges);
  assignLayers(items, edges);
  const {layers, links} = makeLanes(items, edges);
  order(layers, links);
  balance(layers);
  setColumns(layers, links);
  setRows(container, layers);
  for (const {edge, lanes, flipped} of edges)
    edge.points = (flipped ? [...lanes].reverse() : lanes);
}

// Closing groups can close cycles; edges that point back are turned round for the layout.
function breakCycles(items, edges) {
  const outgoing = new Map(items.map(item => [item, []]));
  for (const e of edges) outgoing.get(e.from).push(e);
  const state = new Map();
  for (const start of items) {
    if (state.has(start)) continue;
    const stack = [[start, 0]];
    state.set(start, 1);
    while (stack.length) {
      const top = stack[stack.length - 1], out = outgoing.get(top[0]);
      if (top[1] === out.length) { state.set(top[0], 2); stack.pop(); continue; }
      const e = out[top[1]++], next = e.to;
      if (state.get(next) === 1) e.flipped = true;
      else if (!state.has(next)) { state.set(next, 1); stack.push([next, 0]); }
    }
  }
  for (const e of edges) if (e.flipped) [e.from, e.to] = [e.to, e.from];
}

function assignLayers(items, edges) {
  const users = new Map(items.map(item => [item, []])), waiting = new Map();
  for (const e of edges) {
    users.get(e.from).push(e.to);
    waiting.set(e.to, (waiting.get(e.to) || 0) + 1);
  }
  const first = items.some(item => item.kind === "i") ? 1 : 0;
  for (const item of items) item.layer = item.kind === "i" ? 0 : first;
  const sources = items.filter(item => !waiting.get(item)), queue = [...sources];
  let last = first;
  for (let k = 0; k < queue.length; k++)
    for (const user of users.get(queue[k])) {
      user.layer = Math.max(user.layer, queue[k].layer + 1);
      waiting.set(user, waiting.get(user) - 1);
      if (!waiting.get(user)) queue.push(user);
    }
  for (const item of items) if (item.kind !== "o") last = Math.max(last, item.layer);
  for (const item of items) if (item.kind === "o") item.layer = last + 1;
  // Sources stand right above their first user, not at the top of the page.
  for (const item of sources)
    if (item.kind !== "i" && users.get(item).length)
      item.layer = Math.min(...users.get(item).map(user => user.layer)) - 1;
}

// Edges over several layers get a lane in each; edges of one producer share their lanes.
function makeLanes(items, edges) {
  const layers = [], links = [], lanes = new Map();
  const add = item => (layers[item.layer] = layers[item.layer] || []).push(item);
  items.forEach(add);
  const fed = new Set(edges.map(e => e.to));
  // Sources follow their users. Else the many weights of a layer would draw it to their middle, and
  // the layers of a network would stand on a slope.
  const pull = e => e.from.kind === "i" || fed.has(e.from) ? 1 : 0.001;
  const link = (a, b, e) => {
    const entry = {a, b, da: attach(a, e, "o"), db: attach(b, e, "i"),
                   weight: a.lane && b.lane ? 12 : pull(e) * (a.lane || b.lane ? 3 : 1)};
    links.push(entry);
    (a.down = a.down || []).push(entry);
    (b.up = b.up || []).push(entry);
  };
  for (const e of edges) {
    let at = e.from;
    e.lanes = [];
    for (let layer = e.from.layer + 1; layer < e.to.layer; layer++) {
      const key = e.from.key + ">" + e.edge.producer + ">" + layer;
      let lane = lanes.get(key);
      if (!lane) {
        lane = {lane: true, layer, w: 0, h: 0, x: 0, y: 0};
        lanes.set(key, lane);
        add(lane);
        link(at, lane, e);
      }
      e.lanes.push(lane);
      at = lane;
    }
    link(at, e.to, e);
  }
  for (let k = 0; k < layers.length; k++) layers[k] = layers[k] || [];
  return {layers, links};
}

// How far from an item's middle an edge meets it: at the port of an open group, or at its slot.
function attach(item, e, side) {
  if (item.kind === "n" && side === "i") return ((e.edge.slot || 0.5) - 0.5) * item.w;
  const ports = item.inner && item.inner.items;
  const port = ports && ports.get(side + e.edge.producer);
  return port ? port.x - item.inner.w / 2 : 0;
}

const settlePositions = layer => layer.forEach((item, k) => { item.pos = k; });

// Barycenter sweeps, down and up.
function order(layers, links) {
  layers.forEach(settlePositions);
  const sweep = (layer, side, other, offset) => {
    for (const item of layer) {
      const near = item[side] || [];
      item.want = near.length
        ? near.reduce((sum, l) => sum + l[other].pos + l[offset] / 1e4, 0) / near.length
        : item.pos;
    }
    layer.sort((p, q) => p.want - q.want || p.pos - q.pos);
    settlePositions(layer);
  };
  const rounds = links.length > 20000 ? 4 : 12;
  for (let round = 0; round < rounds; round++) {
    for (let k = 1; k < layers.length; k++) sweep(layers[k], "up", "a", "da");
    for (let k = layers.length - 2; k >= 0; k--) sweep(layers[k], "down", "b", "db");
  }
}

// What a closed group reads of sources alone, such as the weights of a layer, stands on both sides
// of the one that it follows, so that a chain of layers is in the middle of what they read.
function balance(layers) {
  layers.forEach((layer, k) => {
    const read = new Map();
    for (const item of layer) {
      const user = !item.lane && !item.up && (item.down || []).length === 1 && item.down[0].b;
      if (user && user.kind === "g" && !user.inner)
        read.set(user, [...(read.get(user) || []), item]);
    }
    for (const [user, sources] of read) {
      const before = user.up.map(l => l.a).filter(a => a.up && !a.lane);
      if (before.length !== 1) continue;
      const rest = layers[k].filter(item => !sources.includes(item)), half = sources.length >> 1;
      const middle = rest.indexOf(before[0]);
      layers[k] = [...rest.slice(0, middle), ...sources.slice(0, half), before[0],
                   ...sources.slice(half), ...rest.slice(middle + 1)];
    }
    settlePositions(layers[k]);
  });
}

const gapBetween = (a, b) => (a.w + b.w) / 2 + (a.lane || b.lane || !a.w || !b.w ? LANE : GAP_X);

// Every item wants to stand at the mean of its neighbours; within a layer the order and the gaps
// are kept, and the sum of squared misses is least (pool adjacent violators).
function setColumns(layers, links) {
  for (const layer of layers)
    layer.forEach((item, k) => { item.x = k ? layer[k - 1].x + gapBetween(layer[k - 1], item) : 0; });
  const relax = (layer, sides) => {
    const blocks = [];
    let shift = 0;
    layer.forEach((item, k) => {
      if (k) shift += gapBetween(layer[k - 1], item);
      let sum = 0, weight = 0;
      for (const [side, far, here, there] of sides)
        for (const l of item[side] || []) {
          sum += l.weight * (l[far].x + l[there] - l[here]);
          weight += l.weight;
        }
      if (!weight) { sum = item.x * 1e-4; weight = 1e-4; }
      blocks.push({sum: sum - shift * weight, weight, count: 1});
      while (blocks.length > 1) {
        const q = blocks[blocks.length - 1], p = blocks[blocks.length - 2];
        if (p.sum / p.weight <= q.sum / q.weight) break;
        blocks.pop();
        p.sum += q.sum; p.weight += q.weight; p.count += q.count;
      }
    });
    let k = 0;
    shift = 0;
    for (const block of blocks)
      for (let n = 0; n < block.count; n++, k++) {
        if (k) shift += gapBetween(layer[k - 1], layer[k]);
        layer[k].x = block.sum / block.weight + shift;
      }
  };
  const up = ["up", "a", "db", "da"], down = ["down", "b", "da", "db"];
  for (let round = 0; round < 8; round++) {
    for (let k = 1; k < layers.length; k++) relax(layers[k], [up]);
    for (let k = layers.length - 2; k >= 0; k--) relax(layers[k], [down]);
  }
  for (let round = 0; round < 3; round++) {
    for (let k = 0; k < layers.length; k++) relax(layers[k], [up, down]);
    for (let k = layers.length - 1; k >= 0; k--) relax(layers[k], [up, down]);
  }
}

function setRows(container, layers) {
  let y = 0, left = Infinity, right = -Infinity;
  for (const layer of layers) {
    const h = layer.reduce((most, item) => Math.max(most, item.h), 0);
    for (const item of layer) {
      // Sources stand near their users, everything else in the middle of its row.
      item.y = item.lane ? y : item.up ? y + (h - item.h) / 2 : y + h - item.h;
      item.rowTop = y;
      item.rowBottom = y + h;
      left = Math.min(left, item.x - item.w / 2);
      right = Math.max(right, item.x + item.w / 2);
    }
    y += h + (h ? GAP_Y : GAP_Y / 2);
  }
  for (const layer of layers) for (const item of layer) item.x -= left;
  container.w = Math.max(0, right - left);  // a graph without nodes is 0 wide
  container.h = Math.max(0, y - GAP_Y);
  container.layers = layers;
}

// Positions on the page, from the outside in.
function settle(container, dx, dy, boxes, depth) {
  container.dx = dx;
  container.dy = dy;
  for (const item of container.items.values()) {
    const x = dx + item.x - item.w / 2, y = dy + item.y;
    boxes.set(container.id + ":" + item.key, {x, y, w: item.w, h: item.h});
    if (item.kind !== "n" && item.kind !== "g") continue;
    boxes.set(item.key, {x, y, w: item.w, h: item.h, kind: item.kind, ref: item.ref, depth,
                         open: !!item.inner});
    if (item.inner)
      settle(item.inner, x + (item.w - item.inner.w) / 2, y + HEADER, boxes, depth + 1);
  }
}

// Wires of one producer run together before they part. The first of them shows the common
// beginning; the others are drawn from the point of this index on.
function sharedBeginning(points, drawn) {
  let fresh = 0;
  for (let k = 1; k < points.length; k++) {
    const a = points[k - 1], b = points[k], key = [a.x, a.y, b.x, b.y].join();
    if (drawn.has(key) && fresh === k - 1) fresh = k;
    drawn.add(key);
  }
  return Math.min(fresh, points.length - 2);
}

// The course of a wire: out of the bottom of its producer, through lanes and ports, into its user.
function pointsOf(wire, boxes, containers) {
  const a = boxes.get(wire.from), b = boxes.get(wire.to);
  // Where closed groups read from each other, some wires go up: out of the top, into the bottom.
  const goesUp = ([id, edge]) => {
    const items = containers.get(id).items;
    return items.get(edge.from).layer > items.get(edge.to).layer;
  };
  const points = [{x: a.x + a.w / 2, y: goesUp(wire.parts[0]) ? a.y : a.y + a.h}];
  const end = {x: b.x + b.w * wire.slot,
               y: goesUp(wire.parts[wire.parts.length - 1]) ? b.y + b.h : b.y};
  // Vertical inside a row, so that bends fall into the gap between two rows.
  const along = (y, forward) => {
    const last = points[points.length - 1];
    if (forward ? y > last.y : y < last.y) points.push({x: last.x, y});
  };
  wire.parts.forEach(([id, edge], k) => {
    const container = containers.get(id);
    const from = container.items.get(edge.from), to = container.items.get(edge.to);
    const forward = from.layer < to.layer;
    if (forward) along(container.dy + from.rowBottom, true);
    for (const lane of edge.points) {
      const rows = lane.rowBottom > lane.rowTop ? [lane.rowTop, lane.rowBottom] : [lane.rowTop];
      for (const y of forward ? rows : rows.reverse())
        points.push({x: container.dx + lane.x, y: container.dy + y});
    }
    const at = k + 1 < wire.parts.length ? portBetween(wire.parts[k], wire.parts[k + 1], boxes)
                                         : end;
    if (forward && container.dy + to.rowTop < at.y)
      points.push({x: at.x, y: container.dy + to.rowTop});
    points.push(at);
  });
  return points;
}

// Where a wire passes from one container into the next.
function portBetween([id, edge], [nextId, nextEdge], boxes) {
  const outward = edge.to[0] === "o";
  const box = boxes.get(outward ? id + ":" + edge.to : nextId + ":" + nextEdge.from);
  return {x: box.x, y: box.y};
}

// Wires into one closed group meet it side by side, in the order in which they come.
function spreadOverGroups(wires, boxes) {
  const into = new Map();
  for (const wire of wires)
    if (wire.to[0] === "g") into.set(wire.to, [...(into.get(wire.to) || []), wire]);
  const origin = wire => {
    const p = wire.points, end = p[p.length - 1].x;
    for (let k = p.length - 2; k >= 0; k--) if (p[k].x !== end) return p[k].x;
    return end;
  };
  for (const [key, list] of into) {
    const box = boxes.get(key);
    list.sort((p, q) => origin(p) - origin(q));
    list.forEach((wire, k) => {
      const end = wire.points[wire.points.length - 1].x;
      const x = box.x + box.w * (k + 1) / (list.length + 1);
      // Its beginning stays below its producer.
      for (const point of wire.points.slice(1).slice(-2)) if (point.x === end) point.x = x;
    });
  }
}
)js";

}  // namespace luminal::graph
