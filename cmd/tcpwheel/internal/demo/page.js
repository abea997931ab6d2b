"use strict";
const $ = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
// The kinds of timers, in the order of the program's numbers.
const kinds = [
  ["retransmission", "#cf222e", "RFC 6298 §5: restart or expire RTO after the transmission"],
  ["delayed ACK", "#1a7f37", "RFC 5681 §4.2: an ACK waits for a second segment"],
  ["keepalive", "#2563c9", "RFC 9293 §3.8.4: the connection is idle"],
  ["persist", "#8250df", "RFC 9293 §3.8.6.1: the peer's window is closed"],
  ["tail loss probe", "#e08600", "RFC 8985 §7.2: 2·SRTT after the last segment"],
  ["reordering", "#00a0a0", "RFC 8985 §6.2: RACK waits for reordering"],
  ["pacing", "#888888", "the next segment may leave"],
  ["user timeout", "#6e5494", "RFC 5482"], ["FIN-WAIT-2", "#6e5494", "the peer does not close"],
  ["TIME-WAIT", "#6e5494", "RFC 9293 §3.6.1"], ["handshake", "#6e5494", "RFC 9293 §3.8.3"], ["linger", "#6e5494", ""]];
const laneColours = ["#2563c9", "#1a7f37", "#cf222e", "#e08600", "#8250df", "#00a0a0"];
const seconds = 4; // of the time-sequence diagram
const names = { 40000: "web 1", 40001: "web 2", 40002: "web 3", 40003: "web 4", 40100: "bulk", 40200: "reports", 40300: "idle" };
let lanes = [], frame = null, restarts = -1, colours = {};

const ms = ns => ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : ns >= 1e5 ? (ns / 1e6).toFixed(ns < 1e7 ? 1 : 0) + " ms" : (ns / 1e3).toFixed(0) + " µs";
function theme() { const s = getComputedStyle(document.documentElement); for (const n of ["fg", "soft", "line", "data", "again", "ack", "hand", "bg"]) colours[n] = s.getPropertyValue("--" + n).trim(); }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme); theme();

async function send(name, text) {
  const r = await fetch("control", { method: "POST", headers: { "X-Token": token }, body: JSON.stringify({ name, text: String(text) }) });
  $("said").textContent = r.ok ? "" : await r.text();
}
$("drop1").onclick = () => send("drop", 1); $("drop3").onclick = () => send("drop", 3);
$("pause").onclick = () => send("pause", frame && frame.paused ? "off" : "on"); $("step").onclick = () => send("step", "");
$("speed").onchange = e => send("speed", e.target.value); $("back").onclick = () => send("rewind", 5); $("zero").onclick = () => send("rewind", 1e6);
$("conditions").onsubmit = async e => { e.preventDefault(); for (const i of e.target.querySelectorAll("input")) if (i.value.trim()) await send(i.name, i.value.trim()); };
document.addEventListener("keydown", e => {
  if (/INPUT|SELECT|BUTTON/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
  const b = { d: "drop1", " ": "pause", s: "step", b: "back" }[e.key];
  if (b) { e.preventDefault(); $(b).click(); }
});
$("legend").append(...kinds.slice(0, 6).map(([n, c]) => { const li = document.createElement("li"), i = document.createElement("i"); i.style.background = c; li.append(i, n + " timer"); return li; }));

function build(f) {
  $("lanes").replaceChildren(); lanes = [];
  f.lanes.forEach((l, i) => {
    const div = document.createElement("div"); div.className = "lane"; div.dataset.lane = l.lane;
    div.innerHTML = `<h2><span></span><a href="lane/${i}.pcapng" download>last minute, pcapng</a></h2><canvas class="ring" height="300" tabindex="0"></canvas><canvas class="seq" height="190" tabindex="0"></canvas><table class="stats"></table><div class="conns"><table></table></div>`;
    div.querySelector("span").textContent = l.lane;
    div.querySelector(".ring").setAttribute("aria-label", "timing wheel of lane " + l.lane);
    div.querySelector(".seq").setAttribute("aria-label", "time-sequence diagram of lane " + l.lane);
    $("lanes").append(div);
    const lane = { div, ring: div.querySelector(".ring"), seq: div.querySelector(".seq"), packets: [], flashes: [], spots: [], marks: [], angle: null };
    hover(lane.ring, (x, y) => near(lane.spots, x, y)); hover(lane.seq, (x, y) => near(lane.marks, x, y));
    lanes.push(lane);
  });
}
const near = (all, x, y) => { let best = null, d = 100; for (const s of all) { const e = (s.x - x) ** 2 + (s.y - y) ** 2; if (e < d) { d = e; best = s; } } return best && best.text(); };
function hover(canvas, find) {
  canvas.addEventListener("pointermove", e => {
    const b = canvas.getBoundingClientRect(), text = find(e.clientX - b.left, e.clientY - b.top), tip = $("tip");
    tip.style.display = text ? "block" : "none"; if (!text) return;
    tip.textContent = text; tip.style.left = Math.min(e.clientX + 12, innerWidth - 310) + "px"; tip.style.top = Math.min(e.clientY + 12, innerHeight - 120) + "px";
  });
  canvas.addEventListener("pointerleave", () => { $("tip").style.display = "none"; });
}
function context(canvas) {
  const w = canvas.clientWidth, h = +canvas.getAttribute("height"), r = devicePixelRatio || 1;
  if (!canvas.dataset.h) canvas.dataset.h = h;
  const hh = +canvas.dataset.h;
  if (canvas.width !== Math.round(w * r)) { canvas.width = Math.round(w * r); canvas.height = Math.round(hh * r); canvas.style.height = hh + "px"; }
  const c = canvas.getContext("2d"); c.setTransform(r, 0, 0, r, 0, 0); c.clearRect(0, 0, w, hh);
  return [c, w, hh];
}
function drawRing(lane, l) {
  const [c, w, h] = context(lane.ring); lane.spots = [];
  c.font = "13px system-ui"; c.textAlign = "center"; c.fillStyle = colours.soft;
  if (!l.wheel) { c.fillText("gVisor's TCP keeps its timers to itself", w / 2, h / 2); return; }
  const x0 = w / 2, y0 = h / 2, R = Math.min(w, h) / 2 - 12, W = l.wheel, at = slot => slot / W.slots * 2 * Math.PI - Math.PI / 2;
  c.strokeStyle = colours.line; c.lineWidth = 1; c.beginPath(); c.arc(x0, y0, R, 0, 7); c.stroke();
  const depth = new Map(); let running = 0;
  for (const [slot, kind, runs, left, port, segment] of W.timers) {
    const cell = Math.round(slot / W.slots * 720), d = depth.get(cell) || 0; depth.set(cell, d + 1);
    if (runs) running++;
    const r = R - 4 - Math.min(d, 26) * 4, a = at(slot), x = x0 + r * Math.cos(a), y = y0 + r * Math.sin(a);
    c.globalAlpha = runs ? 1 : 0.25; c.fillStyle = kinds[kind][1]; c.beginPath(); c.arc(x, y, runs ? 3 : 2, 0, 7); c.fill();
    lane.spots.push({ x, y, text: () => runs ? `${kinds[kind][0]} timer${segment ? " of segment record " + segment : ""} of ${names[port] || port}\nexpires in ${ms(Math.max(0, left))}, slot ${slot} of ${W.slots}\n${kinds[kind][2]}` : `a stopped ${kinds[kind][0]} timer: its record leaves the list when slot ${slot} comes up` });
  }
  c.globalAlpha = 1;
  const now = performance.now();
  for (const [slot, kind] of l.expired) lane.flashes.push({ slot, kind, at: now });
  lane.flashes = lane.flashes.filter(f => now - f.at < 600);
  for (const f of lane.flashes) { const a = at(f.slot), k = (now - f.at) / 600; c.globalAlpha = 1 - k; c.strokeStyle = kinds[f.kind][1]; c.lineWidth = 2; c.beginPath(); c.arc(x0 + (R + 2) * Math.cos(a), y0 + (R + 2) * Math.sin(a), 3 + 8 * k, 0, 7); c.stroke(); }
  c.globalAlpha = 1; const a = at(W.hand); c.strokeStyle = colours.hand; c.lineWidth = 2; c.beginPath(); c.moveTo(x0, y0); c.lineTo(x0 + R * Math.cos(a), y0 + R * Math.sin(a)); c.stroke();
  const slots = [...depth.keys()].map(k => (k * W.slots / 720 - W.hand + W.slots) % W.slots).filter(d => d > 1); const jump = slots.length ? Math.min(...slots) : 0;
  c.fillStyle = colours.fg; c.fillText(`${running} timers`, x0, y0 + 22); c.fillStyle = colours.soft;
  c.fillText(`${W.slots} slots of ${ms(W.tick_ns)}`, x0, y0 + 40); c.fillText(`next busy slot in ${ms(jump * W.tick_ns)}`, x0, y0 + 56);
  lane.div.dataset.timers = running; lane.div.dataset.records = W.timers.length;
}
function drawSequence(lane, l, t) {
  for (const p of l.packets) lane.packets.push(p);
  const from = t - seconds * 1e9; let k = 0; while (k < lane.packets.length && lane.packets[k].arrive_ns < from) k++; lane.packets.splice(0, k);
  const [c, w, h] = context(lane.seq); lane.marks = [];
  const data = lane.packets.filter(p => p.from === 0 && p.end > p.start && p.at_ns >= from && p.at_ns <= t), flows = new Map();
  for (const p of data) { const r = flows.get(p.port) || [Infinity, -Infinity]; r[0] = Math.min(r[0], p.start); r[1] = Math.max(r[1], p.end); flows.set(p.port, r); }
  const ports = [...flows.keys()].sort((a, b) => a - b), band = h / Math.max(ports.length, 1);
  const X = at => (at - from) / (seconds * 1e9) * w, Y = (port, s) => { const i = ports.indexOf(port), [lo, hi] = flows.get(port); return (i + 1) * band - 8 - (s - lo) / Math.max(hi - lo, 1) * (band - 16); };
  c.font = "11px system-ui"; c.textAlign = "left";
  ports.forEach((p, i) => { c.strokeStyle = colours.line; c.lineWidth = 0.5; c.beginPath(); c.moveTo(0, (i + 1) * band); c.lineTo(w, (i + 1) * band); c.stroke(); c.fillStyle = colours.soft; c.fillText(names[p] || p, 3, i * band + 12); });
  c.fillStyle = colours.ack;
  for (const p of lane.packets) if (p.from === 1 && p.end === p.start && flows.has(p.port) && p.arrive_ns <= t && !p.lost) { const r = flows.get(p.port); if (p.start >= r[0] && p.start <= r[1]) c.fillRect(X(p.arrive_ns), Y(p.port, p.start), 2, 2); }
  let labelled = -100;
  for (const p of data) {
    const x = X(p.at_ns), y = Y(p.port, p.start), y2 = Math.min(Y(p.port, p.end), y - 2);
    c.strokeStyle = p.again ? colours.again : colours.data; c.lineWidth = p.again ? 3 : 2; c.beginPath(); c.moveTo(x, y); c.lineTo(x, y2); c.stroke();
    if (p.lost) { c.strokeStyle = colours.again; c.lineWidth = 1.5; c.beginPath(); c.moveTo(x - 4, y - 5); c.lineTo(x + 4, y + 3); c.moveTo(x + 4, y - 5); c.lineTo(x - 4, y + 3); c.stroke(); }
    if (p.again && x - labelled > 70) { c.fillStyle = colours.again; c.fillText(p.by, Math.min(x + 5, w - 110), y - 3); labelled = x; }
    lane.marks.push({ x, y, text: () => `${names[p.port] || p.port}, bytes ${p.start} to ${p.end}, at ${(p.at_ns / 1e9).toFixed(4)} s` + (p.again ? `\nretransmitted by ${p.by}` + (p.armed_ns ? `, armed ${ms(p.at_ns - p.armed_ns)} before` : "") : "") + (p.lost ? `\nlost: ${p.lost}` : "") });
  }
}
function fill(table, rows, head) {
  const body = []; if (head) body.push("<tr>" + head.map(x => `<th>${x}</th>`).join("") + "</tr>");
  for (const r of rows) body.push("<tr>" + r.map(x => `<td>${x}</td>`).join("") + "</tr>"); table.innerHTML = body.join("");
}
function drawStats(lane, l, t) {
  const rate = n => l.timers ? (n / (t / 1e9)).toFixed(0) : "–";
  fill(lane.div.querySelector(".stats"), [
    ["response time p50, p99", ms(l.response_p50_ns) + ", " + ms(l.response_p99_ns)], ["losses repaired, recovery time p50, p99", `${l.recoveries}, ${ms(l.recovery_p50_ns)}, ${ms(l.recovery_p99_ns)}`],
    ["time lost to losses", ms(l.time_lost_ns)], ["spurious retransmissions", l.spurious],
    ["timers started, stopped, expired a second", `${rate(l.timers_started)}, ${rate(l.timers_stopped)}, ${rate(l.timers_expired)}`]]);
  const due = (c, k) => c.timers && c.timers[k] ? (c.timers[k][0] > 1 ? c.timers[k][0] + "× " : "") + ms(Math.max(0, c.timers[k][1])) : "";
  fill(lane.div.querySelector(".conns table"), l.conns.map(c => [names[c.port] || c.name, c.srtt_ns ? ms(c.srtt_ns) : "", c.rttvar_ns ? ms(c.rttvar_ns) : "", c.rto_ns ? ms(c.rto_ns) : "", due(c, "rexmit"), due(c, "delack"), due(c, "keepalive")]),
    ["connection", "SRTT", "RTTVAR", "RTO", "rexmit in", "delayed ACK in", "keepalive in"]);
}
function drawSpread(f) {
  const [c, w, h] = context($("spread")), all = f.lanes.flatMap(l => l.recovery_ms || []).filter(x => x > 0); if (!all.length) return;
  const lo = Math.log(Math.min(...all) / 1.2), hi = Math.log(Math.max(...all) * 1.2), X = v => 44 + (Math.log(v) - lo) / (hi - lo) * (w - 60), Y = p => h - 22 - p * (h - 40);
  c.font = "12px system-ui"; c.strokeStyle = colours.line; c.fillStyle = colours.soft; c.lineWidth = 1; c.textAlign = "center"; let last = -100;
  for (let e = 0; e < 6; e++) for (const m of [1, 2, 5]) { const v = m * 10 ** e; if (Math.log(v) < lo || Math.log(v) > hi) continue; c.beginPath(); c.moveTo(X(v), 14); c.lineTo(X(v), h - 22); c.stroke(); if (X(v) - last > 52) { c.fillText(v >= 1000 ? v / 1000 + " s" : v + " ms", X(v), h - 6); last = X(v); } }
  c.textAlign = "right"; for (const p of [0, 0.5, 1]) { c.fillText(p * 100 + " %", 40, Y(p) + 4); c.beginPath(); c.moveTo(44, Y(p)); c.lineTo(w - 16, Y(p)); c.stroke(); }
  f.lanes.forEach((l, i) => { const s = (l.recovery_ms || []).slice().sort((a, b) => a - b); if (!s.length) return; c.strokeStyle = laneColours[i]; c.lineWidth = 2; c.beginPath(); c.moveTo(44, Y(0)); s.forEach((v, k) => { c.lineTo(X(v), Y(k / s.length)); c.lineTo(X(v), Y((k + 1) / s.length)); }); c.lineTo(w - 16, Y(1)); c.stroke(); c.fillStyle = laneColours[i]; c.textAlign = "left"; c.fillText(l.lane, 52, 26 + i * 15); });
}
function show(f) {
  if (f.restarts !== restarts || lanes.length !== f.lanes.length) { restarts = f.restarts; build(f); }
  frame = f;
  $("verdict").textContent = f.verdict; $("pause").textContent = f.paused ? "go on" : "pause"; $("speed").value = String(f.speed);
  $("clock").textContent = `${(f.time_ns / 1e9).toFixed(3)} s, seed ${f.seed}.`; $("now").textContent = f.conditions;
  f.lanes.forEach((l, i) => { drawRing(lanes[i], l); drawSequence(lanes[i], l, f.time_ns); drawStats(lanes[i], l, f.time_ns); });
  drawSpread(f);
  const hash = `#seed=${f.seed}&actions=${encodeURIComponent(f.actions)}`; if (location.hash !== hash) history.replaceState(null, "", hash);
  document.body.dataset.frames = +(document.body.dataset.frames || 0) + 1;
}
const asked = new URLSearchParams(location.hash.slice(1));
let first = true, pending = null;
const stream = new EventSource("events");
stream.onmessage = e => {
  const f = JSON.parse(e.data);
  if (first) { first = false; const seed = asked.get("seed"), actions = asked.get("actions") || ""; if (seed && token && (seed !== String(f.seed) || actions !== f.actions)) send("restart", seed + " " + actions); }
  if (pending) { f.lanes.forEach((l, i) => { const p = pending.lanes[i]; if (p && pending.restarts === f.restarts) { l.packets = (p.packets || []).concat(l.packets || []); l.expired = (p.expired || []).concat(l.expired || []); } }); pending = f; return; }
  pending = f; requestAnimationFrame(() => { const f = pending; pending = null; for (const l of f.lanes) { l.packets = l.packets || []; l.expired = l.expired || []; l.conns = l.conns || []; } show(f); });
};
stream.onerror = () => { $("said").textContent = "the program has ended, or the connection to it"; };
stream.onopen = () => { $("said").textContent = ""; };
