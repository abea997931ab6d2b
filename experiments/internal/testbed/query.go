package testbed

import (
	"fmt"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Exchange is what an Asker and its Answerers agree on.
type Exchange struct {
	Net      *sim.Network[host.Body]
	Request  uint32 // bytes to each server
	Response uint32 // bytes of each server's answer
}

// Asker is a client that asks all its servers at once, waits for all answers, and asks again, over
// connections that stay open. The first query begins when all connections are open.
type Asker struct {
	Exchange
	Think func() time.Duration     // from the last answer to the next query
	Begin func()                   // called before each query
	Done  func(took time.Duration) // called when all answers are complete
	Fail  func(error)              // called when a connection ends

	Asked int // queries so far

	sessions []*host.Session
	left     int // connections not yet open, or answers missing
	since    wheel.Time
	timer    wheel.Timer
}

// Dial connects to the servers. dial opens the connection to server i, for a program.
func (a *Asker) Dial(servers int, dial func(i int, app host.App) (*host.Session, error)) error {
	a.left, a.timer = servers, a.Net.NewTimer(a)
	for i := range servers {
		s, err := dial(i, &askerConn{asker: a})
		if err != nil {
			return err
		}
		a.sessions = append(a.sessions, s)
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
	a.Net.StartTimer(a.timer, now.Add(a.Think()))
}

// Expire implements sim.Handler: it sends a query.
func (a *Asker) Expire(now wheel.Time) {
	a.Asked++
	a.left, a.since = len(a.sessions), now
	a.Begin()
	for _, s := range a.sessions {
		s.Write(a.Request, 0)
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
		if c.have += n; c.have >= uint64(a.Response) {
			c.have -= uint64(a.Response)
			a.arrived(now)
		}
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
