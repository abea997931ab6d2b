package track

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// heldSYN is the SYN of a connection that has sent nothing else. Such a connection has no flows,
// which saves memory in a SYN flood.
type heldSYN struct{ syn *capture.Packet } // nil if it holds none

// mayHoldSYN reports whether p is a SYN that a new connection may hold: no caller needs an event
// for it.
func (t *Tracker) mayHoldSYN(p *capture.Packet) bool {
	return t.cfg.Event == nil && p.SegLen() == 1 && p.Header.Flags&(tcp.SYN|tcp.ACK|tcp.RST) == tcp.SYN
}

// holdSYN stores p, the first packet of c.
func (c *Conn) holdSYN(p *capture.Packet) {
	c.syn = c.memory.takeSYN()
	*c.syn = *p
	c.syn.Payload = nil
}

// releaseSYN handles the held SYN, if there is one.
func (c *Conn) releaseSYN() {
	if p := c.syn; p != nil {
		c.syn = nil
		c.addWithChecksum(p, 0, false)
		c.memory.syn = p
	}
}
