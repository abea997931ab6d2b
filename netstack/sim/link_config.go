package sim

import (
	"fmt"
	"time"

	"tcpwheel/wheel/base/quantity"
)

// LinkConfig configures one direction of a link. The zero value delivers every packet at once. In
// JSON, durations are text such as "25ms", and Loss is the text of Losses; see UnmarshalJSON for
// short forms.
type LinkConfig struct {
	// Rate is the data rate in bit/s, up to 10^15. The default 0 is no limit.
	Rate uint64
	// Trace, if not nil, replaces Rate. In JSON it is the rate "trace:FILE". Each packet waits, so
	// that Mark counts it; one that finds the queue empty is never dropped.
	Trace *RateTrace
	// Overhead is the bytes that each packet takes on the wire in addition to its own, up to 65535:
	// 38 for Ethernet (preamble, header, check sequence, gap). The default is 0.
	Overhead uint32
	// Queue limits the packets that wait while another is sent; further ones are dropped. A packet
	// that need not wait is never dropped. Bytes exclude Overhead. The default 0 is the maximum:
	// 2^24 packets, 2^40 bytes.
	Queue Limit
	// Mark is the ECN threshold. A packet that waits is marked CE if the queue, with it, exceeds
	// either limit and its sender is ECN-capable. The default 0 marks nothing.
	Mark Limit
	// Delay is the time from the last bit sent to its arrival, up to 24 h. Jitter varies it.
	Delay  time.Duration
	Jitter Jitter
	// Loss drops packets on the wire: they have passed the queue and used Rate. nil is no loss.
	Loss Losses
	// Reorder lets packets overtake others.
	Reorder Reorder
	// Duplicate is the probability that a packet arrives twice, both at the same instant.
	Duplicate float64
	// Corrupt is the probability that the packet arrives with one bit flipped. Packet.Corrupt says
	// so.
	Corrupt float64
}

// Limit bounds a queue in packets and in bytes. 0 is no bound of that kind.
type Limit struct {
	Packets uint32 `json:"packets,omitempty"`
	Bytes   uint64 `json:"bytes,omitempty"`
}

// Jitter varies the delay evenly within ±Amount, which is at most Delay. With Normal set, the
// variation is normally distributed with standard deviation Amount, limited to six deviations and
// to ±Delay, so that the mean stays Delay.
//
// Jitter does not reorder: a packet waits for the arrival of the one before, unless Overtake is
// set.
//
// Each packet has its own draw. With Hold, 0 to 1 h, all packets sent within the same interval of
// that length share a draw, so that a burst sees one delay. Intervals count from 0.
type Jitter struct {
	Amount   time.Duration
	Normal   bool
	Overtake bool
	Hold     time.Duration
}

// Reorder picks every Gap-th packet (each one, if Gap is 0 or 1) with a probability. A picked
// packet is delayed by Extra, so that later ones overtake it. If Extra is 0, it skips Delay and
// Jitter and so overtakes earlier ones, as with Linux's netem.
type Reorder struct {
	Probability float64
	Gap         uint32
	Extra       time.Duration
}

const (
	maxOverhead = 1<<16 - 1
	maxPackets  = 1 << 24
	maxBytes    = 1 << 40
	maxDelay    = 24 * time.Hour
)

// Check returns an error that names the first field out of bounds, its value and the bound.
func (c *LinkConfig) Check() error {
	if c.Rate > quantity.MaxRate {
		return fmt.Errorf("sim: rate %d bit/s, want 0 to %d", c.Rate, uint64(quantity.MaxRate))
	}
	if c.Rate != 0 && c.Trace != nil {
		return fmt.Errorf("sim: rate %d bit/s and a trace, want one of them", c.Rate)
	}
	if c.Overhead > maxOverhead {
		return fmt.Errorf("sim: overhead %d bytes, want 0 to %d", c.Overhead, maxOverhead)
	}
	for _, l := range []struct {
		name  string
		limit Limit
	}{{"queue", c.Queue}, {"mark", c.Mark}} {
		if l.limit.Packets > maxPackets {
			return fmt.Errorf("sim: %s packets %d, want 0 to %d", l.name, l.limit.Packets, maxPackets)
		}
		if l.limit.Bytes > maxBytes {
			return fmt.Errorf("sim: %s bytes %d, want 0 to %d", l.name, l.limit.Bytes, uint64(maxBytes))
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
