package host

import (
	"encoding/binary"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// hasher is a tap that hashes all that passes its links. Two runs with the same hash had the same
// headers, lengths, fates and times, in the same order.
type hasher struct {
	sum uint64
	n   uint64
	buf []byte

	oldest time.Duration // age of the oldest packet that arrived
}

// total returns the hash and the number of events so far.
func (h *hasher) total() (sum, events uint64) { return h.sum, h.n }

// Sent implements sim.Tap.
func (h *hasher) Sent(now wheel.Time, d *Datagram, f sim.Fate) {
	if f.Outcome == sim.Delivered {
		h.oldest = max(h.oldest, f.At.Sub(now))
	}
	h.add(now, d, 1|uint64(f.Outcome)<<8|uint64(f.At)<<16)
}

// Arrived implements sim.Tap.
func (h *hasher) Arrived(now wheel.Time, d *Datagram) {
	what := uint64(d.ECN) << 8
	if d.Corrupt {
		what |= 1<<16 | uint64(d.Bit)<<17
	}
	h.add(now, d, what)
}

func (h *hasher) add(now wheel.Time, d *Datagram, what uint64) {
	h.n++
	b := h.buf[:0]
	b = binary.LittleEndian.AppendUint64(b, uint64(now))
	b = binary.LittleEndian.AppendUint64(b, what)
	b = binary.LittleEndian.AppendUint64(b, d.Body.Offset)
	b = binary.LittleEndian.AppendUint64(b, uint64(d.From)<<32|uint64(d.To))
	b = binary.LittleEndian.AppendUint64(b, uint64(d.Body.Len)<<32|uint64(d.Size))
	b = d.Body.Header.AppendTo(b)
	h.buf = b
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	for ; len(b) > 0; b = b[8:] {
		h.sum = (h.sum ^ binary.LittleEndian.Uint64(b)) * 0x9e3779b97f4a7c15
		h.sum ^= h.sum >> 32
	}
}
