package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"tcpwheel/internal/quantity"
)

// statusEvery is the update interval of a status line.
const statusEvery = 500 * time.Millisecond

// statusLine is a line at the bottom of a terminal, below other messages. If w is no terminal it
// shows nothing and does not wake up.
type statusLine struct {
	w    io.Writer
	done chan struct{}
	wait sync.WaitGroup

	mu    sync.Mutex
	shown int // columns
}

// start shows the result of line twice a second. d is the time since the previous call.
func (s *statusLine) start(line func(d time.Duration) string) {
	if !isTerminal(s.w) {
		return
	}
	s.begin(statusEvery, line)
}

func (s *statusLine) begin(every time.Duration, line func(d time.Duration) string) {
	s.done = make(chan struct{})
	s.wait.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-s.done:
				return
			case now := <-tick.C:
				s.show(line(now.Sub(last)))
				last = now
			}
		}
	})
}

// statusColumns is the maximal width: one less than a narrow terminal.
const statusColumns = 79

func (s *statusLine) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := []rune(quantity.Printable(line))
	text = text[:min(len(text), statusColumns)]
	fmt.Fprintf(s.w, "\r%-*s", s.shown, string(text))
	s.shown = len(text)
}

// print writes a message above the status line.
func (s *statusLine) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(s.w, text)
}

func (s *statusLine) erase() {
	if s.shown > 0 {
		fmt.Fprintf(s.w, "\r%*s\r", s.shown, "")
		s.shown = 0
	}
}

// stop erases the line. start need not have been called.
func (s *statusLine) stop() {
	if s.done != nil {
		close(s.done)
		s.wait.Wait()
		s.done = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

// perSecond formats the rate of n bytes in d with three digits and a decimal unit.
func perSecond(n uint64, d time.Duration) string {
	f, units := float64(n)/max(d.Seconds(), 1e-9), []string{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"}
	for f >= 999.5 && len(units) > 1 {
		f /= 1000
		units = units[1:]
	}
	if f < 9.95 {
		return fmt.Sprintf("%.2g %s", f, units[0])
	}
	return fmt.Sprintf("%.0f %s", f, units[0])
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
