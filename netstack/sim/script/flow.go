package script

import (
	"net/netip"

	"tcpwheel/netstack/tcp"
)

// flow is a pair of addresses, and converts between the script's numbers and the host's.
//
// The remote end's sequence numbers are the script's plus a constant, the same for all flows. The
// host's count from its SYN, which the script may number; the default is 0. The host's
// timestamps count from the first one that the script names.
type flow struct {
	local, remote netip.AddrPort

	isn uint32 // of the remote end: engine's number minus script's

	hasISS bool
	iss    uint32 // of the engine: engine's number minus script's
	rawISS uint32 // the engine's number of its SYN

	hasTS bool
	ts    uint32 // engine's timestamp minus script's
	anyTS bool   // firstTS is the engine's first timestamp
	first uint32
	win   uint16 // the remote end's latest window
	asked bool   // an assert has seen that the connection is closed
}

// observe records the numbers of a packet of the engine.
func (f *flow) observe(p *tcp.Packet) {
	h := &p.Header
	if h.Flags.Has(tcp.SYN) && (!f.hasISS || f.rawISS != uint32(h.Seq)) {
		f.hasISS, f.iss, f.rawISS = true, uint32(h.Seq), uint32(h.Seq)
	}
	if h.Options.HasTimestamps && !f.anyTS {
		f.anyTS, f.first = true, h.Options.TSVal
	}
}

// setISS sets the script's number for the engine's SYN.
func (f *flow) setISS(seq tcp.Seq) { f.iss = f.rawISS - uint32(seq) }

// setTimestamp sets the script's value for a timestamp of the engine. Only the first call has an
// effect.
func (f *flow) setTimestamp(live, named uint32) {
	if !f.hasTS {
		f.hasTS, f.ts = true, live-named
	}
}

// tsOffset returns the offset of the engine's timestamps. By default the first one sent is 0.
func (f *flow) tsOffset() uint32 {
	switch {
	case f.hasTS:
		return f.ts
	case f.anyTS:
		return f.first
	}
	return 0
}

func (f *flow) liveSeq(s tcp.Seq) tcp.Seq   { return s + tcp.Seq(f.isn) } // of the remote end
func (f *flow) liveAck(s tcp.Seq) tcp.Seq   { return s + tcp.Seq(f.iss) } // of the engine
func (f *flow) scriptSeq(s tcp.Seq) tcp.Seq { return s - tcp.Seq(f.iss) }
func (f *flow) scriptAck(s tcp.Seq) tcp.Seq { return s - tcp.Seq(f.isn) }
