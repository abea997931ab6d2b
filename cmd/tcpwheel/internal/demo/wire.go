package demo

import (
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// server and client are the ends of a lane. The server sends most of the data.
const (
	server = 0
	client = 1
)

// queuePackets is the room of the link in each direction.
const queuePackets = 200

// flowKey identifies a direction of a connection in all lanes: ports are the same in all.
type flowKey struct {
	from             int
	srcPort, dstPort uint16
}

// Transmission is a packet on the wire of a lane, for diagrams.
type Transmission struct {
	Seq    uint64     `json:"n"`              // counts the transmissions of the lane
	At     wheel.Time `json:"at_ns"`          // it left
	Arrive wheel.Time `json:"arrive_ns"`      // it arrived, or would have
	From   int        `json:"from"`           // 0 is the server
	Port   uint16     `json:"port"`           // of the client
	Start  uint64     `json:"start"`          // of its data; of an ACK, SEG.ACK
	End    uint64     `json:"end"`            // Start for a packet without data
	Again  bool       `json:"again"`          // a retransmission
	By     string     `json:"by,omitempty"`   // what caused a retransmission
	Armed  wheel.Time `json:"armed_ns"`       // of By's timer, if it has one
	Lost   string     `json:"lost,omitempty"` // "link", "queue" or "dropped by hand"
}

// flow is what a lane knows of one flow.
type flow struct {
	attempts  map[uint64]int // transmissions by their first byte
	end       uint64         // past the last byte sent
	base      uint32         // sequence number of byte 0
	known     bool
	acked     uint64  // cumulatively, as the sender was told
	delivered []span  // at the receiver, in order and apart
	losses    []*loss // not acknowledged yet
}

// span is a range of a stream.
type span struct{ start, end uint64 }

// loss is a lost range that waits for its repair.
type loss struct {
	span
	sent wheel.Time // its lost transmission left; of several, the first
	by   string     // what sent the latest retransmission
}

// wire is the link of a lane. It implements virtual.Wire.
type wire struct {
	lane  *Lane
	busy  [2]wheel.Time // until when each direction transmits
	flows map[flowKey]*flow
	drop  int // data packets of the server to drop by hand
	n     uint64
	last  virtual.Counts // of the server, for gVisor's causes
}

func (w *wire) flow(k flowKey) *flow {
	f := w.flows[k]
	if f == nil {
		f = &flow{attempts: map[uint64]int{}}
		w.flows[k] = f
	}
	return f
}

// Send implements virtual.Wire.
func (w *wire) Send(now wheel.Time, from int, p *virtual.Packet) (took time.Duration, ok bool) {
	c := &w.lane.run.conditions
	start := max(now, w.busy[from])
	w.busy[from] = start.Add(time.Duration(uint64(p.Size) * 8 * uint64(time.Second) / c.Rate))
	took = w.busy[from].Sub(now) + c.Delay
	x := Transmission{Seq: w.n, At: now, Arrive: now.Add(took), From: from, Port: p.Header.DstPort}
	w.n++
	if from == client {
		x.Port = p.Header.SrcPort
	}
	if start.Sub(now) > time.Duration(queuePackets*12000*uint64(time.Second)/c.Rate) {
		w.busy[from] = start
		x.Lost = "queue"
	}
	if p.Segment && p.End > p.Start {
		w.sendData(now, p, &x)
	} else if p.Segment {
		w.sendAck(p, &x)
	}
	w.lane.record(&x, p)
	return took, x.Lost == ""
}

// sendData decides the fate of data and keeps account of it.
func (w *wire) sendData(now wheel.Time, p *virtual.Packet, x *Transmission) {
	k := flowKey{x.From, p.Header.SrcPort, p.Header.DstPort}
	f := w.flow(k)
	f.base, f.known = uint32(p.Header.Seq)-uint32(p.Start), true
	x.Start, x.End, x.Again = p.Start, p.End, p.Start < f.end
	attempt := f.attempts[p.Start]
	f.attempts[p.Start] = attempt + 1
	f.end = max(f.end, p.End)
	if x.Again {
		x.By, x.Armed = w.cause(p, x.From)
		w.lane.stats.Retransmissions++
	}
	run := w.lane.run
	switch {
	case x.Lost != "":
	case x.From == server && w.drop > 0 && !x.Again:
		w.drop--
		x.Lost = "dropped by hand"
	case run.fate(k, p.Start, attempt):
		x.Lost = "link"
	}
	for _, l := range f.losses {
		if x.Again && l.start < x.End && x.Start < l.end {
			l.by = x.By
		}
	}
	if x.Lost == "" {
		return
	}
	w.lane.stats.Lost++
	for _, l := range f.losses {
		if l.start < x.End && x.Start < l.end {
			return // lost again: the recovery counts from its first loss
		}
	}
	if missing(f.delivered, span{p.Start, p.End}) {
		f.losses = append(f.losses, &loss{span: span{p.Start, p.End}, sent: now})
	}
}

// sendAck notes what a packet without data acknowledges.
func (w *wire) sendAck(p *virtual.Packet, x *Transmission) {
	if f := w.flows[flowKey{1 - x.From, p.Header.DstPort, p.Header.SrcPort}]; f != nil && f.known {
		x.Start = f.position(uint32(p.Header.Ack))
		x.End = x.Start
	}
}

// position returns the byte of the stream next to what is acknowledged that has a sequence number.
func (f *flow) position(seq uint32) uint64 {
	at := int64(f.acked) + int64(int32(seq-f.base-uint32(f.acked)))
	return uint64(max(at, 0))
}

// cause names what made the sender retransmit.
func (w *wire) cause(p *virtual.Packet, from int) (by string, armed wheel.Time) {
	if w.lane.gvisor {
		if from != server {
			return "gVisor", 0
		}
		now := w.lane.net.Counts(server)
		defer func() { w.last = now }()
		switch {
		case now.Timeouts > w.last.Timeouts:
			return "retransmission timer", 0
		case now.FastRetransmits > w.last.FastRetransmits:
			return "ACKs", 0
		case now.Probes > w.last.Probes:
			return "tail loss probe", 0
		}
		return "gVisor", 0
	}
	if len(p.Causes) == 0 {
		return "ACKs", 0
	}
	return timerName(&p.Causes[0]), p.Causes[0].Armed
}

// timerName names a timer that retransmits.
func timerName(c *netstack.Cause) string {
	switch c.Kind {
	case tcptimers.Rexmit:
		if c.PerSegment {
			return "the segment's timer"
		}
		return "retransmission timer"
	case tcptimers.TLP:
		return "tail loss probe"
	case tcptimers.Reorder:
		return "reordering timer"
	}
	return c.Kind.String() + " timer"
}

// Arrive implements virtual.Wire.
func (w *wire) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	if !p.Segment {
		return true
	}
	if p.End > p.Start {
		f := w.flow(flowKey{from, p.Header.SrcPort, p.Header.DstPort})
		if !missing(f.delivered, span{p.Start, p.End}) {
			w.lane.stats.Spurious++
		}
		f.delivered = insert(f.delivered, span{p.Start, p.End})
	}
	// Its ACK reaches the sender of the other direction.
	if f := w.flows[flowKey{1 - from, p.Header.DstPort, p.Header.SrcPort}]; f != nil && f.known {
		f.acked = max(f.acked, min(f.position(uint32(p.Header.Ack)), f.end))
		kept := f.losses[:0]
		for _, l := range f.losses {
			if l.end > f.acked {
				kept = append(kept, l)
				continue
			}
			w.lane.recovered(now, l)
		}
		f.losses = kept
	}
	return true
}

// missing reports whether a part of s is in none of the ordered spans.
func missing(all []span, s span) bool {
	for _, x := range all {
		if x.start <= s.start && s.start < x.end {
			s.start = x.end
		}
	}
	return s.start < s.end
}

// insert adds s to ordered spans that are apart, and joins what touches.
func insert(all []span, s span) []span {
	out := all[:0:0]
	for _, x := range all {
		switch {
		case x.end < s.start:
			out = append(out, x)
		case s.end < x.start:
			out = append(out, s)
			s = x
		default:
			s = span{min(s.start, x.start), max(s.end, x.end)}
		}
	}
	return append(out, s)
}
