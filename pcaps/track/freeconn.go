package track

import "tcpwheel/pcaps/capture"

// freeConn keeps the memory of the last completed connection for the next one. It spares the
// garbage collector in a flood.
type freeConn struct {
	c     *Conn
	flows *[2]Flow
	syn   *capture.Packet
}

func (s *freeConn) put(c *Conn) { s.c, s.flows = c, c.Flows }

func (s *freeConn) takeConn() (c *Conn) {
	if c, s.c = s.c, nil; c == nil {
		c = new(Conn)
	}
	return c
}

func (s *freeConn) takeFlows() (flows *[2]Flow) {
	if flows, s.flows = s.flows, nil; flows == nil {
		flows = new([2]Flow)
	}
	return flows
}

func (s *freeConn) takeSYN() (p *capture.Packet) {
	if p, s.syn = s.syn, nil; p == nil {
		p = new(capture.Packet)
	}
	return p
}
