package replay

import (
	"maps"
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
	phase, ok := finest(all, p.Tick)
	if !ok {
		return 0, false
	}
	origin = wheel.Time(phase).Add(-hostLag)
	period := p.Tick
	for range levels {
		long := slices.DeleteFunc(slices.Clone(all), func(t Timed) bool { return t.Quiet < longer(period) })
		next, ok := coarser(p.Tick, period, origin, long)
		if !ok {
			break
		}
		origin, period = next, step*period
	}
	return origin, true
}

// Linux's wheel of timers, as tcptimers.PhaseJiffies has it: timers of slots ticks of a level go to the next one, whose ticks are longer by
// step. Levels above those that are looked for have ticks of 16 s and more.
const levels, slots, step = 3, 63, 8

// longer returns how long nothing has come before a timer that is surely not of the level with ticks of that period, but of one above: the others
// are late by up to two of these.
func longer(period time.Duration) time.Duration { return (slots + 2) * period }

// coarser finds which of the ticks of a period since origin is one of the level above, too: where most of its timers expired, there or
// a tick of the host later. Linux 6.18 is a tick late with one timer in five or so, maybe as an idle processor's are another's to look after
// (kernel/time/timer_migration.c).
func coarser(tick, period time.Duration, origin wheel.Time, all []Timed) (at wheel.Time, ok bool) {
	best := 0
	for i := range wheel.Time(step) {
		try, n := origin.Add(time.Duration(i)*period), 0
		for _, t := range all {
			switch floorMod(t.At.Sub(try)+tick/4, step*period) / (tick / 2) {
			case 0: // in time, as far as the clock of the capture has not drifted since
				n += 3 // of two that explain as many the one that has more of them in time
			case 2: // a tick late
				n += 2
			}
		}
		if n > best {
			best, at = n, try
		}
	}
	return at, best > len(all)
}

// finest returns what is left of the instants of ticks by their period, if most of the timers agree on it.
func finest(all []Timed, tick time.Duration) (phase time.Duration, ok bool) {
	phase, most := densest(all, tick)
	return phase, most > 1 && 2*most > len(all)
}

// densest returns the least of what is left of the instants by a period from which on the most lie within tickSpread, and how many do.
func densest(all []Timed, period time.Duration) (phase time.Duration, most int) {
	for _, t := range all {
		n, r := 0, floorMod(time.Duration(t.At), period)
		for _, other := range all {
			if floorMod(time.Duration(other.At)-r, period) <= tickSpread {
				n++
			}
		}
		if n > most || n == most && r < phase {
			phase, most = r, n
		}
	}
	return phase, most
}

// floorMod returns d modulo a period, from 0 on.
func floorMod(d, period time.Duration) time.Duration { return (d%period + period) % period }

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

// ticksOf returns when the timers of a host expired, at instants of a script that begins at that epoch. Where none of them was long, those of
// addresses tell of coarser ticks whose finer ones are at the same instants: they are the same host, or else tell nothing that is worse than a
// guess.
func ticksOf(host netip.Addr, epoch wheel.Time, known map[netip.Addr][]Timed) []Timed {
	all := slices.Clone(known[host])
	if phase, ok := finest(all, jiffy); ok && !slices.ContainsFunc(all, Timed.long) {
		for _, other := range slices.SortedFunc(maps.Keys(known), netip.Addr.Compare) {
			if theirs, ok := finest(known[other], jiffy); ok && min(floorMod(theirs-phase, jiffy), floorMod(phase-theirs, jiffy)) <= sameTicks {
				all = append(all, slices.DeleteFunc(slices.Clone(known[other]), func(t Timed) bool { return !t.long() })...)
			}
		}
	}
	for i := range all {
		all[i].At = wheel.Time(all[i].At.Sub(epoch))
	}
	return all
}

// sameTicks is how far the ticks of one host seem to be apart, at most, by the timers of two addresses.
const sameTicks = 100 * time.Microsecond

// long reports whether the timer tells of coarser ticks than those of 4 ms.
func (t Timed) long() bool { return t.Quiet >= longer(jiffy) }
