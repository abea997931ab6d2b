package tailmap

import (
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
)

// The rules, as tables name them.
const (
	oneTimer   = "one timer"
	rtoRestart = "RTO restart"
	perSegment = "timer per segment"
	probe      = "probe"
	shipped    = "default"
	gvisor     = "gVisor"
	linux      = "Linux"
)

// rules are the rules that have a law.
var rules = []string{oneTimer, rtoRestart, perSegment, probe}

// The floors on the timeout.
const (
	floorLinux  = "200 ms on the variation"
	floorSecond = "1 s on the timeout"
)

var floors = []string{floorLinux, floorSecond}

// maxAckDelay is how long a probe for a lone segment waits for a delayed ACK (MaxAckDelay of all
// policies here).
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

// timeout returns the RTO at a steady round trip. An engine's is up to 3 ns longer: the rounding of
// RTTVAR.
func timeout(floor string, rtt time.Duration) time.Duration {
	if floor == floorSecond {
		return max(time.Second, rtt)
	}
	return rtt + 200*time.Millisecond
}

// lawRetransmission returns when a rule should retransmit the first lost segment of a flight that
// left back to back, counted from its transmission.
func lawRetransmission(rule string, rto, rtt time.Duration, lost int) time.Duration {
	switch {
	case rule == perSegment, rule == rtoRestart && lost < tcptimers.RRThresh:
		// RFC 7765 §4: with fewer than four segments outstanding, the age of the earliest is subtracted.
		return rto
	case rule == probe && lost == 1:
		// RFC 8985 §7.2: "If FlightSize is one segment: PTO += TLP.max_ack_delay". It is no later than
		// the timer.
		return min(3*rtt+maxAckDelay, rtt+rto)
	case rule == probe:
		return min(3*rtt, rtt+rto)
	}
	return rtt + rto
}

// lawRest returns the time from the first retransmission to the ACK of the whole tail. After a
// timeout the window is one segment and doubles. The SACK of a probe starts a fast recovery, which
// was expected to repair the rest at once.
func lawRest(t *Tail, rtt time.Duration) time.Duration {
	if t.Rule == probe {
		return time.Duration(min(t.Lost, 2)) * rtt
	}
	return time.Duration(rounds(t.Lost, t.Lost)) * rtt
}

// lawRestBounded is lawRest with two bounds. After a timeout the window doubles up to half of the
// flight (RFC 5681 §3.1). After a probe RFC 9937 allows one segment for its SACK, and then twice as
// many in each round trip.
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

// rounds returns the round trips until a window has sent n segments. The window starts at one
// segment, doubles up to bound, and then grows by one. Without the bound that is ⌈log₂(n+1)⌉.
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
