package incast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun/netns"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// Settings of the live part.
const (
	livePort    = 80
	liveClient  = 20000 // the client's port of the first connection
	liveQueries = 50
	liveAnswer  = 1448 // bytes: a segment, so that no window matters
)

// serviceTimes measures how far apart servers of this machine's kernel begin their answers, over an
// emulated link between two network namespaces.
func serviceTimes(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	t := experiments.Table{
		Name: "services", Title: fmt.Sprintf("Service times of the kernel's TCP: from the request's arrival to the "+
			"first byte of the answer, %d queries", liveQueries),
		Columns: []string{"servers", "least, ms", "median, ms", "p90, ms", "most, ms",
			"spread in a query (most minus least), median, ms", "p90, ms"},
	}
	var last float64
	for _, n := range []int{1, 10, 40} {
		all, spreads, err := measureServices(ctx, p, n)
		if err != nil {
			return nil, err
		}
		last = stat.Median(spreads)
		t.Add(n, stat.Quantile(all, 0), stat.Median(all), stat.Quantile(all, 0.9), stat.Quantile(all, 1), last,
			stat.Quantile(spreads, 0.9))
	}
	return &experiments.Outcome{Tables: []experiments.Table{t},
		Notes: []string{fmt.Sprintf("The servers are goroutines of one process on %d processors, so their number "+
			"adds to the spread: %s ms at 40 servers. "+
			"The plan's own spread is %v.", runtime.NumCPU(), experiments.Number(last), p.Service)}}, nil
}

// services collects the instants of requests and answers, by the client's port.
type services struct {
	mu            sync.Mutex
	asked, begins map[uint16]wheel.Time
	delay         time.Duration // of the link to the servers
}

// seen notes a data packet that enters the link.
func (s *services) seen(p netns.Packet) {
	if p.Model.End <= p.Model.Start || p.Fate.Outcome != sim.Delivered {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.FromServer {
		s.asked[p.Header.SrcPort] = p.At.Add(s.delay)
		delete(s.begins, p.Header.SrcPort)
	} else if _, ok := s.begins[p.Header.DstPort]; !ok {
		s.begins[p.Header.DstPort] = p.At
	}
}

// measureServices asks n servers at once, again and again. It returns all service times, and the
// spread of each query, in ms.
func measureServices(ctx context.Context, p *Plan, n int) (all, spreads []float64, err error) {
	s := &services{asked: map[uint16]wheel.Time{}, begins: map[uint16]wheel.Time{}, delay: p.RoundTrip / 2}
	link := sim.LinkConfig{Delay: p.RoundTrip / 2}
	pair, err := netns.NewPair(netns.PairConfig{There: link, Back: link, Sent: s.seen})
	if err != nil {
		return nil, nil, err
	}
	l, _, err := pair.Listen(livePort)
	if err != nil {
		return nil, nil, errors.Join(err, pair.Close())
	}
	var serving sync.WaitGroup
	serving.Go(func() { serveAll(l, p.Request, &serving) })
	var conns []net.Conn
	for i := range n {
		c, failed := pair.Dial(ctx, liveClient+uint16(i), livePort)
		if failed != nil {
			err = failed
			break
		}
		conns = append(conns, c)
	}
	for query := 0; err == nil && query < liveQueries+p.Warmup; query++ {
		if err = askAll(conns, p.Request); err == nil && query >= p.Warmup {
			least, most := s.query(&all)
			spreads = append(spreads, most-least)
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
	err = errors.Join(err, l.Close())
	serving.Wait()
	return all, spreads, errors.Join(err, pair.Close())
}

// query appends the service times of a query, and returns the least and the most, in ms.
func (s *services) query(all *[]float64) (least, most float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := true
	for port, asked := range s.asked {
		x := float64(s.begins[port].Sub(asked)) / 1e6
		*all = append(*all, x)
		if first || x < least {
			least = x
		}
		if first || x > most {
			most = x
		}
		first = false
	}
	return least, most
}

// serveAll answers each request of each connection, until the listener closes.
func serveAll(l net.Listener, request int, all *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		all.Go(func() {
			defer c.Close()
			in, out := make([]byte, request), make([]byte, liveAnswer)
			for {
				if _, err := io.ReadFull(c, in); err != nil {
					return
				}
				if _, err := c.Write(out); err != nil {
					return
				}
			}
		})
	}
}

// askAll asks all servers at once and waits for all answers.
func askAll(conns []net.Conn, request int) error {
	in, out := make([]byte, liveAnswer), make([]byte, request)
	for _, c := range conns {
		if _, err := c.Write(out); err != nil {
			return err
		}
	}
	for _, c := range conns {
		if _, err := io.ReadFull(c, in); err != nil {
			return err
		}
	}
	return nil
}
