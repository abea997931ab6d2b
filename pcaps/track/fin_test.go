package track

import (
	"testing"

	"tcpwheel/netstack/tcp"
)

// TestFINAgain tells an ACK that carries the FIN a second time from a FIN that is retransmitted.
func TestFINAgain(t *testing.T) {
	const fin = tcp.FIN | tcp.ACK
	for _, test := range []struct {
		name   string
		packet func(l *lab)
		rexmit bool
	}{
		{"behind data that crossed it", func(l *lab) {
			l.send(100.1, true, 1, 0, 101, withFlags(fin))
		}, false},
		{"as it was", func(l *lab) {
			l.send(101, true, 1, 0, 1, withFlags(fin))
		}, true},
		{"behind data, much later", func(l *lab) {
			l.send(300, true, 1, 0, 101, withFlags(fin))
		}, true},
		{"answers the other FIN", func(l *lab) {
			l.send(130, false, 101, 0, 1, withFlags(fin))
			l.send(130.1, true, 1, 0, 102, withFlags(fin))
		}, false},
		{"an ACK has answered the other FIN", func(l *lab) {
			l.send(130, false, 101, 0, 1, withFlags(fin))
			l.send(130.1, true, 2, 0, 102)
			l.send(130.2, true, 1, 0, 102, withFlags(fin))
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, Config{})
			l.open(0)
			l.send(99, false, 1, 100, 1)
			l.send(100, true, 1, 0, 1, withFlags(fin))
			test.packet(l)
			if f := &l.done(1)[0].Flows[0]; (f.Retransmissions > 0) != test.rexmit {
				t.Errorf("%d retransmissions, want some: %v", f.Retransmissions, test.rexmit)
			}
		})
	}
}
