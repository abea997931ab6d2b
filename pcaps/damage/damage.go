package damage

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/wheel"
)

// Source has the packets of a capture.
type Source interface {
	// Next returns the next packet, which the caller may keep. It returns io.EOF at the end.
	Next() (*Packet, error)

	// Total returns how many packets there are in all, -1 if that is not known.
	Total() int64
}

// Sink takes packets, in the order of the damaged capture.
type Sink func(*Packet) error

// Kind is a damage with a parameter.
type Kind struct {
	Name    string
	Default string   // the parameter
	Tries   []string // parameters that accuracy tries
	About   string

	// Fields says that packets change, but neither their number nor their stamps.
	Fields bool

	parse func(string) (param, error)
	run   func(*job, *Packet) error
	end   func(*job) error

	// moves is how far the damage moves stamps, at most; nil for not at all.
	moves func(param) time.Duration
	whole bool // it needs Source.Total
}

// param is the value of a parameter, in the kind's unit.
type param struct {
	share float64
	span  time.Duration
	n     int64
	mul   uint32 // of a factor: mul/div
	div   uint32
	word  string
}

// Damage is a kind with a value of its parameter.
type Damage struct {
	*Kind
	Param string
	value param
}

// String returns the text that Parse reads.
func (d *Damage) String() string {
	if d.Param == "" {
		return d.Name
	}
	return d.Name + ":" + d.Param
}

// Moves returns how far the damage moves the stamps of packets, at most. A drift moves them without
// bound, but by how much of the time between two packets Drift says.
func (d *Damage) Moves() time.Duration {
	if d.moves == nil {
		return 0
	}
	return d.moves(d.value)
}

// Drift returns the part of each span of time by which the damage makes it longer.
func (d *Damage) Drift() float64 {
	if d.Name == "drift" {
		return d.value.share
	}
	return 0
}

// NeedsTotal reports whether Run needs Source.Total.
func (d *Damage) NeedsTotal() bool { return d.whole }

// Parse reads a damage: the name of a kind, then perhaps a colon and its parameter.
func Parse(text string) (*Damage, error) {
	name, value, given := strings.Cut(text, ":")
	for i := range Kinds {
		k := &Kinds[i]
		if k.Name != name {
			continue
		}
		if !given {
			value = k.Default
		}
		d := &Damage{Kind: k, Param: value}
		if k.parse == nil {
			if given {
				return nil, fmt.Errorf("damage %s has no parameter, got %q", name, value)
			}
			return d, nil
		}
		var err error
		if d.value, err = k.parse(value); err != nil {
			return nil, fmt.Errorf("damage %s: %q, want %w", name, value, err)
		}
		return d, nil
	}
	var names []string
	for i := range Kinds {
		names = append(names, Kinds[i].Name)
	}
	return nil, fmt.Errorf("no damage %q, want one of %s", name, strings.Join(names, ", "))
}

// All returns each kind with each parameter that accuracy tries.
func All() (all []*Damage) {
	for i := range Kinds {
		k := &Kinds[i]
		tries := k.Tries
		if len(tries) == 0 {
			tries = []string{k.Default}
		}
		for _, value := range tries {
			text := k.Name
			if k.parse != nil {
				text += ":" + value
			}
			d, err := Parse(text)
			if err != nil {
				panic("BUG: " + err.Error())
			}
			all = append(all, d)
		}
	}
	return all
}

// Counts says what a damage did to a capture.
type Counts struct {
	Read, Written int64 // packets
	Dropped       int64
	Added         int64
	Changed       int64 // in bytes or stamp
	Unfit         int64 // they could not be rewritten, and stay as they were
}

// job is a run of a damage.
type job struct {
	*Damage
	in     Source
	out    Sink
	rng    *rand.Rand
	counts Counts
	queue  queue // packets that come later
	state  any   // of the kind
	total  int64
}

// Run reads all of a capture and writes the damaged one. The result depends only on the packets,
// the damage and the seed. An error of the source ends the capture, and is returned once everything
// before it was written; io.EOF is none.
func (d *Damage) Run(in Source, out Sink, seed uint64) (Counts, error) {
	j := &job{Damage: d, in: in, rng: rand.New(rand.NewPCG(seed, 0x64616d616765)), total: in.Total()}
	j.out = func(p *Packet) error {
		j.counts.Written++
		return out(p)
	}
	if d.whole && j.total < 0 {
		return j.counts, fmt.Errorf("damage %s needs the number of packets, which is not known", d)
	}
	var failed error
	for {
		p, err := in.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				failed = err
			}
			break
		}
		j.counts.Read++
		if err := d.run(j, p); err != nil {
			return j.counts, err
		}
	}
	if d.end != nil {
		if err := d.end(j); err != nil {
			return j.counts, err
		}
	}
	return j.counts, errors.Join(j.release(forever), failed)
}

const forever = wheel.Time(1<<63 - 1)

// pass writes a packet after all that is due before it.
func (j *job) pass(p *Packet) error {
	if err := j.release(p.Time); err != nil {
		return err
	}
	return j.out(p)
}

// release writes what waits for a time up to at.
func (j *job) release(at wheel.Time) error {
	for {
		p := j.queue.pop(at)
		if p == nil {
			return nil
		}
		if err := j.out(p); err != nil {
			return err
		}
	}
}

// later writes a packet when its time comes: before the first packet of a later time.
func (j *job) later(p *Packet) { j.queue.push(p) }

// drop writes nothing.
func (j *job) drop() error {
	j.counts.Dropped++
	return nil
}

// add counts a packet that is added, and writes it later.
func (j *job) add(p *Packet) {
	j.counts.Added++
	j.later(p)
}

// unfit passes a packet that cannot be rewritten.
func (j *job) unfit(p *Packet) error {
	j.counts.Unfit++
	return j.pass(p)
}

// change passes the packet as f rewrites it. Packets without TCP do not count as unfit.
func (j *job) change(p *Packet, f func(b []byte, h headers) bool) error {
	q, ok := p.rewrite(f)
	switch {
	case ok:
		j.counts.Changed++
	case p.Segment != nil && !p.at.known():
		j.counts.Unfit++
	}
	return j.pass(q)
}

// shift returns the packet with its stamp moved.
func (j *job) shift(p *Packet, to wheel.Time) *Packet {
	if to == p.Time {
		return p
	}
	j.counts.Changed++
	q := *p
	q.Time = max(to, 0)
	return &q
}

// errWant is what a parameter must be.
type errWant string

func (e errWant) Error() string { return string(e) }

// shareParam reads "1%" or "0.01".
func shareParam(least, most float64) func(string) (param, error) {
	return func(text string) (p param, err error) {
		if p.share, err = quantity.ParseProbability(text); err != nil || p.share < least || p.share > most {
			return p, errWant(fmt.Sprintf("a share from %v%% to %v%%, such as 1%%", 100*least, 100*most))
		}
		return p, nil
	}
}

// spanParam reads a duration.
func spanParam(least, most time.Duration) func(string) (param, error) {
	return func(text string) (p param, err error) {
		if p.span, err = quantity.ParseDuration(text); err != nil || p.span < least || p.span > most {
			return p, errWant(fmt.Sprintf("a duration from %v to %v", least, most))
		}
		return p, nil
	}
}

// numberParam reads a number.
func numberParam(least, most int64) func(string) (param, error) {
	return func(text string) (p param, err error) {
		if p.n, err = strconv.ParseInt(text, 10, 64); err != nil || p.n < least || p.n > most {
			return p, errWant(fmt.Sprintf("a number from %d to %d", least, most))
		}
		return p, nil
	}
}

// wordParam reads one of some words.
func wordParam(words ...string) func(string) (param, error) {
	return func(text string) (p param, err error) {
		for _, w := range words {
			if w == text {
				p.word = w
				return p, nil
			}
		}
		return p, errWant(strings.Join(words, " or "))
	}
}

// factorParam reads "1000" or "1/100".
func factorParam(text string) (p param, err error) {
	const most = 1_000_000
	over, under, fraction := strings.Cut(text, "/")
	if !fraction {
		under = "1"
	}
	mul, err := strconv.ParseUint(over, 10, 32)
	div, err2 := strconv.ParseUint(under, 10, 32)
	if err != nil || err2 != nil || mul < 1 || mul > most || div < 1 || div > most || mul > 1 && div > 1 {
		return p, errWant(fmt.Sprintf("a factor from 1/%d to %d, such as 1000 or 1/100", most, most))
	}
	return param{mul: uint32(mul), div: uint32(div)}, nil
}
