package tailmap

import (
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
)

// The rules, by the names that tables have.
const (
	oneTimer   = "one timer"
	rtoRestart = "RTO restart"
	perSegment = "timer per segment"
	probe      = "probe"
	shipped    = "default"
	gvisor     = "gVisor"
	linux      = "Linux"
)

// rules are those that have a law.
var rules = []string{oneTimer, rtoRestart, perSegment, probe}

// The floors on the timeout.
const (
	floorLinux  = "200 ms on the variation"
	floorSecond = "1 s on the timeout"
)

var floors = []string{floorLinux, floorSecond}

// maxAckDelay is what a probe allows a lone segment's ACK (tcptimers.Policy.MaxAckDelay of all policies here).
const maxAckDelay = 200 * time.Millisecond

// timers returns the timers of a rule over a floor and a tick.
func timers(rule, floor string, tick time.Duration) testbed.Timers {
	const common = " delack=off control=newreno -timestamps -frto"
	at := "@" + tick.String()
	base := "linux" + at
	if floor == floorSecond {
		base = "rfc6298" + at + " floor=1s"
	}
	switch rule {
	case rtoRestart:
		return testbed.MustTimers(base + " rexmit=rto-restart -tlp -rack" + common)
	case perSegment:
		return testbed.MustTimers(base + " rexmit=per-segment -tlp -rack" + common)
	case probe:
		return testbed.MustTimers(base + " rexmit=restart +tlp +rack" + common)
	case shipped:
		if floor == floorSecond {
			return testbed.MustTimers("per-segment" + at + " floor=1s" + common)
		}
		return testbed.MustTimers("per-segment" + at + " var-min=200ms" + common)
	}
	return testbed.MustTimers(base + " rexmit=restart -tlp -rack" + common)
}

// timeout is the RTO at a steady round trip. An engine's is longer by up to 3 ns, which whole numbers leave over where RTTVAR falls to its
// floor.
func timeout(floor string, rtt time.Duration) time.Duration {
	if floor == floorSecond {
		return max(time.Second, rtt)
	}
	return rtt + 200*time.Millisecond
}

// lawResend is when the first of lost segments of a flight that left back to back is to be sent again.
func lawResend(rule string, rto, rtt time.Duration, lost int) time.Duration {
	switch {
	case rule == perSegment, rule == rtoRestart && lost < tcptimers.RRThresh:
		// RFC 7765 §4: with fewer than four segments outstanding, the time since the earliest was sent is taken off.
		return rto
	case rule == probe && lost == 1:
		// RFC 8985 §7.2: "If FlightSize is one segment: PTO += TLP.max_ack_delay", and no later than the timer.
		return min(3*rtt+maxAckDelay, rtt+rto)
	case rule == probe:
		return min(3*rtt, rtt+rto)
	}
	return rtt + rto
}

// lawRest is how long after the first resend all is to be acknowledged: after a timeout the window is one segment and doubles, and the SACK
// of a probe, which takes the place of a timeout of the same instant, begins a fast recovery, which was expected to repair the rest at once.
func lawRest(t *Tail, rtt time.Duration) time.Duration {
	if t.Rule == probe {
		return time.Duration(min(t.Lost, 2)) * rtt
	}
	return time.Duration(rounds(t.Lost, t.Lost)) * rtt
}

// lawRestBounded is lawRest with what it leaves out. After a timeout the window doubles no longer than to half of what was in flight
// (RFC 5681 §3.1). After a probe RFC 9937 lets one segment go for its SACK, and then twice as many in each round trip.
func lawRestBounded(t *Tail, rtt time.Duration) time.Duration {
	if t.Rule == probe {
		n := 1
		for sent := 1; sent < t.Lost; sent *= 2 {
			n++
		}
		return time.Duration(n) * rtt
	}
	return time.Duration(rounds(t.Lost, max(t.Lost/2, 2))) * rtt
}

// rounds is the number of round trips in which a window that begins at one segment and doubles up to a bound, from where it grows by one, has
// sent n segments: ⌈log₂(n+1)⌉ without the bound.
func rounds(n, bound int) (trips int) {
	for window := 1; n > 0; trips++ {
		n -= window
		if window*2 > bound {
			window = max(bound, window+1)
		} else {
			window *= 2
		}
	}
	return trips
}
