package track

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// waiting is the SYN with which a connection began of which nothing else was seen, and that has no flows as long as that is so: of floods
// nothing else ever comes.
type waiting struct {
	waits bool
	syn   capture.Packet
}

// mayWait reports whether a connection may wait that the packet begins, and nobody is to be told of each packet.
func (t *Tracker) mayWait(p *capture.Packet) bool {
	return t.cfg.Event == nil && t.cfg.Each == nil && p.SegLen() == 1 && p.Header.Flags&(tcp.SYN|tcp.ACK|tcp.RST) == tcp.SYN
}

// wait lets c wait with its first packet.
func (c *Conn) wait(p *capture.Packet) {
	c.waits, c.syn = true, *p
	c.syn.Payload = nil
}

// wake takes the packet in with which c waits, if it does.
func (c *Conn) wake() {
	if c.waits {
		c.waits = false
		c.take(&c.syn, 0, false)
	}
}
