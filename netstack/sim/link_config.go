package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/setting"
)

// LinkConfig configures one direction of a link. The zero value delivers every packet at once. Its
// fields are settings. In JSON, durations are text such as "25ms", and Loss is the text of Losses;
// see UnmarshalJSON for short forms.
type LinkConfig struct {
	// Rate is the data rate in bit/s, up to quantity.MaxRate. The default 0 is no limit.
	Rate uint64
	// Trace, if not nil, replaces Rate. In JSON it is the rate "trace:FILE". Each packet waits, so
	// that Mark counts it; one that finds the queue empty is never dropped.
	Trace *RateTrace
	// Overhead is the bytes that each packet takes on the wire in addition to its own: 38 for Ethernet
	// (preamble, header, check sequence, gap). The default is 0.
	Overhead uint32 `set:"overhead" max:"65535" help:"bytes on the wire in addition to each packet (default 0)"`
	// Queue limits the packets that wait while another is sent; further ones are dropped. A packet
	// that need not wait is never dropped. Bytes exclude Overhead. The default 0 is the maximum.
	Queue Limit `set:"queue" prefix:"queue." help:"packets that wait, or bytes as 64KiB (default 2^24)"`
	// Mark is the ECN threshold. A packet that waits is marked CE if the queue, with it, exceeds
	// either limit and its sender is ECN-capable. The default 0 marks nothing.
	Mark Limit `set:"mark" prefix:"mark." help:"ECN threshold of the queue, packets or bytes (default none)"`
	// Delay is the time from the last bit sent to its arrival. Jitter varies it.
	Delay  time.Duration `set:"delay" max:"24h" help:"time that a packet takes"`
	Jitter Jitter        `set:"jitter" kind:"duration" prefix:"jitter." help:"by how much the delay varies, up or down"`
	// Loss drops packets on the wire: they have passed the queue and used Rate. nil is no loss.
	Loss Losses `set:"loss" kind:"loss" help:"probability of loss, or a model (default none)"`
	// Reorder lets packets overtake others.
	Reorder Reorder `set:"reorder" kind:"probability" prefix:"reorder." help:"probability that a packet overtakes"`
	// Hold keeps packets at the far end now and then.
	Hold Hold `set:"hold" kind:"duration" prefix:"hold." help:"longest time for which packets are held now and then (default none)"`
	// Duplicate is the probability that a packet arrives twice, both at the same instant.
	Duplicate float64 `set:"duplicate" unit:"probability" max:"1" help:"probability that a packet arrives twice"`
	// Corrupt is the probability that the packet arrives with one bit flipped. Packet.Corrupt says
	// so.
	Corrupt float64 `set:"corrupt" unit:"probability" max:"1" help:"probability that a bit is flipped"`
}

// Composites implements setting.Composer: the rate is that of ParseLinkRate.
func (*LinkConfig) Composites() []setting.Composite {
	rate := setting.Derive("rate", `kind:"rate" help:"bit/s, as 100Mbit, or trace:FILE (default none)"`, func(c *LinkConfig, r LinkRate) {
		c.Rate, c.Trace = uint64(r.Fixed), r.Trace
	})
	return []setting.Composite{setting.JSON(rate, func(c *LinkConfig) any {
		switch {
		case c.Trace != nil:
			return LinkRate{Trace: c.Trace}.String()
		case c.Rate != 0:
			return c.Rate
		}
		return nil
	})}
}

// Limit bounds a queue in packets and in bytes. 0 is no bound of that kind.
type Limit struct {
	Packets uint32 `json:"packets,omitempty" set:"packets" max:"16777216"`
	Bytes   uint64 `json:"bytes,omitempty" set:"bytes" unit:"size" max:"1TiB"`
}

// UnmarshalText reads a limit in packets ("100") or in bytes ("64KiB").
func (l *Limit) UnmarshalText(text []byte) error {
	name := "packets"
	if strings.Trim(string(text), "0123456789_.eE+-") != "" {
		name = "bytes"
	}
	var limit Limit
	if err := setting.Set(&limit, name, string(text)); err != nil {
		return fmt.Errorf("%q, want %s", text, limit.Allowed())
	}
	*l = limit
	return nil
}

// Allowed says what UnmarshalText accepts.
func (*Limit) Allowed() string { return "packets such as 100, or bytes such as 64KiB" }

// Jitter varies the delay evenly within ±Amount, which is at most Delay. With Normal set, the
// variation is normally distributed with standard deviation Amount, limited to six deviations and
// to ±Delay, so that the mean stays Delay.
//
// Jitter does not reorder: a packet waits for the arrival of the one before, unless Overtake is
// set.
//
// Each packet has its own draw. With Hold, all packets sent within the same interval of that length
// share a draw, so that a burst sees one delay. Intervals count from 0.
type Jitter struct {
	Amount   time.Duration `set:"amount" max:"24h"`
	Normal   bool          `set:"normal"`
	Overtake bool          `set:"overtake"`
	Hold     time.Duration `set:"hold" max:"1h"`
}

// UnmarshalText sets the amount.
func (j *Jitter) UnmarshalText(text []byte) error {
	return errors.Unwrap(setting.Set(j, "amount", string(text))) // the caller names the field
}

// Reorder picks every Gap-th packet (each one, if Gap is 0 or 1) with a probability. A picked
// packet is delayed by Extra, so that later ones overtake it. If Extra is 0, it skips Delay and
// Jitter and so overtakes earlier ones, as with Linux's netem.
type Reorder struct {
	Probability float64       `set:"probability" unit:"probability" max:"1"`
	Gap         uint32        `set:"gap"`
	Extra       time.Duration `set:"extra" max:"24h"`
}

// UnmarshalText sets the probability.
func (r *Reorder) UnmarshalText(text []byte) error {
	return errors.Unwrap(setting.Set(r, "probability", string(text))) // the caller names the field
}

// Hold keeps what would arrive and lets all of it go at once, in order, as a relay that stalls: once
// in each span of length Every from 0 on, for a time drawn evenly from Least to Longest, at a drawn
// instant of the span. Every is at least Longest; 0 is twice it. Longest 0 holds nothing. A packet
// that Reorder lets skip Delay is not held.
type Hold struct {
	Longest time.Duration `set:"longest" max:"1h"`
	Least   time.Duration `set:"least" max:"1h"`
	Every   time.Duration `set:"every" max:"24h"`
}

// UnmarshalText sets the longest time.
func (h *Hold) UnmarshalText(text []byte) error {
	return errors.Unwrap(setting.Set(h, "longest", string(text))) // the caller names the field
}

const (
	maxPackets = 1 << 24
	maxBytes   = 1 << 40
)

// Check returns an error that names the first field out of bounds, its value and the bound.
func (c *LinkConfig) Check() error {
	switch {
	case c.Rate > quantity.MaxRate:
		return fmt.Errorf("sim: rate %d bit/s, want 0 to %d", c.Rate, uint64(quantity.MaxRate))
	case c.Rate != 0 && c.Trace != nil:
		return fmt.Errorf("sim: rate %d bit/s and a trace, want one of them", c.Rate)
	}
	if err := setting.Check(c); err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if !c.Jitter.Normal && c.Jitter.Amount > c.Delay {
		return fmt.Errorf("sim: jitter %v, want 0s to %v", c.Jitter.Amount, c.Delay)
	}
	switch h := c.Hold; {
	case h.Least > h.Longest:
		return fmt.Errorf("sim: hold.least %v, want 0s to %v (hold)", h.Least, h.Longest)
	case h.Every != 0 && h.Every < h.Longest:
		return fmt.Errorf("sim: hold.every %v, want %v (hold) or more", h.Every, h.Longest)
	}
	return c.Loss.Check()
}

// Set sets a setting: "delay", "25ms". Fields of nested objects have a dot: "jitter.hold". Short
// names: "jitter" sets the amount, "reorder" the probability, "queue" and "mark" a number of
// packets, or of bytes if text has a unit. Set does not call Check, and never panics.
func (c *LinkConfig) Set(name, text string) error { return setting.Set(c, name, text) }

// MarshalJSON writes c without its zero fields.
func (c LinkConfig) MarshalJSON() ([]byte, error) { return setting.Marshal(&c) }

// UnmarshalJSON reads what MarshalJSON writes. Each field may also be any text or number that Set
// takes: {"rate": "100Mbit", "jitter": "1ms", "loss": "2%"}. It refuses unknown fields, does not
// call Check, and never panics.
func (c *LinkConfig) UnmarshalJSON(text []byte) error {
	*c = LinkConfig{}
	if err := setting.Unmarshal(c, text); err != nil {
		return fmt.Errorf("sim: link: %w", err)
	}
	return nil
}

// ParseLinkConfig reads a LinkConfig from JSON and checks it.
func ParseLinkConfig(text []byte) (c LinkConfig, err error) {
	if err = c.UnmarshalJSON(text); err == nil {
		err = c.Check()
	}
	return c, err
}
