//go:build linux

package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// patience is how long connections may be silent beyond their turns. It exceeds the retransmissions
// of a lost FIN.
const patience = 90 * time.Second

// conversation is the connections of a running scenario, all from a to b.
type conversation struct {
	w        *world
	at       string // b's address and port
	listener *net.TCPListener
	drain    net.PacketConn // receives the floods to b
	deadline time.Time      // of all reads and writes

	mu    sync.Mutex
	conns []net.Conn // of both ends
}

// happen runs the connections through their turns.
func (w *world) happen(ctx context.Context) error {
	addr := w.addrs()[3].Addr()
	h := &conversation{w: w, at: netip.AddrPortFrom(addr, w.port).String()}
	if err := w.side(1).Do(func() (err error) {
		h.listener, h.drain, err = listen(&w.s, addr, w.port)
		return err
	}); err != nil {
		return err
	}
	var dropping sync.WaitGroup
	defer dropping.Wait()
	defer h.listener.Close()
	defer h.drain.Close()
	dropping.Go(h.drop)
	h.deadline = time.Now().Add(w.s.length() + patience)
	if w.s.Limit > 0 {
		h.deadline = time.Now().Add(time.Duration(w.s.Limit))
	}
	if err := h.listener.SetDeadline(h.deadline); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, h.stop)()

	n := max(w.s.Connections, 1)
	errs := make([]error, 2*n)
	var talking sync.WaitGroup
	for i := range n {
		talking.Go(func() { errs[2*i] = h.accept() })
		talking.Go(func() { errs[2*i+1] = h.dial() })
	}
	talking.Wait()
	time.Sleep(w.s.delay()) // for the last ACKs
	if err := errors.Join(errs...); ctx.Err() != nil || w.s.Limit == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// accept accepts a connection at b and takes b's turns on it.
func (h *conversation) accept() error {
	c, err := h.listener.AcceptTCP()
	if err != nil {
		return err
	}
	if err := h.use(c); err != nil {
		return err
	}
	return (&talker{s: &h.w.s, side: "b"}).talk(c)
}

// dial makes a connection from a and takes a's turns on it.
func (h *conversation) dial() error {
	t := &talker{s: &h.w.s, side: "a"}
	var c net.Conn
	err := h.w.side(0).Do(func() (err error) {
		d := net.Dialer{Deadline: h.deadline, Control: h.w.s.prepare, KeepAlive: -1}
		if t.flood, err = d.Dial("udp", h.at); err != nil {
			return err
		}
		c, err = d.Dial("tcp", h.at)
		return err
	})
	if t.flood != nil {
		defer t.flood.Close()
	}
	if err != nil {
		return err
	}
	if err := h.use(c); err != nil {
		return err
	}
	return t.talk(c.(*net.TCPConn))
}

// use gives a connection its deadline, which stop may bring forward.
func (h *conversation) use(c net.Conn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = append(h.conns, c)
	return c.SetDeadline(h.deadline)
}

// stop makes all reads and writes fail at once.
func (h *conversation) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	past := time.Unix(1, 0)
	for _, c := range h.conns {
		_ = c.SetDeadline(past)
	}
	_ = h.listener.SetDeadline(past)
}

// drop reads the floods to b until its socket is closed.
func (h *conversation) drop() {
	buf := make([]byte, 2048)
	for {
		if _, _, err := h.drain.ReadFrom(buf); err != nil {
			return
		}
	}
}

// length returns how long the turns wait at least.
func (s *Scenario) length() (d time.Duration) {
	for _, t := range s.Turns {
		d += time.Duration(max(t.Times, 1)) * (time.Duration(t.Pause) + time.Duration(t.Stall))
	}
	return d * time.Duration(max(s.Rounds, 1))
}

// delay returns a little more than a round trip.
func (s *Scenario) delay() time.Duration {
	d := s.Near.AToB.Delay + s.Near.BToA.Delay
	if s.Far != nil {
		d += s.Far.AToB.Delay + s.Far.BToA.Delay
	}
	return d + 50*time.Millisecond
}
