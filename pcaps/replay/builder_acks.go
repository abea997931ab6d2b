package replay

import (
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// ackFinder finds when an end acknowledged what it received. Without SACK its ACKs count only what
// arrived in order.
type ackFinder struct {
	facts *track.Facts
	most  int64 // the end of what it received
	sack  bool
	all   []ACK

	come arrived
	got  []delivered // how much had arrived when, from what is not acknowledged on
	said arrived     // by its ACKs
}

func newACKFinder(facts *track.Facts, most int64, sack bool) *ackFinder {
	return &ackFinder{facts: facts, most: most, sack: sack, come: arrived{ledger.Set{{End: 1}}}}
}

func (f *ackFinder) count() int64 {
	if f.sack {
		return f.come.bytes()
	}
	return max(f.come.una()-1, 0)
}

func (f *ackFinder) take(x *endEvent) {
	switch {
	case x.reset:
	case !x.sends && x.data() && x.end > 1:
		was := f.count()
		f.come.take(x.start, x.end)
		if n := f.count(); n > was {
			f.got = append(f.got, delivered{x.at, n})
		}
	case x.sends && x.ack > 0 && f.said.hear(f.facts, x, f.most) && !x.data():
		a := ACK{Bytes: uint64(f.said.bytes())}
		for len(f.got) > 0 && f.got[0].bytes < f.said.bytes() {
			f.got = f.got[1:]
		}
		if len(f.got) > 0 {
			if late := x.at.Sub(f.got[0].at); late > sameInstant {
				a.After = late
			}
		}
		f.all = append(f.all, a)
	}
}

// delivered is an instant at which so many bytes had arrived, or were known to have.
type delivered struct {
	at    wheel.Time
	bytes int64
}
