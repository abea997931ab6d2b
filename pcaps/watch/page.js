"use strict";
const $ = (id) => document.getElementById(id);
let last = null;

// span writes seconds with three digits and a unit.
function span(s) {
  if (s === undefined || s === null) return "–";
  if (s === 0) return "0";
  for (const [unit, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (s >= unit) {
      const x = s / unit;
      return (x >= 100 ? x.toFixed(0) : x.toPrecision(3)) + " " + name;
    }
  }
  return Math.round(s * 1e9) + " ns";
}

// fill fills a table with records. Its columns are name, heading, unit and help of their fields.
function fill(table, records, first) {
  const columns = JSON.parse(table.dataset.columns);
  const row = (name, cells) => {
    const tr = document.createElement("tr");
    tr.className = name;
    tr.append(...cells);
    return tr;
  };
  const cell = (tag, text, title) => {
    const c = document.createElement(tag);
    c.textContent = text;
    if (title) c.title = title;
    return c;
  };
  table.replaceChildren(row("", columns.map(([name, head, , help], i) => cell("th", i === 0 && first || head, help))),
    ...records.map((r) => row(r.kind === "all" ? "all" : "", columns.map(([name, , unit]) => cell("td", unit === "s" && r[name] !== "" ? span(r[name]) : r[name])))));
}

function fillKinds(table, tally) { fill(table, [...(tally.kinds || []), tally.all]); }

function fillLosers(table, what, all) {
  fill(table, all && all.length ? all : [{ name: "none in the last minute", episodes: "", time_lost_s: "" }], what);
}

function plural(n, one, many) { return n.toLocaleString("en") + " " + (n === 1 ? one : many); }

function chart() {
  if (!last) return;
  const c = $("chart"), w = c.clientWidth, h = 140, scale = window.devicePixelRatio || 1, d = last.lost_by_second_s;
  c.width = w * scale;
  c.height = h * scale;
  c.style.height = h + "px";
  const g = c.getContext("2d"), style = getComputedStyle(document.body), top = Math.max(...d, 1e-3), bottom = h - 18;
  g.scale(scale, scale);
  g.font = "12px system-ui, sans-serif";
  g.fillStyle = style.getPropertyValue("--soft");
  g.fillText(span(top), 2, 12);
  g.fillText("60 s ago", 2, h - 3);
  g.textAlign = "right";
  g.fillText("now", w - 2, h - 3);
  g.fillRect(0, bottom, w, 1);
  g.fillStyle = style.getPropertyValue("--bar");
  d.forEach((s, i) => {
    const high = s / top * (bottom - 18);
    g.fillRect(i * w / d.length + 1, bottom - high, Math.max(w / d.length - 2, 1), high);
  });
}

function show(s) {
  last = s;
  $("interface").textContent = s.interface;
  $("now").textContent = plural(Math.round(s.packets_per_s), "packet/s", "packets/s") + ", " + plural(s.connections, "connection", "connections") + ", " +
    s.recovering + " recovering; " + plural(s.packets, "packet", "packets") + " in " + span(s.duration_s);
  const doubts = [];
  if (s.kernel_dropped) doubts.push("The kernel dropped " + plural(s.kernel_dropped, "packet", "packets") + ": they came too fast to be read.");
  if (s.evicted) doubts.push(plural(s.evicted, "connection", "connections") + " evicted to bound memory.");
  if (s.uncertain) doubts.push(plural(s.uncertain, "recovery is", "recoveries are") + " uncertain and not counted.");
  $("doubts").textContent = doubts.join("\n");
  $("minutehead").textContent = s.minute.span_s < 59.5 ? "The last " + Math.round(s.minute.span_s) + " s" : "The last minute";
  fillKinds($("minute"), s.minute);
  fillKinds($("total"), s.total);
  fillLosers($("hosts"), "host", s.minute.hosts);
  fillLosers($("ports"), "port", s.minute.ports);
  const l = s.losses, ended = Object.entries(l.outcomes || {}).map(([outcome, n]) => n + " " + outcome);
  $("losses").textContent = (ended.length ? "Connections that have ended: " + ended.join(", ") + ". " : "") +
    ["clients", "servers"].filter((who) => l[who].lacking).map((who) =>
      "The packets show that at least " + plural(l[who].lacking, "packet", "packets") + " of " + who + " did not come here.").join(" ");
  chart();
}

const events = new EventSource("events");
events.onmessage = (e) => show(JSON.parse(e.data));
events.onerror = () => { $("now").textContent = "The watch has ended, or cannot be reached."; };
window.addEventListener("resize", chart);
