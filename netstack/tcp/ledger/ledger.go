package ledger

import (
	"slices"
	"sort"
	"time"

	"tcpwheel/wheel"
)

// Ledger is what became of the bytes that one end of a connection sent. The zero value is empty and
// begins at position 0.
type Ledger struct {
	Start int64          // of the stream; set it before the first Send
	Sent  []Transmission // in the order of Send
	Runs  []Run          // adjacent, in the order of the stream

	first []Try // room for the first tries of new runs
}

// Transmission is a segment that was sent once.
type Transmission struct {
	Range
	At     wheel.Time
	Queued time.Duration // of At, before the point where At was measured
	Packet int64         // its number in the capture; 0: it was not captured
	Mark   int32         // for the user of the ledger; below 0: it was not captured, and At is a guess
	New    bool          // it has bytes that were not sent before
	Late   bool          // others overtook it

	// The ACK that it caused, if Acked. Alone says that this ACK answers no other segment, so that its
	// sender may have delayed it. Limit is the time by which it was acknowledged, if that is all that
	// is known; 0 if not even that.
	Acked, Alone bool
	AckedAt      wheel.Time
	Limit        wheel.Time
}

// Unseen reports whether it was not captured.
func (t *Transmission) Unseen() bool { return t.Mark < 0 }

// Run is bytes that were sent in the same transmissions.
type Run struct {
	Range
	Tries  []Try      // in order; never empty
	Done   bool       // acknowledged or SACKed
	DoneAt wheel.Time // when an ACK first said so, if Done
}

// Try is one transmission of a run.
type Try struct {
	N        int32 // index in Ledger.Sent
	Fate     Fate
	Evidence Evidence // for Fate
}

// End returns the end of all that was sent; Start if nothing was.
func (l *Ledger) End() int64 {
	if n := len(l.Runs); n > 0 {
		return l.Runs[n-1].End
	}
	return l.Start
}

// Find returns the index of the run that contains pos, or of the first one behind it.
func (l *Ledger) Find(pos int64) int {
	return sort.Search(len(l.Runs), func(i int) bool { return l.Runs[i].End > pos })
}

// Cut makes pos a border between runs.
func (l *Ledger) Cut(pos int64) {
	if i := l.Find(pos); i < len(l.Runs) && l.Runs[i].Start < pos {
		l.cut(i, pos)
	}
}

// cut cuts run i at pos, which lies inside it.
func (l *Ledger) cut(i int, pos int64) {
	l.Runs = append(l.Runs, Run{})
	copy(l.Runs[i+1:], l.Runs[i:])
	second := &l.Runs[i+1]
	second.Start, second.Tries = pos, append([]Try(nil), second.Tries...)
	l.Runs[i].End = pos
}

// Reserve makes room for so many transmissions of segments.
func (l *Ledger) Reserve(n int) {
	l.Sent, l.Runs, l.first = slices.Grow(l.Sent, n), slices.Grow(l.Runs, n), slices.Grow(l.first, n)[:n]
}

// Send notes a transmission and returns its index. Bytes between the end of the ledger and t.Start
// become an Unseen transmission of the same time before it. It sets t.New.
func (l *Ledger) Send(t Transmission) int32 {
	if end := l.End(); t.Start > end {
		l.add(Transmission{Range: Range{end, t.Start}, At: t.At, Queued: t.Queued, Mark: -1})
	}
	return l.add(t)
}

func (l *Ledger) add(t Transmission) int32 {
	n, end := int32(len(l.Sent)), l.End()
	t.New = t.End > end
	l.Sent = append(l.Sent, t)
	if t.Start < end {
		for i, last := l.Between(Range{t.Start, min(t.End, end)}); i < last; i++ {
			l.Runs[i].Tries = append(l.Runs[i].Tries, Try{N: n})
		}
		t.Start = end
	}
	if t.Start < t.End {
		l.Runs = append(l.Runs, Run{Range: t.Range, Tries: l.firstTry(n)})
	}
	return n
}

// firstTry returns the tries of a run that was sent once. Most runs are, so they share arrays.
func (l *Ledger) firstTry(n int32) []Try {
	if len(l.first) == 0 {
		l.first = make([]Try, 64)
	}
	tries := l.first[:1:1]
	l.first = l.first[1:]
	tries[0].N = n
	return tries
}

// Between cuts the runs at the borders of r and returns the indices of those inside: from first to
// before last.
func (l *Ledger) Between(r Range) (first, last int) {
	if r.Start >= r.End {
		return 0, 0
	}
	l.Cut(r.Start)
	l.Cut(r.End)
	first = l.Find(r.Start)
	for last = first; last < len(l.Runs) && l.Runs[last].Start < r.End; last++ {
	}
	return first, last
}

// Attempt returns the n-th transmission of the byte at pos, from 1. ok is false if there is none.
func (l *Ledger) Attempt(pos int64, n int) (t *Transmission, fate Fate, ok bool) {
	i := l.Find(pos)
	if i == len(l.Runs) || l.Runs[i].Start > pos || n < 1 || n > len(l.Runs[i].Tries) {
		return nil, Unknown, false
	}
	try := l.Runs[i].Tries[n-1]
	return &l.Sent[try.N], try.Fate, true
}

// FirstDelivered returns the index of the first try that arrived, -1 if there is none.
func (r *Run) FirstDelivered() int {
	for k, t := range r.Tries {
		if t.Fate == Delivered {
			return k
		}
	}
	return -1
}
