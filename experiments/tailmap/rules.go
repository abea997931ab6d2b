package tailmap

import (
	"time"

	"tcpwheel/experiments/internal/testbed"
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
