package replay

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Timed is a retransmission that a timer caused, and no packet. It shows where the ticks of its
// sender are.
type Timed struct {
	At    wheel.Time
	Quiet time.Duration // without packets: the timer ran at least as long
}

// long reports whether the timer shows coarser ticks than those of a jiffy.
func (t Timed) long() bool { return t.Quiet >= levelSpan(jiffy) }

// mostTimed bounds what is kept of a connection.
const mostTimed = 1000

// timedFinder finds the retransmissions of an end that a timer caused, if it was captured there.
type timedFinder struct {
	all         []Timed
	heard, last wheel.Time
}

func (f *timedFinder) take(x *endEvent) {
	if !x.sends {
		f.heard = x.at
	} else if x.data() && !x.first && x.at.Sub(f.heard) > sameInstant && x.at.Sub(f.last) > sameInstant && len(f.all) < mostTimed {
		f.all = append(f.all, Timed{x.at, x.at.Sub(f.last)})
	}
	f.last = x.at
}

// ticks finds an instant of all ticks of a policy, from when timers of the captured host expired.
// It is an instant of the coarser ticks of a wheel with levels too, as far as some timers were long
// enough to show them.
func ticks(p *tcptimers.Policy, all []Timed) (origin wheel.Time, ok bool) {
	phase, ok := finestPhase(all, p.Tick)
	if !ok {
		return 0, false
	}
	origin = wheel.Time(phase).Add(-hostLag)
	period := p.Tick
	for range levels {
		long := slices.DeleteFunc(slices.Clone(all), func(t Timed) bool { return t.Quiet < levelSpan(period) })
		next, ok := coarserTick(p.Tick, period, origin, long)
		if !ok {
			break
		}
		origin, period = next, step*period
	}
	return origin, true
}

// tickWait is a wait for ticks whose phase is a guess.
type tickWait struct {
	beyond time.Duration // whole ticks: a timer ended it
	sooner time.Duration // an ACK ended it: by how much a timer might end it before
}

// tickWait returns how the first retransmission of a loss depends on the phase of a policy's ticks,
// if that is a guess.
func (r *Result) tickWait(loss, choice int, rec *Recovery) (w tickWait, ok bool) {
	p, l := &r.Policies[choice].timers, &r.Captured.Losses[loss]
	if p.Phase == tcptimers.PhaseOwn || p.Tick <= 0 || rec.D == 0 {
		return w, false
	}
	if p.Phase == tcptimers.PhaseJiffies {
		if _, known := ticks(p, r.Captured.Ends[l.Flow].Timed); known {
			return w, false
		}
	}
	if floorMod(time.Duration(l.Sent.Add(rec.D).Sub(p.Origin)), p.Tick) == 0 {
		return tickWait{beyond: floorMod(rec.D, p.Tick)}, true
	}
	least := rec.rto
	if p.Phase == tcptimers.PhaseCountdown {
		least -= p.Tick
	}
	w.sooner = min(rec.D-least, p.Tick)
	return w, w.sooner > 0
}

// Linux's wheel of timers, as in tcptimers.PhaseJiffies: timers of more than slots ticks of a level
// go to the next level, whose ticks are longer by step. Levels above those here have ticks of 16 s
// and more.
const levels, slots, step = 3, 63, 8

// levelSpan returns how long a timer runs that is surely of a level above the one with ticks of
// that period: timers of that level are late by up to two of them.
func levelSpan(period time.Duration) time.Duration { return (slots + 2) * period }

// coarserTick finds which of the ticks of a period since origin is one of the level above, too:
// most timers of that level expired there, or a tick of the host later. Linux 6.18 is a tick late
// with one timer in five or so, perhaps as another processor looks after those of an idle one
// (kernel/time/timer_migration.c).
func coarserTick(tick, period time.Duration, origin wheel.Time, all []Timed) (at wheel.Time, ok bool) {
	best := 0
	for i := range wheel.Time(step) {
		try, n := origin.Add(time.Duration(i)*period), 0
		for _, t := range all {
			switch floorMod(t.At.Sub(try)+tick/4, step*period) / (tick / 2) {
			case 0: // on time, as far as the capture's clock has not drifted since
				n += 3 // of two candidates that explain as many timers, the one with more on time
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

// finestPhase returns the instants of ticks modulo their period, if most of the timers agree on it.
func finestPhase(all []Timed, tick time.Duration) (phase time.Duration, ok bool) {
	phase, most := densest(all, tick)
	return phase, most > 1 && 2*most > len(all)
}

// densest returns the least remainder of the instants by a period from which on the most lie within
// tickSpread, and how many do.
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

// hostTimers collects when the timers of each host expired, at instants of the captures.
func hostTimers(results []*Result) map[netip.Addr][]Timed {
	known := map[netip.Addr][]Timed{}
	for _, r := range results {
		for d, e := range r.Captured.Ends {
			for _, t := range e.Timed {
				t.At = r.Captured.Epoch.Add(time.Duration(t.At))
				known[r.addr(d)] = append(known[r.addr(d)], t)
			}
		}
	}
	return known
}

// timedOf returns when the timers of a host expired, at instants of a CapturedConn with that epoch.
// Where none of them was long, long timers are taken from addresses whose finer ticks are at the
// same instants: those are the same host, or else no worse than a guess.
func timedOf(host netip.Addr, epoch wheel.Time, known map[netip.Addr][]Timed) []Timed {
	all := slices.Clone(known[host])
	if phase, ok := finestPhase(all, jiffy); ok && !slices.ContainsFunc(all, Timed.long) {
		for _, other := range slices.SortedFunc(maps.Keys(known), netip.Addr.Compare) {
			theirs, ok := finestPhase(known[other], jiffy)
			if ok && min(floorMod(theirs-phase, jiffy), floorMod(phase-theirs, jiffy)) <= sameTicks {
				all = append(all, slices.DeleteFunc(slices.Clone(known[other]), func(t Timed) bool { return !t.long() })...)
			}
		}
	}
	for i := range all {
		all[i].At = wheel.Time(all[i].At.Sub(epoch))
	}
	return all
}
