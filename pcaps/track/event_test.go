package track

import (
	"fmt"
	"slices"
	"testing"

	"tcpwheel/netstack/tcp"
)

// TestEvents expects the events of a loss, its repair, missed bytes and ACKs.
func TestEvents(t *testing.T) {
	var got []string
	l := newLab(t, Config{Event: func(ev *Event) {
		if ev.Flow != &ev.Conn.Flows[0] || ev.Kind == RTTSample {
			return
		}
		text := fmt.Sprintf("%d: %d %d-%d", ev.Packet, ev.Kind, ev.Start, ev.End)
		if ev.Retransmission != nil {
			text += fmt.Sprintf(" %v of %d", ev.Retransmission.Kind, ev.Retransmission.FirstPacket)
		}
		for _, b := range ev.SACK[:ev.NumSACK] {
			text += fmt.Sprintf(" [%d,%d)", b[0], b[1])
		}
		got = append(got, text)
	}})
	l.open(0)
	for i := range 5 {
		if i != 3 {
			l.send(100+float64(i)/10, true, 1+1000*i, 1000, 1)
		}
	}
	l.send(150, false, 1, 0, 1, sacks([2]tcp.Seq{1000, 5000}))
	l.send(151, true, 1, 1000, 1)
	l.send(200, false, 1, 0, 5001)
	l.done(1)
	want := []string{
		"1: 0 0-1", "2: 4 1-1", "4: 0 1-1001", "5: 0 1001-2001", "6: 0 2001-3001", "7: 3 3001-4001", "7: 0 4001-5001",
		"8: 4 1-1 [1001,5001)", "9: 1 1-1001 fast of 4", "10: 4 5001-5001",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOddEvents expects the events of copies, keepalives, window probes, RTTs and RSTs.
func TestOddEvents(t *testing.T) {
	var got []string
	l := newLab(t, Config{Event: func(ev *Event) {
		if ev.Flow != &ev.Conn.Flows[0] || ev.Kind < Copy {
			return
		}
		text := fmt.Sprintf("%d: %d", ev.Packet, ev.Kind)
		if ev.Kind == RTTSample {
			text += " " + ev.Seen.Sub(ev.At).String()
		}
		if ev.Flags.Has(tcp.RST) {
			text += " RST"
		}
		got = append(got, text)
	}})
	l.open(0)
	l.send(100, true, 1, 1000, 1, withID(7))
	l.send(100.01, true, 1, 1000, 1, withID(7))
	l.send(150, false, 1, 0, 1001)
	l.send(9000, true, 1000, 0, 1)
	l.send(9050, false, 1, 0, 1001, withWindow(0))
	l.send(9500, true, 1000, 0, 1)
	l.send(9550, false, 1, 0, 1001, withWindow(0))
	l.send(9900, true, 1001, 1, 1)
	l.send(10000, true, 1002, 0, 1, withFlags(tcp.RST|tcp.ACK))
	l.done(1)
	want := []string{"2: 9 50ms", "5: 5", "6: 9 50ms", "7: 6", "9: 7", "11: 7", "12: 8 RST"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
