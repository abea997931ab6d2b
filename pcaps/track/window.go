package track

import (
	"time"

	"tcpwheel/wheel"
)

// window is what the receiver lets its sender send.
type window struct {
	octets int64
	known  bool
	moved  bool // by the last ACK
	since  wheel.Time
}

func (w *window) closed() bool { return w.known && w.octets == 0 }

// setWindow takes the window of an ACK.
func (f *Flow) setWindow(a *ack) {
	w := &f.window
	if a.pos < f.una {
		return
	}
	was := w.closed()
	w.moved = w.known && w.octets != a.window
	w.octets, w.known = a.window, true
	if w.closed() {
		f.ZeroWindows++
		if !was {
			w.since = a.at
		}
	} else if was {
		f.ZeroWindowTime += span(w.since, a.at)
	}
}

// openAt ends a stall that the capture does not see the end of.
func (f *Flow) openAt(at wheel.Time) {
	if f.window.closed() {
		f.ZeroWindowTime += max(span(f.window.since, at), time.Duration(0))
	}
}
