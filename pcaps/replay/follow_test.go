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

// TestFollowIsExact lets ends go at each loss of captures of the simulator, under the timers that these were made with: it takes as long as
// it took, to the nanosecond, whatever came before.
func TestFollowIsExact(t *testing.T) {
	n, same := 0, 0
	for _, policy := range tcptimers.PolicyNames() {
		for r, rtt := range identityRTTs {
			for a, app := range apps {
				s := scenario{
					policy: policy, rtt: rtt, loss: sim.Losses{sim.Bernoulli{P: 0.03}}, client: app.client, server: app.server,
					seed: uint64(700 + 10*r + a), stamps: (r+a)%2 == 0,
				}
				name := fmt.Sprintf("%s/%v/%s", policy, rtt.Round(time.Millisecond), app.name)
				_, all, errs := scripts(t, s.capture(t))
				if len(all) != 1 || errs[0] != nil {
					t.Fatalf("%s: %d scripts, errors %v", name, len(all), errs)
				}
				out, err := all[0].Run(Options{Policy: tcptimers.MustPolicy(policy), OwnACKs: true, OwnWindow: true})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, l := range all[0].Loss {
					if !l.Counts() {
						continue
					}
					n++
					if rec := out.Recoveries[i]; rec.Sent && rec.TRec == l.TRec && rec.D == l.D {
						same++
					} else {
						t.Logf("%s: loss %d %v at %v: D %v, T_rec %v, want %v, %v; %d again", name, i, l.Kind, time.Duration(l.At), rec.D, rec.TRec, l.D, l.TRec, rec.Rexmits)
					}
				}
			}
		}
	}
	t.Logf("%d of %d recoveries take as long as they took", same, n)
	if same < n || n < 100 {
		t.Errorf("want all of a hundred or more")
	}
}

// TestFollowedRepairsAreNoRoundTrips: under timers that are slower than the captured ones the first SYN is repaired, in what is followed, before they
// would have done it. The wait for that is no round trip (RFC 6298 §3, Karn's algorithm): a loss after it is detected as without the first.
func TestFollowedRepairsAreNoRoundTrips(t *testing.T) {
	s := scenario{
		policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.PacketNumbers{1, 4}}, client: apps[2].client, server: apps[2].server,
		seed: 9, stamps: true,
	}
	conns, all, errs := scripts(t, s.capture(t))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	r, err := (&Study{Choices: choices(t, "bsd")}).Run("", conns[0], all[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(all[0].Loss) != 2 {
		t.Fatalf("%d losses, want that of the SYN and one later: %+v", len(all[0].Loss), all[0].Loss)
	}
	if rec := r.Outcomes[0][ByRange].Recoveries[1]; !rec.Sent || rec.D > 1600*time.Millisecond {
		t.Errorf("what is lost second is sent again after %v, want 1.6 s at most", rec.D)
	}
}

// TestUnheardHandshake: the ACK that ends the handshake is lost, and the server's application writes as soon as it has the next one. In the
// script it waits for that too, and no longer.
func TestUnheardHandshake(t *testing.T) {
	s := scenario{
		policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.PacketNumbers{2}}, seed: 4, stamps: true,
		client: func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} },
		server: func() host.App { return &host.Bulk{Bytes: 5000, Finish: true} },
	}
	_, all, errs := scripts(t, s.capture(t))
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
	_, all, errs := scripts(t, packets[20:])
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	out, err := all[0].Run(Options{Policy: tcptimers.MustPolicy("linux")})
	if err != nil {
		t.Fatal(err)
	}
	n, near := 0, 0
	for i, l := range all[0].Loss {
		if l.Counts() {
			n++
			if rec := out.Recoveries[i]; rec.Sent && (rec.TRec-l.TRec).Abs() <= l.TRec/10 {
				near++
			}
		}
	}
	if n < 5 || near*10 < n*9 {
		t.Errorf("%d of %d recoveries are near the captured ones, want nine of ten, and five or more", near, n)
	}
}

// TestShare: losses share a run if the next one happens before the first shows, and where each in its own would hear too many packets.
func TestShare(t *testing.T) {
	s := &Script{}
	for i := range 1000 {
		s.wire.heard[i%2] = append(s.wire.heard[i%2], hearing{at: wheel.Time(i)})
	}
	all := func() []letting {
		return []letting{{2, 500, 600}, {0, 100, 200}, {1, 150, 300}, {3, 700, 750}, {4, 800, 850}, {5, 800, 850}}
	}
	sizes := func(runs [][]letting) (n []int) {
		for _, r := range runs {
			n = append(n, len(r))
		}
		return n
	}
	for _, test := range []struct {
		most int
		want []int
	}{{10_000, []int{2, 1, 1, 2}}, {2100, []int{2, 1, 1, 2}}, {2099, []int{3, 3}}, {1000, []int{4, 2}}, {1, []int{6}}} {
		if got := sizes(s.share(all(), test.most)); !slices.Equal(got, test.want) {
			t.Errorf("share(%d) = %v losses, want %v", test.most, got, test.want)
		}
	}
}

// TestHearings: what the script takes to have arrived at an end is all that its application read, though the capture has not all of it.
func TestHearings(t *testing.T) {
	for seed := range uint64(12) {
		s := scenario{
			policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.Bernoulli{P: 0.05}}, client: apps[1].client, server: apps[1].server,
			seed: 30 + seed, stamps: true, far: seed%2 == 1,
		}
		packets := s.capture(t)
		if seed%3 == 2 {
			packets = slices.Delete(packets, 40, 42) // as a slow machine captures
		}
		_, all, errs := scripts(t, packets)
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		for d := range all[0].wire.heard {
			var got prefix
			for _, x := range all[0].wire.heard[d] {
				if x.end > x.start {
					got.add(x.start, x.end)
				}
			}
			ranges := all[0].Ways[1-d].Ranges
			if end := int64(ranges[len(ranges)-1].End); got.end != end {
				t.Errorf("seed %d: end %d hears all up to %d, want %d", seed, d, got.end, end)
			}
		}
	}
}
