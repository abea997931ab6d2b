package track

import "tcpwheel/pcaps/capture"

// memory is what the connections of a tracker use again: that of completed connections and the
// arrays that flows no longer need. It spares the garbage collector and the caches.
type memory struct {
	conns []*Conn
	flows []*[2]Flow // zero
	syn   *capture.Packet
	last  bool // no connection begins any more, so nothing is kept

	ack      *ack // free ones, chained by next
	segments pool[outstanding]
	history  pool[ackedSegment]
	copies   pool[[4]copyRecord]
	samples  pool[sample]
	stamps   pool[firstSeen]
}

func (m *memory) put(c *Conn) {
	if m.last {
		return
	}
	m.conns = append(m.conns, c)
	if c.Flows != nil {
		*c.Flows = [2]Flow{}
		m.flows = append(m.flows, c.Flows)
	}
}

func (m *memory) takeConn() *Conn { return takeLast(&m.conns) }

func (m *memory) takeFlows() *[2]Flow { return takeLast(&m.flows) }

// takeLast takes the last element, or returns a new one.
func takeLast[T any](free *[]*T) (last *T) {
	n := len(*free)
	if n == 0 {
		return new(T)
	}
	last, *free = (*free)[n-1], (*free)[:n-1]
	return last
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

// freeACKs empties a queue.
func (m *memory) freeACKs(q *acks) {
	for q.n > 0 {
		m.freeACK(q.pop())
	}
}

// release takes back the working memory of a flow.
func (m *memory) release(f *Flow) {
	if !m.last {
		m.freeACKs(&f.pending)
		m.segments.put(f.board.ring)
		m.history.put(f.board.last.all)
		m.history.put(f.board.asked.all)
		m.copies.put(f.copies.sets)
		m.samples.put(f.rtts.ring[:cap(f.rtts.ring)])
		m.stamps.put(f.stamps.ring)
	}
	f.pending, f.board, f.copies, f.rtts, f.stamps.ring = acks{}, scoreboard{}, copies{}, samples{}, nil
}
