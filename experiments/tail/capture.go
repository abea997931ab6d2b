package tail

import (
	"fmt"
	"io"
	"sync"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack"
	"tcpwheel/wheel"
)

// Capture writes the packets of the runs with losses as pcapng, as they enter the path: an
// interface for each sender and size of the response. A comment says which timer sent a packet, and
// that it is lost. Runs follow each other. Multiple goroutines may invoke its methods; those of a
// nil Capture do nothing.
type Capture struct {
	mu   sync.Mutex
	out  *pcapng.Writer
	from wheel.Time // when the run began
	last wheel.Time // of the latest packet
	err  error
}

// recordPacket records a packet of a run. Times count from its beginning.
type recordPacket func(at wheel.Time, b []byte, causes []netstack.Cause, lost bool)

const (
	captureBytes = 128 // of each packet: its headers
	linkTypeIPv4 = 228
	betweenRuns  = time.Second
)

// captureEpoch is when captures begin: equal runs in virtual time give equal bytes.
var captureEpoch = wheel.Time(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())

// NewCapture begins a capture.
func NewCapture(w io.Writer) (*Capture, error) {
	out, err := pcapng.NewWriter(w, "tcpwheel tail")
	return &Capture{out: out, from: captureEpoch, last: captureEpoch}, err
}

// run begins a run. It returns nil for a nil Capture.
func (c *Capture) run(sender string, segments int) recordPacket {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	iface, err := c.out.AddInterface(fmt.Sprintf("%s, %d segments", sender, segments), linkTypeIPv4)
	c.keep(err)
	c.from = c.last.Add(betweenRuns)
	return func(at wheel.Time, b []byte, causes []netstack.Cause, lost bool) {
		text := netstack.DescribeCauses(at, causes)
		switch {
		case lost && text != "":
			text += "; lost"
		case lost:
			text = "lost"
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		stamp := c.from + at
		c.last = max(c.last, stamp)
		c.keep(c.out.WritePacket(iface, stamp, b[:min(len(b), captureBytes)], uint32(len(b)), text))
	}
}

func (c *Capture) keep(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Err returns the first error of the writer.
func (c *Capture) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
