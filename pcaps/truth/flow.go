package truth

import (
	"net/netip"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Sent is one transmission, SYN and FIN included.
type Sent struct {
	At             wheel.Time // ns since 1970
	Seq, End       tcp.Seq
	Retransmission bool // some of its bytes were sent before

	// If Retransmission:
	Kind     track.Kind
	GoBack   bool // the timer had expired before (Kind is RTO)
	Opens    bool // it opens an episode
	InPlace  bool // a probe sent when a timeout may have been due
	Spurious bool // all its bytes arrived in earlier transmissions
	Arrived  bool
	Reported bool // a DSACK reported it to the sender

	una, max tcp.Seq // SND.UNA and SND.NXT before it
	newData  wheel.Time
	acked    wheel.Time // when SND.UNA last moved
}

// Flow is what one end of a connection sent.
type Flow struct {
	Src, Dst netip.AddrPort
	Sent     []Sent

	byMark [3]map[int64]int // by point: transmission by mark, which is unique to a packet there

	estimates []estimate
	reports   ackHistory
}

// newFlow returns an empty flow.
func newFlow(src, dst netip.AddrPort) *Flow {
	f := &Flow{Src: src, Dst: dst}
	for i := range f.byMark {
		f.byMark[i] = map[int64]int{}
	}
	return f
}

// note records that the packet with that mark at a point is transmission i.
func (f *Flow) note(point int, mark int64, i int) { f.byMark[point][mark] = i }

// settle derives episodes and spurious retransmissions from the order of events. It returns the
// indices of the latter.
func (f *Flow) settle() (again []int) {
	var recover tcp.Seq
	var arrived ledger.Set
	open, next := false, int64(0)
	for i := range f.Sent {
		t := &f.Sent[i]
		start := t.Seq.Unwrap(next)
		bytes := ledger.Range{Start: start, End: t.End.Unwrap(start)}
		next = max(next, bytes.End)
		if t.Retransmission {
			if !open || t.una.AtOrAfter(recover) {
				open, t.Opens, recover = true, true, t.max
			}
			if t.Spurious = arrived.Contains(bytes); t.Spurious {
				again = append(again, i)
			}
		}
		if t.Arrived {
			arrived.Add(bytes)
		}
	}
	return again
}

// settleKernel is settle for a kernel's flow.
func (f *Flow) settleKernel() {
	f.report(f.settle())
	for i := range f.Sent {
		t := &f.Sent[i]
		t.InPlace = t.Retransmission && t.Kind == track.TLP && f.inPlace(t)
	}
}

// report accounts each DSACK to the last spurious transmission of its bytes that is left.
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

// inPlace reports whether a probe replaced the timeout, as Linux does when the timeout is due
// before the probe (tcp_schedule_loss_probe). The probe is due two RTTs after the last data or ACK,
// plus the receiver's ACK delay for a single segment.
func (f *Flow) inPlace(t *Sent) bool {
	i, _ := slices.BinarySearchFunc(f.estimates, t.At, func(e estimate, at wheel.Time) int {
		if e.at < at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return true // without an RTT both are due after 1 s
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

// estimate is Linux's RTT estimate at a time.
type estimate struct {
	at        wheel.Time
	srtt, rto time.Duration
}

// measure feeds the RTTs of first transmissions to Linux's estimator.
func (f *Flow) measure(p *ackHistory) {
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

// transmission returns the transmission of the packet with that mark at a point.
func (f *Flow) transmission(point int, mark int64) (int, bool) {
	i, ok := f.byMark[point][mark]
	return i, ok
}

// visible returns, for each transmission, whether a capture at the point shows that it is not the
// first: an earlier one was seen, or a gap.
func (f *Flow) visible(point int) []bool {
	seen := make([]bool, len(f.Sent))
	for _, i := range f.byMark[point] {
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
