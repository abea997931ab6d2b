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

// Run runs the workload in a new Star, and returns the queries after the warmup. A connection that
// fails, and an answer missing at the Limit, are errors.
func (f FanIn) Run(s *Star) (queries []Query, err error) {
	timeouts := make([]uint64, len(s.Servers)) // of each server, before the query
	net := s.World.Net
	x := Exchange{Net: net, Request: f.Request, Response: f.Response}
	a := &Asker{Exchange: x, Fail: func(e error) { err = e }}
	a.Think = func() time.Duration {
		return time.Duration(Uniform(f.Seed, 0x7417, uint64(a.Asked)) * float64(f.Think))
	}
	a.Begin = func() {
		for i, h := range s.Servers {
			timeouts[i] = h.Engine().Counters().TCPTimeouts
		}
	}
	a.Done = func(took time.Duration) {
		if a.Asked <= f.Warmup {
			return
		}
		q := Query{Took: took}
		for i, h := range s.Servers {
			n := h.Engine().Counters().TCPTimeouts - timeouts[i]
			q.Timeouts, q.Most = q.Timeouts+n, max(q.Most, n)
		}
		queries = append(queries, q)
	}
	err = a.Dial(len(s.Servers), func(i int, app host.App) (*host.Session, error) {
		server := &Answerer{Exchange: x}
		if f.Service > 0 {
			server.Service = func() time.Duration {
				return time.Duration(Uniform(f.Seed, 0x5e71, uint64(a.Asked), uint64(i)) * float64(f.Service))
			}
		}
		h := s.Servers[i]
		if err := h.Listen(fanInPort, tcp.ListenConfig{Backlog: 1}, func() host.App { return server }); err != nil {
			return nil, err
		}
		return s.Client.Dial(h, fanInPort, nil, app)
	})
	if err != nil {
		return nil, err
	}
	for err == nil && len(queries) < f.Queries {
		if !net.Step() || net.Now() > wheel.Time(f.Limit) {
			return nil, fmt.Errorf("testbed: %d of %d queries in %v", len(queries), f.Queries, time.Duration(net.Now()))
		}
	}
	if faults := s.World.Faults(); err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return queries, err
}
