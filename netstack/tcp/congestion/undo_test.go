package congestion

import "testing"

func TestFRTO(t *testing.T) {
	type ack struct {
		ack          uint32
		fresh, above bool
		verdict      Detection
		next         FRTOAction
	}
	// Ten segments of 100 bytes from 1000 are outstanding. The timeout retransmitted the first.
	for _, test := range []struct {
		name string
		sack bool
		acks []ack
	}{
		// RFC 5682 §3.1: "transmit up to two new (previously unsent) segments and proceed to step
		// 3", and "The retransmission timeout can be declared spurious, because the segment
		// acknowledged with this ACK was transmitted before the timeout."
		{"spurious", true, []ack{{1100, false, false, Undecided, SendNew}, {1200, true, false, Spurious, SendNew}}},
		{"spurious by SACK", true, []ack{{1100, false, false, Undecided, SendNew}, {1100, true, false, Spurious, SendNew}}},
		// RFC 5682 §3.1: "Stay in step 2 and wait for the next new acknowledgment."
		{"duplicate first", true, []ack{{1000, true, false, Undecided, Wait}, {1100, false, false, Undecided, SendNew},
			{1200, true, false, Spurious, SendNew}}},
		// RFC 5682 §3.1 (2a), (3a).
		{"all at once", true, []ack{{2000, true, false, Undecided, Conventional}, {2100, true, false, Undecided, Conventional}}},
		{"new data SACKed", true, []ack{{1100, false, false, Undecided, SendNew}, {1100, true, true, Genuine, Conventional}}},
		{"new data acknowledged", true, []ack{{1100, false, false, Undecided, SendNew}, {2100, true, false, Genuine, Conventional}}},
		{"duplicate without news", true, []ack{{1100, false, false, Undecided, SendNew}, {1100, false, false, Genuine, Conventional}}},
		// RFC 5682 §2.1: the basic version, without SACK.
		{"basic spurious", false, []ack{{1100, false, false, Undecided, SendNew}, {1200, true, false, Spurious, SendNew}}},
		{"basic duplicate first", false, []ack{{1000, false, false, Genuine, Conventional}}},
		{"basic part", false, []ack{{1050, false, false, Undecided, Conventional}}},
		{"basic duplicate", false, []ack{{1100, false, false, Undecided, SendNew}, {1100, true, false, Genuine, Conventional}}},
	} {
		var f FRTO
		if !f.OnTimeout(1000, 1100, 2000, test.sack) || !f.Active() {
			t.Fatalf("%s: not examined", test.name)
		}
		una := uint32(1000)
		for i, a := range test.acks {
			verdict, next := f.OnAck(una, a.ack, 2000, a.fresh, a.above)
			if verdict != a.verdict || next != a.next {
				t.Errorf("%s: ACK %d: %d, %d, want %d, %d", test.name, i+1, verdict, next, a.verdict, a.next)
			}
			una = a.ack
		}
		if f.Active() && test.acks[len(test.acks)-1].verdict != Undecided {
			t.Errorf("%s: still active", test.name)
		}
	}
}

func TestFRTOAgain(t *testing.T) {
	// RFC 5682 §3.1: "If "RecoveryPoint" is larger than or equal to SND.UNA, do not enter step 2 of
	// this algorithm."
	var f FRTO
	f.OnTimeout(1000, 1100, 2000, true)
	if f.OnTimeout(1000, 1100, 2000, true) || f.Active() {
		t.Error("a second timeout of one recovery is examined")
	}
	if !f.OnTimeout(2001, 2100, 3000, true) {
		t.Error("a timeout after the recovery is not examined")
	}
	// RFC 5682 §3.1: "the recommended action is to refrain from entering step 3 of this algorithm."
	f.OnAck(2001, 2100, 3000, false, false)
	f.NoNewData()
	if f.Active() {
		t.Error("active without new data")
	}
	f.Reset()
	if !f.OnTimeout(1, 2, 3, true) {
		t.Error("not examined after Reset")
	}
	// Sequence numbers wrap at 2^32.
	f.Reset()
	f.OnTimeout(^uint32(99), 0, 500, true)
	f.OnAck(^uint32(99), 0, 500, false, false)
	if v, _ := f.OnAck(0, 100, 500, true, false); v != Spurious {
		t.Errorf("verdict %d around 2^32", v)
	}
}

func TestEifel(t *testing.T) {
	// RFC 3522 §3.2: spurious if the TSecr of the first acceptable ACK is smaller than the
	// retransmission's timestamp.
	for _, test := range []struct {
		tsval, tsecr uint32
		want         Detection
	}{{100, 99, Spurious}, {100, 100, Genuine}, {100, 101, Genuine}, {5, ^uint32(0), Spurious}, {^uint32(0), 5, Genuine}} {
		var e Eifel
		if e.OnAck(test.tsecr) != Undecided {
			t.Error("a verdict without a retransmission")
		}
		e.OnRetransmit(test.tsval)
		e.OnRetransmit(test.tsval + 50) // RFC 3522 §3.2: the first one counts
		if got := e.OnAck(test.tsecr); got != test.want {
			t.Errorf("TSval %d, TSecr %d: %d, want %d", test.tsval, test.tsecr, got, test.want)
		}
		if e.OnAck(test.tsecr) != Undecided {
			t.Error("a verdict on the second ACK")
		}
		e.OnRetransmit(test.tsval + 50)
		if e.OnAck(test.tsval) != Undecided {
			t.Error("an ACK of the first retransmission is judged by a later one, after the verdict")
		}
		e.Reset()
		e.OnRetransmit(7)
		e.Reset()
		if e.OnAck(1) != Undecided {
			t.Error("a verdict after Reset")
		}
	}
}

// TestEifelContinue starts a recovery while retransmissions of the previous one are in flight.
// Their ACKs do not prove that the new ones were spurious.
func TestEifelContinue(t *testing.T) {
	var e Eifel
	e.OnRetransmit(100)
	e.Continue()
	e.OnRetransmit(150)
	if got := e.OnAck(100); got != Genuine {
		t.Errorf("the ACK of the retransmission before: %d, want %d", got, Genuine)
	}
	e.Continue()
	e.OnRetransmit(200)
	if got := e.OnAck(150); got != Undecided {
		t.Errorf("the ACK of a retransmission before, after a verdict: %d, want %d", got, Undecided)
	}
	e.Reset()
	e.Continue() // earlier retransmissions were not recorded
	e.OnRetransmit(300)
	if got := e.OnAck(250); got != Undecided {
		t.Errorf("the ACK of a retransmission that was not noted: %d, want %d", got, Undecided)
	}
}

func TestDSACK(t *testing.T) {
	// RFC 3708: all retransmissions of a window must be reported as duplicates, each once.
	var d DSACK
	if d.OnDuplicate(1) != Undecided {
		t.Error("a duplicate that was not retransmitted")
	}
	d.OnRetransmit(false)
	d.OnRetransmit(false)
	if d.OnDuplicate(1) != Undecided || d.OnDuplicate(0) != Undecided || d.OnDuplicate(1) != Spurious {
		t.Error("two retransmissions, two duplicates: not spurious")
	}
	if d.OnDuplicate(1) != Undecided {
		t.Error("a verdict twice")
	}
	d.OnRetransmit(false)
	if d.OnDuplicate(2) != Genuine {
		t.Error("more duplicates than retransmissions prove nothing")
	}
	d.Reset()
	d.OnRetransmit(false)
	d.OnRetransmit(true)
	if d.OnDuplicate(2) != Genuine {
		t.Error("a segment was retransmitted twice")
	}
}
