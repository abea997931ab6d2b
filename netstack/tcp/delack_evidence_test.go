package tcp

import (
	"math/rand"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

func TestDelAckEvidence(t *testing.T) {
	// Each ACK has its arrival time in ms, the segments covered, when the last of these was sent,
	// and the time since the first was sent. SRTT is 10 ms, so close means within 5 ms.
	type ack struct{ at, segments, sent, rtt int }
	for _, test := range []struct {
		name          string
		acks          []ack
		last          int // when the flight's last segment was sent
		prompt, alone bool
	}{
		{"none", nil, 0, false, false},
		{"one", []ack{{10, 1, 0, 10}}, 0, true, false},
		{"two", []ack{{10, 1, 0, 10}, {11, 1, 0, 11}}, 0, true, false},
		{"three", []ack{{10, 1, 0, 10}, {11, 1, 0, 11}, {12, 1, 0, 12}}, 0, true, true},
		{"three as slow as the path has become", []ack{{15, 1, 0, 15}, {20, 1, 0, 20}, {25, 1, 0, 25}}, 0, true, true},
		{"three, the first of them late", []ack{{50, 1, 0, 50}, {51, 1, 0, 51}, {52, 1, 0, 52}}, 0, false, false},
		{"three, the last of them late", []ack{{10, 1, 0, 10}, {11, 1, 0, 11}, {52, 1, 0, 52}}, 0, false, false},
		{"three on time for segments far from one another", []ack{{10, 1, 0, 10}, {16, 1, 6, 10}, {22, 1, 12, 10}}, 12, true, false},
		{"two by two", []ack{{10, 2, 0, 10}, {10, 2, 0, 10}, {10, 2, 0, 10}}, 0, true, false},
		{"two, and then one by one", []ack{{10, 2, 0, 10}, {10, 1, 0, 10}, {10, 1, 0, 10}, {10, 1, 0, 10}}, 0, true, true},
		{"one by one, and then two", []ack{{10, 1, 0, 10}, {10, 1, 0, 10}, {10, 1, 0, 10}, {10, 2, 0, 10}}, 0, true, false},
		{"before another flight", []ack{{10, 1, 0, 10}, {10, 1, 0, 10}, {10, 1, 0, 10}}, 6, false, false},
		{"behind another flight", []ack{{10, 1, 0, 10}, {10, 1, 0, 10}, {14, 1, 6, 8}}, 6, true, false},
	} {
		var p delAckEvidence
		for _, a := range test.acks {
			p.Acked(wheel.Time(a.at)*wheel.Time(ms), evidenceAck{Segments: a.segments, Sent: wheel.Time(a.sent) * wheel.Time(ms), RTT: time.Duration(a.rtt) * ms, SRTT: 10 * ms})
		}
		last := wheel.Time(test.last) * wheel.Time(ms)
		if prompt, alone := p.Prompt(last, 10*ms), p.PromptAlone(last, 10*ms); prompt != test.prompt || alone != test.alone {
			t.Errorf("%s: prompt %v, alone %v, want %v, %v", test.name, prompt, alone, test.prompt, test.alone)
		}
		p.Reset()
		if p.Prompt(last, 10*ms) {
			t.Errorf("%s: it kept evidence after Reset", test.name)
		}
	}
}

// tailPeer is the acknowledgment strategy of a receiver of responses.
type tailPeer struct {
	name   string
	delack tcptimers.DelAckConfig
	merge  int // most segments merged into one on arrival
}

func fixed(every, quick int, d time.Duration) tcptimers.DelAckConfig {
	return tcptimers.DelAckConfig{Every: every, Quick: quick, Delay: d, Min: d, Max: d}
}

func tailPeers() []tailPeer {
	return []tailPeer{
		{"every 2, 40 ms", fixed(2, 0, 40*ms), 1},
		{"16 quick, then 40 ms", fixed(2, 16, 40*ms), 1},
		{"up to 4 as one, 40 ms", fixed(2, 0, 40*ms), 4},
		{"up to 4 as one, 16 quick", fixed(2, 16, 40*ms), 4},
		{"heartbeat of 40 ms", tcptimers.DelAckConfig{Every: 2, Heartbeat: 40 * ms, Max: 40 * ms}, 1},
		{"every one", fixed(1, 0, 0), 1},
	}
}

// tailPair opens a connection from a sender with the default policy to such a peer.
func tailPair(t *testing.T, rtt time.Duration, peer tailPeer, evidence bool) *pair {
	a := DefaultConfig(tcptimers.MustPolicy(tcptimers.DefaultPolicy))
	a.Policy.AckEvidence = evidence
	a.Socket.NoDelay = true // the last segment is sent with the others
	b := a
	b.Policy.DelAck = peer.delack
	p := newPair(t, rtt/2, a, b)
	p.merge = peer.merge
	p.open()
	return p
}

var tailRTTs = []time.Duration{1 * ms, 10 * ms, 20 * ms, 50 * ms, 100 * ms}

func TestNoSpuriousTailRetransmission(t *testing.T) {
	if testing.Short() {
		t.Skip("counts the same without the race detector, which takes ten times as long")
	}
	// Without loss nothing is retransmitted to peers that delay ACKs by 40 ms in several ways.
	// Responses have every size, full and partial last segments, and follow each other at once or
	// after a pause.
	n := 0
	for _, peer := range tailPeers() {
		for _, rtt := range tailRTTs {
			for size := uint32(1); size <= 12; size++ {
				for _, short := range []uint32{0, 1, 700, 1447} {
					for _, pause := range []time.Duration{0, 15 * ms, 60 * ms, 500 * ms} {
						if n++; n%scaled(3, 1) != 0 {
							continue // by default a third of the cases
						}
						p := tailPair(t, rtt, peer, true)
						for range 6 {
							p.write(0, size*1448-short)
							p.run(rtt + pause)
						}
						p.run(time.Second)
						if n := p.ends[0].conn.Info(p.now).TotalRetrans; n > 0 {
							t.Errorf("%s, %v, %d segments less %d bytes, pause %v: %d spurious", peer.name, rtt, size, short, pause, n)
						}
					}
				}
			}
		}
	}
}

func TestAtMostOneSpuriousTailRetransmission(t *testing.T) {
	if testing.Short() {
		t.Skip("counts the same without the race detector, which takes ten times as long")
	}
	// A peer that acknowledges 16 segments at once and delays the 17th looks like one that delays
	// none, if the 17th ends its flight. It misleads a connection once, when its ACK comes later
	// than the probe.
	for _, rtt := range tailRTTs {
		p := tailPair(t, rtt, tailPeer{"", fixed(2, 16, 40*ms), 1}, true)
		for range 20 {
			for _, size := range []uint32{8, 9} {
				p.write(0, size*1448)
				p.run(rtt + ms)
			}
			p.run(5 * time.Second) // the peer restarts its 16 quick ACKs
		}
		want := uint64(0)
		if rtt < 40*ms {
			want = 1
		}
		if n := p.ends[0].conn.Info(p.now).TotalRetrans; n != want {
			t.Errorf("round trip %v: %d spurious, want %d", rtt, n, want)
		}
	}

	for _, peer := range tailPeers() {
		for _, rtt := range tailRTTs {
			for seed := range int64(scaled(2, 4)) {
				rng := rand.New(rand.NewSource(seed))
				p := tailPair(t, rtt, peer, true)
				for range 200 {
					p.merge = 1 + rng.Intn(peer.merge)
					p.write(0, uint32(1+rng.Intn(12))*1448-uint32(rng.Intn(2)*rng.Intn(1448)))
					p.run([]time.Duration{ms, rtt, rtt + 60*ms, 500 * ms}[rng.Intn(4)])
				}
				p.run(time.Second)
				if n := p.ends[0].conn.Info(p.now).TotalRetrans; n > 1 || n > 0 && peer.delack.Quick == 0 {
					t.Errorf("%s, %v, seed %d: %d spurious", peer.name, rtt, seed, n)
				}
			}
		}
	}
}

func TestNoSpuriousSmallRetransmission(t *testing.T) {
	// Peers that count bytes acknowledge several small segments like one full segment.
	for _, peer := range tailPeers() {
		for _, rtt := range tailRTTs {
			for n := 1; n <= 6; n++ {
				for _, size := range []uint32{1, 100, 361, 482, 500, 700, 724} {
					p := tailPair(t, rtt, peer, true)
					p.write(0, 8*1448) // the peer learns the full size
					p.run(time.Second)
					for range 6 {
						for range n {
							p.write(0, size)
						}
						p.run(rtt + 60*ms)
					}
					if n2 := p.ends[0].conn.Info(p.now).TotalRetrans; n2 > 0 {
						t.Errorf("%s, %v, %d segments of %d bytes: %d spurious", peer.name, rtt, n, size, n2)
					}
				}
			}
		}
	}
}

func TestEvidenceUnderLongAckDelays(t *testing.T) {
	// Peers that delay ACKs for longer than the RTO floor cause spurious tail retransmissions until
	// the RTO has adapted. ACK evidence adds at most one.
	for _, peer := range []tailPeer{
		{"200 ms", fixed(2, 0, 200*ms), 1},
		{"16 quick, then 200 ms", fixed(2, 16, 200*ms), 1},
		{"up to 4 as one, 200 ms", fixed(2, 0, 200*ms), 4},
		{"BSD's heartbeat", tcptimers.MustPolicy("bsd").DelAck, 1},
		{"Linux's", tcptimers.MustPolicy("linux").DelAck, 1},
	} {
		for _, rtt := range tailRTTs {
			for seed := range int64(2) {
				var n [2]uint64
				for i, evidence := range []bool{false, true} {
					rng := rand.New(rand.NewSource(seed))
					p := tailPair(t, rtt, peer, evidence)
					for range 100 {
						p.write(0, uint32(1+rng.Intn(12))*1448-uint32(rng.Intn(2)*rng.Intn(1448)))
						p.run(rtt + 300*ms + time.Duration(rng.Intn(300))*ms)
					}
					n[i] = p.ends[0].conn.Info(p.now).TotalRetrans
				}
				if n[1] > n[0]+1 {
					t.Errorf("%s, %v, seed %d: %d spurious, and without evidence %d", peer.name, rtt, seed, n[1], n[0])
				}
			}
		}
	}
}

func TestEvidenceUnderJitter(t *testing.T) {
	if testing.Short() {
		t.Skip("counts the same without the race detector, which takes ten times as long")
	}
	// If packets take up to two more RTTs, in order, some timeouts are spurious anyway. ACK
	// evidence adds none, except the one after 16 quick ACKs.
	for _, peer := range tailPeers() {
		for _, rtt := range tailRTTs {
			for _, jitter := range []time.Duration{rtt / 8, rtt / 2, 2 * rtt} {
				for seed := range int64(scaled(1, 2)) {
					var n [2]uint64
					for i, evidence := range []bool{false, true} {
						rng := rand.New(rand.NewSource(seed))
						p := tailPair(t, rtt, peer, evidence)
						var last [2]wheel.Time
						p.drop = func(pkt *pairPacket) bool {
							pkt.at = max(pkt.at.Add(time.Duration(rng.Int63n(int64(jitter)))), last[pkt.from])
							last[pkt.from] = pkt.at
							return false
						}
						for range 100 {
							p.write(0, uint32(4+rng.Intn(9))*1448-uint32(rng.Intn(2)*rng.Intn(1448)))
							p.run(rtt + time.Duration(rng.Intn(200))*ms)
						}
						n[i] = p.ends[0].conn.Info(p.now).TotalRetrans
					}
					most := n[0]
					if peer.delack.Quick > 0 {
						most++
					}
					if n[1] > most {
						t.Errorf("%s, %v, jitter %v, seed %d: %d spurious, and without evidence %d", peer.name, rtt, jitter, seed, n[1], n[0])
					}
				}
			}
		}
	}
}

func TestTailIsRetransmittedWithinThreeRTTs(t *testing.T) {
	// The last segment of a response is lost. It is retransmitted within three RTTs if the peer
	// delays no ACKs, from the fourth segment on, or if two segments are outstanding: an even
	// number, to a peer that acknowledges every second one. Otherwise its ACK may be delayed, and
	// the repair takes as long as without evidence: SRTT + 50 ms, and more if the segment is in a
	// second flight.
	const window = 10 // segments in the first flight
	for _, rtt := range tailRTTs {
		for size := 1; size <= window; size++ {
			for _, peer := range tailPeers() {
				var took [2]time.Duration
				for i, evidence := range []bool{false, true} {
					p := tailPair(t, rtt, peer, evidence)
					for range 20 {
						p.write(0, window*1448)
						p.run(rtt + 60*ms)
					}
					last := p.ends[0].conn.Acked() + uint64(size-1)*1448
					first := p.firstResend(func(out *Outgoing) bool { return out.Offset == last })
					p.write(0, uint32(size)*1448)
					p.run(2 * time.Second)
					if took[i] = *first; took[i] == 0 || p.ends[0].conn.snd.fl.sent.Len() > 0 {
						t.Fatalf("%s, %v, last of %d: not retransmitted, or not acknowledged", peer.name, rtt, size)
					}
				}
				shown := size >= minLoneAcks+1 // one by one
				switch {
				case peer.merge > 1:
					// After each pause the peer sends 16 quick ACKs, so the last segment is alone
					// whatever came before.
					shown = peer.delack.Quick == 0 && size%peer.merge == 2
				case peer.delack.Every == 2 && peer.delack.Quick == 0:
					shown = size%2 == 0
				}
				without, with := took[0], took[1]
				switch bound := max(3*rtt, rtt+ptoPrompt+ms); {
				case shown && with > bound:
					t.Errorf("%s, %v, last of %d: retransmitted after %v, want %v at most", peer.name, rtt, size, with, bound)
				case shown && with > without, !shown && with != without:
					t.Errorf("%s, %v, last of %d: retransmitted after %v, and without evidence after %v", peer.name, rtt, size, with, without)
				case !shown && (with < rtt+50*ms || with > rtt+60*ms):
					t.Errorf("%s, %v, last of %d: retransmitted after %v, want SRTT + 50ms", peer.name, rtt, size, with)
				}
			}
		}
	}
}
