package testbed

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// Key hashes a seed and parts that name a random number, such as a flow, an offset and an attempt.
// The result is the same for all policies.
func Key(seed uint64, parts ...uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15 // SplitMix64's step
	h := sim.Mix64(seed + golden)
	for _, p := range parts {
		h = sim.Mix64(h ^ sim.Mix64(p+golden))
	}
	return h
}

// Uniform returns Key as a number in [0, 1).
func Uniform(seed uint64, parts ...uint64) float64 {
	return float64(float64(Key(seed, parts...)>>11) * 0x1p-53)
}

// StreamLoss is a sim.Loss that loses data packets by their place in the stream and their attempt,
// so that policies that differ lose the same bytes.
type StreamLoss struct {
	P     float64 // probability of a loss, for a data packet
	Empty float64 // and for a packet without data, by its number
	Burst uint64  // bytes of the stream that share a fate in an attempt; 0 is each packet alone
	// Rule decides instead, if not nil, about the attempt-th transmission, from 1, of bytes from start
	// to end.
	Rule func(now wheel.Time, start, end uint64, attempt uint32) bool
}

// String implements sim.Loss.
func (f *StreamLoss) String() string {
	return fmt.Sprintf("stream loss %v/%v/%d", f.P, f.Empty, f.Burst)
}

// Check implements sim.Loss.
func (f *StreamLoss) Check() error {
	for _, p := range []float64{f.P, f.Empty} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("testbed: probability of a loss %v, want 0 to 1", p)
		}
	}
	return nil
}

// Start implements sim.Loss. key depends on the link's name and the network's seed.
func (f *StreamLoss) Start(key uint64) sim.Dropper { return &streamDropper{f, key} }

type streamDropper struct {
	plan *StreamLoss
	key  uint64
}

// Lost implements sim.Dropper.
func (f *streamDropper) Lost(now wheel.Time, n uint64, p *sim.Packet) bool {
	if p.End == p.Start {
		return f.plan.Empty > 0 && Uniform(f.key, math.MaxUint64, n) < f.plan.Empty
	}
	if f.plan.Rule != nil {
		return f.plan.Rule(now, p.Start, p.End, p.Attempt)
	}
	place := p.Start
	if f.plan.Burst > 0 {
		place -= place % f.plan.Burst
	}
	return f.plan.P > 0 && Uniform(f.key, place, uint64(p.Attempt)) < f.plan.P
}

// Fates are the models that lose the packets of a flow. Each model sees all packets. The text is
// "none", or models joined by ";": those of sim.ParseLosses, and these, which never lose warmup
// objects or packets without data:
//
//	fates:P             each transmission of data with probability P
//	fates:P,burst=N     the same, with one fate for N neighbouring full segments
//	tail:J              the last J segments of each object, once
//	tail:J@N            the same, in their first N transmissions
//
// With ",times=N" a probability is drawn once, and a loss takes the first N transmissions. With
// ",p=P" only that share of the objects loses its tail.
//
// The zero value loses nothing. ParseFates and UnmarshalText make others.
type Fates struct {
	text  string
	own   []ownFate
	other sim.Losses
}

// FatesOf returns Fates of other models, with a text that names them. The models see all packets of
// a flow when they have passed the link that all flows share.
func FatesOf(text string, models ...sim.Loss) Fates { return Fates{text: text, other: models} }

// ownFate is a model of this package: a tail, or a probability.
type ownFate struct {
	p        float64
	burst    uint64 // segments
	tail     uint64 // segments; 0 is a probability
	attempts uint32 // that are lost with one draw; 0 draws for each
}

var fatesAllowed = "none, fates:P, fates:P,burst=N, fates:P,times=N, tail:J, tail:J@N, tail:J,p=P, " +
	strings.TrimPrefix(sim.LossAllowed, "none, ")

// ParseFates reads the text of Fates. An error says what is wrong and what is allowed.
func ParseFates(text string) (f Fates, err error) {
	f.text = text
	if text == "" {
		return f, errors.New("empty, want none or models of loss")
	}
	var others []string
	for part := range strings.SplitSeq(text, ";") {
		name, arguments, _ := strings.Cut(strings.TrimSpace(part), ":")
		var o ownFate
		switch name {
		case "fates":
			if o, err = parseChance(arguments); err != nil {
				return f, fmt.Errorf("%q: %w", part, err)
			}
			f.own = append(f.own, o)
		case "tail":
			if o, err = parseTail(arguments); err != nil {
				return f, fmt.Errorf("%q: %w", part, err)
			}
			f.own = append(f.own, o)
		default:
			others = append(others, part)
		}
	}
	if len(others) > 0 {
		if f.other, err = sim.ParseLosses(strings.Join(others, ";")); err != nil {
			if strings.HasSuffix(err.Error(), sim.LossAllowed) {
				err = fmt.Errorf("%q, want %s", text, fatesAllowed)
			}
			return f, err
		}
		if len(f.other) == 0 && len(f.own) > 0 {
			return f, fmt.Errorf("%q: none together with other models", text)
		}
	}
	return f, nil
}

func parseChance(text string) (o ownFate, err error) {
	p, rest, more := strings.Cut(text, ",")
	if o.p, err = quantity.ParseProbability(p); err != nil {
		return o, fmt.Errorf("probability %w", err)
	}
	for o.burst = 1; more; {
		var word string
		word, rest, more = strings.Cut(rest, ",")
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseUint(value, 10, 16)
		switch {
		case err == nil && key == "burst" && n >= 1 && n <= 1000:
			o.burst = n
		case err == nil && key == "times" && n >= 1 && n <= 10:
			o.attempts = uint32(n)
		default:
			return o, fmt.Errorf("%q, want burst=N, N from 1 to 1000, or times=N, N from 1 to 10", word)
		}
	}
	return o, nil
}

func parseTail(text string) (o ownFate, err error) {
	text, p, some := strings.Cut(text, ",p=")
	if o.p = 1; some {
		if o.p, err = quantity.ParseProbability(p); err != nil {
			return o, fmt.Errorf("probability %w", err)
		}
	}
	j, n, several := strings.Cut(text, "@")
	if o.tail, err = strconv.ParseUint(j, 10, 16); err != nil || o.tail < 1 || o.tail > 1000 {
		return o, fmt.Errorf("%q segments, want 1 to 1000", j)
	}
	o.attempts = 1
	if several {
		times, err := strconv.ParseUint(n, 10, 8)
		if err != nil || times < 1 || times > 10 {
			return o, fmt.Errorf("%q times, want 1 to 10", n)
		}
		o.attempts = uint32(times)
	}
	return o, nil
}

// UnmarshalText is ParseFates.
func (f *Fates) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFates(string(text))
	return err
}

// Allowed describes the text.
func (f *Fates) Allowed() string { return fatesAllowed }

// String returns the text.
func (f Fates) String() string {
	if f.text == "" {
		return "none"
	}
	return f.text
}

// Chance returns the probability of a loss, and whether that describes the Fates, as 0.01 does
// "fates:0.01".
func (f Fates) Chance() (p float64, ok bool) {
	switch {
	case len(f.own)+len(f.other) == 0:
		return 0, true
	case len(f.own) == 1 && len(f.other) == 0 && f.own[0].tail == 0 && f.own[0].burst == 1 &&
		f.own[0].attempts == 0:
		return f.own[0].p, true
	case len(f.other) == 1 && len(f.own) == 0:
		if b, ok := f.other[0].(sim.Bernoulli); ok {
			return b.P, true
		}
	}
	return 0, false
}

// losses returns the models for a flow.
func (f *Fates) losses(of *flow) sim.Losses {
	all := append(sim.Losses{}, f.other...)
	for i := range f.own {
		all = append(all, flowLoss{f.own[i], of, of.run.spec.mss()})
	}
	return all
}

// flowLoss is an ownFate of a flow, as a sim.Loss.
type flowLoss struct {
	ownFate
	flow *flow
	mss  uint64 // of the sender: it costs too much to ask for each packet
}

// String implements sim.Loss.
func (l flowLoss) String() string { return fmt.Sprintf("%+v", l.ownFate) }

// Check implements sim.Loss.
func (l flowLoss) Check() error { return nil }

// Start implements sim.Loss.
func (l flowLoss) Start(key uint64) sim.Dropper { return &flowDropper{l, key} }

type flowDropper struct {
	flowLoss
	key uint64
}

// Lost implements sim.Dropper.
func (d *flowDropper) Lost(_ wheel.Time, _ uint64, p *sim.Packet) bool {
	if p.End == p.Start {
		return false
	}
	s := d.flow.run.spec
	object, from := int(p.Start/s.Work.Bytes), p.Start
	if s.Work.Shape == Web {
		if from >= s.Work.Bytes {
			return false // a FIN
		}
		object = int(d.flow.conn.Load())
	} else {
		from -= uint64(object) * s.Work.Bytes
	}
	if object < s.Work.Warm {
		return false
	}
	if d.tail > 0 {
		segments := (s.Work.Bytes-1)/d.mss + 1
		first := (segments - min(d.tail, segments)) * d.mss
		return p.Attempt <= d.attempts && from+(p.End-p.Start) > first &&
			(d.p >= 1 || Uniform(d.key, uint64(d.flow.conn.Load()), uint64(object)) < d.p)
	}
	place := p.Start - p.Start%(d.burst*d.mss)
	if d.burst == 1 {
		place = p.Start
	}
	attempt := uint64(p.Attempt)
	if d.attempts > 0 {
		if p.Attempt > d.attempts {
			return false
		}
		attempt = 0
	}
	return d.p > 0 && Uniform(d.key, uint64(d.flow.conn.Load()), place, attempt) < d.p
}
