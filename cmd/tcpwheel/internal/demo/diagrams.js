// Diagrams draw a lane of a frame. They keep what lies under the pointer in lane.spots and lane.marks.

const colours = {};
function theme() {
  const style = getComputedStyle(document.documentElement);
  for (const n of ["fg", "soft", "line", "data", "again", "ack", "hand", "bg"]) colours[n] = style.getPropertyValue("--" + n).trim();
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

const cells = 720;    // places on the ring
const oneTurn = 2048; // slots: a larger wheel is drawn with several of its slots at one place

function drawRing(lane, l) {
  const [c, w, h] = context(lane.ring), W = l.wheel;
  lane.spots = [];
  c.font = "13px system-ui"; c.textAlign = "center"; c.fillStyle = colours.soft;
  if (!W) { c.fillText("gVisor's TCP keeps its timers to itself", w / 2, h / 2); return; }
  const x0 = w / 2, y0 = h / 2, R = Math.min(w, h) / 2 - 12;
  const turn = Math.min(W.slots, oneTurn), angle = slot => slot % turn / turn * 2 * Math.PI - Math.PI / 2;
  c.strokeStyle = colours.line; c.lineWidth = 1; c.beginPath(); c.arc(x0, y0, R, 0, 7); c.stroke();

  // Dots of a place go inwards. Those of a colour are one path.
  const depth = new Map(), paths = new Map();
  let next = W.slots;
  for (const t of W.timers) {
    const [slot, kind, runs] = t, cell = Math.round(slot % turn / turn * cells), d = depth.get(cell) || 0;
    depth.set(cell, d + 1);
    const ahead = (slot - W.hand + W.slots) % W.slots;
    if (ahead > 0 && ahead < next) next = ahead;
    const r = R - 4 - Math.min(d, 26) * 4, a = angle(slot), x = x0 + r * Math.cos(a), y = y0 + r * Math.sin(a);
    const key = kind * 2 + runs;
    if (!paths.has(key)) paths.set(key, []);
    paths.get(key).push(x, y);
    lane.spots.push({ x, y, text: () => timerText(l.lane, t, W, lane.connName) });
  }
  for (const [key, points] of paths) {
    const runs = key % 2, size = runs ? 3 : 2;
    c.globalAlpha = runs ? 1 : 0.25; c.fillStyle = kinds[key >> 1][1]; c.beginPath();
    for (let i = 0; i < points.length; i += 2) { c.moveTo(points[i] + size, points[i + 1]); c.arc(points[i], points[i + 1], size, 0, 7); }
    c.fill();
  }
  c.globalAlpha = 1;
  drawFlashes(c, lane, l, (slot, r) => [x0 + r * Math.cos(angle(slot)), y0 + r * Math.sin(angle(slot))], R);

  // The hand, and how far it jumps: the slots between it and the next busy one are empty.
  const a = angle(W.hand);
  c.strokeStyle = colours.hand; c.lineWidth = 2; c.beginPath(); c.moveTo(x0, y0); c.lineTo(x0 + R * Math.cos(a), y0 + R * Math.sin(a)); c.stroke();
  if (next < W.slots) { c.strokeStyle = colours.soft; c.lineWidth = 3; c.beginPath(); c.arc(x0, y0, R + 6, a, a + Math.min(next / turn, 1) * 2 * Math.PI); c.stroke(); }
  c.fillStyle = colours.fg; c.fillText(`${W.running} timers`, x0, y0 + 22);
  c.fillStyle = colours.soft; c.fillText(`${W.slots} slots of ${ms(W.tick_ns)}` + (turn < W.slots ? `, ${turn} a turn` : ""), x0, y0 + 40);
  c.fillText(next < W.slots ? `the hand jumps ${next} slots, ${ms(next * W.tick_ns)}` : "no busy slot", x0, y0 + 56);
  lane.div.dataset.timers = W.running; lane.div.dataset.records = W.timers.length;
}

// drawFlashes draws a growing circle for each expiry of the last 0.6 s.
function drawFlashes(c, lane, l, place, R) {
  const now = performance.now();
  for (const [slot, kind] of l.expired) lane.flashes.push({ slot, kind, at: now });
  lane.flashes = lane.flashes.filter(f => now - f.at < 600);
  for (const f of lane.flashes) {
    const k = (now - f.at) / 600, [x, y] = place(f.slot, R + 2);
    c.globalAlpha = 1 - k; c.strokeStyle = kinds[f.kind][1]; c.lineWidth = 2;
    c.beginPath(); c.arc(x, y, 3 + 8 * k, 0, 7); c.stroke();
  }
  c.globalAlpha = 1;
}

const windowNS = 4e9; // of the time-sequence diagram
const maxBands = 8;   // connections in it

// remember keeps the packets and timers' notes of the window.
function remember(lane, l, from) {
  lane.packets.push(...l.packets);
  let k = 0;
  while (k < lane.packets.length && lane.packets[k].arrive_ns < from) lane.notes.delete(lane.packets[k++].n);
  lane.packets.splice(0, k);
  for (const n of l.notes) {
    const known = lane.notes.get(n.packet);
    if (known) Object.assign(known, n, { for_ns: known.for_ns });
    else if (n.for_ns) lane.notes.set(n.packet, n);
  }
}

function drawSequence(lane, l, t) {
  const from = t - windowNS;
  remember(lane, l, from);
  const [c, w, h] = context(lane.seq);
  lane.marks = [];
  const data = lane.packets.filter(p => p.from === 0 && p.end > p.start && p.at_ns >= from && p.at_ns <= t);
  const flows = new Map();
  for (const p of data) {
    const r = flows.get(p.conn) || { lo: Infinity, hi: -Infinity, last: 0 };
    r.lo = Math.min(r.lo, p.start); r.hi = Math.max(r.hi, p.end); r.last = p.at_ns;
    flows.set(p.conn, r);
  }
  const latest = [...flows.keys()].sort((a, b) => flows.get(b).last - flows.get(a).last).slice(0, maxBands);
  const conns = latest.sort((a, b) => a - b), band = h / Math.max(conns.length, 1);
  conns.forEach((id, i) => { flows.get(id).i = i; });
  const X = at => (at - from) / windowNS * w;
  const Y = (id, s) => { const f = flows.get(id); return (f.i + 1) * band - 8 - (s - f.lo) / Math.max(f.hi - f.lo, 1) * (band - 16); };
  const shown = id => flows.has(id) && flows.get(id).i !== undefined;
  c.font = "11px system-ui"; c.textAlign = "left";
  conns.forEach((id, i) => {
    c.strokeStyle = colours.line; c.lineWidth = 0.5; c.beginPath(); c.moveTo(0, (i + 1) * band); c.lineTo(w, (i + 1) * band); c.stroke();
    c.fillStyle = colours.soft; c.fillText(lane.connName(id), 3, i * band + 12);
  });
  c.fillStyle = colours.ack;
  for (const p of lane.packets) {
    if (p.from !== 1 || p.end !== p.start || p.lost || p.arrive_ns > t || !shown(p.conn)) continue;
    const f = flows.get(p.conn);
    if (p.start >= f.lo && p.start <= f.hi) c.fillRect(X(p.arrive_ns), Y(p.conn, p.start), 2, 2);
  }
  const labelled = new Map();
  for (const p of data) if (shown(p.conn)) drawPacket(c, lane, l, p, X, Y, w, labelled);
}

function drawPacket(c, lane, l, p, X, Y, w, labelled) {
  const x = X(p.at_ns), y = Y(p.conn, p.start), top = Math.min(Y(p.conn, p.end), y - 2);
  if (!p.mark) {
    c.strokeStyle = p.again ? colours.again : colours.data; c.lineWidth = p.again ? 3 : 2;
    c.beginPath(); c.moveTo(x, y); c.lineTo(x, top); c.stroke();
  }
  if (p.lost) {
    c.strokeStyle = colours.again; c.lineWidth = 1.5; c.beginPath();
    c.moveTo(x - 4, y - 5); c.lineTo(x + 4, y + 3); c.moveTo(x + 4, y - 5); c.lineTo(x - 4, y + 3); c.stroke();
  }
  if (p.again && p.by && x - (labelled.get(p.conn) ?? -100) > 90) {
    const right = x > w / 2;
    c.textAlign = right ? "right" : "left"; c.fillStyle = colours.again; c.fillText(p.by, right ? x - 4 : x + 5, y - 3); c.textAlign = "left";
    labelled.set(p.conn, x);
  }
  lane.marks.push({ x, y: (y + top) / 2, text: () => packetText(l.lane, p, lane.notes.get(p.n), lane.connName) });
}

// drawSpread draws the cumulative distribution of recovery times, all lanes over each other.
function drawSpread(f) {
  const [c, w, h] = context($("spread")), all = f.lanes.flatMap(l => l.recovery_ms).filter(x => x > 0);
  c.font = "12px system-ui"; c.fillStyle = colours.soft; c.textAlign = "left";
  if (!all.length) { c.fillText("No loss was repaired yet.", 8, h / 2); return; }
  const lo = Math.log(Math.min(...all) / 1.2), hi = Math.log(Math.max(...all) * 1.2);
  const X = v => 44 + (Math.log(v) - lo) / (hi - lo) * (w - 60), Y = p => h - 22 - p * (h - 40);
  c.strokeStyle = colours.line; c.lineWidth = 1; c.textAlign = "center";
  let last = -100;
  for (let e = -2; e < 6; e++) for (const m of [1, 2, 5]) {
    const v = m * 10 ** e;
    if (Math.log(v) < lo || Math.log(v) > hi) continue;
    c.beginPath(); c.moveTo(X(v), 14); c.lineTo(X(v), h - 22); c.stroke();
    if (X(v) - last > 52) { c.fillText(v >= 1000 ? v / 1000 + " s" : +v.toFixed(2) + " ms", X(v), h - 6); last = X(v); }
  }
  c.textAlign = "right";
  for (const p of [0, 0.5, 1]) { c.fillText(p * 100 + " %", 40, Y(p) + 4); c.beginPath(); c.moveTo(44, Y(p)); c.lineTo(w - 16, Y(p)); c.stroke(); }
  f.lanes.forEach((l, i) => {
    const s = l.recovery_ms.slice().sort((a, b) => a - b);
    if (!s.length) return;
    c.strokeStyle = laneColours[i]; c.lineWidth = 2; c.beginPath(); c.moveTo(44, Y(0));
    s.forEach((v, k) => { c.lineTo(X(v), Y(k / s.length)); c.lineTo(X(v), Y((k + 1) / s.length)); });
    c.lineTo(w - 16, Y(1)); c.stroke();
    c.fillStyle = laneColours[i]; c.textAlign = "left"; c.fillText(l.lane, 52, 26 + i * 15);
  });
}
