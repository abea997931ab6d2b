package main

import (
	"errors"
	"strings"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// fineUnit is the unit of round trips from captures.
const fineUnit = 10 * time.Microsecond

// The end of a connection at which a capture was made.
const (
	client = iota
	server
)

// captured returns the round trips of each connection of a capture whose SYN was seen, as the end
// where it was made could measure them: of the first segment of each flight. A flight is what
// leaves before the ACK of its first segment.
func captured(text, name string, end int) (all [][]trip, err error) {
	in, err := capture.NewReader(strings.NewReader(text), name)
	if errors.Is(err, capture.ErrNotCapture) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type flow struct {
		trips []trip
		until wheel.Time // the end of the last round trip
	}
	open := map[*track.Flow]*flow{}
	t := track.New(track.Config{
		Event: func(e *track.Event) {
			if e.Kind != track.RTTSample || e.Seen <= e.At {
				return
			}
			f := open[e.Flow]
			if f == nil {
				f = &flow{until: e.At}
				open[e.Flow] = f
			}
			rtt := int64((e.Seen.Sub(e.At) + fineUnit/2) / fineUnit)
			if e.At < f.until || rtt == 0 {
				return
			}
			f.trips = append(f.trips, trip{int64(e.At.Sub(f.until) / fineUnit), rtt})
			f.until = e.Seen
		},
		Done: func(c *track.Conn) {
			if c.Flows == nil {
				return
			}
			if f := open[&c.Flows[end]]; f != nil && c.Handshake.SYN > 0 {
				all = append(all, f.trips)
			}
			delete(open, &c.Flows[client])
			delete(open, &c.Flows[server])
		},
	})
	err = testbed.Packets(in, t.Add)
	t.Close()
	return all, err
}
