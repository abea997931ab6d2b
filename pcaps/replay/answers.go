package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Answer is an ACK by itself of a captured end: how many octets of the other's it had got then, in any order, and how long after it had
// got so many it was sent.
type Answer struct {
	Octets uint64        `json:"octets"`
	After  time.Duration `json:"after_ns,omitempty"`
}

// atOnce is how soon after a packet an ACK is sent that no timer held back.
const atOnce = time.Millisecond

// answers finds when the end d acknowledged what it got. Without SACK its ACKs count only what came in order.
func (m *maker) answers(d int, sack bool) (all []Answer) {
	count := func(a *arrived) int64 {
		if sack {
			return a.octets()
		}
		return max(a.una-1, 0)
	}
	var (
		got  []telling // how much had come when
		come arrived
		said arrived // by the ACKs of d
	)
	for i := range m.deeds[d] {
		x := &m.deeds[d][i]
		switch {
		case x.reset:
		case !x.sends && x.data && x.end > 1:
			was := count(&come)
			if come.take(block{max(x.start, 1), x.end}); count(&come) > was {
				got = append(got, telling{x.at, count(&come)})
			}
		case x.sends && x.ack > 0 && said.ack(m, 1-d, x) && !x.data:
			a := Answer{Octets: uint64(said.octets())}
			k, _ := slices.BinarySearchFunc(got, said.octets(), func(t telling, n int64) int { return cmp.Compare(t.octets, n) })
			if k < len(got) {
				if late := x.at.Sub(got[k].at); late > atOnce {
					a.After = late
				}
			}
			all = append(all, a)
		}
	}
	return all
}

// answering holds back the ACKs of an end, which acknowledges all at once, up to when the captured one sent them.
type answering struct {
	script  []Answer
	next    int
	heard   arrived // what the ACKs tell that came here, and went on or not
	path    *path
	pending host.Datagram
	pos     int64 // of pending
	ack     int64
	waits   bool
	due     wheel.Time
	timer   wheel.Timer
	late    time.Duration // for ACKs that the captured end did not send
}

// gapsWait is for how long an ACK is held back at most that tells of a gap, if the captured end did not send one then: a host may take several
// packets at once.
const gapsWait = 5 * time.Millisecond

// newAnswering holds back the ACKs of the end that sends the way p.
func newAnswering(p *path, e *Endpoint) *answering {
	h := &answering{script: e.Answers, path: p, late: max(e.ACKs.Delay, e.ACKs.Heartbeat)}
	if h.late == 0 {
		h.late = 40 * time.Millisecond
	}
	h.timer = p.run.world.Net.NewTimer(h)
	return h
}

// Expire implements sim.Handler: the ACK has waited for long enough.
func (h *answering) Expire(now wheel.Time) {
	if h.waits {
		h.waits = false
		h.path.pass(now, &h.pending, h.pos, h.pos, h.ack)
	}
}

// take takes in a packet that is about to leave at now, and reports whether it goes on.
func (h *answering) take(now wheel.Time, d *host.Datagram, pos, ack int64) bool {
	head := &d.Body.Header
	if ack <= 0 || !head.Flags.Has(tcp.ACK) {
		return true
	}
	was := h.heard.octets()
	filled := len(h.heard.blocks) > 0 && ack > h.heard.una
	h.heard.una = max(h.heard.una, ack)
	for i := range head.Options.NumSACK {
		r := head.Options.SACK[i]
		b := block{ack + int64(int32(r.Start-head.Ack)), 0}
		b.end = b.start + int64(r.Len())
		if b.start >= h.heard.una && b.end > b.start {
			h.heard.add(b)
		}
	}
	h.heard.trim()
	count := h.heard.octets()
	bare := d.Body.Len == 0 && !head.Flags.HasAny(tcp.SYN|tcp.FIN|tcp.RST)
	if !bare || count == was && !h.waits {
		h.drop()
		return true
	}
	wait := h.late
	if head.Options.NumSACK > 0 {
		wait = gapsWait
	}
	for h.next < len(h.script) && h.script[h.next].Octets <= uint64(count) {
		wait = h.script[h.next].After
		h.next++
	}
	// RFC 5681 §4.2: an ACK is sent at once for what fills a gap.
	if wait == 0 || count == was || filled {
		h.drop()
		return true
	}
	if at := now.Add(wait); !h.waits || at < h.due {
		h.due = at
		h.path.run.world.Net.StartTimer(h.timer, at)
	}
	h.waits, h.pending, h.pos, h.ack = true, *d, pos, ack
	return false
}

// drop forgets the ACK that waits: another one tells as much.
func (h *answering) drop() {
	if h.waits {
		h.waits = false
		h.path.run.world.Net.StopTimer(h.timer)
	}
}
