"use strict";
const $s = id => document.getElementById(id);
const workerURL = URL.createObjectURL(new Blob([$s("s-worker").textContent], { type: "text/javascript" }));

// The program: in this page, or in a file next to it. It is compiled once, for all workers.
let compiled = null;
const program = () => compiled ||= (async () => {
  const inside = $s("s-wasm");
  let bytes;
  if (inside) {
    const text = atob(inside.textContent.trim());
    bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  } else {
    const r = await fetch("tcpwheel.wasm.gz");
    if (!r.ok) throw new Error(`tcpwheel.wasm.gz: ${r.status} ${r.statusText}`);
    bytes = new Uint8Array(await r.arrayBuffer());
  }
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  return WebAssembly.compile(bytes);
})();

// Tabs.
const tabs = ["capture", "demo"];
function open(tab) {
  for (const t of tabs) { $s("s-" + t).hidden = t !== tab; $s("s-tab-" + t).setAttribute("aria-selected", t === tab); }
  if (tab === "demo") beginDemo();
  if (lanesWorker) lanesWorker.postMessage({ call: "visible", args: [tab === "demo"] });
}
for (const t of tabs) $s("s-tab-" + t).onclick = () => open(t);

// A job is a capture in a worker of its own.
let job = null;
let save = (blob, name) => {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob); a.download = name; a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
};
function state(text, progress) {
  $s("s-state").textContent = text;
  $s("s-progress").hidden = progress === undefined;
  if (progress >= 0) $s("s-progress").value = progress; else $s("s-progress").removeAttribute("value");
  $s("s-stop").hidden = !job || !job.running;
}

// command runs a command on the job's capture in a new worker, which ends with it.
async function command(of, args, outs) {
  const module = await program();
  return new Promise((resolve, reject) => {
    if (job !== of) return reject(new Error("stopped"));
    const worker = new Worker(workerURL), what = args[0] === "replay" ? "replaying" : "reading";
    of.running = true;
    of.stop = () => { worker.terminate(); of.running = false; reject(new Error("stopped")); };
    worker.onmessage = e => {
      if (e.data.progress !== undefined) state(`${what} ${of.shown}: ${Math.round(e.data.progress * 100)} %`, e.data.progress);
      if (e.data.status) state(e.data.status);
      if (e.data.done) { worker.terminate(); of.running = false; resolve(e.data.done); }
    };
    worker.onerror = e => { worker.terminate(); of.running = false; reject(new Error(e.message || "the worker has failed")); };
    state(`${what} ${of.shown}`, 0);
    worker.postMessage({ module, args: [...args, of.name], capture: of.capture, name: of.name, outs });
  });
}

// sentence is what a failed command said.
function sentence(r) {
  const said = r.talk.split("\n").filter(l => l.startsWith("tcpwheel: error: ")).map(l => l.replace("tcpwheel: error: ", ""));
  if (said.length) return said.join("; ");
  return /out of memory/.test(r.talk) ? "this capture needs more memory than the browser gives" : r.talk.split("\n")[0] || "the program has ended without a word";
}

// include puts the body of a report page into this page.
function include(id, html) {
  const page = new DOMParser().parseFromString(html, "text/html"), place = $s(id);
  for (const s of page.querySelectorAll("script")) s.remove();
  const body = document.createElement("div");
  body.append(...page.body.childNodes);
  place.replaceChildren(body);
  dress(place);
  return place;
}

async function analyze(capture, name) {
  if (job && job.stop && job.running) job.stop();
  const mine = job = { capture, name, shown: name, outputs: {} };
  for (const id of ["s-report", "s-replay"]) $s(id).replaceChildren();
  $s("s-downloads").hidden = true;
  document.body.dataset.done = "";
  const began = performance.now();
  let memory = 0;
  try {
    state("loading the program");
    const r = await command(mine, ["analyze", "--json", "--html", "report.html", "--"], ["report.html"]);
    document.body.dataset.memory = memory = r.memory || 0;
    if (r.files["report.html"] && r.files["report.html"].size) {
      mine.outputs.analyze = r.stdout;
      mine.outputs.html = r.files["report.html"];
      include("s-report", await r.files["report.html"].text());
      $s("s-downloads").hidden = false;
    }
    if (![0, 4, 5].includes(r.code)) throw new Error(sentence(r)); // 4: cut short; 5: no TCP
    document.body.dataset.done = "analyze";
    const x = await command(mine, ["replay", "--json", "--html", "replay.html", "--"], ["replay.html"]);
    mine.outputs.replay = x.stdout;
    if (x.files["replay.html"] && x.files["replay.html"].size) {
      mine.outputs.replayHTML = x.files["replay.html"];
      include("s-replay", await x.files["replay.html"].text());
    } else if (x.code !== 0) $s("s-replay").textContent = "Replay: " + sentence(x);
    document.body.dataset.memory = memory = Math.max(memory, x.memory || 0);
    state(`${name}: done in ${((performance.now() - began) / 1000).toFixed(1)} s, with at most ${Math.round(memory / 1e6)} MB.`);
    document.body.dataset.done = "replay";
  } catch (wrong) {
    if (job !== mine) return;
    mine.running = false;
    state(wrong.message === "stopped" ? `Stopped. What is shown is complete; drop ${name} again to go on.` : `${name} cannot be read to its end: ${wrong.message}.`);
    document.body.dataset.done = "failed";
  }
}

const downloads = {
  json: () => save(job.outputs.analyze, base() + ".json"),
  "replay-json": () => job.outputs.replay ? save(job.outputs.replay, base() + "-replay.json") : state("the replay is not done yet"),
  annotated: () => later(["analyze", "--annotate", "annotated.pcapng", "--"], "-annotated.pcapng", "annotated.pcapng"),
  html: () => save(job.outputs.html, base() + ".html"),
};
const base = () => job.shown.replace(/^sample:/, "").replace(/(\.(pcap|pcapng|cap|gz|zst))+$/i, "").replaceAll("/", "-");
async function later(args, ending, out) {
  if (job.running) return state("one thing at a time: the program still works");
  const mine = job;
  try {
    const r = await command(mine, args, out ? [out] : []);
    if (r.code !== 0) throw new Error(sentence(r));
    state(`${mine.shown}: ${ending} is written.`);
    save(out ? r.files[out] : r.stdout, base() + ending);
  } catch (wrong) { state(`${mine.shown}: ${wrong.message}.`); }
}
for (const b of document.querySelectorAll("#s-downloads button")) b.onclick = () => downloads[b.dataset.what]();

// Ways in: a file that is dropped, one that is chosen, a sample.
const take = file => { open("capture"); analyze(file, file.name.replace(/[*?\[\]\\]/g, "_").replace(/^-/, "_") || "capture"); };
$s("s-file").onchange = e => { if (e.target.files[0]) take(e.target.files[0]); e.target.value = ""; };
addEventListener("dragover", e => { e.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", e => { if (!e.relatedTarget) document.body.classList.remove("over"); });
addEventListener("drop", e => { e.preventDefault(); document.body.classList.remove("over"); if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]); });
for (const b of document.querySelectorAll("#s-samples button")) b.onclick = () => { open("capture"); analyze(null, "sample:" + b.dataset.sample); };
$s("s-stop").onclick = () => job && job.stop && job.stop();

// The demo.
let lanesWorker = null, demo = null;
function workerSource(worker) {
  const waiting = new Map();
  let n = 0, onFrame, onState;
  worker.onmessage = e => {
    const { frame, failed, id, answer } = e.data;
    if (frame) onFrame(JSON.parse(frame));
    if (failed) onState(failed);
    if (id) { waiting.get(id)(answer); waiting.delete(id); }
  };
  const ask = (call, ...args) => new Promise(done => { waiting.set(++n, done); worker.postMessage({ id: n, call, args }); });
  return {
    live(frame, say) { onFrame = frame; onState = say; },
    send: (name, text) => ask("control", name, text),
    share: f => ({ command: runCommand(f), url: location.href.split("#")[0] + "#demo?" + runAddress(f) }),
  };
}
async function beginDemo() {
  if (lanesWorker) return;
  const worker = lanesWorker = new Worker(workerURL), source = workerSource(worker);
  demo = startDemo(document.querySelector(".demo"), source);
  const asked = location.hash.startsWith("#demo?") ? location.hash.slice(6) : "seed=1&actions=1.5s:tail%3D1";
  try {
    worker.postMessage({ lanes: true, module: await program() });
    const wrong = await source.send("restart", asked);
    if (wrong) document.querySelector("#said").textContent = wrong;
  } catch (wrong) { document.querySelector("#verdict").textContent = "The demo cannot start: " + wrong.message; }
}
open(location.hash.startsWith("#demo") ? "demo" : "capture");
