package sim

import (
	"fmt"
	"time"
)

// LinkConfig is the plan of one direction of a link. The zero value is a link without any effect. In JSON, spans are
// text as in "25ms", and Loss is the text of Losses.
type LinkConfig struct {
	// Rate is what the link sends, in bit/s, up to 10^15; 0 is without bound.
	Rate uint64
	// Overhead is what a packet takes on the wire beside its own octets, up to 65535: 38 for Ethernet (preamble, header,
	// check sequence, gap).
	Overhead uint32
	// Queue is the drop-tail limit on what waits to be sent, which the packet being sent does not. A packet that need
	// not wait is never dropped. Octets are those of the packets, without Overhead. 0 is the most: 2^24 packets, 2^40 octets.
	Queue Limit
	// Mark is the ECN threshold: a packet that waits and with which the queue is longer is marked CE if its sender takes
	// marks. 0 marks nothing. Of two thresholds, either marks.
	Mark Limit
	// Delay is the time from the last bit sent to its arrival, up to 24 h, and Jitter what it varies by.
	Delay  time.Duration
	Jitter Jitter
	// Loss loses packets on the wire: they have taken their time in the queue and at Rate.
	Loss Losses
	// Reorder lets packets overtake others.
	Reorder Reorder
	// Duplicate is the probability that a packet arrives twice, the second time at the same instant, right after the first.
	Duplicate float64
	// Corrupt is the probability that one bit of the packet is flipped. It arrives, and is marked.
	Corrupt float64
}

// Limit is a bound on a queue, in packets and in octets. 0 is no bound of that kind.
type Limit struct {
	Packets uint32 `json:"packets,omitempty"`
	Bytes   uint64 `json:"bytes,omitempty"`
}

// Jitter varies the delay: evenly within ±Amount, or, if Normal is set, as a normal distribution with Amount as its
// standard deviation, cut off at six of them and at ±Delay, so that the mean stays Delay. An even Amount is at most Delay.
// A packet does not overtake others by jitter, but arrives right after them, unless Overtake is set.
//
// Each packet has a draw of its own. With Hold, from 0 to an hour, the path varies more slowly: packets whose last bits are sent
// within the same span of it, counted from 0 on, share a draw, so that those of a burst take the same time.
type Jitter struct {
	Amount   time.Duration
	Normal   bool
	Overtake bool
	Hold     time.Duration
}

// Reorder picks packets by chance among every Gap-th one (all, if Gap is 0 or 1). If Extra is above 0, a picked packet takes
// that much longer and lets later ones pass; else it is sent without Delay and Jitter and passes earlier ones, as netem
// does it.
type Reorder struct {
	Probability float64
	Gap         uint32
	Extra       time.Duration
}

const (
	maxRate     = 1_000_000_000_000_000
	maxOverhead = 1<<16 - 1
	maxPackets  = 1 << 24
	maxOctets   = 1 << 40
	maxDelay    = 24 * time.Hour
)

// Check returns an error that names the first field out of its bounds, its value and the bound.
func (c *LinkConfig) Check() error {
	if c.Rate > maxRate {
		return fmt.Errorf("sim: rate %d bit/s, want 0 to %d", c.Rate, uint64(maxRate))
	}
	if c.Overhead > maxOverhead {
		return fmt.Errorf("sim: overhead %d octets, want 0 to %d", c.Overhead, maxOverhead)
	}
	for _, l := range []struct {
		name  string
		limit Limit
	}{{"queue", c.Queue}, {"mark", c.Mark}} {
		if l.limit.Packets > maxPackets {
			return fmt.Errorf("sim: %s packets %d, want 0 to %d", l.name, l.limit.Packets, maxPackets)
		}
		if l.limit.Bytes > maxOctets {
			return fmt.Errorf("sim: %s bytes %d, want 0 to %d", l.name, l.limit.Bytes, uint64(maxOctets))
		}
	}
	if c.Delay < 0 || c.Delay > maxDelay {
		return fmt.Errorf("sim: delay %v, want 0s to %v", c.Delay, maxDelay)
	}
	most := c.Delay
	if c.Jitter.Normal {
		most = maxDelay
	}
	if c.Jitter.Amount < 0 || c.Jitter.Amount > most {
		return fmt.Errorf("sim: jitter %v, want 0s to %v", c.Jitter.Amount, most)
	}
	if c.Jitter.Hold < 0 || c.Jitter.Hold > time.Hour {
		return fmt.Errorf("sim: jitter hold %v, want 0s to 1h", c.Jitter.Hold)
	}
	if c.Reorder.Extra < 0 || c.Reorder.Extra > maxDelay {
		return fmt.Errorf("sim: reorder extra %v, want 0s to %v", c.Reorder.Extra, maxDelay)
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"reorder probability", c.Reorder.Probability}, {"duplicate", c.Duplicate}, {"corrupt", c.Corrupt}} {
		if err := checkProbability(p.name, p.value); err != nil {
			return fmt.Errorf("sim: %w", err)
		}
	}
	return c.Loss.Check()
}
