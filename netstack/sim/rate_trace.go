package sim

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/wheel"
)

// TraceBytes is what a link of a RateTrace carries at each of its opportunities.
const TraceBytes = 1500

// Bounds of a trace file.
const (
	maxTraceText     = 64 << 20 // bytes
	maxOpportunities = 1 << 23
	maxTraceMS       = 24 * 60 * 60 * 1000
)

// RateTrace is a rate that varies as it was recorded, in mahimahi's format (Netravali et al.,
// "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015). Each line of a trace is a time
// in milliseconds: an opportunity to carry 1500 bytes of the packets that wait by then. A time that
// is in several lines is several opportunities. A packet leaves with its last byte. An
// opportunity without waiting packets is wasted. After the last time, the trace begins again from
// there. Times count from the clock's zero.
type RateTrace struct {
	name string
	ms   []uint32 // in rising order, the last one above 0
}

// ParseTrace reads a trace. name is how texts refer to it. The error names the line and what is
// accepted; it never panics.
func ParseTrace(name, text string) (*RateTrace, error) {
	t := &RateTrace{name: name}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > maxOpportunities {
		return nil, fmt.Errorf("%d lines, want at most %d", len(lines), maxOpportunities)
	}
	last := uint32(0)
	for i, line := range lines {
		n, err := strconv.ParseUint(strings.TrimSuffix(line, "\r"), 10, 32)
		if err != nil || n > maxTraceMS {
			return nil, fmt.Errorf("line %d, want a time in milliseconds from 0 to %d", i+1, maxTraceMS)
		}
		if uint32(n) < last {
			return nil, fmt.Errorf("line %d: %d ms is before %d ms, want rising times", i+1, n, last)
		}
		last = uint32(n)
		t.ms = append(t.ms, last)
	}
	if last == 0 {
		return nil, errors.New("no time above 0 ms, want at least one")
	}
	return t, nil
}

// TraceFile, if not nil, returns the content of the file that a text such as trace:FILE names. A
// program that lets its users name files sets it once, when it starts. Without it only samples are
// known.
var TraceFile func(name string) (string, error)

// ReadTrace reads the trace in a file by TraceFile, or a sample of this package: sample:NAME.
func ReadTrace(name string) (*RateTrace, error) {
	if sample, ok := strings.CutPrefix(name, samplePrefix); ok {
		return SampleTrace(sample)
	}
	if TraceFile == nil {
		return nil, fmt.Errorf("trace %q, want sample:NAME: this program reads no files", name)
	}
	text, err := TraceFile(name)
	if err != nil {
		return nil, err
	}
	t, err := ParseTrace(name, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// Name returns the name that ReadTrace reads it by.
func (t *RateTrace) Name() string { return t.name }

// Text returns the trace in mahimahi's format.
func (t *RateTrace) Text() string {
	var b strings.Builder
	for _, ms := range t.ms {
		b.WriteString(strconv.FormatUint(uint64(ms), 10) + "\n")
	}
	return b.String()
}

// Period returns the time after which the trace begins again.
func (t *RateTrace) Period() time.Duration {
	return time.Duration(t.ms[len(t.ms)-1]) * time.Millisecond
}

// Mean returns the mean rate in bit/s.
func (t *RateTrace) Mean() quantity.Rate {
	return quantity.Rate(math.Round(float64(len(t.ms)) * TraceBytes * 8 / t.Period().Seconds()))
}

// traceCursor is an opportunity of a trace that may be partly used. The zero value is before the
// first one.
type traceCursor struct {
	begun bool
	round int64 // how often the trace has begun again
	index int
	left  uint32 // bytes
}

// at returns the time of the opportunity.
func (c *traceCursor) at(t *RateTrace) wheel.Time {
	return wheel.Time(c.round*int64(t.Period()) + int64(t.ms[c.index])*int64(time.Millisecond))
}

// skip moves the cursor to an opportunity after now that has bytes left. What is left of one that
// has passed is wasted. It costs O(log n).
func (c *traceCursor) skip(t *RateTrace, now wheel.Time) {
	if c.begun && c.at(t) > now {
		if c.left == 0 {
			c.next(t)
		}
		return
	}
	rest := int64(max(now, -1))
	*c = traceCursor{begun: true, left: TraceBytes}
	if rest > 0 {
		c.round = rest / int64(t.Period())
		rest -= c.round * int64(t.Period())
	}
	c.index = sort.Search(len(t.ms), func(i int) bool { return int64(t.ms[i])*int64(time.Millisecond) > rest })
	if c.index == len(t.ms) {
		c.round, c.index = c.round+1, 0
	}
}

// next moves to the next opportunity.
func (c *traceCursor) next(t *RateTrace) {
	c.left = TraceBytes
	if c.index++; c.index == len(t.ms) {
		c.round, c.index = c.round+1, 0
	}
}

// use takes bytes from the opportunities from here on, and returns the time of the last one.
func (c *traceCursor) use(t *RateTrace, bytes uint32) wheel.Time {
	for bytes > c.left {
		bytes -= c.left
		c.next(t)
	}
	c.left -= bytes
	return c.at(t)
}

// serveByTrace is serialise for a link with a trace: each packet waits for its opportunity.
func (l *Link) serveByTrace(now wheel.Time, size uint32) (sent wheel.Time, waits, ok bool) {
	t := l.cfg.Trace
	l.cursor.skip(t, now)
	start := l.cursor.at(t)
	if l.queue.n > 0 && (l.queue.n >= l.cfg.Queue.Packets || l.queue.bytes+uint64(size) > l.cfg.Queue.Bytes) {
		return 0, true, false
	}
	l.queue.push(start, size)
	l.free, l.frac = l.cursor.use(t, size+l.cfg.Overhead), 0
	return l.free, true, true
}

// LinkRate is the rate of a link: fixed, or that of a trace.
type LinkRate struct {
	Fixed quantity.Rate // 0 is no limit
	Trace *RateTrace    // replaces Fixed, if not nil
}

const tracePrefix = "trace:"

// ParseLinkRate reads a rate as quantity.ParseRate does, or trace:FILE, as ReadTrace does.
func ParseLinkRate(text string) (r LinkRate, err error) {
	name, ok := strings.CutPrefix(text, tracePrefix)
	if !ok {
		if r.Fixed, err = quantity.ParseRate(text); err != nil {
			err = fmt.Errorf("%q, want %s", text, linkRateAllowed)
		}
		return r, err
	}
	if r.Trace, err = ReadTrace(name); err != nil {
		err = fmt.Errorf("%q: %w", text, err)
	}
	return r, err
}

const linkRateAllowed = quantity.RateAllowed + "; or trace:FILE, mahimahi's format"

// String returns the text that ParseLinkRate reads.
func (r LinkRate) String() string {
	if r.Trace != nil {
		return tracePrefix + r.Trace.name
	}
	return r.Fixed.String()
}

// UnmarshalText calls ParseLinkRate.
func (r *LinkRate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseLinkRate(string(text))
	return err
}

// Allowed says what UnmarshalText accepts.
func (*LinkRate) Allowed() string { return linkRateAllowed }

// Mean returns the fixed rate, or the mean of the trace.
func (r LinkRate) Mean() quantity.Rate {
	if r.Trace != nil {
		return r.Trace.Mean()
	}
	return r.Fixed
}
