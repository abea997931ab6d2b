// startDemo runs the demo's page in an element, from a source of frames: a program on this machine, or a worker in this page.
// The source has live(onFrame, onState), and send(name, text), which promises a text that is empty or says what is wrong.
// share(frame) returns the texts of a link.
function startDemo(root, source) {
const $ = id => root.querySelector("#" + id);
const kept = 25; // packets of the latest that the page keeps
let lanes = [], frame = null, restarts = -1;

theme(root);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { theme(root); draw(); });
addEventListener("resize", () => draw());

// send sends a control to the program, and shows its answer if it refuses.
async function send(name, text) {
  const wrong = await source.send(name, String(text));
  $("said").textContent = wrong;
  return !wrong;
}

const buttons = {
  tail1: () => send("tail", 1), drop1: () => send("drop", 1),
  pause: () => send("pause", frame && frame.paused ? "off" : "on"),
  step: () => send("step", ""), zero: () => send("restart", `actions=`),
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
  const id = { d: "tail1", n: "drop1", " ": "pause", s: "step" }[e.key], chosen = id ? $(id) : $("comparisons").children[e.key - 1];
  if (chosen && chosen.offsetParent) { e.preventDefault(); chosen.click(); }
});

// The form shows what is in force, and sends what was changed.
$("conditions").onsubmit = async e => {
  e.preventDefault();
  const before = inForce(frame);
  for (const i of e.target.querySelectorAll("input")) {
    const text = i.value.trim();
    i.classList.remove("bad");
    if (text === (before[i.name] || "")) continue;
    if (!await send(i.name, text || { burst: 1 }[i.name] || 0)) { i.classList.add("bad"); i.focus(); return; }
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
  const li = document.createElement("li"), c = svgContext();
  c.beginPath(); shape(c, form, 7, 7, 3.5);
  if (form === "ring") c.stroke(); else c.fill();
  li.innerHTML = `<svg aria-hidden="true" width="14" height="14" style="color: var(--${colour})">${c.text()}</svg>`;
  li.append(name + " timer");
  return li;
}));

// build makes the elements of the lanes of a frame.
function build(f) {
  $("lanes").replaceChildren();
  lanes = f.lanes.map((l, i) => {
    const div = document.createElement("div");
    div.className = "lane";
    div.setAttribute("role", "group"); div.setAttribute("aria-label", l.label);
    div.innerHTML = `<div class="head"><h2></h2><label class="run soft">policy <input list="policies"></label></div>` +
      `<div class="shown"><canvas class="ring" height="250" tabindex="0" role="img"></canvas><table class="stats"></table><canvas class="seq" height="200" tabindex="0" role="img"></canvas>` +
      `</div>`;
    div.querySelector(".ring").setAttribute("aria-label", "timing wheel of " + (l.label) + "; arrow keys go through its timers");
    div.querySelector(".seq").setAttribute("aria-label", "time-sequence diagram of " + (l.label) + "; arrow keys go through its packets");
    const policy = div.querySelector("input");
    policy.setAttribute("aria-label", "policy of " + l.label);
    policy.onchange = () => choose(i, policy.value.trim());
    policy.onkeydown = e => { if (e.key === "Enter") policy.blur(); };
    $("lanes").append(div);
    const lane = { div, policy, ring: div.querySelector(".ring"), seq: div.querySelector(".seq"), packets: [], flashes: [], spots: [], marks: [], recoveries: [] };
    lane.connName = id => { const c = (frame.lanes[i].conns || []).find(c => c.id === id); return c ? c.name : "connection " + id; };
    hover(lane, lane.ring, () => lane.spots);
    hover(lane, lane.seq, () => lane.marks, true);
    return lane;
  });
  let list = document.getElementById("policies");
  if (!list) { list = document.createElement("datalist"); list.id = "policies"; root.append(list); }
  list.replaceChildren(...(f.policies || []).map(p => new Option(p, p)));
  $("comparisons").replaceChildren(...(f.comparisons || []).map(c => {
    const b = document.createElement("button");
    b.textContent = c.button; b.setAttribute("aria-pressed", c.key === f.comparison.key);
    b.onclick = () => send("lanes", c.key);
    return b;
  }));
  $("heading").textContent = f.comparison.heading; $("why").textContent = f.comparison.why;
  const settings = f.differences || [];
  $("differ").hidden = !settings.length;
  $("differ").firstChild.textContent = settings.length === 1 ? `They differ in ${settings[0]}` : `They differ in ${settings.length} settings`;
  $("differ").lastChild.replaceChildren(...settings.map(x => { const li = document.createElement("li"); li.textContent = x; return li; }));
}

// choose gives a lane another TCP. The program runs the lanes again.
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
    if (cursor) { lane.cursor = { x, y }; if (frame.paused) draw(); }
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

function fill(table, rows) {
  table.replaceChildren(...rows.map(([name, value]) => {
    const tr = document.createElement("tr"), th = document.createElement("th"), td = document.createElement("td");
    th.scope = "row"; th.textContent = name; td.textContent = value;
    tr.append(th, td);
    return tr;
  }));
}

function drawTables(lane, l, f) {
  const rate = n => l.timers ? (n / Math.max(f.time_s, 1e-9)).toFixed(0) : "-";
  const rows = [["time lost to losses", span(l.time_lost_s)], ["losses repaired", l.recoveries], ["recovery time p50, p99", `${span(l.recovery_p50_s)}, ${span(l.recovery_p99_s)}`],
    ["response time p50, p99", `${span(l.response_p50_s)}, ${span(l.response_p99_s)}`], ["spurious retransmissions", l.spurious_retransmissions]];
  rows.push(["timers started, stopped, expired a second", `${rate(l.timers_started)}, ${rate(l.timers_stopped)}, ${rate(l.timers_expired)}`]);
  fill(lane.div.querySelector(".stats"), rows);
}

// drawLosses shows what each lane made of the losses that the user caused.
function drawLosses(f) {
  const say = text => { if ($("loss").textContent !== text) $("loss").textContent = text; }; // it is read aloud
  if (!f.losses) { say("Lose the end of a response (key d): all lanes lose the same packet, and here you see which timer repairs it."); $("outcomes").replaceChildren(); return; }
  const l = f.losses[0], took = o => o.repaired_s ? o.repaired_s - o.lost_s : o.lost_s ? f.time_s - o.lost_s : 0;
  const most = Math.max(...l.lanes.map(took), 1e-9), name = i => f.lanes[i].label;
  const done = l.lanes.map((o, i) => ({ name: name(i), took: took(o), done: o.repaired_s })).sort((a, b) => a.took - b.took);
  const fast = done[0], slow = done[done.length - 1];
  say(`You lost ${l.what}.` + (done.length > 1 && done.every(x => x.done) && slow.took > 1.1 * fast.took
    ? ` With ${fast.name} it was repaired after ${span(fast.took)}, with ${slow.name} after ${span(slow.took)}, ${(slow.took / fast.took).toFixed(1)} times as long.` : ""));
  $("outcomes").replaceChildren(...l.lanes.map((o, i) => {
    const row = document.createElement("div"), who = document.createElement("b"), bar = document.createElement("div"), part = document.createElement("i"), text = document.createElement("span");
    who.textContent = name(i);
    bar.className = "wait"; part.className = o.repaired_s ? "" : "open"; part.style.width = took(o) / most * 100 + "%";
    bar.append(part);
    text.textContent = outcomeText(o, took(o));
    if (o.by) row.title = ruleOf(f.lanes[i].lane, o);
    row.append(who, text, bar);
    return row;
  }));
}

function outcomeText(o, took) {
  if (!o.lost_s) return "has not sent it yet";
  if (!o.by) return `has waited for ${span(took)}`;
  const timer = o.for_s ? `, set for ${span(o.for_s)}` : "";
  return `${o.repaired_s ? "repaired" : "retransmitted, waits for the ACK"} after ${span(took)} by ${o.by}${timer}`;
}

// take keeps what a frame of now brings.
function take(f) {
  if (f.restarts !== restarts || lanes.length !== f.lanes.length) { restarts = f.restarts; build(f); }
  frame = f;
  f.lanes.forEach((l, i) => {
    const lane = lanes[i];
    lane.packets.push(...l.packets || []);
    lane.packets.splice(0, Math.max(0, lane.packets.findIndex(p => p.due_s >= f.time_s - kept)));
    lane.recoveries = l.recoveries_s || [];
  });
}

function draw() {
  if (!frame || !root.clientWidth) return;
  const f = frame, t = f.time_s, length = +$("window").value;
  f.lanes.forEach((l, i) => {
    const lane = lanes[i];
    lane.div.querySelector("h2").textContent = l.label;
    if (document.activeElement !== lane.policy) lane.policy.value = l.lane;
    drawTables(lane, l, f);
    drawRing(lane, l, l.wheel, t, 0);
    drawSequence(lane, l, t, length);
  });
  drawSpread($("spread"), f.lanes, lanes.map(l => l.recoveries));
  drawLosses(f);
  $("verdict").textContent = f.verdict;
  $("facts").textContent = `${seconds(t)} of virtual time, seed ${f.seed}, ${f.conditions}; sums over all connections`;
  state();
}

// state shows what goes on beside the frames: the pause and the link.
function state() {
  const f = frame;
  if (!f) return;
  $("pause").textContent = f.paused ? "go on" : "pause";
  if ($("speed").value !== String(f.speed) && document.activeElement !== $("speed")) $("speed").value = String(f.speed);
  showForm(f);
  const link = source.share(f);
  if ($("command").value !== link.command) $("command").value = link.command;
  if ($("address").value !== link.url) $("address").value = link.url;
}

let pending = false;
source.live(f => {
  take(f);
  root.dataset.frames = +(root.dataset.frames || 0) + 1;
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}, text => { $("said").textContent = text; });
return { get frame() { return frame; }, get lanes() { return lanes; }, draw };
}

// runAddress is the part of an address that repeats a run, and runCommand is the command for it.
const runAddress = f => new URLSearchParams({ seed: f.seed, lanes: f.begun.join(","), initial: f.initial, actions: f.actions }).toString();
function runCommand(f) {
  const quote = x => /^[\w@.,:=%+\/-]+$/.test(x) ? x : `'${x.replaceAll("'", "'\\''")}'`;
  const usual = { delay: "20ms", rate: "10Mbit/s", loss: "2%" };
  const flags = f.initial.split(",").map(x => x.split(/=(.*)/s)).filter(([k, v]) => usual[k] !== v && !(k === "rate" && /^10 ?Mbit/.test(v))).map(([k, v]) => `--${k} ${quote(v)}`);
  return ["tcpwheel demo", `--seed ${f.seed}`, `--lanes ${quote(f.begun.join(","))}`, ...flags, ...(f.actions ? [`--actions ${quote(f.actions)}`] : [])].join(" ");
}
