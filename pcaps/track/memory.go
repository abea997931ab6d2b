package track

import "tcpwheel/pcaps/capture"

// memory is what the connections of a tracker use again: that of the last completed connection and
// the arrays that flows no longer need. It spares the garbage collector and the caches.
type memory struct {
	c     *Conn
	flows *[2]Flow
	syn   *capture.Packet

	ack      *ack // free ones, chained by next
	segments pool[segment]
	history  pool[ackedSegment]
	copies   pool[[4]copyRecord]
	samples  pool[sample]
	stamps   pool[firstSeen]
}

func (m *memory) put(c *Conn) { m.c, m.flows = c, c.Flows }

func (m *memory) takeConn() (c *Conn) {
	if c, m.c = m.c, nil; c == nil {
		c = new(Conn)
	}
	return c
}

func (m *memory) takeFlows() (flows *[2]Flow) {
	if flows, m.flows = m.flows, nil; flows == nil {
		flows = new([2]Flow)
	}
	return flows
}

func (m *memory) takeSYN() (p *capture.Packet) {
	if p, m.syn = m.syn, nil; p == nil {
		p = new(capture.Packet)
	}
	return p
}

// takeACK returns an ACK whose fields are undefined.
func (m *memory) takeACK() *ack {
	if m.ack == nil {
		block := make([]ack, 32)
		for i := range block {
			m.freeACK(&block[i])
		}
	}
	a := m.ack
	m.ack = a.next
	return a
}

func (m *memory) freeACK(a *ack) { a.next, m.ack = m.ack, a }

// release takes back the working memory of a flow.
func (m *memory) release(f *Flow) {
	f.clear()
	m.segments.put(f.board.ring)
	m.history.put(f.board.last)
	m.copies.put(f.copies.sets)
	m.samples.put(f.rtts.ring[:cap(f.rtts.ring)])
	m.stamps.put(f.stamps.ring)
	f.board, f.copies, f.rtts, f.stamps.ring = scoreboard{}, copies{}, samples{}, nil
}
