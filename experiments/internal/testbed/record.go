package testbed

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/capture"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Retransmission is one retransmission of a segment.
type Retransmission struct {
	Conn    uint64 // tcp.Socket.ID
	At      wheel.Time
	Seq     tcp.Seq
	Len     uint32
	Attempt int        // 2 for the first retransmission
	First   wheel.Time // first transmission
	Last    wheel.Time // transmission before this one
	// Timed says that Timer caused it, and not an ACK: tcptimers.TLP for a tail loss probe, and so on.
	Timed bool
	Timer tcptimers.Kind
}

// Wait returns the time since the transmission before it.
func (r *Retransmission) Wait() time.Duration { return r.At.Sub(r.Last) }

// Record is a tcp.Tracer that keeps the retransmissions. Its memory grows with the segments sent.
type Record struct {
	Retransmissions []Retransmission
	Sent            int        // data segments, retransmissions included
	Next            tcp.Tracer // gets each event too, if not nil

	sent map[sentKey]sentTimes
}

type sentKey struct {
	conn uint64
	seq  tcp.Seq
}

type sentTimes struct{ first, last wheel.Time }

// Trace implements tcp.Tracer.
func (r *Record) Trace(ev *tcp.TraceEvent) {
	if r.Next != nil {
		r.Next.Trace(ev)
	}
	if ev.Kind != tcp.TraceSent || ev.Len == 0 {
		return
	}
	if r.sent == nil {
		r.sent = map[sentKey]sentTimes{}
	}
	r.Sent++
	k := sentKey{ev.Conn, ev.Header.Seq}
	was, again := r.sent[k]
	if ev.Rexmit > 0 {
		if !again {
			was.first, was.last = ev.T, ev.T // the first transmission had other bounds
		}
		r.Retransmissions = append(r.Retransmissions, Retransmission{
			Conn: ev.Conn, At: ev.T, Seq: ev.Header.Seq, Len: ev.Len, Attempt: int(ev.Rexmit) + 1,
			First: was.first, Last: was.last, Timed: ev.Timed, Timer: ev.Timer,
		})
		r.sent[k] = sentTimes{was.first, ev.T}
		return
	}
	r.sent[k] = sentTimes{ev.T, ev.T}
}

// transmissions are data segments as seen on the path.
type transmissions struct {
	streams map[uint16]*ledger.Ledger // by the receiver's port; a Mark is the number in all streams
	n       int32
}

func newTransmissions() transmissions { return transmissions{streams: map[uint16]*ledger.Ledger{}} }

// send notes a transmission of bytes. It returns which transmission of the first of them it is,
// from 1.
func (a *transmissions) send(now wheel.Time, port uint16, start, end uint64) (attempt uint32) {
	l := a.streams[port]
	if l == nil {
		l = &ledger.Ledger{}
		a.streams[port] = l
	}
	l.Send(ledger.Transmission{Range: ledger.Range{Start: int64(start), End: int64(end)}, At: now, Mark: a.n})
	a.n++
	return uint32(len(l.Runs[l.Find(int64(start))].Tries))
}

// times returns when the byte at start was sent first, and last before its latest transmission.
func (a *transmissions) times(port uint16, start uint64) (first, last wheel.Time) {
	l := a.streams[port]
	tries := l.Runs[l.Find(int64(start))].Tries
	return l.Sent[tries[0].N].At, l.Sent[tries[max(len(tries)-2, 0)].N].At
}

// lose notes that the attempt-th transmission of the byte at start is lost, or the latest one if
// there are fewer.
func (a *transmissions) lose(port uint16, start uint64, attempt uint32) {
	l := a.streams[port]
	tries := l.Runs[l.Find(int64(start))].Tries
	n := tries[min(int(attempt), len(tries))-1].N
	for i, last := l.Between(l.Sent[n].Range); i < last; i++ {
		tries := l.Runs[i].Tries
		tries[slices.IndexFunc(tries, func(t ledger.Try) bool { return t.N == n })].Fate = ledger.Lost
	}
}

// maxWaits is the most waits of a run that are kept. More are thinned out evenly.
const maxWaits = 500

// count fills in the counts of a Result.
func (a *transmissions) count(r *Result) {
	r.Sent = int(a.n)
	const none = -1
	waits := slices.Repeat([]time.Duration{none}, int(a.n)) // by Mark
	for _, l := range a.streams {
		for n, t := range l.Sent {
			if t.Unseen() {
				continue
			}
			tries := l.Runs[l.Find(t.Start)].Tries
			k := slices.IndexFunc(tries, func(t ledger.Try) bool { return t.N == int32(n) })
			if tries[k].Fate == ledger.Lost {
				r.Lost++
			}
			if k == 0 {
				continue
			}
			r.Retransmitted++
			if tries[k-1].Fate == ledger.Lost {
				waits[t.Mark] = t.At.Sub(l.Sent[tries[k-1].N].At)
			}
			if slices.ContainsFunc(tries[:k], func(t ledger.Try) bool { return t.Fate != ledger.Lost }) {
				r.Spurious++
			}
		}
	}
	waits = slices.DeleteFunc(waits, func(w time.Duration) bool { return w == none })
	r.Repaired = len(waits)
	for i, w := range waits {
		r.WaitSum += w
		if n := len(waits); n <= maxWaits || i*maxWaits/n != (i-1)*maxWaits/n || i == 0 {
			r.Waits = append(r.Waits, w)
		}
	}
}

// CaptureFiles returns the names of the captures in a directory and in those below, in order. It
// opens each file: one that begins like no capture is left out.
func CaptureFiles(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		r, err := capture.Open(name)
		switch {
		case errors.Is(err, capture.ErrNotCapture):
			return nil
		case err != nil:
			return nil // empty, or damaged from its first byte on
		}
		names = append(names, name)
		return r.Close()
	})
	slices.Sort(names)
	return names, err
}

// Packets calls add for each packet of a capture. A capture that is cut short or damaged ends
// there.
func Packets(in *capture.Reader, add func(*capture.Packet)) error {
	for {
		p, err := in.Next()
		if err == nil {
			add(p)
			continue
		}
		if _, damaged := errors.AsType[*capture.Error](err); damaged || errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}
