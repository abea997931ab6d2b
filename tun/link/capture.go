package link

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// capture is the capture file of one end. Packets of the two directions reach it slightly out of
// order. It holds each back until no earlier one can come, and writes them in the order of their
// stamps.
type capture struct {
	sink  *pcapng.Sink
	out   *pcapng.Writer
	epoch wheel.Time // nanoseconds since 1970
	held  []captured
	count uint64 // packets
	err   error  // the first
}

type captured struct {
	at      wheel.Time
	heading pcapng.Direction // to the end or from it
	data    []byte
	comment string
}

func newCapture(file, name string, epoch wheel.Time) (*capture, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	c := &capture{sink: pcapng.NewSink(f), epoch: epoch}
	if c.out, err = pcapng.NewFile(c.sink, "tcpwheel link", name, pcapng.LinkTypeRaw); err == nil {
		err = c.sink.Flush()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
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
		c.note(c.out.WriteDirected(0, c.epoch+p.at, p.heading, p.data, uint32(len(p.data)), p.comment))
	}
	c.held = slices.Delete(c.held, 0, n)
	c.note(c.sink.Flush())
}

// note records the first error.
func (c *capture) note(err error) { c.err = cmp.Or(c.err, err) }

// end writes the counts of packets and of the kernel's drops before the link, and closes the file.
func (c *capture) end(now wheel.Time, dropped uint64) error {
	c.write(math.MaxInt64)
	c.note(c.out.WriteStatistics(0, c.epoch+now, c.count, dropped))
	c.note(c.sink.Close())
	return c.err
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
