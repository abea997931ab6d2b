package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/tun/netns"
)

// kernelRun is a run between two kernels, in real time.
type kernelRun struct {
	*run
	ctx  context.Context
	pair *netns.Pair

	mu      sync.Mutex // of all below, and of the run
	senders map[uint16]net.Conn
	open    []io.Closer
	errs    []error
	over    bool
}

// NeedsRoot returns an error if the kernel's TCP cannot run here: the Needs of a live part.
func NeedsRoot() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("the kernel's TCP needs Linux and root, for TUN devices in network namespaces")
	}
	return nil
}

// AtOnce calls run for 0 to n-1, at most so many at once, and returns all errors. Runs of the
// kernel mostly wait.
func AtOnce(most, n int, run func(i int) error) error {
	errs := make([]error, n)
	tasks.Each(context.Background(), n, most, func(_ context.Context, i int) error {
		errs[i] = run(i)
		return nil
	})
	return errors.Join(errs...)
}

// RunKernel runs a Spec in real time, with the TCP of this machine's kernel at both ends. It
// ignores Kind, Timers, Scheme, MTU, SACK, Timestamps, Control and Peer, except that the receiver
// acknowledges at once if Peer does. Kernel and KernelControl are the sender's. The Spec has one
// flow, and is not StopAndWait. Its Fates are those of the other subjects. RunKernel takes as long
// as the work does, up to Limit. It needs Linux, root and TUN devices; an error says what is
// missing.
func RunKernel(ctx context.Context, s *Spec) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	if s.Flows != 1 || s.Work.Shape == StopAndWait {
		return Result{}, fmt.Errorf("subject kernel: %d flows of %s, want one, and not %s", s.Flows, s.Work.Shape,
			StopAndWait)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	r := &kernelRun{run: newRun(s), ctx: ctx, senders: map[uint16]net.Conn{}}
	f := r.flows[0]
	there, back := s.Path.Data, s.Path.Acks
	there.Loss = keyed(s.Path.Fates.losses(f), sim.LinkKey(s.Seed, "edge>"+clientName(0)))
	back.Loss = keyed(s.Path.AckFates.losses(f), sim.LinkKey(s.Seed, clientName(0)+">edge"))
	var err error
	if r.pair, err = netns.NewPair(netns.PairConfig{There: there, Back: back, Seed: s.Seed, Sent: r.seen}); err != nil {
		return Result{}, err
	}
	settings := map[string]string{}
	for name, value := range s.Kernel {
		settings["net/ipv4/"+name] = value
	}
	if err := r.pair.In(true, func() error { return netns.WriteSysctls(settings) }); err != nil {
		return Result{}, errors.Join(fmt.Errorf("subject kernel: %w", err), r.pair.Close())
	}
	l, _, err := r.pair.Listen(ServePort)
	if err != nil {
		return Result{}, errors.Join(err, r.pair.Close())
	}
	r.open = append(r.open, l)
	stop := context.AfterFunc(ctx, r.shut) // cuts the connections off at the limit
	var all sync.WaitGroup
	all.Go(func() { r.listen(l, &all) })
	all.Go(func() {
		r.pause(time.Duration(f.begins()))
		_ = r.receive(f, r) // by the limit, or the kernel gave up: the rest is unfinished
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

// keyedLoss is a loss that draws under a key of its own, and not under that of its link: so the
// kernel's packets meet the losses that the other subjects meet.
type keyedLoss struct {
	sim.Loss
	key uint64
}

// Start implements sim.Loss.
func (l keyedLoss) Start(uint64) sim.Dropper { return l.Loss.Start(l.key) }

// keyed returns losses as those of a simulated link with that key.
func keyed(all sim.Losses, key uint64) sim.Losses {
	for i := range all {
		all[i] = keyedLoss{all[i], sim.Mix64(key + uint64(i))}
	}
	return all
}

// seen notes a packet that enters the link.
func (r *kernelRun) seen(p netns.Packet) {
	all := r.spec.Work.Bytes
	if r.spec.Work.Shape != Web {
		all *= uint64(r.spec.objects())
	}
	if !p.FromServer || p.Model.End <= p.Model.Start || p.Model.Start >= all {
		return // without data; the last is a FIN
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	attempt := r.sent.send(p.At, p.Header.DstPort, p.Model.Start, p.Model.End)
	if p.Fate.Outcome != sim.Delivered {
		r.sent.lose(p.Header.DstPort, p.Model.Start, attempt)
	}
}

// shut closes all connections.
func (r *kernelRun) shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, c := range r.open {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // or unacknowledged data would keep the namespace
		}
		_ = c.Close()
	}
}

// keep notes a connection to close at the end, and reports whether the run goes on.
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

// fail notes an error, unless the run is over.
func (r *kernelRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.errs = append(r.errs, err)
	}
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
		if name := r.spec.KernelControl; name != "" {
			if err := netns.SetControl(c, name); err != nil {
				r.fail(fmt.Errorf("congestion control %s: %w", name, err))
			}
		}
		port := uint16(c.RemoteAddr().(*net.TCPAddr).Port)
		r.mu.Lock()
		r.senders[port] = c
		r.mu.Unlock()
		all.Go(func() {
			if r.spec.Work.Shape == Answers || r.spec.Work.Shape == Web {
				r.spec.answer(c.(*net.TCPConn))
				return
			}
			if r.spec.Work.Shape == Stream {
				r.spec.writeStream(c, r.flows[0], r)
				return
			}
			r.start(r.flows[0], 0)
			_ = r.spec.write(c)
		})
	}
}

// What follows implements surroundings.

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

func (r *kernelRun) pause(d time.Duration) (more bool) {
	select {
	case <-r.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (r *kernelRun) dial(port uint16) (net.Conn, error) {
	c, err := r.pair.Dial(r.ctx, port, ServePort)
	if err != nil {
		if r.ctx.Err() == nil {
			r.fail(err)
		}
		return nil, err
	}
	if !r.keep(c) {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (r *kernelRun) push(f *flow, object int) {
	r.mu.Lock()
	sender := r.senders[r.spec.port(f.index, 0)]
	r.mu.Unlock()
	r.start(f, object)
	go func() { _ = r.spec.write(sender) }() // it ends with the connection
}

// reading makes the kernel acknowledge at once if the peer does.
func (r *kernelRun) reading(c net.Conn) {
	if r.spec.Peer.Policy.DelAck.Every == 1 {
		_ = netns.SetQuickAck(c, true)
	}
}
