package main

import (
	"errors"
	"io"
	"testing"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// TestRepeats reads a made-up capture twice as one: no connection of one reading goes on in the
// other, time does not go back, and nothing is lost.
func TestRepeats(t *testing.T) {
	const packets, times = 400_000, 2
	src := &repeats{file: makeCapture(packets), times: times}
	r, err := capture.NewReader(src, "made up")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conns := 0
	tr := track.New(track.Config{Done: func(c *track.Conn) {
		conns++
		if c.Packets != perConn || c.BadChecksums+c.Strays+int64(c.ClockSteps) > 0 {
			t.Errorf("connection %d has %d packets, want %d: %+v", c.ID, c.Packets, perConn, c)
		}
	}})
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tr.Add(p)
	}
	tr.Close()
	if conns != times*packets/perConn {
		t.Errorf("%d connections, want %d", conns, times*packets/perConn)
	}
	for _, read := range []func(io.Reader) error{follow, decode, walk} {
		src.rewind()
		if err := read(src); err != nil || src.at != len(src.file) || src.turn != times-1 || src.changing == 0 {
			t.Errorf("byte %d of reading %d: %v", src.at, src.turn, err)
		}
	}
}
