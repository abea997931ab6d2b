package track

import "testing"

// TestACKsLongBeforeWhatTheyAcknowledge: the directions were captured apart, and put together in a wrong order. The identifications go on as if
// nothing had been sent that is not there. What is sent again all the same is a loss.
func TestACKsLongBeforeWhatTheyAcknowledge(t *testing.T) {
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
	if len(f.Episodes) != 1 || f.Rexmits != 1 || f.Octets != 600 {
		t.Fatalf("%d episodes, %d retransmissions, %d octets, want 1, 1, 600", len(f.Episodes), f.Rexmits, f.Octets)
	}
	if e := f.Episodes[0]; e.Octets != 100 || e.DetectedPacket != l.n-1 {
		t.Errorf("%d octets in packet %d, want 100 in %d", e.Octets, e.DetectedPacket, l.n-1)
	}
}
