package replay

import (
	"net/netip"
	"slices"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Timed is a retransmission that no packet caused, but a timer: its instant tells when the ticks of its sender are.
type Timed struct {
	At    wheel.Time    `json:"at"`
	Quiet time.Duration `json:"quiet_ns"` // for how long nothing had come or gone before: the timer ran for as long at least
}

// quietBefore is how long nothing came before a retransmission that a timer caused. Kernels answer an ACK within a part of it.
const quietBefore = time.Millisecond

// mostTimed bounds what is kept of a connection.
const mostTimed = 1000

// timed finds the retransmissions of an end that timers caused, if it was captured where it is.
func (m *maker) timed(d int) (all []Timed) {
	if m.half[d] > 0 {
		return nil
	}
	var heard, last wheel.Time
	for i := range m.deeds[d] {
		x := &m.deeds[d][i]
		if !x.sends {
			heard, last = x.at, x.at
			continue
		}
		if x.data && !x.first && x.at.Sub(heard) > quietBefore && x.at.Sub(last) > quietBefore && len(all) < mostTimed {
			all = append(all, Timed{x.at, x.at.Sub(last)})
		}
		last = x.at
	}
	return all
}

// tickSpread is how late a timer is behind its tick, at most: what comes later counts as another tick.
const tickSpread = 500 * time.Microsecond

// hostLag is how much later than its tick the first packet of a timer is captured, about; and how much later than it was captured a host
// takes a packet in.
const hostLag = 50 * time.Microsecond

// ticks finds an instant of all ticks of a policy's timers, from when timers of the captured host expired, since epoch. It is an instant of
// the coarser ones too of a wheel with levels, as far as there are timers that were long enough to tell.
func ticks(p *tcptimers.Policy, all []Timed) (origin wheel.Time, ok bool) {
	const levels, slots, step = 3, 63, 8
	period := p.Tick
	for range levels {
		var residues []time.Duration
		for _, t := range all {
			// A timer of that level is late by up to a period of it.
			if t.Quiet >= slots*period/step+period || period == p.Tick {
				residues = append(residues, (time.Duration(t.At)%period+period)%period)
			}
		}
		phase, most := densest(residues, period)
		if 2*most <= len(residues) || most < 1 {
			break
		}
		if fine := time.Duration(origin.Add(hostLag)); period > p.Tick {
			// A coarser tick is one of the finer ones too: a single timer that agrees with these is enough for it.
			late := (phase - fine%p.Tick + p.Tick) % p.Tick
			if late > p.Tick/2 {
				late -= p.Tick
			}
			if late.Abs() > tickSpread {
				break
			}
			phase -= late
		} else if most < 2 {
			break
		}
		origin, ok = wheel.Time(phase).Add(-hostLag), true
		period *= step
	}
	return origin, ok
}

// densest returns the least of the residues from which on the most lie within tickSpread, and how many do.
func densest(residues []time.Duration, period time.Duration) (phase time.Duration, most int) {
	for _, r := range residues {
		n := 0
		for _, other := range residues {
			if (other-r+period)%period <= tickSpread {
				n++
			}
		}
		if n > most {
			phase, most = r, n
		}
	}
	return phase, most
}

// addr returns the address of an end.
func (r *Result) addr(d int) netip.Addr { return [2]netip.AddrPort{r.Client, r.Server}[d].Addr() }

// ShareTicks has each host that was captured where it is, by its address, go by what all results tell of its ticks. What has run already is to
// run again.
func ShareTicks(results []*Result) {
	known := timers(results)
	for _, r := range results {
		for d := range r.Script.Ends {
			r.Script.Ends[d].Timed = ticksOf(r.addr(d), r.Script.Epoch, known)
		}
	}
}

// timers collects when the timers of each host expired, at instants of the captures.
func timers(results []*Result) map[netip.Addr][]Timed {
	known := map[netip.Addr][]Timed{}
	for _, r := range results {
		for d, e := range r.Script.Ends {
			for _, t := range e.Timed {
				t.At = r.Script.Epoch.Add(time.Duration(t.At))
				known[r.addr(d)] = append(known[r.addr(d)], t)
			}
		}
	}
	return known
}

// ticksOf returns when the timers of a host expired, at instants of a script that begins at that epoch.
func ticksOf(host netip.Addr, epoch wheel.Time, known map[netip.Addr][]Timed) []Timed {
	all := slices.Clone(known[host])
	for i := range all {
		all[i].At = wheel.Time(all[i].At.Sub(epoch))
	}
	return all
}
