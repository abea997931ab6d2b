package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun/netns"
)

// kernelRun is a run between two kernels, in real time.
type kernelRun struct {
	*run
	pair *netns.Pair

	mu      sync.Mutex // for all below and the run
	senders map[uint16]net.Conn
	open    []io.Closer
	errs    []error
	over    bool
}

// RunKernel runs a Spec in real time, with the TCP of this machine's kernel at both ends: what Kind, Timers, Scheme,
// MTU, SACK, Timestamps, Control and Peer say counts for nothing, but that the receiver acknowledges at once if Peer
// does. It has one flow, and not StopAndWait. Fates are those of the other subjects. It takes as long as the work does,
// up to Limit. It needs Linux, root and TUN devices: its error tells what is missing, as package tun has it.
func RunKernel(ctx context.Context, s *Spec) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	if s.Flows != 1 || s.Work.Shape == StopAndWait {
		return Result{}, fmt.Errorf("subject kernel: %d flows of %s, want one, and not %s", s.Flows, s.Work.Shape, StopAndWait)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	r := &kernelRun{run: newRun(s), senders: map[uint16]net.Conn{}}
	f := r.flows[0]
	there, back := s.Path.Data, s.Path.Acks
	there.Loss, back.Loss = s.Path.Fates.losses(f), s.Path.AckFates.losses(f)
	var err error
	if r.pair, err = netns.NewPair(netns.PairConfig{There: there, Back: back, Seed: s.Seed, Sent: r.seen}); err != nil {
		return Result{}, err
	}
	l, _, err := r.pair.Listen(servePort)
	if err != nil {
		return Result{}, errors.Join(err, r.pair.Close())
	}
	r.open = append(r.open, l)
	// What is under way when the time is over is cut off.
	stop := context.AfterFunc(ctx, r.shut)
	var all sync.WaitGroup
	all.Go(func() { r.listen(l, &all) })
	all.Go(func() {
		r.receive(ctx, f)
		r.shut()
	})
	all.Wait()
	stop()
	counts, err := r.pair.Counts()
	now := r.pair.Now()
	if err := errors.Join(append(r.errs, err, r.pair.Close())...); err != nil {
		return Result{}, fmt.Errorf("subject kernel: %w", err)
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return Result{}, err
	}
	res := r.result(now)
	res.Timeouts, res.Probes = counts.Timeouts, counts.Probes
	return res, nil
}

// seen takes what enters the link.
func (r *kernelRun) seen(p netns.Packet) {
	all := r.spec.Work.Octets
	if r.spec.Work.Shape != Web {
		all *= uint64(r.spec.objects())
	}
	if !p.FromServer || p.Model.End <= p.Model.Start || p.Model.Start >= all {
		return // no octets; the last is a FIN
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id, _ := r.ledger.sent(p.At, p.Header.DstPort, p.Model.Start, p.Model.End)
	if p.Fate.Outcome == sim.Delivered {
		r.ledger.settle(id, arrived)
	} else {
		r.ledger.settle(id, lost)
	}
}

// shut ends all that runs.
func (r *kernelRun) shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, c := range r.open {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // or what was not acknowledged would keep the namespace
		}
		_ = c.Close()
	}
}

// keep notes what is to be closed in the end, and reports whether there is anything to be done yet.
func (r *kernelRun) keep(c io.Closer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		_ = c.Close()
		return false
	}
	r.open = append(r.open, c)
	return true
}

// fail notes an error, unless all is over.
func (r *kernelRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.errs = append(r.errs, err)
	}
}

func (r *kernelRun) start(f *flow, object int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.start(object, r.pair.Now())
}

func (r *kernelRun) end(f *flow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.end(r.pair.Now())
}

// listen is the sender.
func (r *kernelRun) listen(l net.Listener, all *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if err != nil {
			r.fail(err)
			return
		}
		if !r.keep(c) {
			return
		}
		port := uint16(c.RemoteAddr().(*net.TCPAddr).Port)
		r.mu.Lock()
		r.senders[port] = c
		r.mu.Unlock()
		if r.spec.Work.Shape == Answers || r.spec.Work.Shape == Web {
			all.Go(func() { r.answer(c.(*net.TCPConn)) })
		} else {
			all.Go(func() { r.push(c, r.flows[0], 0) })
		}
	}
}

// write writes an object.
func (r *kernelRun) write(c net.Conn) bool {
	b := make([]byte, min(r.spec.Work.Octets, 1<<20))
	for left := r.spec.Work.Octets; left > 0; {
		n, err := c.Write(b[:min(left, uint64(len(b)))])
		if err != nil {
			return false
		}
		left -= uint64(n)
	}
	return true
}

// answer answers requests.
func (r *kernelRun) answer(c *net.TCPConn) {
	request := make([]byte, r.spec.request())
	for {
		if _, err := io.ReadFull(c, request); err != nil || !r.write(c) {
			return // the receiver will tell, if it should not be
		}
		if r.spec.Work.Shape == Web {
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
			return
		}
	}
}

func (r *kernelRun) push(c net.Conn, f *flow, object int) {
	r.start(f, object)
	r.write(c)
}

// receive is the receiver of the flow.
func (r *kernelRun) receive(ctx context.Context, f *flow) {
	s := r.spec
	buf, request := make([]byte, 64<<10), make([]byte, s.request())
	atOnce := s.Peer.Policy.DelAck.Every == 1
	wait := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	wait(time.Duration(f.begins()))
	var c net.Conn
	for object := range f.objects {
		if object > 0 {
			wait(f.pause(object))
		}
		if c == nil || s.Work.Shape == Web {
			if s.Work.Shape == Web {
				f.conn.Store(int32(object))
				r.start(f, object)
			}
			var err error
			if c, err = r.pair.Dial(ctx, s.port(0, int(f.conn.Load())), servePort); err != nil {
				if ctx.Err() == nil {
					r.fail(err)
				}
				return
			}
			if !r.keep(c) {
				return
			}
		}
		if atOnce {
			_ = netns.SetQuickAck(c, true)
		}
		switch s.Work.Shape {
		case Answers, Web:
			r.start(f, object)
			if _, err := c.Write(request); err != nil {
				return
			}
		case Tail:
			if object > 0 {
				r.mu.Lock()
				sender := r.senders[s.port(0, 0)]
				r.mu.Unlock()
				r.start(f, object)
				go r.write(sender) // it ends with the connection at the latest
			}
		}
		for left := s.Work.Octets; left > 0; {
			n, err := c.Read(buf[:min(left, uint64(len(buf)))])
			if err != nil {
				return // by the limit, or the kernel has given up: what is left is unfinished
			}
			left -= uint64(n)
			if atOnce {
				_ = netns.SetQuickAck(c, true)
			}
		}
		r.end(f)
		if s.Work.Shape == Web {
			_ = c.Close()
		}
	}
}
