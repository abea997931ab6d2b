package tun

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

func newTunClock(t *testing.T) *wheel.Realtime {
	t.Helper()
	clock, err := wheel.Start(wheel.RealtimeConfig{Tick: 20 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clock.Close() })
	return clock
}

// tunTap records one direction.
type tunTap struct {
	mu      sync.Mutex
	sent    []tunSent
	arrived []tunArrived
	wrong   int // packets with a wrong number or size
}

type tunSent struct {
	now  wheel.Time
	pkt  sim.Packet
	seq  uint32
	fate sim.Fate
}

type tunArrived struct {
	now wheel.Time
	n   uint64
	b   []byte
}

func (p *tunTap) Sent(now wheel.Time, k *LinkPacket, pkt *stack.PacketBuffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := tunOctets(pkt)
	p.sent = append(p.sent, tunSent{now, sim.Packet{Size: uint32(len(b)), ECN: ecnOf(pkt)}, tunSeq(b), k.Fate})
	if k.Number != uint64(len(p.sent)) || k.Model.Size != uint32(len(b)) {
		p.wrong++
	}
}

func (p *tunTap) Arrived(now wheel.Time, k *LinkPacket, pkt *stack.PacketBuffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrived = append(p.arrived, tunArrived{now, k.Number, tunOctets(pkt)})
}

func tunSeq(b []byte) uint32 { return header.TCP(b[header.IPv4MinimumSize:]).SequenceNumber() }

// tunWire is one direction with a tap.
func tunWire(t *testing.T, cfg sim.LinkConfig, out func(*stack.PacketBuffer)) (*wire, *tunTap) {
	t.Helper()
	if out == nil {
		out = func(*stack.PacketBuffer) {}
	}
	tap := &tunTap{}
	o := LinkOptions{There: cfg, Seed: 7, Clock: newTunClock(t), Tap: tap}
	w, err := o.wires([2]func(*stack.PacketBuffer){out, out})
	if err != nil {
		t.Fatal(err)
	}
	return w[There], tap
}

func tunSend(t *testing.T, w *wire, seq uint32, n int, ecn sim.ECN) {
	t.Helper()
	b := tunTCP(t, false, 0x10, tunPayload(n))
	ip := header.IPv4(b)
	b[1] = byte(ecn)
	ip.SetChecksum(0)
	ip.SetChecksum(^ip.CalculateChecksum())
	header.TCP(b[20:]).SetSequenceNumber(seq)
	pkt := tunPacket(b, stack.GSO{Type: stack.GSOTCPv4, NeedsCsum: true, CsumOffset: tcpChecksum, MSS: 1448}, maxHeaders)
	w.send(pkt)
	pkt.DecRef()
}

// tunDrain waits until the wire is empty.
func tunDrain(w *wire) {
	for {
		w.mu.Lock()
		empty := len(w.pending) == 0 && !w.busy
		w.mu.Unlock()
		if empty {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// TestWireIsTheModel sends packets through a wire and, at the same times, through sim.Link. Their
// fates agree. Delivered packets arrive in the model's order, none early.
func TestWireIsTheModel(t *testing.T) {
	cfg := sim.LinkConfig{
		Rate: 200e6, Queue: sim.Limit{Packets: 30}, Mark: sim.Limit{Packets: 10},
		Delay: time.Millisecond, Jitter: sim.Jitter{Amount: 500 * time.Microsecond, Overtake: true},
		Loss: sim.Losses{sim.Bernoulli{P: 0.05}}, Reorder: sim.Reorder{Probability: 0.1}, Duplicate: 0.05, Corrupt: 0.05,
	}
	w, tap := tunWire(t, cfg, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		tunSend(t, w, uint32(i), rng.IntN(1400), sim.ECN(rng.IntN(3)))
		if i%10 == 0 {
			// 42 packets at once: more than the queue holds, however slow the machine is.
			tunSend(t, w, uint32(i)<<16, 60000, sim.ECT0)
			time.Sleep(time.Millisecond)
		}
	}
	tunDrain(w)

	model, err := sim.NewLink(cfg, sim.LinkKey(7, "there"))
	if err != nil {
		t.Fatal(err)
	}
	type due struct {
		at   wheel.Time
		n    int
		fate sim.Fate
		seq  uint32
	}
	var want []due
	for i, s := range tap.sent {
		fate := model.Send(s.now, &s.pkt)
		if fate != s.fate {
			t.Fatalf("packet %d: fate %+v, of the model %+v", i, s.fate, fate)
		}
		if fate.Outcome == sim.Delivered {
			want = append(want, due{fate.At, i, fate, s.seq})
			if fate.Duplicated {
				want = append(want, due{fate.At, i, fate, s.seq})
			}
		}
	}
	slices.SortStableFunc(want, func(a, b due) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.n - b.n
	})
	if c := w.counts(); c != model.Counts() || len(tap.arrived) != len(want) {
		t.Fatalf("counts %+v, of the model %+v; %d arrived, want %d", c, model.Counts(), len(tap.arrived), len(want))
	} else {
		t.Logf("%+v", c)
		for what, n := range map[string]uint64{"lost": c.Lost, "dropped": c.QueueDropped, "marked": c.Marked,
			"reordered": c.Reordered, "duplicated": c.Duplicated, "corrupted": c.Corrupted} {
			if n == 0 {
				t.Errorf("no packet was %s", what)
			}
		}
	}
	if tap.wrong != 0 {
		t.Errorf("%d packets have a wrong number or size", tap.wrong)
	}
	late := time.Duration(0)
	for i, a := range tap.arrived {
		if a.n != uint64(want[i].n+1) {
			t.Fatalf("arrival %d is packet %d, want %d", i, a.n, want[i].n+1)
		}
		late = max(late, a.now.Sub(want[i].at))
		if a.now < want[i].at {
			t.Errorf("arrival %d is %v early", i, want[i].at.Sub(a.now))
		}
		if f := want[i].fate; !f.Corrupt {
			tunVerify(t, a.b)
			if tunSeq(a.b) != want[i].seq {
				t.Errorf("arrival %d has SEG.SEQ %d, want %d", i, tunSeq(a.b), want[i].seq)
			}
			if (sim.ECN(a.b[1]&3) == sim.CE) != f.Marked {
				t.Errorf("arrival %d has ECN %v, marked %v", i, sim.ECN(a.b[1]&3), f.Marked)
			}
		}
	}
	t.Logf("at most %v late", late)
}

// TestWireWithoutEffectIsSynchronous: a packet without delay arrives within send.
func TestWireWithoutEffectIsSynchronous(t *testing.T) {
	n := 0
	w, _ := tunWire(t, sim.LinkConfig{}, func(*stack.PacketBuffer) { n++ })
	for i := range 10 {
		if tunSend(t, w, 0, 100, sim.NotECT); n != i+1 {
			t.Fatalf("after sending %d packets, %d have arrived", i+1, n)
		}
	}
}

// TestWireThatAnswersItself: arrivals that send the next packet at once do not nest.
func TestWireThatAnswersItself(t *testing.T) {
	n, depth, deepest := 0, 0, 0
	var w *wire
	w, _ = tunWire(t, sim.LinkConfig{}, func(*stack.PacketBuffer) {
		depth++
		deepest = max(deepest, depth)
		if n++; n < 10*maxPasses {
			tunSend(t, w, 0, 100, sim.NotECT)
		}
		depth--
	})
	tunSend(t, w, 0, 100, sim.NotECT)
	tunDrain(w)
	if n != 10*maxPasses || deepest != 1 {
		t.Errorf("%d packets, %d of them nested, want %d and 1", n, deepest, 10*maxPasses)
	}
}

// TestWireStops drops the packets on the wire, and accepts packets again after open.
func TestWireStops(t *testing.T) {
	w, tap := tunWire(t, sim.LinkConfig{Delay: time.Hour}, nil)
	tunSend(t, w, 0, 5000, sim.NotECT) // a super-segment
	if len(tap.sent) != 4 || len(w.pending) != 4 {
		t.Fatalf("%d packets sent, %d on the wire, want 4", len(tap.sent), len(w.pending))
	}
	w.stop()
	w.wait()
	tunSend(t, w, 0, 5000, sim.NotECT)
	if len(tap.sent) != 4 || len(w.pending) != 0 {
		t.Errorf("after stop: %d packets sent, %d on the wire, want 4 and 0", len(tap.sent), len(w.pending))
	}
	w.open()
	tunSend(t, w, 0, 0, sim.NotECT)
	if len(w.pending) != 1 {
		t.Errorf("after open: %d packets on the wire, want 1", len(w.pending))
	}
	w.stop()
}

func TestLinkOptionsThatAreRefused(t *testing.T) {
	clock := newTunClock(t)
	for what, o := range map[string]LinkOptions{
		"without a clock": {},
		"path MTU 67":     {Clock: clock, PathMTU: 67},
		"Delay":           {Clock: clock, Back: sim.LinkConfig{Delay: -1}},
	} {
		_, err := o.wires([2]func(*stack.PacketBuffer){})
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(what)) {
			t.Errorf("error %v, want one with %q", err, what)
		} else {
			t.Log(err)
		}
	}
}
