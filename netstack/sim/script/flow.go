package script

import (
	"net/netip"

	"tcpwheel/netstack/tcp"
)

// flow is a pair of ends, and how its live numbers become those of the script.
//
// The remote end's numbers are those of the script plus a constant, which is the same for all flows. The engine's count from its
// SYN: its sequence number is what the script says it is, 0 if it does not say. Timestamps of the engine count from the first
// that the script names.
type flow struct {
	local, remote netip.AddrPort

	isn uint32 // the remote end's: live minus script

	hasISS bool
	iss    uint32 // the engine's: live minus script
	rawISS uint32 // the live number of its SYN

	hasTS  bool
	ts     uint32 // live minus script
	anyTS  bool   // the engine has sent a timestamp: firstTS
	first  uint32
	win    uint16 // the last that the script gave the remote end
	socket *tcp.Socket
}

// sent looks at a packet of the engine before it is translated.
func (f *flow) sent(p *tcp.Packet) {
	h := &p.Header
	if h.Flags.Has(tcp.SYN) && (!f.hasISS || f.rawISS != uint32(h.Seq)) {
		f.hasISS, f.iss, f.rawISS = true, uint32(h.Seq), uint32(h.Seq)
	}
	if h.Options.HasTimestamps && !f.anyTS {
		f.anyTS, f.first = true, h.Options.TSVal
	}
	if p.Socket != nil {
		f.socket = p.Socket
	}
}

// named takes note of what the script calls the sequence number of the engine's SYN.
func (f *flow) named(seq tcp.Seq) { f.iss = f.rawISS - uint32(seq) }

// namedTS takes note of what the script calls a timestamp of the engine, if it is the first.
func (f *flow) namedTS(live, named uint32) {
	if !f.hasTS {
		f.hasTS, f.ts = true, live-named
	}
}

// tsOffset returns what is taken off the engine's timestamps. If the script has named none, the first that was sent is 0.
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
func (f *flow) liveAck(s tcp.Seq) tcp.Seq   { return s + tcp.Seq(f.iss) } // of the engine, from the remote end
func (f *flow) scriptSeq(s tcp.Seq) tcp.Seq { return s - tcp.Seq(f.iss) }
func (f *flow) scriptAck(s tcp.Seq) tcp.Seq { return s - tcp.Seq(f.isn) }
