package testbed

import (
	"fmt"
	"time"

	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// FanIn is the barrier-synchronised workload of incast: the client of a Star asks all servers at
// once, waits for all answers, and asks again, over connections that stay open. Random times are
// the same for all timers.
type FanIn struct {
	Seed     uint64
	Request  uint32        // bytes to each server
	Response uint32        // bytes of each server's answer
	Queries  int           // that are returned
	Warmup   int           // queries before these
	Service  time.Duration // greatest time to the begin of an answer, drawn evenly from 0
	Think    time.Duration // greatest time from the last answer to the next query, drawn evenly from 0
	Limit    time.Duration // of virtual time, for all queries
}

// Query is the result of one query.
type Query struct {
	Took     time.Duration // from the query to the last byte of the last answer
	Timeouts uint64        // expiries of the servers' retransmission timers
	Most     uint64        // expiries at the server with the most
}

const fanInPort = 80

// fanIn is a running FanIn.
type fanIn struct {
	FanIn
	star     *Star
	sessions []*host.Session
	left     int // connections not yet open, or answers missing
	asked    int // queries so far
	since    wheel.Time
	timeouts []uint64 // of each server, before the query
	queries  []Query
	timer    wheel.Timer
	err      error
}

// Run runs the workload in a new Star, and returns the queries after the warmup. A connection that
// fails, and an answer missing at the Limit, are errors.
func (f FanIn) Run(s *Star) ([]Query, error) {
	r := &fanIn{FanIn: f, star: s, left: len(s.Servers)}
	net := s.World.Net
	r.timer = net.NewTimer(r)
	for i, h := range s.Servers {
		server := &answerer{run: r, index: uint64(i)}
		err := h.Listen(fanInPort, tcp.ListenConfig{Backlog: 1}, func() host.App { return server })
		if err != nil {
			return nil, err
		}
		session, err := s.Client.Dial(h, fanInPort, nil, &asker{run: r})
		if err != nil {
			return nil, err
		}
		r.sessions = append(r.sessions, session)
	}
	for r.err == nil && r.asked <= f.Warmup+f.Queries {
		if !net.Step() || net.Now() > wheel.Time(f.Limit) {
			return nil, fmt.Errorf("testbed: %d of %d queries in %v", len(r.queries), f.Queries, time.Duration(net.Now()))
		}
		if len(r.queries) == f.Queries {
			break
		}
	}
	if faults := s.World.Faults(); r.err == nil && len(faults) > 0 {
		r.err = faults[0]
	}
	return r.queries, r.err
}

// asker is the client's program on a connection.
type asker struct {
	run  *fanIn
	have uint64 // bytes of the answer so far
}

// OnEvents implements host.App. It reads data at once, so that the window stays open.
func (a *asker) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	r := a.run
	if ev.Has(tcp.EventClosed) {
		r.err = fmt.Errorf("testbed: a connection ended at %v: %w", time.Duration(now), s.Err())
		return
	}
	if ev.Has(tcp.EventConnected) {
		r.arrived(now)
	}
	if n := s.Readable(); n > 0 {
		s.Consume(uint32(n))
		if a.have += n; a.have == uint64(r.Response) {
			a.have = 0
			r.arrived(now)
		}
	}
}

// arrived notes an open connection or a complete answer. After the last one it schedules the next
// query.
func (r *fanIn) arrived(now wheel.Time) {
	r.left--
	if r.left > 0 {
		return
	}
	if r.asked > r.Warmup {
		q := Query{Took: now.Sub(r.since)}
		for i, h := range r.star.Servers {
			n := h.Engine().Counters().TCPTimeouts - r.timeouts[i]
			q.Timeouts, q.Most = q.Timeouts+n, max(q.Most, n)
		}
		r.queries = append(r.queries, q)
	}
	wait := time.Duration(Uniform(r.Seed, 0x7417, uint64(r.asked)) * float64(r.Think))
	r.star.World.Net.StartTimer(r.timer, now.Add(wait))
}

// Expire implements sim.Handler: it sends a query.
func (r *fanIn) Expire(now wheel.Time) {
	r.asked++
	r.left, r.since, r.timeouts = len(r.sessions), now, r.timeouts[:0]
	for _, h := range r.star.Servers {
		r.timeouts = append(r.timeouts, h.Engine().Counters().TCPTimeouts)
	}
	for _, s := range r.sessions {
		s.Write(r.Request, 0)
	}
}

// answerer is a server's program on a connection.
type answerer struct {
	run     *fanIn
	index   uint64
	session *host.Session
	timer   wheel.Timer
	made    bool
}

// OnEvents implements host.App.
func (a *answerer) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	r := a.run
	if ev.Has(tcp.EventClosed) || s.Readable() < uint64(r.Request) {
		return
	}
	s.Consume(r.Request)
	if r.Service == 0 {
		s.Write(r.Response, 0)
		return
	}
	if !a.made {
		a.session, a.made = s, true
		a.timer = r.star.World.Net.NewTimer(a)
	}
	wait := time.Duration(Uniform(r.Seed, 0x5e71, uint64(r.asked), a.index) * float64(r.Service))
	r.star.World.Net.StartTimer(a.timer, now.Add(wait))
}

// Expire implements sim.Handler: it sends the answer.
func (a *answerer) Expire(wheel.Time) { a.session.Write(a.run.Response, 0) }
