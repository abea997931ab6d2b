// startDemo runs the demo's page in an element, from a source of frames: a program on this machine, or a worker in this page.
// The source has live(onFrame, onState), send(name, text), past(from, to), marks() and capture(lane); all but the first return
// promises, of a text that is empty or says what is wrong, of lists, and of a Blob. share(frame) returns the texts of a link.
function startDemo(root, source) {
const $ = id => root.querySelector("#" + id);
const keptNS = 25e9; // packets of the latest that the page keeps
let lanes = [], frame = null, restarts = -1, frozen = false; // of now
let at = null, rolling = null, tape = null, marks = [];       // at: what is shown of the past, null for now

theme(root);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { theme(root); draw(); });
addEventListener("resize", () => draw());

// send sends a control to the program, and shows its answer if it refuses.
async function send(name, text) {
  const wrong = await source.send(name, String(text));
  $("said").textContent = wrong;
  return !wrong;
}
const download = (blob, name) => {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob); a.download = name; a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
};

// act does something to the run: not while the past is shown.
const act = (name, text) => at === null ? send(name, text) : ($("said").textContent = "This is the past. Go back to now, or go on from here instead.", false);
const buttons = {
  tail1: () => act("tail", 1), drop1: () => act("drop", 1), drop3: () => act("drop", 3),
  pause: () => {
    if (frame && frame.live) frozen = !frozen;
    else if (at !== null) rolling = rolling ? null : { real: performance.now() };
    else send("pause", frame && frame.paused ? "off" : "on");
    state();
  },
  step: () => { if (at === null) send("step", ""); else seek(at + 50e6); },
  back: () => seek((at ?? frame.time_ns) - 5e9), zero: () => seek(0),
  now: () => now(), branch: () => { const t = at; now(true); send("branch", t / 1e9); },
  cancel: () => send("cancel", ""),
  svg: () => download(new Blob([diagramsSVG()], { type: "image/svg+xml" }), "tcpwheel-demo.svg"),
  csv: () => download(new Blob([packetsCSV()], { type: "text/csv" }), "tcpwheel-packets.csv"),
  results: () => download(new Blob([resultsCSV()], { type: "text/csv" }), "tcpwheel-results.csv"),
  copy: () => { $("command").select(); document.execCommand("copy"); },
};
for (const [id, press] of Object.entries(buttons)) $(id).onclick = e => { press(); if (e.detail) e.currentTarget.blur(); };
for (const s of root.querySelectorAll("select")) s.addEventListener("change", () => s.blur());
$("speed").onchange = e => send("speed", e.target.value);
$("window").onchange = () => draw();
document.addEventListener("keydown", e => {
  if (!root.offsetParent && root !== document.body && getComputedStyle(root).display === "none") return;
  if (/INPUT|TEXTAREA|SELECT/.test(e.target.tagName) && e.target.type !== "range" || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === " " && e.target.tagName === "BUTTON") return; // it presses the button
  const id = { d: "tail1", n: "drop1", " ": "pause", s: "step", b: "back" }[e.key];
  if (id && $(id).offsetParent) { e.preventDefault(); $(id).click(); }
});

// The form shows what is in force, and sends what was changed.
$("conditions").onsubmit = async e => {
  e.preventDefault();
  const before = inForce(frame);
  for (const i of e.target.querySelectorAll("input")) {
    const text = i.value.trim();
    i.classList.remove("bad");
    if (text === (before[i.name] || "")) continue;
    if (!await act(i.name, text || { burst: 1 }[i.name] || 0)) { i.classList.add("bad"); i.focus(); return; }
  }
  edited = false;
};
let edited = false;
$("conditions").oninput = () => { edited = true; };
const inForce = f => ({ burst: "1", ...Object.fromEntries(f.conditions.split(" ").map(x => x.split(/=(.*)/s))) });
function showForm(f) {
  if (edited || $("conditions").contains(document.activeElement) && document.activeElement.tagName === "INPUT") return;
  const now = inForce(f);
  for (const i of $("conditions").querySelectorAll("input")) if (i.value !== (now[i.name] || "")) { i.value = now[i.name] || ""; i.classList.remove("bad"); }
}

$("legend").append(...kinds.slice(0, shownKinds).map(([name, colour, form]) => {
  const li = document.createElement("li"), c = svgContext(14, 14);
  c.fillStyle = c.strokeStyle = colours[colour]; c.lineWidth = 1.5; c.beginPath(); shape(c, form, 7, 7, 3.5);
  if (form === "ring") c.stroke(); else c.fill();
  li.innerHTML = `<svg width="14" height="14" style="color: var(--${colour})">${c.text().replaceAll(colours[colour], "currentColor")}</svg>`;
  li.append(name + " timer");
  return li;
}));

// build makes the elements of the lanes of a frame.
function build(f) {
  root.classList.toggle("live", f.live);
  if (f.live) document.title = "tcpwheel up";
  $("lanes").replaceChildren();
  lanes = f.lanes.map((l, i) => {
    const div = document.createElement("div");
    div.className = "lane";
    div.innerHTML = `<h2><b></b><input aria-label="policy of lane ${i + 1}" list="policies"><a href="#" class="pcapng">last minute, pcapng</a></h2><p class="lag"></p><p class="idle" hidden></p>` +
      `<div class="shown"><canvas class="ring" height="300" tabindex="0"></canvas><canvas class="seq" height="230" tabindex="0"></canvas>` +
      `<table class="stats"></table><div class="conns"><table></table></div></div>`;
    div.querySelector(".ring").setAttribute("aria-label", "timing wheel of lane " + l.lane + "; arrow keys go through its timers");
    div.querySelector(".seq").setAttribute("aria-label", "time-sequence diagram of lane " + l.lane + "; arrow keys go through its packets");
    const policy = div.querySelector("input");
    policy.onchange = () => choose(i, policy.value.trim());
    policy.onkeydown = e => { if (e.key === "Enter") policy.blur(); };
    div.querySelector(".pcapng").onclick = async e => { e.preventDefault(); const blob = await source.capture(i); if (blob) download(blob, `lane-${i}.pcapng`); };
    $("lanes").append(div);
    const lane = { div, policy, ring: div.querySelector(".ring"), seq: div.querySelector(".seq"), kept: [], keptNotes: new Map(), packets: [], notes: new Map(), flashes: [], spots: [], marks: [], recoveries: [] };
    lane.connName = id => {
      const l = (shownFrame || frame).lanes[i], c = (l.conns || []).find(c => c.id === id);
      return c ? c.name : l.names && l.names[id] || "connection " + id;
    };
    hover(lane, lane.ring, () => lane.spots);
    hover(lane, lane.seq, () => lane.marks, true);
    return lane;
  });
  let list = document.getElementById("policies");
  if (!list) { list = document.createElement("datalist"); list.id = "policies"; root.append(list); }
  list.replaceChildren(...(f.policies || []).map(p => new Option(p, p)));
}

// choose gives a lane another TCP. The program runs the lanes again up to now, and says how far it is.
async function choose(i, name) {
  const all = frame.lanes.map(l => l.lane);
  all[i] = name;
  if (!await send("lanes", all.join(","))) lanes[i].policy.value = frame.lanes[i].lane;
}

// hover shows what is under the pointer, or what the arrow keys chose. A cursor reads time and sequence numbers.
function hover(lane, canvas, spots, cursor) {
  let chosen = -1;
  const show = (text, x, y) => {
    const tip = $("tip");
    tip.style.display = text ? "block" : "none";
    if (!text) return;
    tip.textContent = text;
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - 330)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - tip.offsetHeight - 8)) + "px";
  };
  const leave = () => { show(""); if (cursor) { lane.cursor = null; draw(); } };
  canvas.addEventListener("pointermove", e => {
    const b = canvas.getBoundingClientRect(), x = e.clientX - b.left, y = e.clientY - b.top;
    let best = null, d = 120;
    for (const s of spots()) { const k = (s.x - x) ** 2 + (s.y - y) ** 2; if (k < d) { d = k; best = s; } }
    const read = cursor && lane.read ? lane.read(x, y) : "";
    show([read, best && best.text()].filter(Boolean).join("\n\n"), e.clientX, e.clientY);
    if (cursor) { lane.cursor = { x, y }; if (at !== null || frame.paused) draw(); }
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  if (cursor) canvas.addEventListener("wheel", e => { // zooms
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    const s = $("window"), i = s.selectedIndex + Math.sign(e.deltaY || e.deltaX);
    if (s.options[i]) { s.selectedIndex = i; draw(); }
  }, { passive: false });
  canvas.addEventListener("keydown", e => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key], all = spots();
    if (!step || !all.length) return;
    e.preventDefault();
    chosen = (chosen + step + all.length) % all.length;
    const b = canvas.getBoundingClientRect();
    show(all[chosen].text(), b.left + all[chosen].x, b.top + all[chosen].y);
  });
}

function fill(table, rows, head) {
  const row = (cells, tag) => { const tr = document.createElement("tr"); for (const x of cells) { const td = document.createElement(tag); td.textContent = x; tr.append(td); } return tr; };
  table.replaceChildren(...(head ? [row(head, "th")] : []), ...rows.map(r => row(r, "td")));
}

function drawTables(lane, l, f) {
  const rate = n => l.timers ? (n / Math.max(f.time_ns / 1e9, 1e-9)).toFixed(0) : "-", conns = l.conns || [];
  const rows = [
    ["losses repaired, recovery time p50, p99", `${l.recoveries}, ${ms(l.recovery_p50_ns)}, ${ms(l.recovery_p99_ns)}`],
    ["timers started, stopped, expired a second", `${rate(l.timers_started)}, ${rate(l.timers_stopped)}, ${rate(l.timers_expired)}`]];
  if (f.live) rows.unshift(["packets lost by the link, retransmitted", `${l.lost}, ${l.retransmissions}`]);
  else {
    rows.unshift(["response time p50, p99", `${ms(l.response_p50_ns)}, ${ms(l.response_p99_ns)}`]);
    rows.push(["time lost to losses", ms(l.time_lost_ns)], ["spurious retransmissions", l.spurious]);
  }
  fill(lane.div.querySelector(".stats"), rows);
  const names = { rexmit: "rexmit", tlp: "probe", delack: "del. ACK", keepalive: "keepalive" };
  const due = c => Object.entries(c.timers || {}).map(([k, x]) => `${names[k] || k}${x[0] > 1 ? " ×" + x[0] : ""} ${ms(Math.max(0, x[1]))}`).join(", ");
  fill(lane.div.querySelector(".conns table"), conns.map(c => [c.name, ...[c.srtt_ns, c.rttvar_ns, c.rto_ns].map(x => x ? ms(x) : ""), due(c)]),
    conns.length && ["connection", "SRTT", "RTTVAR", "RTO", "timers that run: due in"]);
  const idle = f.live && !conns.length && !l.recoveries && !lane.packets.length;
  lane.div.querySelector(".shown").hidden = idle;
  const note = lane.div.querySelector(".idle");
  note.hidden = !idle;
  note.textContent = "No connection yet, and no timer runs. Connect to a service of this stack: its wheel, packets and recoveries appear here.";
  lane.div.querySelector(".lag").textContent = l.behind ? `${plural(l.behind, "response")} behind the first lane` : "";
}

// drawLosses shows what each lane made of the losses that the user caused. Bars begin when the first lane lost the packet.
function drawLosses(f) {
  if (f.live) return;
  if (!f.losses) { $("loss").textContent = "Lose a packet (key d): all lanes lose the same one, and here you see which timer repairs it."; $("outcomes").replaceChildren(); return; }
  const l = f.losses[0], sent = l.lanes.filter(o => o.lost_ns).map(o => o.lost_ns), first = sent.length ? Math.min(...sent) : f.time_ns;
  const lag = o => (o.lost_ns || f.time_ns) - first, took = o => o.repaired_ns ? o.repaired_ns - o.lost_ns : o.lost_ns ? f.time_ns - o.lost_ns : 0;
  const most = Math.max(...l.lanes.map(o => lag(o) + took(o)), 1);
  const done = l.lanes.map((o, i) => ({ name: f.lanes[i].lane, took: took(o), done: o.repaired_ns })).sort((a, b) => a.took - b.took);
  const fast = done[0], slow = done[done.length - 1];
  $("loss").textContent = `You lost ${l.what}.` + (done.length > 1 && done.every(x => x.done) && slow.took > 1.1 * fast.took
    ? ` ${fast.name} had it repaired after ${ms(fast.took)}, ${slow.name} after ${ms(slow.took)}, ${(slow.took / fast.took).toFixed(1)} times as long.` : "");
  $("outcomes").replaceChildren(...l.lanes.map((o, i) => {
    const row = document.createElement("div"), name = document.createElement("b"), bar = document.createElement("div"), text = document.createElement("span");
    name.textContent = f.lanes[i].lane;
    bar.className = "wait";
    const part = (cls, ns) => { const x = document.createElement("i"); x.className = cls; x.style.width = ns / most * 100 + "%"; bar.append(x); };
    if (sent.length) { part("lag", lag(o)); if (o.lost_ns) part(o.repaired_ns ? "" : "open", Math.max(took(o), most / 200)); }
    text.textContent = outcomeText(f.lanes[i], o, took(o), lag(o));
    row.append(name, text, bar);
    return row;
  }));
}

function outcomeText(l, o, took, lag) {
  const behind = lag > 2e6 ? `lost it ${ms(lag)} after the first lane; ` : "";
  if (!o.lost_ns) return lag > 0 ? `lags behind: it has not sent this response yet, ${ms(lag)} after the first lane` : "has not sent it yet";
  if (!o.by) return `${behind}has waited for ${ms(took)}`;
  const timer = o.for_ns ? `, set for ${ms(o.for_ns)}` : "";
  return `${behind}${o.repaired_ns ? "repaired" : "waits for the ACK"} after ${ms(took)}: retransmitted by ${o.by}${timer} (${ruleOf(l.lane, o)})`;
}

// take keeps what a frame of now brings.
function take(f) {
  if (f.restarts !== restarts || lanes.length !== f.lanes.length) { restarts = f.restarts; at = rolling = tape = null; marks = []; build(f); }
  frame = f;
  f.lanes.forEach((l, i) => {
    const lane = lanes[i];
    collect(lane.kept, lane.keptNotes, l);
    let k = 0;
    while (k < lane.kept.length && lane.kept[k].due_ns < f.time_ns - keptNS) lane.keptNotes.delete(lane.kept[k++].n);
    lane.kept.splice(0, k);
    if (l.recovery_ms) lane.nowRecoveries = l.recovery_ms;
  });
}
function collect(packets, notes, l) {
  packets.push(...l.packets || []);
  for (const n of l.notes || []) {
    const known = notes.get(n.packet);
    if (known) Object.assign(known, n, { for_ns: known.for_ns });
    else if (n.for_ns) notes.set(n.packet, n);
  }
}

let shownFrame = null;
// draw draws now, or the moment of the past that is chosen.
function draw() {
  if (!frame || !root.clientWidth) return;
  const t = at ?? frame.time_ns, length = +$("window").value * 1e9;
  let f = frame, wheels = frame, slots = null;
  if (at !== null) {
    if (!tape) return;
    slots = tape.frames.filter(x => x.time_ns <= t);
    f = slots[slots.length - 1] || tape.frames[0];
    if (!f) return;
    f = { ...f, time_ns: t };
  }
  shownFrame = f;
  f.lanes.forEach((l, i) => {
    const lane = lanes[i];
    lane.packets = at === null ? lane.kept : tape.lanes[i].packets;
    lane.notes = at === null ? lane.keptNotes : tape.lanes[i].notes;
    const last = name => { for (let k = slots.length - 1; k >= 0; k--) if (slots[k].lanes[i][name]) return slots[k]; return null; };
    let W = l.wheel, later = 0, recoveries = lane.nowRecoveries || [];
    if (at !== null) {
      const from = last("wheel"), known = last("recovery_ms");
      W = from && t - from.time_ns < 2e9 ? from.lanes[i].wheel : null; later = from ? t - from.time_ns : 0;
      recoveries = known ? known.lanes[i].recovery_ms : [];
    }
    lane.recoveries = recoveries;
    lane.div.querySelector("h2 b").textContent = l.lane;
    if (document.activeElement !== lane.policy) lane.policy.value = l.lane;
    drawTables(lane, l, f);
    if (lane.div.querySelector(".shown").hidden) return;
    drawRing(lane, l, W, t, later);
    drawSequence(lane, l, t, length);
  });
  drawSpread($("spread"), f.lanes, lanes.map(l => l.recoveries));
  drawLosses(f);
  $("verdict").textContent = f.verdict;
  $("facts").textContent = f.live ? "" : `${seconds(t)} of virtual time, seed ${frame.seed}, ${f.conditions}` + (f.detail ? "; the log keeps of this time " + ["", "no wheels and no ACKs", "losses and retransmissions only"][f.detail] : "");
  if (!f.live) drawAxis($("axis"), marks, frame.time_ns, t, f.lanes.length);
  state();
}

// state shows what goes on beside the frames: pause, past, work, and the link.
function state() {
  const f = frame;
  if (!f) return;
  const paused = f.live ? frozen : at !== null ? !rolling : f.paused;
  $("pause").textContent = paused ? "go on" : "pause";
  $("pastbar").hidden = at === null;
  if (at !== null) $("pasttext").textContent = `You look at ${(at / 1e9).toFixed(2)} s of ${(f.time_ns / 1e9).toFixed(2)} s.`;
  $("workbar").hidden = !f.work;
  if (f.work) { $("work").value = f.work.done; $("worktext").textContent = `Running again: ${f.work.what}, ${(f.work.done * 100).toFixed(0)} %. The run below is the one before.`; }
  if ($("speed").value !== String(f.speed) && document.activeElement !== $("speed")) $("speed").value = String(f.speed);
  $("slider").max = f.time_ns;
  if (document.activeElement !== $("slider") || at === null) $("slider").value = at ?? f.time_ns;
  for (const id of ["tail1", "drop1", "drop3"]) $(id).disabled = at !== null || !!f.work;
  if (!f.live) {
    showForm(f);
    const link = source.share(f);
    if ($("command").value !== link.command) $("command").value = link.command;
    if ($("address").value !== link.url) $("address").value = link.url;
  }
}

// seek shows a moment of the past. The run stands still meanwhile.
let wanted = null, asking = false;
async function seek(t) {
  t = Math.max(0, t);
  if (t >= frame.time_ns) return now();
  if (at === null && !frame.paused) { send("pause", "on"); resume = true; }
  rolling = null;
  at = t;
  await fetchTape();
  draw();
}
let resume = false; // the run went on before the past was shown
const reach = () => Math.max(+$("window").value * 1e9, 4e9);
async function fetchTape() {
  wanted = at;
  if (asking) return;
  asking = true;
  while (wanted !== null && !(tape && tape.from <= Math.max(0, wanted - reach()) && tape.to >= Math.min(wanted + 2e9, frame.time_ns))) {
    const t = wanted, from = Math.max(0, t - reach()), to = Math.min(t + 5e9, from + 29e9), of = restarts;
    const frames = await source.past(from, to);
    if (of !== restarts) break;
    const lanesOf = lanes.map(() => ({ packets: [], notes: new Map() }));
    for (const f of frames) f.lanes.forEach((l, i) => { if (lanesOf[i]) collect(lanesOf[i].packets, lanesOf[i].notes, l); });
    tape = { from, to, frames, lanes: lanesOf };
    root.dataset.tapes = +(root.dataset.tapes || 0) + 1;
    draw();
    if (wanted === t) break;
  }
  asking = false;
}
function now(stay) {
  at = rolling = tape = null; wanted = null;
  if (resume && !stay) send("pause", "off");
  resume = false;
  draw();
}
$("slider").oninput = e => seek(+e.target.value);
$("slider").onchange = e => e.target.blur();

// roll plays the log up to now.
function roll(real) {
  requestAnimationFrame(roll);
  if (at === null || !rolling) return;
  at += Math.max(0, Math.min(real - rolling.real, 200)) * 1e6 * frame.speed;
  rolling.real = real;
  if (at >= frame.time_ns) return now();
  if (tape && at + 2e9 > tape.to && tape.to < frame.time_ns) fetchTape();
  draw();
}
requestAnimationFrame(roll);

function diagramsSVG() {
  const w = 640, h = 260, f = shownFrame, t = at ?? frame.time_ns;
  const parts = f.lanes.map((l, i) => {
    const c = svgContext(w, h - 24);
    drawSequence(lanes[i], l, t, +$("window").value * 1e9, [c, w, h - 24]);
    return `<g transform="translate(0 ${i * h + 20})"><text x="3" y="-6" fill="${colours.fg}" style="font:600 13px system-ui">${l.lane.replace(/[&<]/g, "")}</text>\n${c.text()}</g>`;
  });
  draw();
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h * f.lanes.length}" viewBox="0 0 ${w} ${h * f.lanes.length}"><rect width="100%" height="100%" fill="${colours.bg}"/>\n${parts.join("\n")}\n</svg>\n`;
}
const quoted = x => /[",\n]/.test(x) ? `"${String(x).replaceAll('"', '""')}"` : x;
const table = rows => rows.map(r => r.map(x => quoted(x ?? "")).join(",") + "\n").join("");
function packetsCSV() {
  const t = at ?? frame.time_ns, from = t - +$("window").value * 1e9, rows = [["lane", "time_s", "arrives_s", "from", "connection", "start", "end", "retransmission_by", "timer_set_for_s", "lost"]];
  lanes.forEach((lane, i) => { for (const p of lane.packets) if (p.sent_ns >= from && p.sent_ns <= t && !p.mark) rows.push([shownFrame.lanes[i].lane, p.sent_ns / 1e9, p.due_ns / 1e9, p.from ? "client" : "server", lane.connName(p.conn), p.start, p.end, p.again ? p.by : "", p.for_ns ? p.for_ns / 1e9 : "", p.fate]); });
  return table(rows);
}
function resultsCSV() {
  const names = ["lane", "seed", "time_ns", "responses", "response_p50_ns", "response_p99_ns", "lost", "recoveries", "recovery_p50_ns", "recovery_p99_ns", "time_lost_ns", "retransmissions", "spurious", "bulk_bytes", "timers_started", "timers_stopped", "timers_expired"];
  return table([names, ...shownFrame.lanes.map(l => names.map(n => l[n]))]);
}

let pending = false;
source.live(f => {
  take(f);
  root.dataset.frames = +(root.dataset.frames || 0) + 1;
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; if (!frozen && at === null) draw(); else state(); });
}, text => { $("said").textContent = text; });
if (source.marks) setInterval(async () => { if (frame && !frame.live && root.clientWidth) { marks = await source.marks(); drawAxis($("axis"), marks, frame.time_ns, at ?? frame.time_ns, frame.lanes.length); } }, 1000);
return { get frame() { return frame; }, get lanes() { return lanes; }, get at() { return at; }, get marks() { return marks; }, seek, now, draw };
}

// runAddress is the part of an address that repeats a run, and runCommand is the command for it.
const runAddress = f => new URLSearchParams({ seed: f.seed, lanes: f.begun.join(","), initial: f.initial, actions: f.actions }).toString();
function runCommand(f) {
  const quote = x => /^[\w@.,:=%+\/-]+$/.test(x) ? x : `'${x.replaceAll("'", "'\\''")}'`;
  const usual = { delay: "20ms", rate: "10Mbit/s", loss: "2%" };
  const flags = f.initial.split(",").map(x => x.split(/=(.*)/s)).filter(([k, v]) => usual[k] !== v && !(k === "rate" && /^10 ?Mbit/.test(v))).map(([k, v]) => `--${k} ${quote(v)}`);
  return ["tcpwheel demo", `--seed ${f.seed}`, `--lanes ${quote(f.begun.join(","))}`, ...flags, ...(f.actions ? [`--actions ${quote(f.actions)}`] : [])].join(" ");
}
