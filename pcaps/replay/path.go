package replay

import (
	"container/heap"
	"slices"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// path is one direction of the way between the ends.
type path struct {
	run  *run
	flow int
	way  *Way
	out  sim.LinkID

	timer   wheel.Timer
	waiting arrivals
	order   uint64
	last    wheel.Time // the latest arrival

	iss     tcp.Seq
	started bool
	place   int64
	index   int // of packets with octets
	sent    []passage
	high    int64   // all that was ever sent ends here
	acks    []Delay // when each ACK of this direction's octets arrived at their sender; Took is the place
	log     []Event

	answers *answering // of the end that sends this way; nil if it acknowledges by itself
}

// passage is a transmission of the replay.
type passage struct {
	at         wheel.Time
	start, end int64
	try        int
	lost       bool
	spurious   bool // its octets had arrived, or were on their way
	arrives    wheel.Time
}

type arrival struct {
	at    wheel.Time
	order uint64
	d     host.Datagram
	end   int64
	ack   int64
}

// arrivals is a heap by time, and by order for one instant.
type arrivals []arrival

func (h arrivals) Len() int { return len(h) }
func (h arrivals) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h arrivals) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *arrivals) Push(x any)   { *h = append(*h, x.(arrival)) }
func (h *arrivals) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func (p *path) begin(r *run, flow int) {
	p.run, p.flow, p.way = r, flow, &r.script.Ways[flow]
	p.timer = r.world.Net.NewTimer(p)
}

func (p *path) idle() bool { return len(p.waiting) == 0 }

// Receive implements sim.Node: an end has sent a packet.
func (r *run) Receive(now wheel.Time, _ sim.LinkID, d *host.Datagram) {
	flow := 0
	if d.From == r.hosts[1].ID() {
		flow = 1
	}
	r.paths[flow].send(now, d)
}

// send decides what becomes of a packet.
func (p *path) send(now wheel.Time, d *host.Datagram) {
	h := &d.Body.Header
	if h.Flags.Has(tcp.SYN) && !p.started {
		p.started, p.iss = true, h.Seq
	}
	pos := p.place + int64(int32(h.Seq-(p.iss+tcp.Seq(p.place))))
	end := pos + int64(d.Body.Len)
	if h.Flags.Has(tcp.SYN) {
		end++
	}
	if h.Flags.Has(tcp.FIN) {
		end++
	}
	p.place = max(p.place, pos)
	back := p.run.paths[1-p.flow]
	ack := int64(0)
	if h.Flags.Has(tcp.ACK) && back.started {
		ack = back.place + int64(int32(h.Ack-(back.iss+tcp.Seq(back.place))))
	}
	if f := p.run.follower; f != nil {
		f.note(now, p.flow, d)
	}
	if p.answers != nil && !p.answers.take(now, d, pos, ack) {
		return
	}
	p.pass(now, d, pos, end, ack)
}

// pass sends a packet on its way.
func (p *path) pass(now wheel.Time, d *host.Datagram, pos, end, ack int64) {
	h := &d.Body.Header
	if f := p.run.follower; f != nil && f.holds(now) {
		f.keep(now, p.flow, d, pos, end, ack)
		return
	}
	half := p.run.script.Ends[p.flow].Half
	atArrival := half > 0 && p.run.script.Ends[1-p.flow].Half == 0
	event := Event{At: now.Add(half / 2), Flow: p.flow, Flags: h.Flags, Start: uint64(pos), End: uint64(end), Ack: uint64(max(ack, 0))}
	if !atArrival {
		p.log = append(p.log, event)
	}
	var took time.Duration
	if end > pos {
		if f := p.run.follower; f != nil && f.gone(now, p, pos, end, int(d.Attempt)) {
			p.sent = append(p.sent, passage{at: now, start: pos, end: end, try: int(d.Attempt), lost: true})
			return
		}
		x := p.judge(now, pos, end, int(d.Attempt))
		took = x.arrives.Sub(now)
		p.sent = append(p.sent, x)
		if x.lost {
			return
		}
	} else {
		if p.deaf(now) {
			return
		}
		took = p.delay(now)
	}
	at := max(now.Add(took), now)
	if atArrival {
		event.At = at
		p.log = append(p.log, event)
	}
	p.launch(now, at, d, end, ack)
}

// launch has a packet arrive.
func (p *path) launch(now, at wheel.Time, d *host.Datagram, end, ack int64) {
	p.order++
	heap.Push(&p.waiting, arrival{at, p.order, *d, end, ack})
	p.run.world.Net.StartTimer(p.timer, max(p.waiting[0].at, now))
}

// Expire implements sim.Handler: a packet arrives.
func (p *path) Expire(now wheel.Time) {
	if f := p.run.follower; f != nil {
		f.listen(now, 1-p.flow) // what left before the ends were let go comes first
	}
	for len(p.waiting) > 0 && p.waiting[0].at <= now {
		x := heap.Pop(&p.waiting).(arrival)
		if x.ack > 0 {
			back := p.run.paths[1-p.flow]
			if n := len(back.acks); n == 0 || back.acks[n-1].Took < spanOf(uint64(x.ack)) {
				back.acks = append(back.acks, Delay{now, spanOf(uint64(x.ack))})
			}
		}
		p.run.hosts[1-p.flow].Receive(now, p.out, &x.d)
	}
	if len(p.waiting) > 0 {
		p.run.world.Net.StartTimer(p.timer, p.waiting[0].at)
	}
}

// delay returns how long a packet without octets takes that is sent now: the least time, as the script has taken it to have been. It overtakes
// none, and holds up none, as what follows has times of its own.
func (p *path) delay(now wheel.Time) time.Duration {
	return max(now.Add(p.way.Base), p.last).Sub(now)
}

// deaf reports whether ACKs are lost that are sent now.
func (p *path) deaf(now wheel.Time) bool {
	if p.run.options.Key == ByIndex {
		return false
	}
	return p.way.deaf(now)
}

// deaf reports whether ACKs are lost that are sent at that time.
func (w *Way) deaf(at wheel.Time) bool {
	return slices.ContainsFunc(w.Deaf, func(s Span) bool { return s.From <= at && at <= s.To })
}

// near is how far from its captured time a transmission may be sent and still take as long as the captured one.
func (p *path) near() time.Duration { return max(p.way.Base/4, time.Millisecond) }

// asGood is how far from its captured time a transmission may be sent and still arrive when the captured one did: captures are off by as much,
// and what hosts and queues add differs by as much, so that errors do not add up.
const asGood = time.Millisecond

// judge decides the fate of octets that are sent now.
func (p *path) judge(now wheel.Time, pos, end int64, try int) passage {
	x := passage{at: now, start: pos, end: end, try: try}
	out := p.run.out
	out.Deliveries++
	p.index++
	r, found := p.way.find(uint64(pos))
	var t *Try
	if found && try-1 < len(r.Tries) {
		t = &r.Tries[try-1]
	}
	switch p.run.options.Key {
	case ByRange:
		if t != nil && t.Fate != Unknown {
			x.lost = p.mostly(pos, end, try)
		} else {
			x.lost = p.impute(now, pos, try)
		}
	case ByTime:
		lost, known := p.gone(now, t)
		if !known {
			lost = p.draw(now, pos, try)
		}
		x.lost = lost
	case ByIndex:
		if p.index <= len(p.way.Index) {
			x.lost = p.way.Index[p.index-1]
		} else {
			x.lost = p.draw(now, pos, try)
		}
	}
	for i := len(p.sent) - 1; i >= 0 && pos < p.high; i-- {
		o := &p.sent[i]
		if o.start > pos || o.end < end {
			continue
		}
		if x.spurious = !o.lost; x.spurious || o.try == 1 {
			break // nothing of it left before its first transmission
		}
	}
	p.high = max(p.high, end)
	if x.spurious {
		out.Spurious++
	}
	switch {
	case t != nil && t.Fate == Delivered && (now.Sub(t.Sent)).Abs() <= p.near():
		x.arrives = now.Add(t.Delay)
		if now.Sub(t.Sent).Abs() <= asGood {
			x.arrives = max(t.Sent.Add(t.Delay), now)
		}
		if !t.Late {
			x.arrives = max(x.arrives, p.last)
		}
	default:
		x.arrives = now.Add(interpolate(p.way.Delays, now, p.way.Base))
		x.arrives = max(x.arrives, p.last)
	}
	if !x.lost && (t == nil || !t.Late) {
		p.last = max(p.last, x.arrives)
	}
	return x
}

// mostly reports whether most of the octets were lost at that transmission.
func (p *path) mostly(pos, end int64, try int) bool {
	var lost, all int64
	for pos < end {
		r, ok := p.way.find(uint64(pos))
		if !ok {
			break
		}
		to := min(end, int64(r.End))
		if try-1 < len(r.Tries) && r.Tries[try-1].Fate != Unknown {
			all += to - pos
			if r.Tries[try-1].Fate == Lost {
				lost += to - pos
			}
		}
		pos = to
	}
	return 2*lost > all || all > 0 && 2*lost == all
}

// impute decides a fate that the capture does not tell: by what was sent at that time, or else by chance.
func (p *path) impute(now wheel.Time, pos int64, try int) bool {
	if lost, known := p.gone(now, nil); known {
		p.run.out.Imputed++
		return lost
	}
	return p.draw(now, pos, try)
}

// gone reports whether nothing came through at that time, if the capture tells. A captured transmission of the same octets speaks for itself
// if it was sent then, about: else a retransmission that leaves a little sooner than in the capture would be lost before it, in the span which the
// captured one has ended.
func (p *path) gone(now wheel.Time, t *Try) (lost, known bool) {
	if t != nil && t.Fate != Unknown && now.Sub(t.Sent).Abs() <= p.near() {
		return t.Fate == Lost, true
	}
	for _, s := range p.way.Gone {
		if s.From <= now && now <= s.To {
			return true, true
		}
	}
	d := p.way.Delays
	return false, len(d) > 0 && now <= d[len(d)-1].Sent.Add(p.near())
}

// draw decides by chance: a loss is as likely as the captured ones say, by the rule of succession. The same transmission has the same
// luck under each policy.
func (p *path) draw(now wheel.Time, pos int64, try int) bool {
	out := p.run.out
	out.Imputed++
	out.Drawn++
	if out.Horizon == 0 {
		out.Horizon = now
	}
	x := uint64(pos)*0x9e3779b97f4a7c15 + uint64(try)*0xbf58476d1ce4e5b9 + uint64(p.flow) + 1
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	chance := float64(p.way.Lost+1) / float64(p.way.Sent+2)
	return float64(x>>11)/(1<<53) < chance
}

func spanOf(pos uint64) time.Duration { return time.Duration(pos) }
