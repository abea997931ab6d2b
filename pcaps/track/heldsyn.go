package track

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// heldSYN is the SYN of a connection that has sent nothing else. Such a connection has no flows,
// which saves memory in a SYN flood.
type heldSYN struct {
	held bool
	syn  capture.Packet
}

// mayHoldSYN reports whether p is a SYN that a new connection may hold: no caller needs an event
// for it.
func (t *Tracker) mayHoldSYN(p *capture.Packet) bool {
	return t.cfg.Event == nil && t.cfg.Each == nil && p.SegLen() == 1 && p.Header.Flags&(tcp.SYN|tcp.ACK|tcp.RST) == tcp.SYN
}

// holdSYN stores p, the first packet of c.
func (c *Conn) holdSYN(p *capture.Packet) {
	c.held, c.syn = true, *p
	c.syn.Payload = nil
}

// releaseSYN handles the held SYN, if there is one.
func (c *Conn) releaseSYN() {
	if c.held {
		c.held = false
		c.addWithChecksum(&c.syn, 0, false)
	}
}
