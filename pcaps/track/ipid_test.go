package track

import "testing"

// TestBareACKShowsOrder fills, 40 ms later, a gap that a bare packet showed. With an older
// identification or timestamp the data was overtaken; with a newer one it was lost and
// retransmitted, whatever the RTT. It was not yet sent when the bare packet before left.
func TestBareACKShowsOrder(t *testing.T) {
	for name, stamp := range map[string]func(n uint32) option{
		"identification": func(n uint32) option { return withID(70 + n) },
		"timestamp":      func(n uint32) option { return withStamps(700+30*n, 1) },
	} {
		for _, again := range []bool{false, true} {
			l := newLab(t, Config{})
			l.open(0)
			l.send(100, true, 1, 100, 1)
			l.send(150, false, 1, 100, 101, stamp(0))
			l.send(150.1, true, 101, 100, 101)
			l.send(200, false, 101, 0, 201, stamp(1))
			l.send(300, true, 201, 100, 101)
			l.send(350, false, 101, 0, 301, stamp(2))
			l.send(400, true, 301, 100, 101)
			l.send(450, false, 601, 0, 401, stamp(4))
			last := stamp(3)
			if again {
				last = stamp(5)
			}
			l.send(490, false, 101, 500, 401, last)
			l.send(490.1, true, 401, 0, 601)
			f := &l.done(1)[0].Flows[1]
			if again != (len(f.Episodes) == 1) || again == (f.Reordered > 0) || f.Bytes != 600 {
				t.Fatalf("%s, retransmitted %v: %d episodes, %d out of order, %d bytes", name, again, len(f.Episodes), f.Reordered, f.Bytes)
			}
			if again && (f.Episodes[0].D != 140*ms || !f.Episodes[0].Estimated) {
				t.Errorf("%s: D %v, estimated %v, want 140ms true", name, f.Episodes[0].D, f.Episodes[0].Estimated)
			}
		}
	}
}

// TestDirectionsMergedOutOfOrder merges two one-direction captures in the wrong order.
// Consecutive identifications show that nothing is missing. A retransmission is still a loss.
func TestDirectionsMergedOutOfOrder(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	id := uint32(200)
	send := func(at float64, seq int) {
		id++
		l.send(at, true, seq, 100, 1, withID(id))
	}
	for i := range 4 {
		send(100+50*float64(i), 1+100*i)
		l.send(140+50*float64(i), false, 1, 0, 101+100*i)
	}
	l.send(400, false, 1, 0, 601)
	send(500, 401)
	send(1500, 501)
	send(1800, 501)
	l.send(1850, false, 1, 0, 701)
	f := &l.done(1)[0].Flows[0]
	if len(f.Episodes) != 1 || f.Retransmissions != 1 || f.Bytes != 600 {
		t.Fatalf("%d episodes, %d retransmissions, %d bytes, want 1, 1, 600", len(f.Episodes), f.Retransmissions, f.Bytes)
	}
	if e := f.Episodes[0]; e.Bytes != 100 || e.DetectedPacket != l.n-1 {
		t.Errorf("%d bytes in packet %d, want 100 in %d", e.Bytes, e.DetectedPacket, l.n-1)
	}
}
