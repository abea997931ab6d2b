package track

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync"

	"tcpwheel/pcaps/capture"
)

// FollowShares follows the connections of a capture that is read in shares (capture.Reader.Share),
// on a goroutine for each share. It calls cfg.Done from the caller's goroutine, for the same
// connections in the same order as a Tracker with Add, ICMP and Close does. cfg's Event, Each and
// Settled must be nil. It returns how many connections MaxConns completed early, and the error of
// Next that ended the capture, io.EOF at its regular end.
//
// One goroutine follows a connection from its beginning to its end, so a capture of a single one
// gains nothing. When the connections come near MaxConns, the caller's goroutine goes on with all
// of them. Cost: each segment is walked over once for each share, some 30 ns.
func FollowShares(cfg Config, shares []*capture.Reader) (evicted int, err error) {
	o := &shards{cfg: cfg}
	o.moved.L = &o.mu
	for _, r := range shares {
		s := &shard{of: o, r: r, t: New(cfg)}
		s.t.shard = s
		r.OnICMPError(s.t.ICMP)
		o.all = append(o.all, s)
	}
	o.maxConns = o.all[0].t.cfg.MaxConns
	o.size = int64(max(min(longestEpoch, o.maxConns/16), 1))
	o.follow()
	first := o.all[0]
	if o.joined {
		return o.followAlone(first)
	}
	return 0, first.err
}

// follow follows the connections on several goroutines, and ends them.
func (o *shards) follow() {
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
}

// followAlone goes on with the shard that has all connections, on the caller's goroutine.
func (o *shards) followAlone(s *shard) (evicted int, err error) {
	t := s.t
	t.shard, t.made, t.twins = nil, o.made, o.twins
	for {
		batch, err := s.r.NextBatch(math.MaxInt)
		if err != nil {
			t.Close()
			return t.evicted, err
		}
		for i := range batch {
			t.Add(&batch[i])
		}
	}
}

// shards are the trackers of the shares of one capture. All of them see its time pass with each of
// its segments. An epoch is a number of segments; after each the shards hand over which connections
// began and which are complete, and the caller brings these into order.
type shards struct {
	cfg      Config
	maxConns int
	size     int64 // segments of an epoch
	all      []*shard
	made     int // connections that have a number
	twins    twins

	mu      sync.Mutex
	moved   sync.Cond // something below has changed, or a shard's epochs
	merged  int       // epochs that were merged
	joined  bool      // the first shard has all connections
	granted int       // the last epoch that has room
	stopped bool
	failure any // of a shard that panicked
}

const (
	longestEpoch = 4096
	epochsAhead  = 8 // of what was merged
)

// hasRoom reports whether no shard can reach a limit before the end of an epoch. A segment begins
// at most one connection, and makes at most one half-open. What it grants one shard it grants all.
// The caller holds the lock.
func (o *shards) hasRoom(epoch int) bool {
	if epoch <= o.granted {
		return true
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

// join gives the first shard all connections, and ends all goroutines. All shards wait, and the
// caller holds the lock.
func (o *shards) join() {
	first := o.all[0]
	for _, s := range o.all[1:] {
		first.t.takeOver(s.t)
	}
	first.r.TakeAll()
	o.joined = true
	o.moved.Broadcast()
}

// leave ends the part of s in reading, unless it goes on alone.
func (o *shards) leave(s *shard) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.joined || s != o.all[0] {
		s.r.Leave()
	}
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
			pairs  [][]firstACK
			ends   [][]completion
		)
		for i := range parts {
			starts, pairs, ends = append(starts, parts[i].begun), append(pairs, parts[i].paired), append(ends, parts[i].done)
		}
		for b := range inOrder(starts, func(a, b begun) int { return cmp.Compare(a.segment, b.segment) }) {
			b.c.ID = o.made
			o.made++
		}
		for a := range inOrder(pairs, func(a, b firstACK) int { return cmp.Compare(a.segment, b.segment) }) {
			o.twins.add(a)
		}
		for d := range inOrder(ends, completion.compare) {
			d.c.dropTwin()
			if o.cfg.Done != nil {
				o.cfg.Done(d.c)
			}
		}
		o.giveBack(parts, of)
	}
}

// inOrder yields the elements of sorted lists in order.
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

// next waits for an epoch of each shard. It returns none after stop, and after the last one before
// join.
func (o *shards) next() (parts []epoch, of []*shard) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.all {
		for len(s.epochs) == 0 && !o.joined && !o.stopped {
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
		if !o.cfg.Reuse {
			break
		}
		for _, d := range parts[i].done {
			of[i].back = append(of[i].back, d.c)
		}
	}
	o.merged++
	o.moved.Broadcast()
}
