package paths

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/internal/quantity"
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// Path is a reported path and what is sent over it. Its text is
//
//	NAME bytes=100MB delay=33ms [KEY=VALUE]... [| SUBJECT]
//
// where NAME is that of the report, as owner/repository#number, and SUBJECT gVisor's TCP with the
// reporter's settings. Keys are bytes, loss (Fates), clock (the tick of the sender's clock), police
// (rate/bucket) and the settings of a link towards the receiver. ACKs have the same delay and
// nothing else.
type Path struct {
	Name     string
	Link     sim.LinkConfig
	Loss     testbed.Fates
	Bytes    uint64
	Clock    time.Duration
	Reporter testbed.Subject
}

const pathAllowed = "NAME bytes=10MB delay=10ms and then loss, clock, police=RATE/BUCKET or settings of a link, and " +
	"perhaps | gvisor with the reporter's settings"

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Path) UnmarshalText(text []byte) error {
	*p = Path{Reporter: testbed.Subject{Kind: testbed.GVisor}}
	before, subject, found := strings.Cut(string(text), "|")
	if found {
		var err error
		if p.Reporter, err = testbed.ParseSubject(subject); err != nil || p.Reporter.Kind != testbed.GVisor {
			return fmt.Errorf("%q, want gvisor and its settings: %w", subject, err)
		}
	}
	words := strings.Fields(before)
	if len(words) == 0 {
		return fmt.Errorf("%q, want %s", text, pathAllowed)
	}
	p.Name = words[0]
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		if err := p.set(key, value); err != nil {
			return fmt.Errorf("%s: %s: %w", p.Name, key, err)
		}
	}
	if p.Bytes == 0 {
		return fmt.Errorf("%s: no bytes, want %s", p.Name, pathAllowed)
	}
	return nil
}

func (p *Path) set(key, value string) (err error) {
	switch key {
	case "bytes":
		var size quantity.Size
		size, err = quantity.ParseSize(value)
		p.Bytes = uint64(size)
	case "loss":
		p.Loss, err = testbed.ParseFates(value)
	case "clock":
		if p.Clock, err = quantity.ParseDuration(value); err == nil && (p.Clock <= 0 || p.Clock > time.Second) {
			err = fmt.Errorf("%v, want more than 0s and up to 1s", p.Clock)
		}
	case "police":
		rate, bucket, _ := strings.Cut(value, "/")
		var l police
		if l.rate, err = quantity.ParseRate(rate); err == nil {
			if l.bucket, err = quantity.ParseSize(bucket); err == nil {
				err = l.Check()
			}
		}
		p.Loss = testbed.FatesOf("police "+value, l)
	default:
		err = p.Link.Set(key, value)
	}
	return err
}

// Allowed implements plan.Allower.
func (p *Path) Allowed() string { return pathAllowed }

// String returns the name.
func (p Path) String() string { return p.Name }

// police is a token bucket that drops what exceeds it, as a sim.Loss.
type police struct {
	rate   quantity.Rate // bit/s
	bucket quantity.Size // bytes
}

// String implements sim.Loss.
func (l police) String() string { return fmt.Sprintf("police %d/%d", l.rate, l.bucket) }

// Check implements sim.Loss.
func (l police) Check() error {
	if l.rate == 0 || l.bucket < 1500 {
		return fmt.Errorf("sim: police %d bit/s, %d bytes, want a rate, and 1500 bytes or more", l.rate, l.bucket)
	}
	return nil
}

// Start implements sim.Loss.
func (l police) Start(uint64) sim.Dropper {
	return &policer{police: l, tokens: int64(l.bucket) * scale}
}

// scale is tokens in a byte: 8e9 of them are a byte-second of a bit/s in nanoseconds.
const scale = 8e9

type policer struct {
	police
	tokens int64
	last   wheel.Time
}

// Lost implements sim.Dropper.
func (p *policer) Lost(now wheel.Time, _ uint64, packet *sim.Packet) bool {
	most := int64(p.bucket) * scale
	if gap := int64(now.Sub(p.last)); gap > (most-p.tokens)/int64(p.rate) {
		p.tokens = most
	} else {
		p.tokens += gap * int64(p.rate)
	}
	p.last = now
	cost := int64(packet.Size) * scale
	if p.tokens < cost {
		return true
	}
	p.tokens -= cost
	return false
}
