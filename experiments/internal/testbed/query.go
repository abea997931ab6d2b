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
