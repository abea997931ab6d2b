package truth

import (
	"net/netip"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Sent is one transmission of octets, with SYN and FIN.
type Sent struct {
	At             wheel.Time // nanoseconds since 1970
	Seq, End       tcp.Seq
	Retransmission bool // some of them were sent before

	// Of a retransmission:
	Kind     track.Kind
	GoBack   bool // the timer had expired before (Kind is RTO)
	Opens    bool // an episode
	InPlace  bool // a probe at an instant at which a timeout may have been due
	Spurious bool // earlier transmissions of all of them have arrived, or will
	Arrived  bool
	Reported bool // that it was spurious, by a DSACK that reached the sender

	una, max tcp.Seq // SND.UNA and SND.NXT before it
	newData  wheel.Time
	acked    wheel.Time // when SND.UNA last moved
}

// Flow is what one end of a connection has sent.
type Flow struct {
	Src, Dst netip.AddrPort
	Sent     []Sent

	which [3]map[int64]int // by point: the packet with that mark, which is its own there, is that transmission

	estimates []estimate
	reports   progress
}

// newFlow returns one that has sent nothing.
func newFlow(src, dst netip.AddrPort) *Flow {
	f := &Flow{Src: src, Dst: dst}
	for i := range f.which {
		f.which[i] = map[int64]int{}
	}
	return f
}

// note has the packet with that mark be a transmission, captured at a point.
func (f *Flow) note(point int, mark int64, i int) { f.which[point][mark] = i }

// settle works out what follows from the order of things: episodes, and what was needless. It returns which were.
func (f *Flow) settle() (again []int) {
	var recover tcp.Seq
	open := false
	for i := range f.Sent {
		t := &f.Sent[i]
		if !t.Retransmission {
			continue
		}
		if !open || t.una.AtOrAfter(recover) {
			open, t.Opens, recover = true, true, t.max
		}
		covered := t.Seq
		for more := true; more && covered.Before(t.End); {
			more = false
			for k := range i {
				if o := &f.Sent[k]; o.Arrived && o.Seq.AtOrBefore(covered) && o.End.After(covered) {
					covered, more = o.End, true
				}
			}
		}
		t.Spurious = !covered.Before(t.End)
		if t.Spurious {
			again = append(again, i)
		}
	}
	return again
}

// settleKernel does so for what a kernel has sent.
func (f *Flow) settleKernel() {
	f.report(f.settle())
	for i := range f.Sent {
		t := &f.Sent[i]
		t.InPlace = t.Retransmission && t.Kind == track.TLP && f.inPlace(t)
	}
}

// report has each DSACK account for the last transmission of its octets that is left, of those that were spurious.
func (f *Flow) report(again []int) {
	for _, d := range f.reports {
		for k := len(again) - 1; k >= 0 && d.twice; k-- {
			t := &f.Sent[again[k]]
			if t.Arrived && !t.Reported && t.At < d.at && t.Seq.Before(d.end) && d.from.Before(t.End) {
				t.Reported = true
				if d.from = t.End; d.from.AtOrAfter(d.end) {
					break
				}
			}
		}
	}
}

// inPlace reports whether a probe took the place of the timeout, as Linux has it when the timeout is due sooner than the probe would be
// (tcp_schedule_loss_probe): two round trips after the last octets or their ACK, and the time that a receiver may delay the ACK of a single
// segment.
func (f *Flow) inPlace(t *Sent) bool {
	i, _ := slices.BinarySearchFunc(f.estimates, t.At, func(e estimate, at wheel.Time) int {
		if e.at < at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return true // no round trip is known: both are due after a second
	}
	e := &f.estimates[i-1]
	wait := 2*e.srtt + 2*jiffy
	if t.una == t.Seq && t.max == t.End {
		wait = 2*e.srtt + leastTimeout
	}
	return wait+jiffy >= e.rto
}

const (
	jiffy        = 4 * time.Millisecond
	leastTimeout = 200 * time.Millisecond // Linux: TCP_RTO_MIN
)

// estimate is what Linux makes of the round trips up to an instant.
type estimate struct {
	at        wheel.Time
	srtt, rto time.Duration
}

// measure takes the round trips of first transmissions, up to the ACKs of them.
func (f *Flow) measure(p *progress) {
	linux := tcptimers.MustPolicy("linux")
	est := linux.NewEstimator()
	i, round := 0, tcp.Seq(0)
	for _, a := range *p {
		first := wheel.Time(0)
		for ; i < len(f.Sent) && f.Sent[i].End.AtOrBefore(a.una); i++ {
			if t := &f.Sent[i]; t.Retransmission {
				first = 0
			} else if first == 0 {
				first = t.At
			}
		}
		if first == 0 {
			continue
		}
		s := tcptimers.Sample{RTT: a.at.Sub(first), Expected: 1}
		if round == 0 || a.una.After(round) {
			s.Round, round = true, f.Sent[min(i, len(f.Sent)-1)].max
		}
		est.Sample(s)
		f.estimates = append(f.estimates, estimate{a.at, est.SRTT(), est.RTO()})
	}
}

// number returns which transmission a packet is of a capture at that point, by its mark.
func (f *Flow) number(point int, mark int64) (int, bool) {
	i, ok := f.which[point][mark]
	return i, ok
}

// visible returns, for each transmission, whether a capture at the point can show that it is not the first: one before it was seen, or
// a gap where it belongs.
func (f *Flow) visible(point int) []bool {
	seen := make([]bool, len(f.Sent))
	for _, i := range f.which[point] {
		seen[i] = true
	}
	out := make([]bool, len(f.Sent))
	var top tcp.Seq
	any := false
	for i := range f.Sent {
		t := &f.Sent[i]
		out[i] = seen[i] && any && top.After(t.Seq)
		if seen[i] && (!any || t.End.After(top)) {
			top, any = t.End, true
		}
	}
	return out
}
