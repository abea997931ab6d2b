package netstack

import (
	"math/rand"

	"tcpwheel/netstack/tcp"
)

// scratch is the working memory of a step. It has its own counters and random numbers, so that
// concurrent steps of different connections share nothing.
type scratch struct {
	out                  tcp.Output
	packets              []packet
	reported             tcp.Counters // the part of out.Counters that the stack's statistics have
	slowStartRetransmits uint64       // retransmissions in slow start, not in the statistics yet
	in                   []segment    // the step's segments
	causes               []Cause      // of out.Segments, with Config.Causes
}

// borrowScratch returns unused scratch space.
func (s *shard) borrowScratch() *scratch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.freeScratch); n > 0 {
		w := s.freeScratch[n-1]
		s.freeScratch = s.freeScratch[:n-1]
		return w
	}
	w := new(scratch)
	w.out.Rand = rand.New(rand.NewSource(s.p.stack.InsecureRNG().Int63()))
	w.out.Challenge = s.p.challengeLimit
	return w
}

// maxFreeScratch is how much unused scratch space a shard keeps. More was needed only while many
// goroutines waited for a device.
const maxFreeScratch = 32

// returnScratch adds up what the steps of e have counted and takes scratch space back.
func (s *shard) returnScratch(w *scratch, e *Endpoint) {
	s.p.addCounters(w, e)
	s.mu.Lock()
	keep := len(s.freeScratch) < maxFreeScratch
	if keep {
		s.freeScratch = append(s.freeScratch, w)
	}
	s.mu.Unlock()
	if !keep {
		s.p.count(func(c *tcp.Counters) { c.Add(&w.out.Counters) })
	}
}

// releaseSegments releases the packets of the step's segments.
func (s *scratch) releaseSegments() {
	for i := range s.in {
		s.in[i].release()
	}
	clear(s.in)
	if cap(s.in) > 1024 {
		s.in = nil
	}
}
