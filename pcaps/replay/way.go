package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// sent is a packet that took up sequence numbers, while a script is made of it.
type sent struct {
	at     wheel.Time // at the point of capture
	start  int64
	end    int64
	number int64
	ts     uint32
	hasTS  bool
	unseen bool // it was not captured
	late   bool
	pure   bool // it was sent for the first time
	final  bool // PSH or shorter than others

	rx     wheel.Time // at the point of capture too: when the ACK came that it caused
	acked  bool       // rx is good
	alone  bool       // that ACK was of this one only, and may have been put off
	covers bool       // it is what was delivered
	limit  wheel.Time // rx is not after it, if not 0
}

// piece is a range of octets with its transmissions, by index.
type piece struct {
	start, end int64
	tries      []int
	fates      []Fate
	done       bool
	told       wheel.Time // when an ACK of it was seen first, if done
}

// wayMaker finds out what became of what one end sent.
type wayMaker struct {
	sent     []sent
	pieces   []piece
	una      int // the first piece that is not acknowledged
	max      int64
	size     int64 // of segments
	verdicts map[int64]track.Retransmission
	deaf     []Span
	near     time.Duration // to the source and back
	far      time.Duration // to the destination and back
	acks     []wheel.Time
	acked    []int64 // by each of acks
}

// find returns the index of the piece that holds pos, or of the first one behind it.
func (w *wayMaker) find(pos int64) int {
	i, _ := slices.BinarySearchFunc(w.pieces, pos, func(p piece, pos int64) int {
		if p.end <= pos {
			return -1
		}
		return 1
	})
	return i
}

// cut makes pos a border between pieces.
func (w *wayMaker) cut(pos int64) {
	i := w.find(pos)
	if i == len(w.pieces) || w.pieces[i].start >= pos {
		return
	}
	p := w.pieces[i]
	q := p
	q.start, q.tries, q.fates = pos, slices.Clone(p.tries), slices.Clone(p.fates)
	w.pieces[i].end = pos
	w.pieces = slices.Insert(w.pieces, i+1, q)
}

// transmit takes a segment in.
func (w *wayMaker) transmit(s sent) {
	if s.start > w.max {
		// Octets are missing: they were lost before they came here, or will come late, or were not captured.
		gap := s
		gap.start, gap.end, gap.unseen, gap.number, gap.hasTS, gap.final = w.max, s.start, true, 0, false, false
		w.push(gap)
	}
	if _, again := w.verdicts[s.number]; s.start < w.max && !again {
		// It is no retransmission, and comes behind others: it was overtaken.
		if i := w.find(s.start); i < len(w.pieces) && len(w.pieces[i].tries) == 1 && w.sent[w.pieces[i].tries[0]].unseen {
			w.fill(s)
			return
		}
	}
	w.push(s)
}

// push appends a transmission.
func (w *wayMaker) push(s sent) {
	n := len(w.sent)
	s.pure = s.end > w.max
	w.sent = append(w.sent, s)
	if s.start < w.max {
		w.cut(s.start)
		w.cut(min(s.end, w.max))
		for i := w.find(s.start); i < len(w.pieces) && w.pieces[i].start < s.end; i++ {
			p := &w.pieces[i]
			if to := s.at.Add(-w.near - prompt); p.done && w.timed(s.number) && p.told < to {
				// Its sender should have had the ACK by then: it was lost behind the point of capture.
				w.deaf = append(w.deaf, Span{p.told.Add(-w.far / 2), to.Add(-w.far / 2)})
			}
			p.tries = append(p.tries, n)
			p.fates = append(p.fates, Unknown)
		}
	}
	if s.end > w.max {
		w.pieces = append(w.pieces, piece{start: max(s.start, w.max), end: s.end, tries: []int{n}, fates: []Fate{Unknown}})
		w.max = s.end
	}
}

// fill puts a packet that was overtaken where it was missed: it was sent when it was missed first.
func (w *wayMaker) fill(s sent) {
	w.cut(s.start)
	w.cut(s.end)
	n := -1
	for i := w.find(s.start); i < len(w.pieces) && w.pieces[i].start < s.end; i++ {
		p := &w.pieces[i]
		if len(p.tries) != 1 || !w.sent[p.tries[0]].unseen {
			continue
		}
		if n < 0 {
			n = len(w.sent)
			s.limit, s.at = 0, w.sent[p.tries[0]].at
			s.late, s.pure = true, true
			w.sent = append(w.sent, s)
		}
		p.tries[0] = n
	}
}

// acknowledgement is what a packet of the other direction says.
type acknowledgement struct {
	at     wheel.Time
	pos    int64
	echo   uint32
	hasTS  bool
	bare   bool // without data of its own
	blocks []block
	dsack  *block
}

type block struct{ start, end int64 }

// ack takes an acknowledgement in.
func (w *wayMaker) ack(a *acknowledgement) {
	w.acks, w.acked = append(w.acks, a.at), append(w.acked, a.pos)
	if a.pos > w.max {
		gap := sent{at: a.at.Add(-w.far), start: w.max, end: a.pos, unseen: true}
		w.push(gap)
	}
	var fresh []int // pieces that it covers first
	segments, holes := int64(0), false
	if a.pos > 0 {
		w.cut(a.pos)
	}
	for w.una < len(w.pieces) && w.pieces[w.una].end <= a.pos {
		if p := &w.pieces[w.una]; !p.done {
			fresh = append(fresh, w.una)
		} else {
			holes = true
		}
		w.una++
	}
	for _, b := range a.blocks {
		w.cut(b.start)
		w.cut(b.end)
		for i := max(w.find(b.start), w.una); i < len(w.pieces) && w.pieces[i].end <= b.end; i++ {
			if !w.pieces[i].done {
				fresh, holes = append(fresh, i), true
			}
		}
	}
	last := -1
	for _, i := range fresh {
		p := &w.pieces[i]
		p.done, p.told = true, a.at
		segments += max((p.end-p.start+w.size-1)/w.size, 1)
		if w.settle(p, a) {
			if n := p.tries[p.delivered()]; last < 0 || !w.sent[n].at.Before(w.sent[last].at) {
				last = n
			}
		}
	}
	if last < 0 {
		return
	}
	s := &w.sent[last]
	if !s.acked {
		s.acked, s.rx = true, a.at
		s.alone = (segments < 2 || !a.bare) && !holes
	}
	for _, i := range fresh {
		p := &w.pieces[i]
		if k := p.delivered(); k >= 0 && p.tries[k] != last && w.sent[p.tries[k]].limit == 0 {
			w.sent[p.tries[k]].limit = a.at
		}
	}
}

// delivered returns the number of the transmission that was delivered first, -1 for none.
func (p *piece) delivered() int { return slices.Index(p.fates, Delivered) }

// putOff is for how long most hosts put an ACK off.
const putOff = 50 * time.Millisecond

// settle finds which transmission of a piece it was whose arrival the ACK tells, and reports whether that is the cause of the ACK.
func (w *wayMaker) settle(p *piece, a *acknowledgement) bool {
	j := len(p.tries) - 1
	if a.dsack != nil && len(p.tries) > 1 && a.dsack.start < p.end && a.dsack.end > p.start {
		// The receiver had it already: an ACK before this one was lost.
		j = 0
		for j < len(p.tries)-2 && !w.spurious(p, j+1) {
			j++
		}
		w.mark(p, j)
		p.fates[j+1] = Delivered
		from := w.sent[p.tries[j]].at.Add(w.far / 2)
		if n := len(w.acks) - 2; w.near == 0 && n >= 0 {
			from = max(from, w.acks[n].Add(-w.far/2+1)) // the ones that came here its sender had
		}
		// It answers what came before the next transmission: what comes later may be heard.
		last := w.sent[p.tries[j+1]-1].at.Add(w.far/2 + putOff)
		w.deaf = append(w.deaf, Span{from, max(from, min(last, a.at.Add(-w.far/2-1)))})
		return false
	}
	for j > 0 && a.at.Sub(w.sent[p.tries[j]].at) < w.far-w.far/4 && !w.needed(p, j) {
		j--
	}
	if a.hasTS && len(a.blocks) == 0 {
		for k := range p.tries {
			if t := &w.sent[p.tries[k]]; t.hasTS && t.ts == a.echo && (k+1 == len(p.tries) || w.sent[p.tries[k+1]].ts != a.echo) {
				j = k
				break
			}
		}
	}
	for j > 0 && w.spurious(p, j) {
		j--
	}
	for k := j + 1; k < len(p.tries); k++ {
		if w.necessary(p, k) {
			j = k
		}
	}
	w.mark(p, j)
	return true
}

// mark notes that a transmission was delivered, and those before it were lost. What came after it was not needed, and is taken to have
// arrived as well.
func (w *wayMaker) mark(p *piece, j int) {
	for k := range p.fates {
		p.fates[k] = Lost
		if t := &w.sent[p.tries[k]]; k == j {
			p.fates[k] = Delivered
		} else if k > j || t.end == w.max && t.end == t.start+1 {
			// Nor is there a SACK of a FIN alone that has come behind a hole: decide goes by the ACK that answers it.
			p.fates[k] = Unknown
		}
	}
}

// timed reports whether a timer sent a packet, and not ACKs.
func (w *wayMaker) timed(number int64) bool { return w.verdicts[number].ByTimer }

func (w *wayMaker) spurious(p *piece, k int) bool {
	r, ok := w.verdicts[w.sent[p.tries[k]].number]
	return ok && r.Spurious == track.Spurious
}

// needed reports whether the tracker says that a transmission was needed, or it is of the handshake, of which one point tells too little.
func (w *wayMaker) needed(p *piece, k int) bool {
	r, ok := w.verdicts[w.sent[p.tries[k]].number]
	return ok && (r.Spurious == track.Necessary || r.Kind == track.SYN && r.Spurious != track.Spurious)
}

func (w *wayMaker) necessary(p *piece, k int) bool {
	r, ok := w.verdicts[w.sent[p.tries[k]].number]
	return ok && r.Spurious == track.Necessary && r.Evidence == track.ByDSACK
}

// finish decides what was not acknowledged, by the end of the capture.
func (w *wayMaker) finish(end wheel.Time, rtt time.Duration) {
	for i := range w.pieces {
		p := &w.pieces[i]
		if p.done {
			w.decide(p, end)
			continue
		}
		for k, n := range p.tries {
			s := &w.sent[n]
			switch {
			case w.far == 0 && !s.unseen:
				p.fates[k] = Delivered // it was captured where it arrived
			case k+1 < len(p.tries), len(w.acks) > 0 && end.Sub(s.at) > 2*rtt+300*time.Millisecond:
				p.fates[k] = Lost
			}
		}
	}
	if w.far > 0 {
		return
	}
	for i := range w.pieces {
		p := &w.pieces[i]
		for k, n := range p.tries {
			if !w.sent[n].unseen {
				p.fates[k] = Delivered
			}
		}
	}
}

// loseDeaf takes for lost what was sent while ACKs of this way were lost behind the point of capture, and sent again later.
func (w *wayMaker) loseDeaf(deaf []Span) {
	for i := range w.pieces {
		p := &w.pieces[i]
		for k := 0; k+1 < len(p.tries); k++ {
			at := w.sent[p.tries[k]].at.Add(-w.near / 2)
			if slices.ContainsFunc(deaf, func(s Span) bool { return s.From <= at && at <= s.To }) {
				p.fates[k] = Lost
			}
		}
	}
}

// decide finds what became of transmissions that were not needed. A receiver answers each with an ACK at once (RFC 9293 §3.10.7.4): where
// there is none at that time, it did not get it.
func (w *wayMaker) decide(p *piece, end wheel.Time) {
	for k, n := range p.tries {
		if p.fates[k] != Unknown {
			continue
		}
		from := w.sent[n].at.Add(w.far - w.far/16)
		to := w.sent[n].at.Add(w.far + w.far/4 + 5*time.Millisecond)
		if to.After(end) {
			continue
		}
		i, _ := slices.BinarySearchFunc(w.acks, from, func(a, b wheel.Time) int { return cmp.Compare(a, b) })
		p.fates[k] = Lost
		for ; i < len(w.acks) && !w.acks[i].After(to); i++ {
			// One that has all before it, and not what came, was sent without it: a FIN, as all else is SACKed.
			if w.acked[i] != p.start {
				p.fates[k] = Delivered
				break
			}
		}
	}
}

// isKeepalive reports whether a packet repeats the last octet before all that is acknowledged, or none: RFC 9293 §3.8.4.
func (w *wayMaker) isKeepalive(p *packet, start int64) bool {
	return p.len <= 1 && !p.flags.HasAny(tcp.SYN|tcp.FIN) && w.una == len(w.pieces) && start == w.max-1 && w.max > 1
}
