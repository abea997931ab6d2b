package replay

import (
	"cmp"
	"slices"

	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/wheel"
)

// acks finds when the end d acknowledged what it received. Without SACK its ACKs count only what
// arrived in order.
func (b *builder) acks(d int, sack bool) (all []ACK) {
	count := func(a *arrived) int64 {
		if sack {
			return a.bytes()
		}
		return max(a.una()-1, 0)
	}
	var (
		got  = make([]delivered, 0, len(b.heard)) // how much had arrived when
		come = arrived{ledger.Set{{End: 1}}}
		said arrived // by the ACKs of d
	)
	for i := range b.events {
		x := b.event(i)
		switch {
		case x.reset:
		case !x.sends && x.data() && x.end > 1:
			was := count(&come)
			if come.take(x.start, x.end); count(&come) > was {
				got = append(got, delivered{x.at, count(&come)})
			}
		case x.sends && x.ack > 0 && said.hear(b.conn.Facts, &x, b.streams[1-d].End()) && !x.data():
			a := ACK{Bytes: uint64(said.bytes())}
			k, _ := slices.BinarySearchFunc(got, said.bytes(), func(t delivered, n int64) int { return cmp.Compare(t.bytes, n) })
			if k < len(got) {
				if late := x.at.Sub(got[k].at); late > sameInstant {
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
