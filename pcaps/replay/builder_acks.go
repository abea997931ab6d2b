package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// delACKPolicies are the policies of delayed ACKs that are tried, the likelier ones first: the
// first of equals is taken.
var delACKPolicies = func() (all []tcptimers.DelAckConfig) {
	const ms = time.Millisecond
	for _, quick := range []int{16, 0, 1, 4, 8, 32, 64} {
		all = append(all,
			tcptimers.DelAckConfig{Every: 2, Quick: quick, Delay: 40 * ms, Min: 40 * ms, Max: 200 * ms},
			tcptimers.DelAckConfig{Every: 2, Quick: quick, Delay: 40 * ms, Min: 40 * ms, Max: 40 * ms},
		)
	}
	all = append(all, tcptimers.DelAckConfig{Every: 1})
	for _, delay := range []time.Duration{100 * ms, 200 * ms, 50 * ms, 20 * ms, 10 * ms, 500 * ms} {
		for _, quick := range []int{0, 1, 16} {
			all = append(all, tcptimers.DelAckConfig{Every: 2, Quick: quick, Delay: delay, Min: delay, Max: delay})
		}
	}
	return append(all, tcptimers.DelAckConfig{Every: 2, Heartbeat: 200 * ms, Max: 200 * ms})
}()

// delayedACKs finds the policy that predicts best when an end acknowledged, and the share of its
// ACKs that it predicts.
func (b *builder) delayedACKs(d int) (best tcptimers.DelAckConfig, fit float64) {
	best, fit = delACKPolicies[0], -1
	candidates := delACKPolicies
	if delay := b.conn.Flows[1-d].Delayed; delay.Count >= 5 && delay.Timer == "fixed" && delay.Median <= 500*time.Millisecond {
		c := tcptimers.DelAckConfig{Every: 2, Delay: delay.Median, Min: delay.Median, Max: delay.Median}
		candidates = append(slices.Clone(delACKPolicies), c)
	}
	for _, c := range candidates {
		t := delACKTrial{config: &c, size: b.paths[1-d].size}
		for i := range b.events[d][:min(len(b.events[d]), mostACKsTried)] {
			t.event(&b.events[d][i])
		}
		if share := t.share(); share > fit {
			best, fit = c, share
		}
	}
	return best, max(fit, 0)
}

// mostACKsTried is how many packets of an end its policy of ACKs is learnt from.
const mostACKsTried = 1 << 13

// delACKTrial has an end acknowledge what it received by a policy, and counts how many of its
// captured ACKs that predicts.
type delACKTrial struct {
	config *tcptimers.DelAckConfig
	size   int64 // of the peer's segments

	delack  tcp.DelAck
	got     arrived
	due     wheel.Time
	pending bool
	sent    []ackSeen // by the policy
	next    int       // of sent
	hits    int
	acks    int // in the capture
}

// share returns the share of the ACKs predicted, of those in the capture or of those by the policy
// if they are more.
func (t *delACKTrial) share() float64 { return float64(t.hits) / float64(max(t.acks, len(t.sent), 1)) }

func (t *delACKTrial) send(at wheel.Time) {
	t.sent = append(t.sent, ackSeen{at, t.got.una})
	t.delack.OnAckSent()
	t.pending = false
}

func (t *delACKTrial) event(x *endEvent) {
	if t.pending && t.due <= x.at {
		if t.delack.OnTimeout(t.config) == tcp.AckNow {
			t.send(t.due)
		}
		t.pending = false
	}
	switch {
	case x.reset || x.start == 0:
		if x.data {
			t.got.take(x.start, x.end)
		}
	case !x.sends && x.data:
		t.receive(x)
	case x.sends && x.data:
		if x.ack > 0 {
			t.delack.OnAckSent()
			t.pending = false
		}
	case x.sends && x.ack > 1:
		t.captured(x)
	}
}

func (t *delACKTrial) receive(x *endEvent) {
	gap, filled, twice := t.got.take(x.start, x.end)
	for n := x.end - x.start; n > 0; n -= t.size {
		when, delay := t.delack.OnSegment(x.at, t.config, tcp.SegmentIn{
			Len: uint32(min(n, t.size)), PSH: x.push, FIN: x.fin && n <= t.size, Duplicate: twice, FilledGap: filled, Gap: gap,
		})
		switch when {
		case tcp.AckNow:
			t.send(x.at)
		case tcp.AckDelayed:
			t.pending, t.due = true, x.at.Add(delay)
			if beat := wheel.Time(t.config.Heartbeat); beat > 0 {
				t.due = (x.at/beat + 1) * beat
			}
		}
	}
}

// captured compares a captured ACK with the policy's ACKs.
func (t *delACKTrial) captured(x *endEvent) {
	t.acks++
	for t.next < len(t.sent) && t.sent[t.next].at < x.at.Add(-answerTime) {
		t.next++
	}
	for k := t.next; k < len(t.sent) && t.sent[k].at <= x.at.Add(answerTime); k++ {
		if t.sent[k].place == x.ack {
			t.hits++
			t.next = k + 1
			break
		}
	}
	if t.pending && t.got.una == x.ack && t.due < x.at.Add(2*answerTime) && t.due > x.at.Add(-answerTime) {
		t.hits++ // the captured timer is a little late
		t.delack.OnTimeout(t.config)
		t.send(x.at)
		t.next = len(t.sent)
	}
}

// acks finds when the end d acknowledged what it received. Without SACK its ACKs count only what
// arrived in order.
func (b *builder) acks(d int, sack bool) (all []ACK) {
	count := func(a *arrived) int64 {
		if sack {
			return a.bytes()
		}
		return max(a.una-1, 0)
	}
	var (
		got  []delivered // how much had arrived when
		come = arrived{una: 1}
		said arrived // by the ACKs of d
	)
	for i := range b.events[d] {
		x := &b.events[d][i]
		switch {
		case x.reset:
		case !x.sends && x.data && x.end > 1:
			was := count(&come)
			if come.take(x.start, x.end); count(&come) > was {
				got = append(got, delivered{x.at, count(&come)})
			}
		case x.sends && x.ack > 0 && said.ack(x.p, x.ack, b.paths[1-d].max) && !x.data:
			a := ACK{Bytes: uint64(said.bytes())}
			k, _ := slices.BinarySearchFunc(got, said.bytes(), func(t delivered, n int64) int { return cmp.Compare(t.bytes, n) })
			if k < len(got) {
				if late := x.at.Sub(got[k].at); late > promptACK {
					a.After = late
				}
			}
			all = append(all, a)
		}
	}
	return all
}

// delivered is an instant at which so many bytes had arrived, or were known to have.
type delivered struct {
	at    wheel.Time
	bytes int64
}
