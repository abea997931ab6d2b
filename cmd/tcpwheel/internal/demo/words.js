// The kinds of timers, in the order of the program's numbers: name, colour, shape, rule. A colour
// means a kind of timer and nothing else; a retransmission has that of the timer that sent it.
const kinds = [
  ["retransmission", "rexmit", "dot", "RFC 6298 §5 (5.1): started when data leaves, for one RTO"],
  ["delayed ACK", "delack", "square", "RFC 5681 §4.2: an ACK waits for a second segment, at most 500 ms"],
  ["keepalive", "keep", "triangle", "RFC 9293 §3.8.4: the connection is idle"],
  ["persist", "other", "cross", "RFC 9293 §3.8.6.1: the peer's window is closed"],
  ["tail loss probe", "probe", "diamond", "RFC 8985 §7.2: 2·SRTT after the last segment"],
  ["reordering", "other", "ring", "RFC 8985 §6.2: RACK waits for reordering"],
  ["pacing", "other", "dot", "the next segment may leave"],
  ["user timeout", "other", "dot", "RFC 5482: data was not acknowledged for too long"],
  ["FIN-WAIT-2", "other", "dot", "the peer does not close"],
  ["TIME-WAIT", "other", "dot", "RFC 9293 §3.6.1: 2·MSL"],
  ["handshake", "other", "dot", "RFC 9293 §3.8.3: the handshake takes too long"],
  ["linger", "other", "dot", "the application waits for the close"],
];
const shownKinds = 6; // in the legend

// colourOf names the colour of what caused a retransmission.
function colourOf(by) {
  if (/tail loss probe/.test(by)) return "probe";
  if (/reordering/.test(by)) return "other";
  return /timer/.test(by) ? "rexmit" : "ink";
}

// dashes tell lanes apart in a diagram of all.
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 5]];

// What ended a timer, in the order of the program's numbers.
const endings = [
  () => "by the program",
  value => value ? `by the ACK of all before byte ${value}` : "by an ACK",
  () => "by data that arrived",
  () => "by a segment that left",
  () => "by its expiry",
];

const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

// span writes a number of seconds with the unit that suits it, and seconds one with four digits after the point.
function span(s) {
  if (s >= 1) return s.toFixed(2) + " s";
  if (s >= 1e-4) return (s * 1e3).toFixed(s < 0.01 ? 1 : 0) + " ms";
  return (s * 1e6).toFixed(0) + " µs";
}
const seconds = s => s.toFixed(4) + " s";
const coarse = lane => lane.startsWith("bsd") ? "4.4BSD" : lane.startsWith("lwip") ? "lwIP" : "";

// rule says by which rule a lane's timer of a kind is armed.
function rule(lane, kind, segment) {
  const stack = coarse(lane);
  if (stack && kind === 0) return `${stack}: one timer, counted in ticks of 500 ms, 1 s at least`;
  if (stack && kind === 2) return `${stack}: counted in ticks of 500 ms`;
  if (kind !== 0) return kinds[kind][3];
  if (segment) return "RFC 6298 §5 (5.1), for each segment: one RTO after it left";
  return "RFC 6298 §5 (5.1) to (5.3): one timer, restarted by each ACK of new data";
}

// ruleOf says the same for what repaired a loss.
function ruleOf(lane, loss) {
  const by = loss.by.split(", then ")[0];
  if (by === "tail loss probe") return kinds[4][3];
  if (by === "reordering timer") return kinds[5][3];
  if (by === "ACKs") return "RFC 6675, RFC 8985: ACKs of later segments showed the loss";
  return rule(lane, 0, loss.segment);
}

// timerText describes a timer of a ring, some time later than its frame.
function timerText(lane, t, wheel, connName, later) {
  let [slot, kind, runs, left, conn, segment, age, set, ended, how, value] = t;
  left -= later; age += later; ended += ended > 0 ? later : 0;
  if (!conn) return `a stopped timer of a connection that has ended\nits record leaves the list when slot ${slot} comes up`;
  const whose = segment ? ` of a segment (record ${segment}) of ${connName(conn)}` : ` of ${connName(conn)}`;
  const lines = [`${runs ? "" : "stopped: "}${kinds[kind][0]} timer${whose}`];
  if (set > 0) lines.push(`armed ${span(age)} ago for ${span(set)}`);
  if (runs) lines.push(`expires in ${span(Math.max(0, left))}, slot ${slot} of ${wheel.slots}`);
  else if (ended > 0 || how > 0) lines.push(`ended ${span(ended)} ago ${endings[how](value)}; its record leaves the list at slot ${slot}`);
  else lines.push(`its record leaves the list when slot ${slot} comes up`);
  lines.push(rule(lane, kind, segment));
  return lines.join("\n");
}

// What lost a packet, by its fate.
const fates = { lost: "link", queue: "queue", "by-hand": "dropped by hand" };

// packetText describes a packet of a time-sequence diagram.
function packetText(lane, p, connName) {
  const lines = [`${connName(p.conn)}, bytes ${p.start} to ${p.end}, sent at ${seconds(p.sent_s)}`];
  if (p.again) {
    lines.push(`retransmitted by ${p.by}` + (p.for_s ? `, armed ${span(p.sent_s - p.armed_s)} before for ${span(p.for_s)}` : ""));
    lines.push(ruleOf(lane, { by: p.by, segment: p.own }));
  }
  if (p.fate) lines.push(`lost: ${fates[p.fate]}`);
  return lines.join("\n");
}
