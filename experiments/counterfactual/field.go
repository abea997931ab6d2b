package counterfactual

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// fieldPlan is the plan of the study.
type fieldPlan struct {
	// A directory; "" is the samples at their senders.
	Captures string   `plan:"captures" optional:"true"`
	Policies []choice `plan:"policies"`
	Control  string   `plan:"control" oneof:"newreno cubic vegas"`
}

// fieldCell is the result of one capture.
type fieldCell struct {
	Cell
	File     string        `json:"file"`
	All      int           `json:"all"`        // connections, with losses and without
	Lifetime time.Duration `json:"lifetime_s"` // of all, together
	Kinds    []fieldKind   `json:"kinds,omitempty"`
}

// fieldKind sums the losses of one kind and class. Times are as package track defines them.
type fieldKind struct {
	Class    string        `json:"class"`
	Kind     string        `json:"kind"`
	Losses   int           `json:"losses"`
	Held     int           `json:"held"`     // repaired, after they held data back
	Spurious int           `json:"spurious"` // retransmissions that were unnecessary
	Lost     time.Duration `json:"lost_s"`   // the receiver got nothing in it
	Waited   time.Duration `json:"waited_s"` // the part of it that the sender waited for its timers
	Tax      time.Duration `json:"tax_s"`    // detection, less the least that RTT and variation allow
	Dead     int           `json:"dead"`     // never repaired
	DeadFor  time.Duration `json:"dead_s"`   // from their loss to the end
}

// Field is the study.
var Field = experiments.Define(experiments.Spec[fieldPlan, fieldCell]{
	ID: "C2", Name: "field", Bed: "captures", Class: experiments.Shape, Folder: "counterfactual/field", Files: files,
	Words: func() experiments.Words { return fieldWords },
	Check: func(p *fieldPlan) error { return checkChoices(p.Policies) },
	Cells: fieldCells,
	Judge: judgeField,
})

func fieldCells(p *fieldPlan) (all []experiments.Cell[fieldCell]) {
	add := func(name string, open func() (*capture.Reader, func(), error)) {
		all = append(all, experiments.Cell[fieldCell]{Name: "capture=" + name, Cost: 0.02 * float64(len(p.Policies)),
			Run: func(context.Context) (fieldCell, error) {
				in, done, err := open()
				if err != nil {
					return fieldCell{}, err
				}
				defer done()
				return p.measure(name, in)
			}})
	}
	if p.Captures == "" {
		for _, s := range samples.List() {
			add(s.Name, func() (*capture.Reader, func(), error) {
				f, err := samples.Open(path.Join(s.Name, pointFile["sender"]))
				if err != nil {
					return nil, nil, err
				}
				in, err := capture.NewReader(f, s.Name)
				return in, func() { _ = f.Close() }, err
			})
		}
		return all
	}
	names, err := testbed.CaptureFiles(p.Captures)
	if err == nil && len(names) == 0 {
		err = errors.New("no captures")
	}
	if err != nil {
		// A cell reports the error: a plan that names a directory of another machine can still be opened.
		add(p.Captures, func() (*capture.Reader, func(), error) { return nil, nil, fmt.Errorf("captures: %w", err) })
		return all
	}
	for _, name := range names {
		short, err := filepath.Rel(p.Captures, name)
		if err != nil {
			short = name
		}
		add(short, func() (*capture.Reader, func(), error) {
			in, err := capture.Open(name)
			return in, func() { _ = in.Close() }, err
		})
	}
	return all
}

// measure sums the losses of a capture, and replays them.
func (p *fieldPlan) measure(name string, in *capture.Reader) (fieldCell, error) {
	out := fieldCell{File: name, Cell: Cell{Policies: make([]Overall, len(p.Policies))}}
	study := replay.Study{Congestion: p.Control}
	for _, c := range p.Policies {
		study.Choices = append(study.Choices, c.Choice)
	}
	tool := newResentPackets()
	see := func(c *track.Conn) bool { return out.see(c, tool) }
	results, err := replayed(&study, in, see, tool.see, func(reason string) { out.Refuse = append(out.Refuse, reason) })
	out.fill(results)
	return out, err
}

// see adds the losses of a connection. It reports whether they count.
func (c *fieldCell) see(conn *track.Conn, tool *resentPackets) bool {
	c.All++
	c.Lifetime += conn.Last.Sub(conn.First)
	if conn.Flows == nil {
		return true
	}
	class := tool.class(conn)
	for i := range conn.Flows {
		for _, e := range conn.Flows[i].Episodes {
			c.count(e, class)
		}
	}
	return class == counted
}

func (c *fieldCell) count(e *track.Episode, class string) {
	name := e.Kind.String()
	at := slices.IndexFunc(c.Kinds, func(k fieldKind) bool { return k.Kind == name && k.Class == class })
	if at < 0 {
		at = len(c.Kinds)
		c.Kinds = append(c.Kinds, fieldKind{Class: class, Kind: name})
	}
	k := &c.Kinds[at]
	k.Losses++
	k.Spurious += e.SpuriousCount
	k.Lost += e.TimeLost
	k.Waited += e.TimerWait
	if e.TimeLost > 0 {
		k.Held++
	}
	if e.Repaired {
		k.Tax += e.TimerTax
	}
	if e.Unrepaired > 0 {
		k.Dead++
		k.DeadFor += e.Unrepaired
	}
}

// The classes of losses. The rules were set before the captures were measured by them. Only losses
// that count are in claims; the others are shown apart, like losses that were never repaired.
const (
	counted    = "counted"
	ofLoopback = "loopback" // both ends have addresses of one host
	ofTool     = "resent"   // a tool sends recorded packets: see resentPackets
)

// resentPackets finds connections whose packets a tool sends, and not a TCP. A TCP that retransmits
// gives the packet a new IPv4 identification and a new timestamp: RFC 7323 §5.4 has its clock tick
// once a second or faster. A tool repeats both.
type resentPackets struct {
	sent map[[2]netip.AddrPort]map[tcp.Seq]sentPacket
	by   map[[2]netip.AddrPort]bool
}

type sentPacket struct {
	at     wheel.Time
	length uint32
	id     uint32
	stamp  uint32
}

const (
	resentAfter = 2 * time.Second
	keptPackets = 4096 // of a direction
)

func newResentPackets() *resentPackets {
	return &resentPackets{map[[2]netip.AddrPort]map[tcp.Seq]sentPacket{}, map[[2]netip.AddrPort]bool{}}
}

// see adds a packet.
func (r *resentPackets) see(p *capture.Packet) {
	if p.Len == 0 && !p.Header.Flags.Has(tcp.SYN) {
		return
	}
	flow := [2]netip.AddrPort{p.Src, p.Dst}
	all := r.sent[flow]
	if all == nil || len(all) >= keptPackets {
		all = map[tcp.Seq]sentPacket{}
		r.sent[flow] = all
	}
	o := &p.Header.Options
	now := sentPacket{p.Time, p.Len, p.ID, o.TSVal}
	before, ok := all[p.Header.Seq]
	if !ok || before.length != p.Len {
		all[p.Header.Seq] = now
		return
	}
	if p.Time.Sub(before.at) < resentAfter {
		return
	}
	sameID, sameStamp := p.HasID && p.ID != 0 && p.ID == before.id, o.HasTimestamps && o.TSVal == before.stamp
	if sameID && (sameStamp || !o.HasTimestamps) || sameStamp && !p.HasID {
		r.by[flow] = true
	}
	all[p.Header.Seq] = now
}

// class returns the class of a connection's losses.
func (r *resentPackets) class(c *track.Conn) string {
	a, b := c.Flows[0].Src, c.Flows[0].Dst
	switch {
	case a.Addr() == b.Addr() || a.Addr().IsLoopback() && b.Addr().IsLoopback():
		return ofLoopback
	case r.by[[2]netip.AddrPort{a, b}] || r.by[[2]netip.AddrPort{b, a}]:
		return ofTool
	}
	return counted
}
