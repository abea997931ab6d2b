package link

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
	"tcpwheel/wheel/base/pcapng"
)

// capture is the capture file of one end. Packets of the two directions reach it slightly out of
// order. It holds each back until no earlier one can come, and writes them in the order of their
// stamps.
type capture struct {
	sink  *sink
	out   *pcapng.Writer
	epoch wheel.Time // nanoseconds since 1970
	held  []captured
	count uint64 // packets
}

type captured struct {
	at      wheel.Time
	heading pcapng.Direction // to the end or from it
	data    []byte
	comment string
}

func newCapture(file, name string, epoch wheel.Time) (*capture, error) {
	s, err := createSink(file)
	if err != nil {
		return nil, err
	}
	c := &capture{sink: s, epoch: epoch}
	if c.out, err = pcapng.NewWriter(s, "tcpwheel link"); err == nil {
		_, err = c.out.AddInterface(name, pcapng.LinkTypeRaw)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.flush()
	return c, nil
}

// add takes a packet and keeps its bytes. A nil capture ignores it.
func (c *capture) add(at wheel.Time, heading pcapng.Direction, data []byte, comment string) {
	if c != nil {
		c.count++
		c.held = append(c.held, captured{at, heading, data, comment})
	}
}

// write writes the packets stamped before until.
func (c *capture) write(until wheel.Time) {
	if c == nil {
		return
	}
	slices.SortStableFunc(c.held, func(a, b captured) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for ; n < len(c.held) && c.held[n].at < until; n++ {
		p := &c.held[n]
		if err := c.out.WriteDirected(0, c.epoch+p.at, p.heading, p.data, uint32(len(p.data)), p.comment); err != nil && c.sink.err == nil {
			c.sink.err = err
		}
	}
	c.held = slices.Delete(c.held, 0, n)
	c.sink.flush()
}

// end writes the counts of packets and of the kernel's drops before the link, and closes the file.
func (c *capture) end(now wheel.Time, dropped uint64) error {
	c.write(math.MaxInt64)
	if err := c.out.WriteStatistics(0, c.epoch+now, c.count, dropped); err != nil && c.sink.err == nil {
		c.sink.err = err
	}
	return c.sink.close()
}

// sentComment describes the fate of a packet that is sent: "" for a plain arrival.
func sentComment(f *sim.Fate, loss sim.Losses) string {
	switch f.Outcome {
	case sim.QueueDropped:
		return "dropped: the queue is full"
	case sim.Lost:
		return "lost: " + loss[f.Model].String()
	}
	return f.Impairments()
}

// arrivedComment describes what is unusual about a packet that arrives.
func arrivedComment(f *sim.Fate, again bool) string {
	var words []string
	if f.Marked {
		words = append(words, "marked CE")
	}
	if f.Reordered {
		words = append(words, "reordered")
	}
	if again {
		words = append(words, "duplicate")
	}
	if f.Corrupt {
		words = append(words, "bit "+strconv.FormatUint(uint64(f.Bit), 10)+" flipped")
	}
	return strings.Join(words, ", ")
}
