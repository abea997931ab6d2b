package tcp

// sackBlocksIn returns how many SACK blocks fit into space bytes of options, the option's two
// bytes and two of padding counted: 4 in all 40, 3 beside timestamps.
func sackBlocksIn(space int) int {
	return max(0, min(MaxSACKBlocks, (space-4)/8))
}

// sackGenerator chooses the SACK blocks of the receiver's acknowledgements (RFC 2018 §4,
// RFC 2883 §4). The zero value has nothing to report. It remembers a byte of each of the blocks
// reported last, 28 bytes whatever arrives.
type sackGenerator struct {
	recent [MaxSACKBlocks]Seq // the most recent first
	n      uint8
	hasDup bool
	dup    Range
}

// OnInsert notes what became of an arriving segment.
func (g *sackGenerator) OnInsert(ins *insertion) {
	if ins.Duplicate.Len() > 0 {
		// RFC 2883 §4: "A D-SACK block is only used to report a duplicate contiguous sequence of
		// data received by the receiver in the most recent packet."
		g.dup, g.hasDup = ins.Duplicate, true
	}
	if ins.Block.Len() == 0 {
		return
	}
	i := 0
	for i < int(g.n) && !(ins.Block.Start.AtOrBefore(g.recent[i]) && g.recent[i].Before(ins.Block.End)) {
		i++
	}
	if i == int(g.n) {
		i = min(i, MaxSACKBlocks-1)
		g.n = uint8(i + 1)
	}
	copy(g.recent[1:i+1], g.recent[:i])
	g.recent[0] = ins.Block.Start
}

// Blocks writes the blocks of the next acknowledgement into dst, as many as it has room for, and
// returns how many there are. It changes nothing, so that a segment that is built again says the
// same. It costs O(1), and O(ranges) if there are fewer recent blocks than room.
func (g *sackGenerator) Blocks(q *recvQueue, dst []Range) int {
	n := 0
	if g.hasDup && len(dst) > 0 {
		// RFC 2883 §4: "If the D-SACK block reports a duplicate contiguous sequence from a
		// (possibly larger) block of data in the receiver's data queue above the cumulative
		// acknowledgement, then the second SACK block in that SACK option should specify that
		// (possibly larger) block of data."
		dst[0] = g.dup
		n = 1
		if r, ok := q.Find(g.dup.Start); ok && len(dst) > 1 {
			dst[1] = r
			n = 2
		}
	}
	// The blocks after the one that reports the duplicate, each at most once.
	first := min(n, 1)
	add := func(r Range) {
		if q.finSeen && r.End == q.fin {
			r.End++ // the FIN has arrived with it
		}
		for _, b := range dst[first:n] {
			if b == r {
				return
			}
		}
		dst[n] = r
		n++
	}
	// RFC 2018 §4: "The first SACK block" "MUST specify the contiguous block of data containing the
	// segment which triggered this ACK, unless that segment advanced the Acknowledgment Number
	// field in the header." "The SACK option SHOULD be filled out by repeating the most recently
	// reported SACK blocks".
	for _, s := range g.recent[:g.n] {
		if n == len(dst) {
			return n
		}
		if r, ok := q.Find(s); ok {
			add(r)
		}
	}
	// RFC 2018 §4: "The data receiver SHOULD include as many distinct SACK blocks as possible in
	// the SACK option." Of those not reported of late, the lowest come first: there the sender
	// repairs.
	for _, r := range q.Held() {
		if n == len(dst) {
			return n
		}
		add(r)
	}
	if q.finSeen && !q.finDone && n < len(dst) {
		if r, _ := q.Find(q.fin); r.Start == q.fin {
			add(r)
		}
	}
	return n
}

// OnAckSent forgets the duplicate, which is reported once, and the blocks that RCV.NXT has gone
// past. RFC 2883 §4: "Each duplicate contiguous sequence of data received is reported in at most
// one D-SACK block."
func (g *sackGenerator) OnAckSent(q *recvQueue) {
	g.hasDup = false
	n := uint8(0)
	for _, s := range g.recent[:g.n] {
		if _, ok := q.Find(s); ok {
			g.recent[n] = s
			n++
		}
	}
	g.n = n
}
