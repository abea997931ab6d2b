package replay

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// TestCapturedWindows replays bulk flows of CUBIC, whose peers acknowledge in a way of their own,
// under another congestion control: with the windows and ACKs of the captures the losses are
// repaired as in them.
func TestCapturedWindows(t *testing.T) {
	n, off := 0, 0
	for seed := range uint64(6) {
		s := scenario{
			policy: "linux", control: "cubic", rtt: identityRTTs[1], rate: 20_000_000, loss: sim.Losses{sim.Bernoulli{P: 0.01}},
			acks:   tcptimers.DelAckConfig{Every: 2, Quick: 3, Delay: 25 * time.Millisecond, Min: 25 * time.Millisecond, Max: 25 * time.Millisecond},
			client: func() host.App { return &host.Bulk{Bytes: 2_000_000, Finish: true} }, server: sink, seed: 40 + seed, stamps: true,
		}
		conns, all, errs := recorded(t, s.capture(t))
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		x, err := (&Study{Choices: choices(t, "linux")}).Run("", conns[0], all[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range all[0].Losses {
			if !l.Needed() {
				continue
			}
			n++
			if rec := &x.Policies[0].Recoveries[ByRange][i]; !rec.Repaired || !nearTo(rec.TRec, l.TRec) {
				off++
				t.Logf("seed %d, loss %d, %v at %v: D %v, T_rec %v, want %v, %v", seed, i, l.Kind, time.Duration(l.Again), rec.D, rec.TRec, l.D, l.TRec)
			}
		}
	}
	if n < 40 || off > n/50 {
		t.Errorf("of %d losses %d are off by more than 10 %%, want 40 losses and at most one in fifty", n, off)
	}
}

// TestPermits: what a window was is told where more waited, and the least of it where not.
func TestPermits(t *testing.T) {
	s := scenario{policy: "linux", rtt: identityRTTs[1], client: apps[0].client, server: apps[0].server, seed: 1, stamps: true}
	_, all, errs := recorded(t, s.capture(t))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	permits := all[0].Ends[0].SendLimits
	if len(permits) < 20 {
		t.Fatalf("%d permits", len(permits))
	}
	if p := permits[0]; p.Delivered != 0 || p.Bytes != 10*1448 || p.AtLeast {
		t.Errorf("the first window is %+v, want that of ten segments", p)
	}
	if p := permits[len(permits)-1]; !p.AtLeast || p.Delivered < 300_000 {
		t.Errorf("the last one is %+v, want the least, as nothing was left", p)
	}
	for i, p := range permits {
		if i > 0 && p.Delivered <= permits[i-1].Delivered {
			t.Errorf("permit %d at %d bytes is not behind the one before it", i, p.Delivered)
		}
	}
	for i, a := range all[0].Ends[1].ACKs {
		if i > 0 && a.Bytes <= all[0].Ends[1].ACKs[i-1].Bytes {
			t.Errorf("answer %d at %d bytes is not behind the one before it", i, a.Bytes)
		}
	}
}

// TestTicks finds the ticks of a host by when its timers expired: of 4 ms, of 32 ms if some of them
// were long, and none if too few agree.
func TestTicks(t *testing.T) {
	p, err := tcptimers.NewPolicy("linux-jiffies")
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	at := func(ns time.Duration, quiet time.Duration) Timed { return Timed{wheel.Time(ns), quiet} }
	short := []Timed{at(1601*1000+100*4*ms, 20*ms), at(1630*1000+17*4*ms, 90*ms), at(1604*1000+9*4*ms, 200*ms)}
	long := []Timed{at(9650*1000+32*32*ms, 300*ms), at(9610*1000+5*32*ms, 320*ms)}
	for _, test := range []struct {
		name string
		all  []Timed
		want time.Duration // -1: none
	}{
		{"none", nil, -1},
		{"one", short[:1], -1},
		{"short", short, 1601*1000 - hostLag},
		{"long too", append(short[:3:3], long...), 9601*1000 - hostLag},
		{"one long", append(short[:3:3], long[0]), 9601*1000 - hostLag},
		{"one long, after clocks have drifted", append(short[:3:3], at(9650*1000+32*32*ms+600*time.Microsecond, 300*ms)), 9601*1000 - hostLag},
		{"one long, which clocks have overtaken", append(short[:3:3], at(9650*1000+32*32*ms-600*time.Microsecond, 300*ms)), 9601*1000 - hostLag},
		{"some long ones a tick late", append(short[:3:3], long[0], at(9700*1000+4*ms+6*32*ms, 300*ms), at(9680*1000+4*ms+3*32*ms, 400*ms)), 9601*1000 - hostLag},
		{"one long off the ticks", append(short[:3:3], at(11*ms, 300*ms)), 1601*1000 - hostLag},
		{"nothing in common", []Timed{at(0, ms), at(ms, ms), at(2*ms, ms), at(3*ms, ms)}, -1},
	} {
		origin, ok := ticks(&p, test.all)
		if ok != (test.want >= 0) || ok && origin != wheel.Time(test.want) {
			t.Errorf("%s: %v, %v, want %v", test.name, time.Duration(origin), ok, test.want)
		}
	}
}

// TestTicksOf has an address without long timers use those of another one whose ticks are the
// same, and not by those of one with others.
func TestTicksOf(t *testing.T) {
	const ms = time.Millisecond
	at := func(ns, quiet time.Duration) Timed { return Timed{wheel.Time(ns), quiet} }
	own, same, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1"), netip.MustParseAddr("10.0.0.2")
	known := map[netip.Addr][]Timed{
		own:   {at(1610*1000, 20*ms), at(1640*1000+40*ms, 30*ms)},
		same:  {at(1590*1000+8*ms, 20*ms), at(1620*1000+32*ms, 300*ms)},
		other: {at(3000*1000, 20*ms), at(3000*1000+400*ms, 300*ms)},
	}
	want := append(slices.Clone(known[own]), known[same][1])
	for i := range want {
		want[i].At = want[i].At.Add(-ms)
	}
	if got := timedOf(own, wheel.Time(ms), known); !slices.Equal(got, want) {
		t.Errorf("timers %v, want %v", got, want)
	}
}
