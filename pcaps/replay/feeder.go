package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// feeder hands an end what it heard in the capture, in the numbers of the run.
type feeder struct {
	e      *end
	tape   *tape
	stamps []wheel.Time // when e sent packets, if it does not send as in the capture
	next   int          // of tape.heard
}

func newFeeder(e *end) *feeder {
	return &feeder{e: e, tape: &e.captured.tapes[e.side]}
}

// start has the feeder deliver all in a run.
func (f *feeder) start() {
	a := &alarm{}
	a.do = func(now wheel.Time) {
		for ; f.next < len(f.tape.heard) && f.tape.heard[f.next].at <= now; f.next++ {
			x := f.tape.delivery(f.next, f.e.captured.facts)
			f.deliver(now, &x)
		}
		if f.next < len(f.tape.heard) {
			a.set(f.e.net, f.tape.heard[f.next].at)
		}
	}
	a.do(f.e.net.Now())
}

// stampTick is the tick of the ends' clocks of timestamps, which begin with virtual time.
const stampTick = time.Millisecond

func stamp(at wheel.Time) uint32 { return uint32(int64(at) / int64(stampTick)) }

// deliver hands the end a delivery.
func (f *feeder) deliver(now wheel.Time, x *delivery) {
	e := f.e
	s := e.captured
	if e.conn == nil && e.side == 0 {
		return // it answers nothing that the end has sent
	}
	h := tcp.Header{Seq: tcp.Seq(x.start), Flags: tcp.ACK, Window: 65535}
	o := &h.Options
	bytes := x.end - x.start
	if o.HasTimestamps = e.cfg.Timestamps; o.HasTimestamps {
		o.TSVal = stamp(x.sent)
	}
	if p := x.p; p != nil {
		h.Flags = p.Flags
		if !x.tail && bytes > 0 {
			h.Flags &^= tcp.FIN | tcp.PSH
		}
		h.Window = f.window(p)
		for i, r := range s.facts.SACK(p) {
			o.SACK[i] = tcp.SeqRange{Start: tcp.Seq(r.Start), End: tcp.Seq(r.End)}
			o.NumSACK++
		}
		if o.HasTimestamps && h.Flags.Has(tcp.ACK) {
			o.TSEcr = f.echo(p.TSEcr)
		}
	}
	if x.start == 0 && bytes > 0 {
		h.Flags |= tcp.SYN
		if e.side == 1 {
			h.Flags &^= tcp.ACK
		}
		s.offer(1-e.side, o)
	}
	if h.Flags.Has(tcp.ACK) {
		h.Ack = tcp.Seq(min(x.ack, e.sent)) // an ACK of more would be dropped, and its data too
	}
	for _, flag := range []tcp.Flags{tcp.SYN, tcp.FIN} {
		if h.Flags.Has(flag) {
			bytes--
		}
	}
	e.receive(now, &h, uint32(max(bytes, 0)))
}

// offer adds the options of an end's SYN.
func (s *CapturedConn) offer(side int, o *tcp.Options) {
	e := &s.Ends[side]
	o.HasMSS, o.MSS = true, s.mss()
	o.SACKPermitted = e.SACK
	if e.WScale || e.Window > 65535 {
		o.HasWScale, o.WScale = true, e.scale()
	}
}

// scale returns the window scale that the engine offers for the end's window (RFC 7323 §2.3): the
// least that fits it in.
func (e *Endpoint) scale() (n uint8) {
	for e.Window>>n > 65535 {
		n++
	}
	return n
}

// window returns the window that the peer of the end offers with a packet, as the header has it in
// the run.
func (f *feeder) window(p *track.Fact) uint16 {
	s := f.e.captured
	from := 1 - f.e.side
	scale := uint8(0)
	if e := &s.Ends[from]; e.WScale || e.Window > 65535 {
		scale = e.scale()
	}
	switch {
	case p.Flags.Has(tcp.SYN):
		return uint16(p.Window)
	case !s.handshake:
		return 65535 // its scale is not known
	}
	return uint16(min(p.Window>>scale, 65535))
}

// echo returns the timestamp of the end for one of the captured end: that of the last packet that
// it had sent when the captured end first sent ecr.
func (f *feeder) echo(ecr uint32) uint32 {
	all := f.tape.stamps
	i, found := slices.BinarySearchFunc(all, ecr, func(a stampAt, ts uint32) int { return int(int32(a.ts - ts)) })
	if f.stamps == nil {
		if !found {
			i = min(i, len(all)-1) // of a packet that was not captured
		}
		if i < 0 {
			return 0
		}
		return stamp(all[i].at)
	}
	if len(f.stamps) == 0 {
		return 0 // e has sent nothing
	}
	if !found {
		return stamp(f.stamps[len(f.stamps)-1])
	}
	k, _ := slices.BinarySearchFunc(f.stamps, all[i].at.Add(sameInstant), func(a, at wheel.Time) int { return cmp.Compare(a, at) })
	return stamp(f.stamps[max(k-1, 0)])
}
