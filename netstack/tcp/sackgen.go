package tcp

// sackBlocksIn returns how many SACK blocks fit in space bytes of options, including 4 bytes of
// kind, length and padding: 4 in all 40, and 3 next to timestamps.
func sackBlocksIn(space int) int {
	return max(0, min(MaxSACKBlocks, (space-4)/8))
}

// sackGenerator chooses the SACK blocks of ACKs (RFC 2018 §4, RFC 2883 §4). The zero value has
// nothing to report. It remembers one byte of each recently reported block, 28 bytes of state in
// all.
type sackGenerator struct {
	recent [MaxSACKBlocks]Seq // most recent first
	n      uint8
	hasDup bool
	dup    SeqRange
}

// OnInsert records the result of an insertion.
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

// Blocks fills dst with the blocks of the next ACK and returns how many there are. It changes
// nothing, so a rebuilt segment has the same blocks. It costs O(1), or O(ranges) if there is more
// room than recent blocks.
func (g *sackGenerator) Blocks(q *recvQueue, dst []SeqRange) int {
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
	// The blocks after the DSACK, each at most once.
	first := min(n, 1)
	add := func(r SeqRange) {
		if q.finSeen && r.End == q.fin {
			r.End++ // include the FIN
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
	// the SACK option." The lowest unreported blocks come first: that is where the sender repairs.
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

// OnAckSent forgets the duplicate, which is reported once, and blocks below RCV.NXT. RFC 2883 §4:
// "Each duplicate contiguous sequence of data received is reported in at most one D-SACK block."
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
