const token = new URLSearchParams(location.search).get("token") || "";
let lanes = [], frame = null, restarts = -1, frozen = false;

theme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);

// send sends a control to the program, and shows its answer if it refuses.
async function send(name, text) {
  const r = await fetch("control", { method: "POST", headers: { "X-Token": token }, body: JSON.stringify({ name, text: String(text) }) });
  $("said").textContent = r.ok ? "" : await r.text();
  return r.ok;
}

const buttons = {
  tail1: () => send("tail", 1), drop1: () => send("drop", 1), drop3: () => send("drop", 3),
  pause: () => { if (frame && frame.live) { frozen = !frozen; $("pause").textContent = frozen ? "go on" : "pause"; } else send("pause", frame && frame.paused ? "off" : "on"); },
  step: () => send("step", ""), back: () => send("branch", Math.max(0, frame.time_ns / 1e9 - 5)), zero: () => send("branch", 0),
};
for (const [id, act] of Object.entries(buttons)) $(id).onclick = act;
$("speed").onchange = e => send("speed", e.target.value);
$("conditions").onsubmit = async e => {
  e.preventDefault();
  for (const i of e.target.querySelectorAll("input")) if (i.value.trim() && !await send(i.name, i.value.trim())) return;
};
document.addEventListener("keydown", e => {
  if (/INPUT|SELECT|BUTTON/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
  const id = { d: "tail1", n: "drop1", " ": "pause", s: "step", b: "back" }[e.key];
  if (id && !$(id).hidden) { e.preventDefault(); $(id).click(); }
});
$("legend").append(...kinds.slice(0, 6).map(([name, colour]) => {
  const li = document.createElement("li"), dot = document.createElement("i");
  dot.style.background = colour;
  li.append(dot, name + " timer");
  return li;
}));

// build makes the elements of the lanes of a frame.
function build(f) {
  document.body.classList.toggle("live", f.live);
  if (f.live) { $("title").textContent = "tcpwheel up"; document.title = "tcpwheel up"; }
  $("lanes").replaceChildren();
  lanes = f.lanes.map((l, i) => {
    const div = document.createElement("div");
    div.className = "lane";
    div.innerHTML = `<h2><span></span><select aria-label="policy of lane ${i + 1}"></select><a href="lane/${i}.pcapng" download>last minute, pcapng</a></h2>` +
      `<canvas class="ring" height="290" tabindex="0"></canvas><canvas class="seq" height="190" tabindex="0"></canvas>` +
      `<table class="stats"></table><div class="conns"><table></table></div>`;
    div.querySelector(".ring").setAttribute("aria-label", "timing wheel of lane " + l.lane + "; arrow keys go through its timers");
    div.querySelector(".seq").setAttribute("aria-label", "time-sequence diagram of lane " + l.lane + "; arrow keys go through its packets");
    const policy = div.querySelector("select");
    policy.onchange = () => choose(i, policy.value);
    $("lanes").append(div);
    const lane = { div, policy, ring: div.querySelector(".ring"), seq: div.querySelector(".seq"), packets: [], notes: new Map(), flashes: [], spots: [], marks: [] };
    lane.connName = id => {
      const l = frame.lanes[i], c = l.conns.find(c => c.id === id);
      return c ? c.name : l.names && l.names[id] || "connection " + id;
    };
    hover(lane.ring, () => lane.spots);
    hover(lane.seq, () => lane.marks);
    return lane;
  });
}

// choose gives a lane another TCP. The program runs the lanes again up to now.
function choose(i, name) {
  const all = frame.begun.slice();
  all[i] = name;
  return send("lanes", all.join(","));
}

// hover shows what is under the pointer, or what the arrow keys chose.
function hover(canvas, spots) {
  let chosen = -1;
  const show = (text, x, y) => {
    const tip = $("tip");
    tip.style.display = text ? "block" : "none";
    if (!text) return;
    tip.textContent = text;
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - 330)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - tip.offsetHeight - 8)) + "px";
  };
  canvas.addEventListener("pointermove", e => {
    const b = canvas.getBoundingClientRect(), x = e.clientX - b.left, y = e.clientY - b.top;
    let best = null, d = 120;
    for (const s of spots()) { const k = (s.x - x) ** 2 + (s.y - y) ** 2; if (k < d) { d = k; best = s; } }
    show(best && best.text(), e.clientX, e.clientY);
  });
  canvas.addEventListener("pointerleave", () => show(""));
  canvas.addEventListener("blur", () => show(""));
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
  const rate = n => l.timers ? (n / Math.max(f.time_ns / 1e9, 1e-9)).toFixed(0) : "-";
  const rows = [
    ["losses repaired, recovery time p50, p99", `${l.recoveries}, ${ms(l.recovery_p50_ns)}, ${ms(l.recovery_p99_ns)}`],
    ["timers started, stopped, expired a second", `${rate(l.timers_started)}, ${rate(l.timers_stopped)}, ${rate(l.timers_expired)}`]];
  if (f.live) rows.unshift(["packets lost by the link, retransmitted", `${l.lost}, ${l.retransmissions}`]);
  else {
    rows.unshift(["response time p50, p99", `${ms(l.response_p50_ns)}, ${ms(l.response_p99_ns)}`]);
    rows.push(["time lost to losses", ms(l.time_lost_ns)], ["spurious retransmissions", l.spurious]);
  }
  fill(lane.div.querySelector(".stats"), rows);
  const due = (c, k) => c.timers && c.timers[k] ? (c.timers[k][0] > 1 ? c.timers[k][0] + "× " : "") + ms(Math.max(0, c.timers[k][1])) : "";
  fill(lane.div.querySelector(".conns table"), l.conns.map(c => [c.name, ...[c.srtt_ns, c.rttvar_ns, c.rto_ns].map(x => x ? ms(x) : ""),
    due(c, "rexmit"), due(c, "tlp"), due(c, "delack"), due(c, "keepalive")]),
  ["connection", "SRTT", "RTTVAR", "RTO", "rexmit in", "probe in", "del. ACK in", "keepalive in"]);
}

// drawLosses shows what each lane made of the losses that the user caused.
function drawLosses(f) {
  const box = $("losses");
  box.hidden = f.live;
  if (f.live || !f.losses) { if (!f.live) $("loss").textContent = "Lose a packet (key d): all lanes lose the same one, and here you see which timer repairs it."; $("outcomes").replaceChildren(); return; }
  const l = f.losses[0], took = o => o.repaired_ns ? o.repaired_ns - o.lost_ns : o.lost_ns ? f.time_ns - o.lost_ns : 0;
  const most = Math.max(...l.lanes.map(took), 1);
  const done = l.lanes.map((o, i) => ({ name: f.lanes[i].lane, took: took(o), done: o.repaired_ns })).sort((a, b) => a.took - b.took);
  const first = done[0], last = done[done.length - 1];
  $("loss").textContent = `You lost ${l.what}.` + (done.length > 1 && done.every(x => x.done) && last.took > 1.1 * first.took
    ? ` ${first.name} had it repaired after ${ms(first.took)}, ${last.name} after ${ms(last.took)}, ${(last.took / first.took).toFixed(1)} times as long.` : "");
  $("outcomes").replaceChildren(...l.lanes.map((o, i) => {
    const row = document.createElement("div"), name = document.createElement("b"), bar = document.createElement("i"), text = document.createElement("span");
    name.textContent = f.lanes[i].lane;
    bar.style.width = Math.max(1, took(o) / most * 100) + "%"; bar.style.background = laneColours[i];
    text.textContent = outcomeText(f.lanes[i].lane, o, took(o));
    row.append(name, text, bar);
    return row;
  }));
}

function outcomeText(lane, o, took) {
  if (!o.lost_ns) return "has not sent it yet";
  if (!o.by) return `has waited for ${ms(took)}`;
  const timer = o.for_ns ? `, set for ${ms(o.for_ns)}` : "";
  return `${o.repaired_ns ? "repaired" : "waits for the ACK"} after ${ms(took)}: retransmitted by ${o.by}${timer} (${ruleOf(lane, o)})`;
}

// address is the part of the page's address that repeats the run.
function address(f) {
  return new URLSearchParams({ seed: f.seed, lanes: f.begun.join(","), initial: f.initial, actions: f.actions }).toString();
}

function show(f) {
  if (f.restarts !== restarts || lanes.length !== f.lanes.length) { restarts = f.restarts; build(f); }
  frame = f;
  $("verdict").textContent = f.verdict;
  if (!f.live) { $("pause").textContent = f.paused ? "go on" : "pause"; $("speed").value = String(f.speed); }
  $("clock").textContent = `${(f.time_ns / 1e9).toFixed(3)} s` + (f.live ? "" : `, seed ${f.seed}.`);
  $("now").textContent = f.conditions;
  drawLosses(f);
  f.lanes.forEach((l, i) => {
    const lane = lanes[i];
    lane.div.dataset.lane = l.lane;
    lane.div.querySelector("h2 span").textContent = l.lane;
    if (!f.live && lane.policy !== document.activeElement) {
      if (!lane.policy.options.length) lane.policy.append(...f.policies.map(p => new Option(p)));
      if (![...lane.policy.options].some(p => p.value === l.lane)) lane.policy.append(new Option(l.lane));
      lane.policy.value = l.lane;
    }
    drawRing(lane, l); drawSequence(lane, l, f.time_ns); drawTables(lane, l, f);
  });
  drawSpread(f);
  if (!f.live && location.hash !== "#" + address(f)) history.replaceState(null, "", "#" + address(f));
  document.body.dataset.frames = +(document.body.dataset.frames || 0) + 1;
}

// The address asks for a run: the program begins it again.
const asked = location.hash.slice(1);
let first = true, pending = null;
const stream = new EventSource("frames");
stream.onmessage = e => {
  const f = JSON.parse(e.data);
  for (const l of f.lanes) for (const k of ["packets", "notes", "expired", "conns", "recovery_ms"]) l[k] ||= [];
  if (first) {
    first = false;
    if (!f.live && asked && token && asked !== address(f)) send("restart", asked);
  }
  if (pending) { // the browser is behind: one drawing for several frames
    f.lanes.forEach((l, i) => {
      const p = pending.lanes[i];
      if (!p || pending.restarts !== f.restarts) return;
      l.packets = p.packets.concat(l.packets); l.notes = p.notes.concat(l.notes); l.expired = p.expired.concat(l.expired);
    });
    pending = f;
    return;
  }
  pending = f;
  requestAnimationFrame(() => { const f = pending; pending = null; if (!frozen) show(f); });
};
stream.onerror = () => { $("said").textContent = "the program has ended, or the connection to it"; };
stream.onopen = () => { $("said").textContent = ""; };
