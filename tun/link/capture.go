package link

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// capture is a file of what passes at one end, in the order of the stamps. Packets of the two directions come a little out of
// order: each is held back until nothing before it can come any more.
type capture struct {
	sink  *sink
	out   *sim.Pcapng
	epoch wheel.Time // as nanoseconds since 1970
	held  []captured
	count uint64 // packets
}

type captured struct {
	at      wheel.Time
	heading sim.Heading // to the end or from it
	octets  []byte
	comment string
}

func newCapture(file, name string, epoch wheel.Time) (*capture, error) {
	s, err := createSink(file)
	if err != nil {
		return nil, err
	}
	c := &capture{sink: s, epoch: epoch}
	if c.out, err = sim.NewPcapng(s, "tcpwheel link"); err == nil {
		_, err = c.out.AddInterface(name, sim.LinkTypeRaw)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.flush()
	return c, nil
}

// add takes a packet, whose octets it keeps. A nil capture takes nothing.
func (c *capture) add(at wheel.Time, heading sim.Heading, octets []byte, comment string) {
	if c != nil {
		c.count++
		c.held = append(c.held, captured{at, heading, octets, comment})
	}
}

// write writes what was stamped before the instant until.
func (c *capture) write(until wheel.Time) {
	if c == nil {
		return
	}
	slices.SortStableFunc(c.held, func(a, b captured) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for ; n < len(c.held) && c.held[n].at < until; n++ {
		p := &c.held[n]
		if err := c.out.WriteHeaded(0, c.epoch+p.at, p.heading, p.octets, uint32(len(p.octets)), p.comment); err != nil && c.sink.err == nil {
			c.sink.err = err
		}
	}
	c.held = slices.Delete(c.held, 0, n)
	c.sink.flush()
}

// end writes how many packets there were, and how many the kernel has dropped before the link, and closes the file.
func (c *capture) end(now wheel.Time, dropped uint64) error {
	c.write(math.MaxInt64)
	if err := c.out.WriteStatistics(0, c.epoch+now, c.count, dropped); err != nil && c.sink.err == nil {
		c.sink.err = err
	}
	return c.sink.close()
}

// sentComment says what becomes of a packet that is sent, "" if it just arrives.
func sentComment(f *sim.Fate, loss sim.Losses) string {
	switch f.Verdict {
	case sim.QueueDropped:
		return "dropped: the queue is full"
	case sim.Lost:
		return "lost: " + loss[f.Model].String()
	}
	return f.Impairments()
}

// arrivedComment says what is not ordinary about a packet that arrives.
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
