package replay

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// follower has both ends do what their tapes say: they hear what they heard in the capture, and
// send and retransmit when they did. Nothing expires, and nothing is lost by chance or policy. So
// it serves several policies at once: they differ only in what they make of the round trips.
type follower struct {
	captured *CapturedConn
	ends     [2]*end
	feeders  [2]*feeder
	fans     [2]*fan
	sends    [2]int        // the next of tape.sends
	acked    [2]wheel.Time // when each end last heard of an ACK of new data
}

// carry implements carrier: what the ends send goes nowhere.
func (f *follower) carry(wheel.Time, *end, *outgoing) {}

// follow makes a follower for contenders that measure alike.
func (s *CapturedConn) follow(congestion string, group []*contender) (*follower, error) {
	f := &follower{captured: s}
	for d := range f.ends {
		o := &Options{Congestion: congestion}
		var err error
		if f.ends[d], err = s.newEnd(d, o, times{captured: s, measures: measuring(group[0].decider.policy())}, nil, f); err != nil {
			return nil, err
		}
		f.fans[d] = newFan(group)
		f.ends[d].cfg.Replay.Estimator = f.fans[d]
		f.feeders[d] = newFeeder(f.ends[d])
	}
	if len(s.Paths[0].Ranges) == 0 || s.Paths[0].Ranges[0].Start > 0 {
		f.open()
	}
	return f, nil
}

// open makes the handshake that the capture does not have.
func (f *follower) open() {
	s := f.captured
	at := s.Begin
	f.ends[0].dial(at)
	at = at.Add(s.Paths[0].Base)
	f.hear(1, &delivery{at: at, sent: s.Begin, end: 1})
	if back := s.Paths[1].Ranges; len(back) > 0 && back[0].Start == 0 {
		return // the SYN-ACK was captured
	}
	sent := at
	at = at.Add(s.Paths[1].Base)
	f.hear(0, &delivery{at: at, sent: sent, end: 1, ack: 1})
	sent = at
	at = at.Add(s.Paths[0].Base)
	f.hear(1, &delivery{at: at, sent: sent, start: 1, end: 1, ack: 1})
}

// to does all that the tapes have up to an instant, that instant included.
func (f *follower) to(until wheel.Time) {
	for d := range f.ends {
		t := &f.captured.tapes[d]
		for {
			next := &f.feeders[d].next
			hears := *next < len(t.heard) && t.heard[*next].at <= until
			sends := f.sends[d] < len(t.sends) && f.captured.Paths[d].sent(t.sends[f.sends[d]]).Sent <= until
			if hears {
				x := t.delivery(*next, f.captured.facts)
				if !sends || f.hearsFirst(d, &x, t.sends[f.sends[d]]) {
					*next++
					f.hear(d, &x)
					continue
				}
			}
			if !sends {
				break
			}
			f.sends[d]++
			f.send(f.ends[d], t.sends[f.sends[d]-1])
		}
	}
}

// hearsFirst reports whether an end hears a delivery before it sends x. What is acknowledged was
// sent before, though times are in part guesses. Captured at the end, what happens at one instant
// is in the order of the capture.
func (f *follower) hearsFirst(d int, heard *delivery, x sendRef) bool {
	try := f.captured.Paths[d].sent(x)
	first := heard.at <= try.Sent
	if heard.at == try.Sent && heard.p != nil && try.Packet > 0 && f.captured.Ends[d].Half == 0 {
		first = heard.p.Number < try.Packet
	}
	return first && heard.ack <= f.ends[d].sent
}

// hear has an end hear a delivery.
func (f *follower) hear(d int, x *delivery) {
	e := f.ends[d]
	f.fans[d].now = x.at
	was := int64(-1)
	if e.conn != nil {
		was = e.acked()
	}
	f.feeders[d].deliver(x.at, x)
	if e.conn != nil && e.acked() > was {
		f.acked[d] = x.at
		if was == 0 {
			f.fans[d].opened()
		}
	}
}

// send has an end send what it sent then.
func (f *follower) send(e *end, x sendRef) {
	r := &f.captured.Paths[e.side].Ranges[x.index]
	start, end, at := int64(r.Start), int64(r.End), r.Tries[x.try].Sent
	switch {
	case e.conn == nil && e.side == 0:
		e.dial(at)
	case e.conn == nil:
	case x.try > 0:
		since := max(f.acked[e.side], r.Tries[0].Sent)
		f.fans[e.side].retransmitted(at, since, start == 0)
		e.resend(at, start, end, int(x.try)+1)
	case end > 1:
		e.app.copyTo(at, end)
		e.conn.Follower().SendNew(at, tcp.Seq(end), &e.out)
		e.flush(at)
	}
}
