// Diagrams draw a lane of a frame at a time t. They keep what lies under the pointer in lane.spots and lane.marks.

const colours = {};
function theme(root) {
  const style = getComputedStyle(root);
  for (const n of ["fg", "soft", "edge", "bg", "fill", "ink", "rexmit", "delack", "keep", "probe", "other", "ack"]) colours[n] = style.getPropertyValue("--" + n).trim();
  if (colours.ink.startsWith("var")) colours.ink = colours.fg;
}

// context makes a canvas as wide as its place, and clears it.
function context(canvas) {
  const w = canvas.clientWidth, r = devicePixelRatio || 1;
  canvas.dataset.h ||= canvas.getAttribute("height");
  const h = +canvas.dataset.h;
  if (canvas.width !== Math.round(w * r)) {
    canvas.width = Math.round(w * r);
    canvas.height = Math.round(h * r);
    canvas.style.height = h + "px";
  }
  const c = canvas.getContext("2d");
  c.setTransform(r, 0, 0, r, 0, 0);
  c.clearRect(0, 0, w, h);
  return [c, w, h];
}

// svgContext writes the shapes of the legend as SVG.
function svgContext() {
  let path = "", out = "";
  const c = {
    beginPath() { path = ""; }, moveTo(x, y) { path += `M${x} ${y}`; }, lineTo(x, y) { path += `L${x} ${y}`; }, closePath() { path += "Z"; },
    rect(x, y, a, b) { path += `M${x} ${y}h${a}v${b}h${-a}z`; },
    arc(x, y, r) { path += `M${x + r} ${y}A${r} ${r} 0 1 1 ${x - r} ${y}A${r} ${r} 0 1 1 ${x + r} ${y}`; },
    stroke() { out += `<path d="${path}" style="fill:none;stroke:currentColor;stroke-width:1.5"/>`; },
    fill() { out += `<path d="${path}" style="fill:currentColor"/>`; },
    text: () => out,
  };
  return c;
}

const cells = 720;    // places on the ring
const oneTurn = 2048; // slots: a larger wheel is drawn with several of its slots at one place

const textRadius = 92; // the words inside the ring; no sign lies on them

// shape adds a sign of a kind of timer to a path.
function shape(c, form, x, y, r) {
  switch (form) {
  case "square": c.rect(x - r, y - r, 2 * r, 2 * r); break;
  case "triangle": c.moveTo(x, y - r - 1); c.lineTo(x + r + 1, y + r); c.lineTo(x - r - 1, y + r); c.closePath(); break;
  case "diamond": c.moveTo(x, y - r - 1.5); c.lineTo(x + r + 1.5, y); c.lineTo(x, y + r + 1.5); c.lineTo(x - r - 1.5, y); c.closePath(); break;
  case "cross": c.rect(x - r - 1, y - 1, 2 * r + 2, 2); c.rect(x - 1, y - r - 1, 2, 2 * r + 2); break;
  default: c.moveTo(x + r, y); c.arc(x, y, r, 0, 7);
  }
}

// drawRing draws the wheel of a lane, as of its frame and some time later.
function drawRing(lane, l, W, t, later) {
  const [c, w, h] = context(lane.ring);
  lane.spots = [];
  c.font = "13px system-ui"; c.textAlign = "center"; c.fillStyle = colours.soft;
  if (!W) { c.fillText(l.timers ? "" : "gVisor’s TCP keeps its timers to itself", w / 2, h / 2); return; }
  const x0 = w / 2, y0 = h / 2, R = Math.min(w, h) / 2 - 14;
  const turn = Math.min(W.slots, oneTurn), angle = slot => slot % turn / turn * 2 * Math.PI - Math.PI / 2;
  const hand = W.hand;
  c.strokeStyle = colours.edge; c.lineWidth = 1; c.beginPath(); c.arc(x0, y0, R, 0, 7); c.stroke();

  // Signs of a place go inwards. Those of a kind are one path.
  const depth = new Map(), paths = new Map();
  let next = W.slots;
  for (const x of W.timers) {
    const [slot, kind, runs] = x, cell = Math.round(slot % turn / turn * cells), d = depth.get(cell) || 0;
    depth.set(cell, d + 1);
    const ahead = (slot - hand + W.slots) % W.slots;
    if (ahead > 0 && ahead < next) next = ahead;
    const r = Math.max(R - 5 - 4 * d, Math.min(R - 17, textRadius)), a = angle(slot), px = x0 + r * Math.cos(a), py = y0 + r * Math.sin(a);
    const key = kind * 2 + runs;
    if (!paths.has(key)) paths.set(key, []);
    paths.get(key).push(px, py);
    lane.spots.push({ x: px, y: py, text: () => timerText(l.lane, x, W, lane.connName, later) });
  }
  for (const [key, points] of paths) {
    const runs = key % 2, [, colour, form] = kinds[key >> 1];
    c.globalAlpha = runs ? 1 : 0.3; c.fillStyle = c.strokeStyle = colours[colour]; c.lineWidth = 1.5; c.beginPath();
    for (let i = 0; i < points.length; i += 2) shape(c, form, points[i], points[i + 1], runs ? 3 : 2);
    if (form === "ring") c.stroke(); else c.fill();
  }
  c.globalAlpha = 1;
  drawFlashes(c, lane, l, (slot, r) => [x0 + r * Math.cos(angle(slot)), y0 + r * Math.sin(angle(slot))], R);

  // The hand points from outside, so that it does not cross the text. The arc is how far it jumps: the slots between are empty.
  const a = angle(hand), at = (r, b) => [x0 + r * Math.cos(b), y0 + r * Math.sin(b)];
  c.fillStyle = colours.fg; c.beginPath(); c.moveTo(...at(R - 1, a)); c.lineTo(...at(R + 13, a - 0.045)); c.lineTo(...at(R + 13, a + 0.045)); c.closePath(); c.fill();
  c.strokeStyle = colours.fg; c.lineWidth = 2; c.beginPath(); c.moveTo(...at(R, a)); c.lineTo(...at(R - 26, a)); c.stroke();
  if (next < W.slots) { c.strokeStyle = colours.soft; c.lineWidth = 3; c.beginPath(); c.arc(x0, y0, R + 6, a, a + Math.min(next / turn, 1) * 2 * Math.PI); c.stroke(); }
  c.fillStyle = colours.fg; c.fillText(plural(W.running, "timer"), x0, y0 - 14);
  c.fillStyle = colours.soft; c.fillText(`${W.slots} slots of ${span(W.tick_s)}` + (turn < W.slots ? `, ${turn} a turn` : ""), x0, y0 + 5);
  c.fillText(next < W.slots ? `jumps ${plural(next, "slot")}, ${span(next * W.tick_s)}` : "no busy slot", x0, y0 + 23);
  lane.div.dataset.timers = W.running; lane.div.dataset.records = W.timers.length;
}

// drawFlashes draws a growing circle for each expiry of the last 0.6 s.
function drawFlashes(c, lane, l, place, R) {
  const now = performance.now();
  for (const [slot, kind] of l.expired || []) lane.flashes.push({ slot, kind, at: now });
  l.expired = [];
  lane.flashes = lane.flashes.filter(f => now - f.at < 600);
  for (const f of lane.flashes) {
    const k = (now - f.at) / 600, [x, y] = place(f.slot, R + 2);
    c.globalAlpha = 1 - k; c.strokeStyle = colours[kinds[f.kind][1]]; c.lineWidth = 2;
    c.beginPath(); c.arc(x, y, 3 + 8 * k, 0, 7); c.stroke();
  }
  c.globalAlpha = 1;
}

const maxBands = 8; // connections in a diagram

// timeTicks returns round times from one to another, about n.
function timeTicks(from, to, n) {
  const raw = (to - from) / n, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw), all = [];
  for (let k = Math.ceil(from / step); k * step <= to; k++) all.push(k * step);
  return [all, step];
}
function tickText(s, step) { return +s.toFixed(Math.max(0, -Math.floor(Math.log10(step)))) + " s"; }

const axisHeight = 18;

// drawSequence draws the server's data by connection on an axis of time that ends at t, and not before its length.
function drawSequence(lane, l, t, length) {
  const [c, w, h] = context(lane.seq), to = Math.max(t, length), from = to - length, floor = h - axisHeight;
  lane.marks = [];
  const packets = lane.packets;
  const data = packets.filter(p => p.from === 0 && p.end > p.start && p.sent_s >= from && p.sent_s <= t);
  const flows = new Map();
  for (const p of data) {
    const r = flows.get(p.conn) || { lo: Infinity, hi: -Infinity, last: 0 };
    r.lo = Math.min(r.lo, p.start); r.hi = Math.max(r.hi, p.end); r.last = p.sent_s;
    flows.set(p.conn, r);
  }
  const latest = [...flows.keys()].sort((a, b) => flows.get(b).last - flows.get(a).last).slice(0, maxBands);
  const conns = latest.sort((a, b) => a - b), band = floor / Math.max(conns.length, 1);
  conns.forEach((id, i) => { flows.get(id).i = i; });
  const X = at => (at - from) / length * w;
  const Y = (id, s) => { const f = flows.get(id); return (f.i + 1) * band - 8 - (s - f.lo) / Math.max(f.hi - f.lo, 1) * (band - 16); };
  const shown = id => flows.has(id) && flows.get(id).i !== undefined;

  c.font = "11px system-ui"; c.lineWidth = 1; c.strokeStyle = colours.edge; c.fillStyle = colours.soft; c.textAlign = "center";
  const [ticks, step] = timeTicks(from, to, Math.max(2, w / 75));
  for (const at of ticks) {
    const x = X(at);
    c.beginPath(); c.moveTo(x, 0); c.lineTo(x, floor + 3); c.stroke();
    if (x > 18 && x < w - 18) c.fillText(tickText(at, step), x, h - 5);
  }
  c.strokeStyle = colours.soft; c.beginPath(); c.moveTo(0, floor); c.lineTo(w, floor); c.stroke();
  if (t < to) { c.strokeStyle = colours.fg; c.beginPath(); c.moveTo(X(t), 0); c.lineTo(X(t), floor); c.stroke(); }
  c.textAlign = "left"; c.fillStyle = colours.soft;
  if (!conns.length) c.fillText(t < to && t < 0.1 ? "the first packets come in a moment" : "no data in this time", 6, 16);
  conns.forEach((id, i) => {
    c.strokeStyle = colours.edge; c.beginPath(); c.moveTo(0, (i + 1) * band); c.lineTo(w, (i + 1) * band); c.stroke();
    c.fillStyle = colours.soft; c.fillText(lane.connName(id), 3, i * band + 12);
  });
  c.fillStyle = colours.ack;
  for (const p of packets) {
    if (p.from !== 1 || p.end !== p.start || p.fate || p.due_s > t || p.due_s < from || !shown(p.conn)) continue;
    const f = flows.get(p.conn);
    if (p.start >= f.lo && p.start <= f.hi) c.fillRect(X(p.due_s) - 1, Y(p.conn, p.start) - 1, 2, 2);
  }
  const taken = conns.map((id, i) => ({ from: 0, to: 6 + c.measureText(lane.connName(id)).width, top: i * band + 3, end: i * band + 14 }));
  const drawn = data.filter(p => shown(p.conn));
  for (const p of drawn) taken.push(drawPacket(c, lane, l, p, X, Y));
  for (const p of drawn) if (p.again && p.by) drawCause(c, p.by, X(p.sent_s), Y(p.conn, p.start), w, taken);
  lane.read = (x, y) => { // what the cursor reads
    if (y > floor) return seconds(from + x / w * length);
    const i = Math.floor(y / band), id = conns[i];
    if (id === undefined) return seconds(from + x / w * length);
    const f = flows.get(id), byte = Math.round(f.lo + ((i + 1) * band - 8 - y) / (band - 16) * (f.hi - f.lo));
    return `${seconds(from + x / w * length)}  ${lane.connName(id)}, byte ${Math.min(Math.max(byte, f.lo), f.hi)}`;
  };
  if (lane.cursor) {
    c.strokeStyle = colours.soft; c.setLineDash([3, 3]); c.beginPath();
    c.moveTo(lane.cursor.x, 0); c.lineTo(lane.cursor.x, floor); c.moveTo(0, lane.cursor.y); c.lineTo(w, lane.cursor.y); c.stroke(); c.setLineDash([]);
  }
}

// drawPacket draws the sign of a packet, and returns the room that it takes.
function drawPacket(c, lane, l, p, X, Y) {
  const x = X(p.sent_s), y = Y(p.conn, p.start), top = Math.min(Y(p.conn, p.end), y - 2), colour = colours[p.again ? colourOf(p.by || "") : "ink"];
  c.strokeStyle = colour; c.lineWidth = p.again ? 3 : 1.5;
  c.beginPath(); c.moveTo(x, y); c.lineTo(x, top); c.stroke();
  if (p.again) { c.fillStyle = colour; c.beginPath(); c.moveTo(x - 4, top); c.lineTo(x, top - 6); c.lineTo(x + 4, top); c.closePath(); c.fill(); }
  if (p.fate) {
    c.strokeStyle = colours.ink; c.lineWidth = 1.5; c.beginPath();
    c.moveTo(x - 4, y - 5); c.lineTo(x + 4, y + 3); c.moveTo(x + 4, y - 5); c.lineTo(x - 4, y + 3); c.stroke();
  }
  lane.marks.push({ x, y: (y + top) / 2, text: () => packetText(l.lane, p, lane.connName) });
  return { from: x - 4, to: x + 4, top: top - (p.again ? 6 : 0), end: y + (p.fate ? 3 : 0) };
}

// drawCause writes what sent a packet again next to its sign, where nothing is in the way. Else only the sign's title says it.
function drawCause(c, by, x, y, w, taken) {
  const wide = c.measureText(by).width;
  for (const base of [y - 3, y - 14, y + 11]) {
    for (const from of x > w / 2 ? [x - 7 - wide, x + 7] : [x + 7, x - 7 - wide]) {
      const room = { from, to: from + wide, top: base - 8, end: base + 2 };
      if (from < 0 || room.to > w || room.top < 0 || taken.some(o => room.from < o.to + 2 && o.from < room.to + 2 && room.top < o.end && o.top < room.end)) continue;
      c.fillStyle = colours.fg; c.fillText(by, from, base);
      taken.push(room);
      return;
    }
  }
}

// drawSpread draws the cumulative distribution of recovery times, all lanes over each other.
function drawSpread(canvas, lanes, recoveries) {
  const [c, w, h] = context(canvas), all = recoveries.flat().filter(x => x > 0);
  c.font = "12px system-ui"; c.fillStyle = colours.soft; c.textAlign = "left";
  if (!all.length) { c.fillText("No loss was repaired yet.", 8, h / 2); return; }
  const lo = Math.log(Math.min(...all) / 1.2), hi = Math.log(Math.max(...all) * 1.2);
  const X = v => 44 + (Math.log(v) - lo) / (hi - lo) * (w - 60), Y = p => h - 22 - p * (h - 46);
  c.strokeStyle = colours.edge; c.lineWidth = 1; c.textAlign = "center";
  let last = -100;
  for (let e = -5; e < 3; e++) for (const m of [1, 2, 5]) {
    const v = m * 10 ** e;
    if (Math.log(v) < lo || Math.log(v) > hi) continue;
    c.beginPath(); c.moveTo(X(v), 24); c.lineTo(X(v), h - 22); c.stroke();
    if (X(v) - last > 52) { c.fillText(v >= 1 ? v + " s" : +(v * 1000).toFixed(2) + " ms", X(v), h - 6); last = X(v); }
  }
  c.textAlign = "right";
  for (const p of [0, 0.5, 1]) { c.fillText(p * 100 + " %", 40, Y(p) + 4); c.beginPath(); c.moveTo(44, Y(p)); c.lineTo(w - 16, Y(p)); c.stroke(); }
  let x = 46;
  recoveries.forEach((times, i) => {
    const s = times.slice().sort((a, b) => a - b);
    c.strokeStyle = colours.fg; c.lineWidth = 2; c.setLineDash(dashes[i % dashes.length]);
    c.beginPath(); c.moveTo(x, 8); c.lineTo(x + 36, 8); c.stroke();
    c.setLineDash([]); c.fillStyle = colours.fg; c.textAlign = "left"; c.fillText(lanes[i].label, x + 42, 12);
    x += 58 + c.measureText(lanes[i].label).width;
    if (!s.length) return;
    c.setLineDash(dashes[i % dashes.length]); c.beginPath(); c.moveTo(44, Y(0));
    s.forEach((v, k) => { c.lineTo(X(v), Y(k / s.length)); c.lineTo(X(v), Y((k + 1) / s.length)); });
    c.lineTo(w - 16, Y(1)); c.stroke(); c.setLineDash([]);
  });
}
