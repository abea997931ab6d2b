package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"tcpwheel/tun/nc"
)

// meter shows on a terminal how much of a connection has passed. On anything else it shows nothing, and does nothing.
type meter struct {
	w      io.Writer
	counts *nc.Counts
	done   chan struct{} // nil without a terminal
	wait   sync.WaitGroup

	mu    sync.Mutex
	shown int // columns
}

func startMeter(w io.Writer, counts *nc.Counts) *meter {
	m := &meter{w: w, counts: counts}
	if isTerminal(w) {
		m.done = make(chan struct{})
		m.wait.Go(m.run)
	}
	return m
}

// run shows the counts twice a second, while they change.
func (m *meter) run() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	var sent, received uint64
	moving, at := false, time.Now()
	for {
		select {
		case <-m.done:
			return
		case now := <-tick.C:
			s, r := m.counts.Sent.Load(), m.counts.Received.Load()
			moved := s != sent || r != received
			if moved || moving {
				m.show(meterLine(s, r, s-sent, r-received, now.Sub(at)))
			}
			sent, received, moving, at = s, r, moved, now
		}
	}
}

// meterLine is what is shown of s octets sent, r received, and as many of each in the last d.
func meterLine(s, r, sent, received uint64, d time.Duration) string {
	rate := func(n uint64) string { return octets(uint64(float64(n) / d.Seconds())) }
	return fmt.Sprintf("sent %s, %s/s; received %s, %s/s", octets(s), rate(sent), octets(r), rate(received))
}

// octets writes n with three figures and a decimal unit.
func octets(n uint64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), 0
	for f >= 999.5 {
		f /= 1000
		unit++
	}
	return fmt.Sprintf("%.3g %cB", f, " kMGTPE"[unit])
}

// show replaces the line.
func (m *meter) show(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintf(m.w, "\r%-*s", m.shown, line)
	m.shown = len(line)
}

// print writes text above the line.
func (m *meter) print(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.erase()
	io.WriteString(m.w, text)
}

func (m *meter) erase() {
	if m.shown > 0 {
		fmt.Fprintf(m.w, "\r%*s\r", m.shown, "")
		m.shown = 0
	}
}

// stop erases the line.
func (m *meter) stop() {
	if m.done != nil {
		close(m.done)
		m.wait.Wait()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.erase()
}
