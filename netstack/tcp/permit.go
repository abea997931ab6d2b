package tcp

import (
	"fmt"
	"slices"

	"tcpwheel/wheel"
)

// Permit says how much of what was never sent may leave, in place of congestion control: for those who run again what was captured, with
// the windows that it shows. Retransmissions are left to congestion control, and so is what the probe for a lost tail sends.
type Permit struct {
	// Delivered is how many octets of what the application has written have arrived, as ACKs and SACKs tell. The permit holds from then on
	// up to the next one.
	Delivered uint64 `json:"delivered"`

	// Octets is how many more may have been sent by then.
	Octets uint32 `json:"octets"`

	// AtLeast says that nothing more was written, and more might have been sent: congestion control decides on it.
	AtLeast bool `json:"at_least,omitempty"`
}

// Permits are those of a stream, in the order of Delivered.
type Permits struct{ All []Permit }

// Check returns an error that names the first permit that is not behind the one before it. It may be called on nil.
func (p *Permits) Check() error {
	if p == nil {
		return nil
	}
	for i := 1; i < len(p.All); i++ {
		if p.All[i].Delivered <= p.All[i-1].Delivered {
			return fmt.Errorf("tcp: permit %d at %d octets, want more than %d", i, p.All[i].Delivered, p.All[i-1].Delivered)
		}
	}
	return nil
}

// at returns the permit for so many octets delivered, nil if there is none yet. It costs O(log permits).
func (p *Permits) at(delivered uint64) *Permit {
	i, found := slices.BinarySearchFunc(p.All, delivered, func(x Permit, delivered uint64) int {
		switch {
		case x.Delivered < delivered:
			return -1
		case x.Delivered > delivered:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return &p.All[i]
}

// permits reports whether n octets that were never sent may leave.
func (c *Conn) permits(n uint32) bool {
	if c.cfg.Permits == nil || !c.sackOn && (c.caState >= CARecovery || c.rec.dup.N() > 0) {
		return c.cwndAllows(n) // duplicate ACKs without SACK do not tell how much has arrived
	}
	delivered := c.acked + uint64(c.fl.sent.Sacked().Bytes)
	p := c.cfg.Permits.at(delivered)
	if p == nil {
		return c.cwndAllows(n)
	}
	sent := c.acked + uint64(c.sndNxt.Sub(c.dataUna())) + uint64(n)
	if sent > delivered+uint64(p.Octets) {
		return p.AtLeast && c.cwndAllows(n)
	}
	if c.caState < CACWR {
		c.cc.Raise(c.pipe() + n)
	}
	return true
}

// Resend sends again what lies in the range and was sent fewer than n times, and is not SACKed: for those who run again what was captured, with
// retransmissions that another host made. It counts as retransmitted, for Karn's algorithm too, and its timer starts anew; but it is not deemed
// lost, and congestion control hears nothing of it. What is not in flight is left out. It costs O(log n) for each segment of the range.
func (c *Conn) Resend(now wheel.Time, r Range, n uint8, o *Output) {
	for at := r.Start; at.Before(r.End); {
		id := c.fl.sent.Find(at)
		if id == 0 {
			if at.Before(c.sndUna) {
				at = c.sndUna
				continue
			}
			return
		}
		s := c.fl.sent.Get(id)
		at = s.Seq.Add(s.Len)
		if !s.Sacked() && s.Transmissions < n {
			c.retransmit(now, id, o)
		}
	}
}
