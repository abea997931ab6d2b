package track

import (
	"time"

	"tcpwheel/wheel"
)

// window is the receiver's window as its sender knows it.
type window struct {
	bytes int64
	known bool
	moved bool // by the last ACK
	since wheel.Time
	edge  int64 // the highest position that the receiver has allowed
}

func (w *window) closed() bool { return w.known && w.bytes == 0 }

// setWindow reads the window of an ACK.
func (f hearing) setWindow(a *ack) {
	w := &f.window
	f.limitACK(a.at)
	if a.pos < f.una {
		return
	}
	was := w.closed()
	w.moved = w.known && w.bytes != a.window
	w.bytes, w.known = a.window, true
	w.edge = max(w.edge, a.pos+a.window)
	if w.closed() {
		f.ZeroWindows++
		if !was {
			w.since = a.at
		}
	} else if was {
		f.ZeroWindowTime += span(w.since, a.at)
	}
}

// endZeroWindow counts a zero window that is still closed at the end of the capture.
func (w *Windows) endZeroWindow(at wheel.Time) {
	if w.window.closed() {
		w.ZeroWindowTime += max(span(w.window.since, at), time.Duration(0))
	}
}
