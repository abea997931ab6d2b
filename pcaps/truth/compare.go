package truth

import (
	"net/netip"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Side is the side of the losses on which a capture was made, as seen from a sender.
type Side uint8

const (
	SenderSide Side = iota
	OnTheWay
	ReceiverSide

	Sides = int(iota)
)

// String returns "sender", "middle" or "receiver".
func (s Side) String() string { return [...]string{"sender", "middle", "receiver"}[s] }

// MarshalText writes the side.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Class groups results: by side of the capture and by options of the connection.
type Class struct {
	Side             Side
	SACK, Timestamps bool
}

// Tallies are tallies by class.
type Tallies map[Class]*Tally

// Add adds o.
func (t Tallies) Add(o Tallies) {
	for c, s := range o {
		t.of(c).Add(s)
	}
}

func (t Tallies) of(c Class) *Tally {
	if t[c] == nil {
		t[c] = &Tally{}
	}
	return t[c]
}

// Sum returns the sum of the classes for which want returns true.
func (t Tallies) Sum(want func(Class) bool) *Tally {
	var s Tally
	for c, o := range t {
		if want(c) {
			s.Add(o)
		}
	}
	return &s
}

// Compare analyses the capture at a point with package track and compares the flows with the truth.
// It calls note, if not nil, for each difference.
func (k *Kernels) Compare(point int, note func(format string, args ...any)) (tallies Tallies, err error) {
	tallies = Tallies{}
	if note == nil {
		note = func(string, ...any) {}
	}
	stamps := []wheel.Time{0} // by packet number
	found := map[[2]netip.AddrPort]*track.Flow{}
	options := map[[2]netip.AddrPort]Class{}
	tr := track.New(track.Config{Done: func(c *track.Conn) {
		a, b := &c.Flows[0].SYN, &c.Flows[1].SYN
		for i := range c.Flows {
			f := &c.Flows[i]
			ends := [2]netip.AddrPort{f.Src, f.Dst}
			found[ends] = f
			options[ends] = Class{SACK: a.SACKPermitted && b.SACKPermitted, Timestamps: a.HasTimestamps && b.HasTimestamps}
		}
	}})
	err = k.read(point, func(p *capture.Packet) {
		for int64(len(stamps)) <= p.Number {
			stamps = append(stamps, p.Time)
		}
		tr.Add(p)
	})
	if err != nil {
		return tallies, err
	}
	tr.Close()
	for ends, f := range k.Flows {
		class := options[ends]
		class.Side = f.side(point)
		g := found[ends]
		if g == nil {
			g = &track.Flow{}
		}
		mark := func(packet int64) int64 { return int64(stamps[packet]) }
		tallies.of(class).Add(f.compare(g, point, mark, class, func(format string, args ...any) {
			note("%v > %v, captured at %s: "+format, append([]any{f.Src, f.Dst, pointNames[point]}, args...)...)
		}))
	}
	return tallies, nil
}

// compare compares g with the truth. mark returns the mark of a packet by its number.
func (f *Flow) compare(g *track.Flow, point int, mark func(int64) int64, class Class, note func(string, ...any)) *Tally {
	var s Tally
	found := map[int]bool{}
	for _, e := range g.Episodes {
		for i := range e.Retransmissions {
			r := &e.Retransmissions[i]
			k, ok := f.transmission(point, mark(r.Packet))
			if !ok || !f.Sent[k].Retransmission {
				s.Packets[track.Kinds][r.Kind]++
				if i == 0 {
					s.Episodes[track.Kinds][r.Kind]++
				}
				note("packet %d is no retransmission, and was called %v", r.Packet, r.Kind)
				continue
			}
			found[k] = true
			t := &f.Sent[k]
			if t.Kind == track.Unknown {
				continue // its cause is unknown: Kernels.Unmatched
			}
			kind := t.Kind
			if t.InPlace && r.Kind == track.RTO {
				kind = track.RTO
				if i == 0 {
					s.InPlace++
				}
			}
			s.Packets[kind][r.Kind]++
			if i == 0 {
				s.Episodes[kind][r.Kind]++
				if kind == r.Kind {
					s.Errors = append(s.Errors, f.errorOfD(k, point, e.D))
				}
			}
			if kind != r.Kind {
				note("packet %d (%d of the episode) is %v (go back: %v), and was called %v (go back: %v)", r.Packet, i+1, kind, t.GoBack, r.Kind, r.GoBack)
			}
			if !t.Arrived {
				continue // nothing can show it
			}
			if class.SACK && class.Side != ReceiverSide && t.Spurious && !t.Reported && r.Spurious != track.Spurious {
				s.Unreported++ // the DSACK was lost
				continue
			}
			truly := 0
			if t.Spurious {
				truly = 1
			}
			s.Verdicts[truly][r.Spurious]++
			if r.Spurious == track.Undecided || (r.Spurious == track.Spurious) != t.Spurious {
				note("packet %d, %v, is spurious: %v, and was called so: %v, by %v", r.Packet, t.Kind, t.Spurious, r.Spurious, r.Evidence)
			}
		}
	}
	for k, visible := range f.visible(point) {
		if t := &f.Sent[k]; t.Retransmission && t.Kind != track.Unknown && !found[k] && visible {
			s.Packets[t.Kind][track.Kinds]++
			if t.Opens {
				s.Episodes[t.Kind][track.Kinds]++
			}
			note("the %v of %d at %v was not found", t.Kind, t.Seq, time.Unix(0, int64(t.At)).UTC().Format("15:04:05.000000"))
		}
	}
	s.Flows = []FlowShares{s.shares()}
	return &s
}

// errorOfD returns the error of D, measured from one of the earlier transmissions of the same
// bytes. Away from the sender, lost ones are invisible, so the best match counts.
func (f *Flow) errorOfD(k, point int, d time.Duration) time.Duration {
	off := time.Duration(1<<63 - 1)
	for i := k - 1; i >= 0; i-- {
		if o := &f.Sent[i]; o.Seq.AtOrBefore(f.Sent[k].Seq) && o.End.After(f.Sent[k].Seq) {
			off = min(off, (d - f.Sent[k].At.Sub(o.At)).Abs())
			if f.seenAtSource(point) {
				break
			}
		}
	}
	return off
}

// side returns the side of the losses that the point is on.
func (f *Flow) side(point int) Side {
	switch {
	case point == InMiddle:
		return OnTheWay
	case f.seenAtSource(point):
		return SenderSide
	}
	return ReceiverSide
}

// seenAtSource reports whether the point is at the flow's source: a's subnet is the first.
func (f *Flow) seenAtSource(point int) bool {
	return point == AtA && f.Src.Addr().Less(f.Dst.Addr()) || point == AtB && f.Dst.Addr().Less(f.Src.Addr())
}
