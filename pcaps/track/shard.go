package track

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// shard is the part of one share. Its goroutine owns what is not guarded by shards.mu.
type shard struct {
	of     *shards
	t      *Tracker
	r      *capture.Reader
	begun  []begun
	paired []firstACK
	done   []completion
	err    error // that ended the capture

	// Guarded by shards.mu.
	epochs      []epoch // that are not merged
	ended       int     // epochs so far
	conns, half int     // connections, and half-open ones, at the end of the last
	waiting     bool
	back        []*Conn // whose memory it may use again
}

// begun is a connection and the number of its first segment.
type begun struct {
	c       *Conn
	segment int64
}

// completion is a connection that is complete, and when it became so. The order of the fields is
// that of several completions.
type completion struct {
	at      wheel.Time
	waited  int // 1 if it waited for keepClosed to pass: after all segments of that time
	segment int64
	c       *Conn
}

func (a completion) compare(b completion) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.waited, b.waited), cmp.Compare(a.segment, b.segment))
}

// epoch is what happened to the connections of a shard in an epoch, each list in order.
type epoch struct {
	begun  []begun
	paired []firstACK
	done   []completion
	last   bool // nothing happens any more
}

// note notes that c is complete.
func (s *shard) note(c *Conn) {
	d := completion{c.seen.Add(keepClosed), 1, c.segment, c}
	if c.End == Replaced {
		d = completion{s.t.now, 0, s.t.segments, c}
	}
	s.done = append(s.done, d)
}

// run follows the connections of the share.
func (s *shard) run() {
	defer s.of.leave(s)
	defer func() {
		if p := recover(); p != nil {
			s.of.stop(fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	for {
		if err := s.followEpoch(); err != nil {
			s.end(err)
			return
		}
		if !s.step() {
			return
		}
	}
}

// followEpoch handles the segments of an epoch.
func (s *shard) followEpoch() error {
	for left := int(s.of.size); left > 0; {
		batch, err := s.r.NextBatch(left)
		if err != nil {
			return err
		}
		for i := range batch {
			s.add(&batch[i])
		}
		left -= len(batch)
	}
	return nil
}

// add handles the next segment of the capture.
func (s *shard) add(p *capture.Packet) {
	if !p.Elsewhere {
		s.t.Add(p)
		return
	}
	s.t.pass(p.Time)
	s.t.segments++
	s.t.sample(p)
}

// step ends an epoch. It returns when the next may begin, or false if it is not for this shard.
func (s *shard) step() bool {
	o := s.of
	o.mu.Lock()
	defer o.mu.Unlock()
	s.handOverLocked(false)
	s.waiting = true
	defer func() { s.waiting = false }()
	for !o.stopped && !o.joined {
		switch {
		case s.ended-o.merged > epochsAhead:
		case o.hasRoom(s.ended):
			for _, c := range s.back {
				s.t.memory.put(c)
			}
			clear(s.back)
			s.back = s.back[:0]
			return true
		case !slices.ContainsFunc(o.all, func(other *shard) bool { return !other.waiting || other.ended != s.ended }):
			o.join()
			continue
		}
		o.moved.Wait()
	}
	return false
}

// end completes all connections at the end of the capture. It hands them over in parts, so that the
// caller has something to do.
func (s *shard) end(err error) {
	s.err = err
	s.handOver(false)
	s.t.memory.last = true
	const parts = 32
	for _, closeUpTo := range []func(int64){s.t.closeEnded, s.t.closeOthers} {
		for i := int64(1); i <= parts; i++ {
			closeUpTo(s.t.segments * i / parts)
			s.handOver(false)
		}
	}
	s.handOver(true)
}

// handOver ends an epoch.
func (s *shard) handOver(last bool) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.handOverLocked(last)
}

// handOverLocked is handOver by a caller that holds the lock.
func (s *shard) handOverLocked(last bool) {
	s.epochs = append(s.epochs, epoch{s.begun, s.paired, s.done, last})
	s.begun, s.paired, s.done = nil, nil, nil
	s.ended++
	s.conns, s.half = s.t.followed(), s.t.halfOpen.n
	s.of.moved.Broadcast()
}
