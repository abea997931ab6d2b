package testbed

import (
	"errors"
	"fmt"
	"time"

	"tcpwheel/netstack/sim"
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
	Most     uint64        // expiries at the server with the most; all of a StackStar
}

// Servers is a client and the servers of a FanIn: a Star or a StackStar.
type Servers interface {
	connect(f *FanIn, a *Asker) error
	timeouts() []uint64 // of each server, or of all together
	run(until wheel.Time, done func() bool) error
}

// Run runs the workload between new hosts, and returns the queries after the warmup. A connection
// that fails, and an answer missing at the Limit, are errors.
func (f FanIn) Run(s Servers) (queries []Query, err error) {
	var timeouts []uint64 // before the query
	a := &Asker{Exchange: Exchange{Request: f.Request, Response: f.Response}, Fail: func(e error) { err = e }}
	a.Think = func() time.Duration { return f.drawn(f.Think, 0x7417, uint64(a.Asked)) }
	a.Begin = func() { timeouts = s.timeouts() }
	a.Done = func(took time.Duration) {
		if a.Asked <= f.Warmup {
			return
		}
		q := Query{Took: took}
		for i, n := range s.timeouts() {
			n -= timeouts[i]
			q.Timeouts, q.Most = q.Timeouts+n, max(q.Most, n)
		}
		queries = append(queries, q)
	}
	if err := s.connect(&f, a); err != nil {
		return nil, err
	}
	if e := s.run(wheel.Time(f.Limit), func() bool { return err != nil || len(queries) == f.Queries }); err == nil {
		err = e
	}
	if err == nil && len(queries) < f.Queries {
		err = fmt.Errorf("testbed: %d of %d queries in %v", len(queries), f.Queries, f.Limit)
	}
	return queries, err
}

// drawn returns a random time, evenly up to most.
func (f *FanIn) drawn(most time.Duration, parts ...uint64) time.Duration {
	return time.Duration(Uniform(f.Seed, parts...) * float64(most))
}

// service returns the time until a server begins its answer.
func (f *FanIn) service(a *Asker, server int) time.Duration {
	return f.drawn(f.Service, 0x5e71, uint64(a.Asked), uint64(server))
}

func (s *Star) connect(f *FanIn, a *Asker) error {
	a.Net = s.World.Net
	return a.Dial(len(s.Servers), func(i int, app host.App) (*host.Session, error) {
		server := &Answerer{Exchange: a.Exchange}
		if f.Service > 0 {
			server.Service = func() time.Duration { return f.service(a, i) }
		}
		h := s.Servers[i]
		if err := h.Listen(ServePort, tcp.ListenConfig{Backlog: 1}, func() host.App { return server }); err != nil {
			return nil, err
		}
		return s.Client.Dial(h, ServePort, nil, app)
	})
}

func (s *Star) timeouts() (all []uint64) {
	for _, h := range s.Servers {
		all = append(all, h.Engine().Counters().TCPTimeouts)
	}
	return all
}

func (s *Star) run(until wheel.Time, done func() bool) error {
	for net := s.World.Net; !done() && net.Step() && net.Now() <= until; {
	}
	return errors.Join(s.World.Faults()...)
}

// Exchange is what an Asker and its Answerers agree on.
type Exchange struct {
	Net      *sim.Network[host.Body]
	Request  uint32 // bytes to each server
	Response uint32 // bytes of each server's answer
}

// Asker is a client that asks all its servers at once, waits for all answers, and asks again, over
// connections that stay open. The first query begins when all connections are open.
type Asker struct {
	Exchange                          // without Net in gVisor stacks
	Think    func() time.Duration     // from the last answer to the next query
	Begin    func()                   // called before each query
	Done     func(took time.Duration) // called when all answers are complete
	Fail     func(error)              // called when a connection ends

	Asked int // queries so far

	ask   []func()            // sends a request over each connection
	later func(at wheel.Time) // calls Expire then
	left  int                 // connections not yet open, or answers missing
	since wheel.Time
}

// Dial connects to the servers. dial opens the connection to server i, for a program.
func (a *Asker) Dial(servers int, dial func(i int, app host.App) (*host.Session, error)) error {
	timer := a.Net.NewTimer(a)
	a.left, a.later = servers, func(at wheel.Time) { a.Net.StartTimer(timer, at) }
	for i := range servers {
		s, err := dial(i, &askerConn{asker: a})
		if err != nil {
			return err
		}
		a.ask = append(a.ask, func() { s.Write(a.Request, 0) })
	}
	return nil
}

// arrived notes an open connection or a complete answer. After the last one it schedules the next
// query.
func (a *Asker) arrived(now wheel.Time) {
	if a.left--; a.left > 0 {
		return
	}
	if a.Asked > 0 {
		a.Done(now.Sub(a.since))
	}
	a.later(now.Add(a.Think()))
}

// Expire implements sim.Handler: it sends a query.
func (a *Asker) Expire(now wheel.Time) {
	a.Asked++
	a.left, a.since = len(a.ask), now
	a.Begin()
	for _, ask := range a.ask {
		ask()
	}
}

// askerConn is the program of one connection of an Asker.
type askerConn struct {
	asker *Asker
	have  uint64 // bytes of the answer so far
}

// OnEvents implements host.App. It reads data at once, so that the window stays open.
func (c *askerConn) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	a := c.asker
	if ev.Has(tcp.EventClosed) {
		a.Fail(fmt.Errorf("testbed: a connection ended at %v: %w", time.Duration(now), s.Err()))
		return
	}
	if ev.Has(tcp.EventConnected) {
		a.arrived(now)
	}
	if n := s.Readable(); n > 0 {
		s.Consume(uint32(n))
		c.got(now, n)
	}
}

// got notes bytes of the answer.
func (c *askerConn) got(now wheel.Time, n uint64) {
	if c.have += n; c.have >= uint64(c.asker.Response) {
		c.have -= uint64(c.asker.Response)
		c.asker.arrived(now)
	}
}

// Answerer is a server's program on one connection of an Asker.
type Answerer struct {
	Exchange
	Service func() time.Duration // from the request to its answer; nil answers at once

	session *host.Session
	timer   wheel.Timer
}

// OnEvents implements host.App.
func (a *Answerer) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	if ev.Has(tcp.EventClosed) || s.Readable() < uint64(a.Request) {
		return
	}
	s.Consume(a.Request)
	if a.session == nil {
		a.session, a.timer = s, a.Net.NewTimer(a)
	}
	if a.Service == nil {
		a.Expire(now)
		return
	}
	a.Net.StartTimer(a.timer, now.Add(a.Service()))
}

// Expire implements sim.Handler: it sends the answer.
func (a *Answerer) Expire(wheel.Time) { a.session.Write(a.Response, 0) }
