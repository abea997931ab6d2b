package lanes

import (
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// Server and Client are the ends of a lane. The server sends most of the data.
const (
	Server = 0
	Client = 1
)

// queuePackets is the room of the link in each direction.
const queuePackets = 200

// flowKey identifies a direction of a connection in all lanes: ports are the same in all.
type flowKey struct {
	from             int
	srcPort, dstPort uint16
}

// flow is what a lane knows of one flow.
type flow struct {
	attempts  map[uint64]int // transmissions by their first byte
	end       uint64         // past the last byte sent
	base      uint32         // sequence number of byte 0
	known     bool
	acked     uint64     // cumulatively, as the sender was told
	delivered ledger.Set // at the receiver
	losses    []*loss    // not acknowledged yet
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
	links [2]*sim.Link // of each direction: rate, queue and delay
	flows map[flowKey]*flow
	n     uint64
	last  virtual.Counts // of the server, for gVisor's causes
}

// setLinks gives both directions the conditions' rate and delay.
func (w *wire) setLinks(c *Conditions) (err error) {
	for i := range w.links {
		if w.links[i] == nil {
			if w.links[i], err = sim.NewLink(sim.LinkConfig{Queue: sim.Limit{Packets: queuePackets}}, 0); err != nil {
				return err
			}
		}
		if err := w.links[i].SetRate(c.Rate, c.Delay); err != nil {
			return err
		}
	}
	return nil
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
	fate := w.links[from].Send(now, &sim.Packet{Size: p.Size})
	x := Transmission{Seq: w.n, At: seconds(now), Arrive: seconds(fate.At), From: from, Conn: int(p.Header.DstPort)}
	w.n++
	if from == Client {
		x.Conn = int(p.Header.SrcPort)
	}
	if fate.Outcome != sim.Delivered {
		x.Arrive, x.Lost = seconds(now.Add(w.lane.run.conditions.Delay)), events.FateQueue
	}
	if p.Segment && p.End > p.Start {
		w.sendData(now, p, &x)
	} else if p.Segment {
		w.sendAck(p, &x)
	}
	w.lane.record(&x, p)
	return x.Arrive.since(x.At), x.Lost == ""
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
		w.cause(p, x)
		w.lane.stats.Retransmissions++
		if x.From == Server {
			w.lane.run.sentAgain(w.lane.index, x.Conn, x)
		}
	}
	run := w.lane.run
	switch {
	case x.Lost != "":
	case x.From == Server && !x.Again && run.hitBy(w.lane.index, x.Conn, span{p.Start, p.End}):
		x.Lost = events.FateByHand
	case x.From == Server && run.spares(x.Conn, span{p.Start, p.End}):
	case run.fate(k, p.Start, attempt):
		x.Lost = events.FateLost
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
	if !f.delivered.Contains(rangeOf(p)) {
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
	return uint64(max(tcp.Seq(seq-f.base).Unwrap(int64(f.acked)), 0))
}

// cause names what made the sender retransmit.
func (w *wire) cause(p *virtual.Packet, x *Transmission) {
	if !w.lane.gvisor {
		x.CausedBy(p.Causes)
		return
	}
	x.By = "gVisor"
	if x.From != Server {
		return
	}
	now := w.lane.net.Counts(Server)
	switch {
	case now.Timeouts > w.last.Timeouts:
		x.By = "retransmission timer"
	case now.FastRetransmits > w.last.FastRetransmits:
		x.By = "ACKs"
	case now.Probes > w.last.Probes:
		x.By = "tail loss probe"
	}
	w.last = now
}

// Arrive implements virtual.Wire.
func (w *wire) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	if !p.Segment {
		return true
	}
	if p.End > p.Start {
		f := w.flow(flowKey{from, p.Header.SrcPort, p.Header.DstPort})
		if f.delivered.Add(rangeOf(p)) == 0 {
			w.lane.stats.Spurious++
		}
	}
	// Its ACK reaches the sender of the other direction.
	if f := w.flows[flowKey{1 - from, p.Header.DstPort, p.Header.SrcPort}]; f != nil && f.known {
		f.acked = max(f.acked, min(f.position(uint32(p.Header.Ack)), f.end))
		if from == Client {
			w.lane.arrived(now, p, f.acked)
		}
		f.forget()
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

// forget drops the attempts at data that was acknowledged long ago.
func (f *flow) forget() {
	const most, behind = 4096, 1 << 20
	if len(f.attempts) < most || f.acked < behind {
		return
	}
	for start := range f.attempts {
		if start+behind < f.acked {
			delete(f.attempts, start)
		}
	}
}

// rangeOf returns the bytes of a packet.
func rangeOf(p *virtual.Packet) ledger.Range {
	return ledger.Range{Start: int64(p.Start), End: int64(p.End)}
}
