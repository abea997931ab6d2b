package replay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// TestControl replays captures of the simulator with their own retransmission times, and with the
// timers that made them. The control takes the captured time whatever the timers were, and the
// timers detect each loss when they did in the capture.
func TestControl(t *testing.T) {
	n, same, detected, recovered := 0, 0, 0, 0
	for _, policy := range tcptimers.PolicyNames() {
		for r, rtt := range identityRTTs {
			for a, app := range apps {
				s := scenario{
					policy: policy, rtt: rtt, loss: sim.Losses{sim.Bernoulli{P: 0.03}}, client: app.client, server: app.server,
					seed: uint64(700 + 10*r + a), stamps: (r+a)%2 == 0,
				}
				name := fmt.Sprintf("%s/%v/%s", policy, rtt.Round(time.Millisecond), app.name)
				conns, all, errs := recorded(t, s.capture(t))
				if len(all) != 1 || errs[0] != nil {
					t.Fatalf("%s: %d connections, errors %v", name, len(all), errs)
				}
				x, err := (&Study{Choices: choices(t, policy)}).Run("", conns[0], all[0])
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, l := range all[0].Losses {
					if !l.Needed() {
						continue
					}
					n++
					o, p := &x.Control[i], &x.Policies[0].Recoveries[ByRange][i]
					if x.Gates[i] == Passed && (o.TRec-l.TRec).Abs() <= 2*time.Microsecond {
						same++
					} else {
						t.Logf("%s: loss %d %v at %v: the control takes %v, want %v: %v", name, i, l.Kind, time.Duration(l.Again), o.TRec, l.TRec, x.Gates[i])
					}
					detected += count(p.D == l.D)
					if recovered += count(p.Repaired && p.TRec == l.TRec); p.TRec != l.TRec {
						t.Logf("%s: loss %d %v at %v: D %v, T_rec %v, want %v, %v", name, i, l.Kind, time.Duration(l.Again), p.D, p.TRec, l.D, l.TRec)
					}
				}
			}
		}
	}
	t.Logf("of %d losses the control repairs %d in the captured time; the timers detect %d as captured, and repair %d", n, same, detected, recovered)
	if n < 100 || same*100 < n*98 || detected*100 < n*98 || recovered*100 < n*99 {
		t.Errorf("want a hundred or more, 98 %% by the control and detected, and 99 %% by the timers")
	}
}

// TestFollowedRepairsAreNoRoundTrips: under timers that are slower than the captured ones the first
// SYN is repaired, in what is followed, before they would have done it. The wait for that is no
// round trip (RFC 6298 §3, Karn's algorithm): a loss after it is detected as without the first.
func TestFollowedRepairsAreNoRoundTrips(t *testing.T) {
	s := scenario{
		policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.PacketNumbers{1, 4}}, client: apps[2].client, server: apps[2].server,
		seed: 9, stamps: true,
	}
	conns, all, errs := recorded(t, s.capture(t))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	r, err := (&Study{Choices: choices(t, "bsd")}).Run("", conns[0], all[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(all[0].Losses) != 2 {
		t.Fatalf("%d losses, want that of the SYN and one later: %+v", len(all[0].Losses), all[0].Losses)
	}
	if rec := r.Policies[0].Recoveries[ByRange][1]; !rec.Repaired || rec.D > 1600*time.Millisecond {
		t.Errorf("the second loss is retransmitted after %v, want 1.6 s at most", rec.D)
	}
}

// TestUnheardHandshake: the ACK that ends the handshake is lost, and the server's application
// writes as soon as it has the next one. In the replay it waits for that too, and no longer.
func TestUnheardHandshake(t *testing.T) {
	s := scenario{
		policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.PacketNumbers{2}}, seed: 4, stamps: true,
		client: func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} },
		server: func() host.App { return &host.Bulk{Bytes: 5000, Finish: true} },
	}
	_, all, errs := recorded(t, s.capture(t))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	if w := all[0].Ends[1].Writes; len(w) == 0 || w[0].After > 100*time.Millisecond {
		t.Errorf("the server writes %+v, want it to begin as soon as the connection is open", w)
	}
}

// TestFollowWithoutHandshake: captures that begin later are followed from there on.
func TestFollowWithoutHandshake(t *testing.T) {
	s := scenario{policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.Bernoulli{P: 0.03}}, client: apps[1].client, server: sink, seed: 12, stamps: true}
	packets := s.capture(t)
	conns, all, errs := recorded(t, packets[20:])
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	x, err := (&Study{Choices: choices(t, "linux")}).Run("", conns[0], all[0])
	if err != nil {
		t.Fatal(err)
	}
	n, near, passed := 0, 0, 0
	for i, l := range all[0].Losses {
		if l.Needed() {
			n++
			passed += count(x.Gates[i] == Passed)
			rec := &x.Policies[0].Recoveries[ByRange][i]
			near += count(rec.Repaired && nearTo(rec.TRec, l.TRec))
		}
	}
	if n < 5 || near*10 < n*9 || passed*10 < n*9 {
		t.Errorf("of %d recoveries %d pass the gate and %d are near the captured ones under the captured timers, want nine of ten", n, passed, near)
	}
}

// TestDeliveries: what the replay takes to have arrived at an end is all that its application read,
// though the capture has not all of it.
func TestDeliveries(t *testing.T) {
	for seed := range uint64(12) {
		s := scenario{
			policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.Bernoulli{P: 0.05}}, client: apps[1].client, server: apps[1].server,
			seed: 30 + seed, stamps: true, far: seed%2 == 1,
		}
		packets := s.capture(t)
		if seed%3 == 2 {
			packets = slices.Delete(packets, 40, 42) // as a slow machine captures
		}
		_, all, errs := recorded(t, packets)
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		for d := range all[0].tapes {
			var got arrived
			facts := all[0].facts
			for i := range all[0].tapes[d].heard {
				if x := all[0].tapes[d].delivery(i, facts); x.end > x.start {
					got.take(x.start, x.end)
				}
			}
			ranges := all[0].Paths[1-d].Ranges
			if end := int64(ranges[len(ranges)-1].End); got.una() != end {
				t.Errorf("seed %d: end %d hears all up to %d, want %d", seed, d, got.una(), end)
			}
		}
	}
}

// TestUnseenOriginals: captured at the receiver, a lost transmission is not in the capture. It left
// after what comes before it in the stream, and losses are measured from then on: so nine of ten
// pass the gate.
func TestUnseenOriginals(t *testing.T) {
	n, passed := 0, 0
	for seed := range uint64(8) {
		for a := range 3 {
			s := scenario{
				policy: "linux", rtt: identityRTTs[1], rate: 20_000_000, loss: sim.Losses{sim.Bernoulli{P: 0.05}}, client: apps[a].client,
				server: apps[a].server, seed: 60 + seed, stamps: seed%2 == 0, far: true,
			}
			conns, all, errs := recorded(t, s.capture(t))
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			x, err := (&Study{}).Run("", conns[0], all[0])
			if err != nil {
				t.Fatal(err)
			}
			for i := range all[0].Losses {
				n += count(all[0].Losses[i].Needed())
				passed += count(x.Gates[i] == Passed)
			}
			before := wheel.Time(0)
			for _, r := range all[0].Paths[0].Ranges {
				if first := &r.Tries[0]; first.Unseen && first.Sent < before {
					t.Errorf("seed %d, app %d: %d:%d left at %v, want no sooner than what is before it, %v", seed, a, r.Start, r.End, first.Sent, before)
				} else if !first.Unseen {
					before = first.Sent
				}
			}
		}
	}
	t.Logf("%d of %d losses pass the gate", passed, n)
	if n < 100 || passed*10 < n*9 {
		t.Errorf("%d of %d losses pass the gate, want nine of ten of a hundred", passed, n)
	}
}
