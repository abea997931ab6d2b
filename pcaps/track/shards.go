package track

import (
	"cmp"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// FollowShares follows the connections of a capture that is read in shares (capture.Reader.Share),
// on a goroutine for each share. It calls cfg.Done from the caller's goroutine, for the same
// connections in the same order as a Tracker with Add, TooBig and Close does. cfg's Event, Each and
// Settled must be nil. It returns how many connections MaxConns completed early, and the error of
// Next that ended the capture, io.EOF at its regular end.
//
// One goroutine follows a connection from its beginning to its end. A share with many more segments
// than others decodes on a second one. When the connections come near MaxConns, one goroutine goes
// on with all of them. Cost: each segment is walked over once for each share, some 30 ns.
func FollowShares(cfg Config, shares []*capture.Reader) (evicted int, err error) {
	o := &shards{done: cfg.Done, reuse: cfg.Reuse, alone: len(shares) == 1}
	o.moved.L = &o.mu
	cfg.Reuse = false // Done is called later
	for _, r := range shares {
		s := &shard{of: o, r: r, t: New(cfg)}
		s.t.shard = s
		r.OnTooBig(s.tooBig)
		o.all = append(o.all, s)
	}
	o.maxConns = o.all[0].t.cfg.MaxConns
	o.size = int64(max(min(longestEpoch, o.maxConns/16), 1))
	var running sync.WaitGroup
	defer running.Wait()
	defer o.stop(nil) // in case Done panics
	for _, s := range o.all {
		running.Go(s.run)
	}
	o.merge()
	if o.failure != nil {
		panic(o.failure)
	}
	for _, s := range o.all {
		evicted += s.t.evicted
	}
	return evicted, o.all[0].err
}

// shards are the trackers of the shares of one capture. All of them see its time pass with each of
// its segments. An epoch is a number of segments; after each the shards hand over which connections
// began and which are complete, and the caller brings these into order.
type shards struct {
	done     func(*Conn)
	reuse    bool
	maxConns int
	size     int64 // segments of an epoch
	all      []*shard
	made     int // connections that have a number

	mu      sync.Mutex
	moved   sync.Cond // something below has changed, or a shard's epochs
	merged  int       // epochs that were merged
	alone   bool      // the first shard follows all connections
	granted int       // the last epoch that has room
	stopped bool
	failure any // of a shard that panicked
}

const (
	longestEpoch = 4096
	epochsAhead  = 8 // of what was merged
)

// shard is the part of one share. Its goroutine owns what is not guarded by shards.mu.
type shard struct {
	of    *shards
	t     *Tracker
	r     *capture.Reader
	begun []begun
	done  []completion
	ahead *ahead // or nil
	own   int    // segments of the share
	busy  bool   // it has many more of them than others

	// Guarded by shards.mu.
	epochs      []epoch // that are not merged
	ended       int     // epochs so far
	conns, half int     // connections, and half-open ones, at the end of the last
	waiting     bool
	joined      bool    // the first shard has taken its connections
	back        []*Conn // whose memory it may use again
	err         error
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
	waited  int // 1 if it waited for Config.KeepClosed to pass: after all segments of that time
	segment int64
	c       *Conn
}

func (a completion) compare(b completion) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.waited, b.waited), cmp.Compare(a.segment, b.segment))
}

// epoch is what happened to the connections of a shard in an epoch, each list in order.
type epoch struct {
	begun []begun
	done  []completion
	last  bool // nothing happens any more
}

// note notes that c is complete.
func (s *shard) note(c *Conn) {
	d := completion{c.seen.Add(s.t.cfg.KeepClosed), 1, c.segment, c}
	if c.End == Replaced {
		d = completion{s.t.now, 0, s.t.segments, c}
	}
	s.done = append(s.done, d)
}

// run follows the connections of the share.
func (s *shard) run() {
	defer s.r.Leave()
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

// followEpoch handles the segments of an epoch. A shard that had many more than its share of the
// last one decodes ahead.
func (s *shard) followEpoch() (err error) {
	before := s.own
	defer func() { s.busy = 2*(s.own-before)*len(s.of.all) > 3*int(s.of.size) }()
	if s.busy {
		return s.followAhead()
	}
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

// followAhead is followEpoch with the decoder on a goroutine of its own.
func (s *shard) followAhead() error {
	if s.ahead == nil {
		s.ahead = newAhead()
	}
	go s.ahead.read(s.r, s.of.size)
	for n := int64(0); n < s.of.size; {
		b := <-s.ahead.full
		if b.failure != nil {
			panic(b.failure)
		}
		for i := range b.n {
			for ; len(b.tooBig) > 0 && b.tooBig[0].before <= i; b.tooBig = b.tooBig[1:] {
				s.t.TooBig(b.tooBig[0].TooBig)
			}
			s.add(&b.packets[i])
		}
		for _, e := range b.tooBig {
			s.t.TooBig(e.TooBig)
		}
		n += int64(b.n)
		err := b.err
		if s.ahead.empty <- b; err != nil {
			return err
		}
	}
	return nil
}

// add handles the next segment of the capture.
func (s *shard) add(p *capture.Packet) {
	if !p.Elsewhere {
		s.own++
		s.t.Add(p)
		return
	}
	s.t.pass(p.Time)
	s.t.segments++
	s.t.sample(p)
}

// tooBig handles an ICMP error, or leaves it to the batch that is being filled.
func (s *shard) tooBig(e capture.TooBig) {
	if s.ahead != nil && s.ahead.filling != nil {
		b := s.ahead.filling
		b.tooBig = append(b.tooBig, tooBigAt{e, b.n})
		return
	}
	s.t.TooBig(e)
}

// step ends an epoch. It returns when the next may begin, or false if it is not for this shard.
func (s *shard) step() bool {
	o := s.of
	o.mu.Lock()
	defer o.mu.Unlock()
	s.handOver(epoch{begun: s.begun, done: s.done})
	s.waiting = true
	defer func() { s.waiting = false }()
	for !o.stopped && !s.joined {
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
	s.handOverLocked(epoch{begun: s.begun, done: s.done}, err)
	s.t.memory.last = true
	const parts = 32
	for _, closeUpTo := range []func(int64){s.t.closeEnded, s.t.closeOthers} {
		for i := int64(1); i <= parts; i++ {
			closeUpTo(s.t.segments * i / parts)
			s.handOverLocked(epoch{done: s.done}, err)
		}
	}
	s.handOverLocked(epoch{last: true}, err)
}

func (s *shard) handOverLocked(e epoch, err error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.err = err
	s.handOver(e)
}

// handOver ends an epoch. The caller holds the lock.
func (s *shard) handOver(e epoch) {
	s.begun, s.done = nil, nil
	s.epochs = append(s.epochs, e)
	s.ended++
	s.conns, s.half = s.t.open.n+s.t.closed.n+s.t.halfOpen.n, s.t.halfOpen.n
	s.of.moved.Broadcast()
}

// hasRoom reports whether no shard can reach a limit before the end of an epoch. A segment begins
// at most one connection, and makes at most one half-open. What it grants one shard it grants all.
// The caller holds the lock.
func (o *shards) hasRoom(epoch int) bool {
	if o.alone || epoch <= o.granted {
		return true // alone, it keeps the limits itself
	}
	first, conns, half := epoch, 0, 0
	for _, s := range o.all {
		first, conns, half = min(first, s.ended), conns+s.conns, half+s.half
	}
	most := (epoch + 1 - first) * int(o.size)
	if conns+most >= o.maxConns || half+most > o.maxConns/4 {
		return false
	}
	o.granted = epoch
	return true
}

// join makes the first shard follow all connections. All shards wait, and the caller holds the
// lock.
func (o *shards) join() {
	first := o.all[0]
	for _, s := range o.all[1:] {
		first.t.takeOver(s.t)
		s.joined = true
	}
	first.r.TakeAll()
	o.alone = true
	o.moved.Broadcast()
}

// stop makes all shards end.
func (o *shards) stop(failure any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	if o.failure == nil {
		o.failure = failure
	}
	o.moved.Broadcast()
}

// merge numbers connections in the order of their first segments, and calls Done in that of their
// completions.
func (o *shards) merge() {
	for {
		parts, of := o.next()
		if len(parts) == 0 || parts[0].last {
			return
		}
		var (
			starts [][]begun
			ends   [][]completion
		)
		for i := range parts {
			starts, ends = append(starts, parts[i].begun), append(ends, parts[i].done)
		}
		for b := range inOrder(starts, func(a, b begun) int { return cmp.Compare(a.segment, b.segment) }) {
			b.c.ID = o.made
			o.made++
		}
		for d := range inOrder(ends, completion.compare) {
			if o.done != nil {
				o.done(d.c)
			}
		}
		o.giveBack(parts, of)
	}
}

// inOrder yields the elements of sorted lists in order. It leaves the order of a single list.
func inOrder[T any](lists [][]T, compare func(a, b T) int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			least := -1
			for i, l := range lists {
				if len(l) > 0 && (least < 0 || compare(l[0], lists[least][0]) < 0) {
					least = i
				}
			}
			if least < 0 || !yield(lists[least][0]) {
				return
			}
			lists[least] = lists[least][1:]
		}
	}
}

// next waits for an epoch of each shard. It returns none after stop.
func (o *shards) next() (parts []epoch, of []*shard) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.all {
		for len(s.epochs) == 0 && !s.joined && !o.stopped {
			o.moved.Wait()
		}
		if o.stopped {
			return nil, nil
		}
		if len(s.epochs) > 0 {
			parts, of = append(parts, s.epochs[0]), append(of, s)
			s.epochs = slices.Delete(s.epochs, 0, 1)
		}
	}
	return parts, of
}

// giveBack lets the shards go on, and use the memory of connections again.
func (o *shards) giveBack(parts []epoch, of []*shard) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range parts {
		if !o.reuse {
			break
		}
		for _, d := range parts[i].done {
			of[i].back = append(of[i].back, d.c)
		}
	}
	o.merged++
	o.moved.Broadcast()
}

// takeOver makes t follow the connections of u, which has seen the same segments.
func (t *Tracker) takeOver(u *Tracker) {
	t.last = nil
	for _, lists := range [][2]*list{{&t.open, &u.open}, {&t.closed, &u.closed}, {&t.halfOpen, &u.halfOpen}} {
		var all []*Conn
		for _, l := range lists {
			for c := l.first; c != nil; c = c.next {
				c.cfg, c.memory = &t.cfg, &t.memory
				all = append(all, c)
			}
			*l = list{}
		}
		slices.SortFunc(all, func(a, b *Conn) int { return cmp.Compare(a.segment, b.segment) })
		for _, c := range all {
			lists[0].append(c)
		}
	}
	t.conns.takeOver(&u.conns)
}

// takeOver adds the connections of e. The ends of each differ from those of all in d.
func (d *directory) takeOver(e *directory) {
	for _, s := range e.slots {
		if s.c == nil {
			continue
		}
		if 4*d.n >= 3*len(d.slots) {
			d.grow()
		}
		d.newest(&s.c.ends).c = s.c
		d.n++
	}
	for k, c := range e.others {
		d.others[k] = c
	}
}
