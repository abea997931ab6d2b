package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/wheel"
)

// ackPacer holds the ACKs of an end, which acknowledges everything at once, until the captured end
// sent them.
type ackPacer struct {
	e       *end
	script  []ACK
	next    int
	claims  arrived       // what the end's ACKs say has arrived, held or not
	late    time.Duration // how long ACKs are held that the captured end did not send
	waits   bool
	pending outgoing // if waits
	due     wheel.Time
	alarm   alarm
}

// newACKPacer returns the pacer of an end.
func newACKPacer(e *end) *ackPacer {
	s := &e.captured.Ends[e.side]
	p := &ackPacer{e: e, script: s.ACKs, late: cmp.Or(s.ACKDelay, usualACKDelay)}
	p.alarm.do = p.send
	return p
}

// fork returns a copy for an end that is released at now.
func (p *ackPacer) fork(now wheel.Time, e *end) *ackPacer {
	f := *p
	f.e, f.alarm = e, alarm{do: f.send}
	f.claims.Set = slices.Clone(p.claims.Set)
	f.waits = p.waits && p.due > now // else the captured end has sent it
	return &f
}

// release starts the timer of an ACK that waits.
func (p *ackPacer) release() {
	if p.waits {
		p.start()
	}
}

func (p *ackPacer) start() {
	if p.e.net != nil {
		p.alarm.set(p.e.net, p.due)
	}
}

// send sends the ACK, which has waited long enough.
func (p *ackPacer) send(now wheel.Time) {
	if p.waits {
		p.waits = false
		p.e.carrier.carry(now, p.e, &p.pending)
	}
}

// take takes in a segment that is about to leave, and reports whether it may.
func (p *ackPacer) take(now wheel.Time, o *outgoing) bool {
	h := &o.header
	if o.ack <= 0 || !h.Flags.Has(tcp.ACK) {
		return true
	}
	var buf [tcp.MaxSACKBlocks]ledger.Range
	una := p.claims.una()
	filled := p.claims.Len() > una && o.ack > una
	news := p.claims.ack(o.ack, blocksOf(&h.Options, o.ack, &buf), math.MaxInt64)
	bare := o.bytes == 0 && !h.Flags.HasAny(tcp.SYN|tcp.FIN|tcp.RST)
	if !bare || !news && !p.waits {
		p.drop()
		return true
	}
	wait := p.late
	if h.Options.NumSACK > 0 {
		wait = answerJitter
	}
	for p.next < len(p.script) && p.script[p.next].Bytes <= uint64(p.claims.bytes()) {
		wait = p.script[p.next].After
		p.next++
	}
	// RFC 5681 §4.2: what fills a gap is acknowledged at once.
	if wait == 0 || !news || filled {
		p.drop()
		return true
	}
	if at := now.Add(wait); !p.waits || at < p.due {
		p.due = at
	}
	p.waits, p.pending = true, *o
	p.start()
	return false
}

// drop forgets the ACK that waits: another one says as much.
func (p *ackPacer) drop() {
	if p.waits {
		p.waits = false
		p.alarm.stop(p.e.net)
	}
}
