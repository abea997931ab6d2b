package replay

import (
	"errors"
	"math"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

func choices(t testing.TB, texts ...string) (all []Choice) {
	t.Helper()
	for _, text := range texts {
		c, err := ParseChoice(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// study replays captures of Linux's timers over a lossy link.
func study(t testing.TB, st *Study, stamps bool) (results []*Result) {
	t.Helper()
	for n, app := range []int{1, 2, 3, 1, 2, 3} {
		s := scenario{
			policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.Bernoulli{P: 0.06}}, client: apps[app].client, server: apps[app].server,
			seed: uint64(n + 100), stamps: stamps,
		}
		conns, all, errs := recorded(t, s.capture(t))
		for i := range all {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			r, err := st.Run("", conns[i], all[i])
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
	}
	return results
}

// TestValidationTellsTimersApart is V2 and V3 in the simulator: a capture of Linux's timers is told
// from one of timers that differ only in what the floor of 200 ms is on, and from those of 4.4BSD.
func TestValidationTellsTimersApart(t *testing.T) {
	st := &Study{Choices: choices(t, "linux", "gvisor", "bsd")}
	results := study(t, st, true)
	for i, want := range []bool{true, false, false} {
		v, err := st.Validate(results, i)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", v)
		if v.Passes() != want || v.Timeouts < 5 {
			t.Errorf("%s: passes %v, want %v, with %d timeouts", v.Policy, v.Passes(), want, v.Timeouts)
		}
	}
	// V4: what each second connection needs is learnt from the others.
	for _, x := range HoldOut(results) {
		if err := st.RunAgain(x); err != nil {
			t.Fatal(err)
		}
		if v, err := st.Validate([]*Result{x}, 0); err != nil || v.Recoveries > 0 && v.Median > mostMedian {
			t.Errorf("held out: %+v, %v", v, err)
		}
	}
}

// TestSummaries: Linux's timers save nothing of what they made, and a floor of 1 s costs more than
// the replay is wrong by.
func TestSummaries(t *testing.T) {
	st := &Study{Choices: choices(t, "linux", "rfc6298", "per-segment@500ms")}
	results := study(t, st, true)
	c, o := SummarizeCaptured(results), SummarizeControl(results)
	if c.N == 0 || c.Median <= 0 || c.P95 < c.Median || c.P99 < c.P95 || c.Waiting <= 0 || o.N < c.N*95/100 {
		t.Fatalf("captured: %+v, control: %+v", c, o)
	}
	sums := st.Summarize(results)
	same, slow := sums[0], sums[1]
	if off := math.Abs(same.Saved[ByRange].Seconds()) / same.Of[ByRange].Seconds(); off > 0.01 || same.Effect == Saves || same.Effect == Costs {
		t.Errorf("Linux's timers save %.1f %% against themselves: %v", 100*off, same.Effect)
	}
	if slow.Effect != Costs || slow.High >= 0 || slow.P95 <= c.P95 {
		t.Errorf("a floor of 1 s saves %v (%v to %v): %v %s, with a p95 of %v where %v was captured", slow.Saved[ByRange], slow.Low, slow.High,
			slow.Effect, slow.Why, slow.P95, c.P95)
	}
}

// TestVerdicts: a verdict needs enough losses, an interval that is on one side of 0 by more than
// the control's error, and keys that agree; or an interval, keys and an error within what matters.
// Others say what they lack.
func TestVerdicts(t *testing.T) {
	const sec = time.Second
	of := [Keys]time.Duration{100 * sec, 100 * sec, 100 * sec}
	for _, test := range []struct {
		name string
		s    Summary
		want Effect
		why  string
	}{
		{"saves", Summary{Saved: [Keys]time.Duration{9 * sec, 8 * sec, 7 * sec}, Low: 6 * sec, High: 12 * sec, HasInterval: true}, Saves, ""},
		{"costs", Summary{Saved: [Keys]time.Duration{-9 * sec, -8 * sec, -7 * sec}, Low: -15 * sec, High: -6 * sec, HasInterval: true}, Costs, ""},
		{"small", Summary{Saved: [Keys]time.Duration{-9 * sec, -8 * sec, -7 * sec}, Low: -15 * sec, High: -2 * sec, HasInterval: true}, CannotTell, "its interval, -15.0 s to -2.00 s, is not beyond 3.00 s, by which the replay may be wrong"},
		{"no difference", Summary{Saved: [Keys]time.Duration{2 * sec, -sec, 3 * sec}, Low: -3 * sec, High: 3 * sec, HasInterval: true, ControlError: 3 * sec, rtt: sec}, NoDifference, ""},
		{"ticks", Summary{Saved: [Keys]time.Duration{2 * sec, -sec, 3 * sec}, Low: -3 * sec, High: 3 * sec, HasInterval: true, tick: 6 * sec}, CannotTell, "its timers wait for ticks of 6.00 s: one that expires where none did here changes more than 5.00 s"},
		{"nearly too much", Summary{Saved: [Keys]time.Duration{2 * sec, -sec, 3 * sec}, Low: -4500 * time.Millisecond, High: 3 * sec, HasInterval: true, rtt: sec}, CannotTell, "its interval, -4.50 s to 3.00 s, includes 0: the capture does not show whether retransmissions at other times would arrive"},
		{"no difference of 1 ms a loss", Summary{Saved: [Keys]time.Duration{7 * sec, 7 * sec, 7 * sec}, Low: 6 * sec, High: 7 * sec, HasInterval: true, N: 10_000}, NoDifference, ""},
		{"no difference by range", Summary{Saved: [Keys]time.Duration{2 * sec, 2 * sec, 6 * sec}, Low: sec, High: 4 * sec, HasInterval: true}, CannotTell, "its interval, 1.00 s to 4.00 s, is not beyond 3.00 s, by which the replay may be wrong"},
		{"few", Summary{Saved: [Keys]time.Duration{9 * sec, 8 * sec, 7 * sec}, N: 3}, CannotTell, "3 losses are too few for a verdict: want 5"},
		{"spread", Summary{Saved: [Keys]time.Duration{9 * sec, 8 * sec, 7 * sec}, Low: -sec, High: 12 * sec, HasInterval: true}, CannotTell, "its interval, -1.00 s to 12.0 s, includes 0: more losses would narrow it"},
		{"spread over keys", Summary{Saved: [Keys]time.Duration{9 * sec, -8 * sec, 7 * sec}, Low: -sec, High: 12 * sec, HasInterval: true}, CannotTell, "its interval, -1.00 s to 12.0 s, includes 0: the capture does not show whether retransmissions at other times would arrive"},
		{"control", Summary{Saved: [Keys]time.Duration{3 * sec, 3 * sec, 3 * sec}, Low: -sec, High: 4 * sec, HasInterval: true, ControlError: 6 * sec}, CannotTell, "its interval, -1.00 s to 4.00 s, includes 0: the replay of the captured timers may be off by 6.00 s"},
		{"begun shortly before", Summary{Saved: [Keys]time.Duration{9 * sec, 8 * sec, 7 * sec}, Low: 5 * sec, High: 12 * sec, HasInterval: true, N: 9, Early: 3}, CannotTell, "the capture began shortly before 3 of 12 losses: it does not show what timers had measured"},
		{"keys", Summary{Saved: [Keys]time.Duration{9 * sec, -8 * sec, 7 * sec}, Low: 5 * sec, High: 12 * sec, HasInterval: true}, CannotTell, "the capture does not show whether retransmissions at other times would arrive"},
		{"error", Summary{Saved: [Keys]time.Duration{9 * sec, 8 * sec, 7 * sec}, Low: 5 * sec, High: 12 * sec, HasInterval: true, ControlError: 6 * sec}, CannotTell, "its interval, 5.00 s to 12.0 s, is not beyond 6.00 s, by which the replay may be wrong"},
		{"few and a third", Summary{Saved: [Keys]time.Duration{30 * sec, 30 * sec, 30 * sec}, Low: 25 * sec, High: 40 * sec, HasInterval: true, N: 9, ControlError: 33 * sec}, CannotTell, "the replay of the captured timers may be off by 33.0 s of 100 s"},
		{"more and a third", Summary{Saved: [Keys]time.Duration{30 * sec, 30 * sec, 30 * sec}, Low: 25 * sec, High: 40 * sec, HasInterval: true, N: 10, ControlError: 33 * sec}, Saves, ""},
	} {
		test.s.Of = of
		if test.s.judge(); test.s.Effect != test.want || test.s.Why != test.why {
			t.Errorf("%s: %v, %q, want %v, %q", test.name, test.s.Effect, test.s.Why, test.want, test.why)
		}
	}
}

// TestRefusals: what cannot be replayed has a reason.
func TestRefusals(t *testing.T) {
	s := scenario{policy: "linux", rtt: identityRTTs[1], loss: sim.Losses{sim.Bernoulli{P: 0.1}}, client: apps[0].client, server: apps[0].server, seed: 3}
	packets := s.capture(t)
	one := packets[:0:0]
	for _, p := range packets {
		if p.Src == packets[0].Src {
			one = append(one, p)
		}
	}
	_, all, errs := recorded(t, one)
	var refusal *Refusal
	if all[0] != nil || !errors.As(errs[0], &refusal) || refusal.Reason == "" {
		t.Errorf("one direction: connection %v, error %v", all[0], errs[0])
	}
}

// TestCapturedSYNs: the captured timers, and Linux's for comparison, send SYNs again as in
// the capture, where it tells how, and as Linux does today where it does not.
func TestCapturedSYNs(t *testing.T) {
	const rtt = 20 * time.Millisecond
	for _, test := range []struct {
		older bool
		lost  sim.PacketNumbers
		syns  track.SYNTimeouts
		// from the SYN to the SYN-ACK, less the round trip, under each choice
		want [4]time.Duration
	}{
		{false, sim.PacketNumbers{1, 2, 3}, track.SYNLinear, [4]time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second, 7 * time.Second}},
		{true, sim.PacketNumbers{1, 2, 3}, track.SYNDoubling, [4]time.Duration{7 * time.Second, 7 * time.Second, 3 * time.Second, 7 * time.Second}},
		{true, sim.PacketNumbers{1}, track.SYNUnknown, [4]time.Duration{time.Second, time.Second, time.Second, time.Second}},
	} {
		st := &Study{Choices: choices(t, "captured", "linux-jiffies", "linux", "linux-synlinear")}
		s := scenario{policy: "linux", older: test.older, rtt: rtt, loss: sim.Losses{test.lost}, client: apps[1].client, server: apps[1].server, seed: 5}
		conns, all, errs := recorded(t, s.capture(t))
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		r, err := st.Run("", conns[0], all[0])
		if err != nil {
			t.Fatal(err)
		}
		if r.SYNs != test.syns {
			t.Errorf("older %v, %v lost: SYNs %q, want %q", test.older, test.lost, r.SYNs, test.syns)
		}
		for choice, want := range test.want {
			if r.Policies[choice].Unknown {
				continue // no model explains a single timeout
			}
			// Linux's own wheel makes the captured ones late, by a sixteenth at most.
			if took := r.Policies[choice].Recoveries[ByRange][0].TRec - rtt; took < want || took > want+want/16 {
				t.Errorf("older %v, %v lost, %s: opened after %v, want %v", test.older, test.lost, st.Choices[choice].Text, took, want)
			}
		}
	}
}

func TestChoices(t *testing.T) {
	for _, test := range []struct {
		text string
		tick time.Duration
		tlp  bool
		name string
	}{
		{"linux", 4 * time.Millisecond, true, "linux"},
		{"linux-tlp", 4 * time.Millisecond, false, "linux"},
		{"per-segment@exact", time.Microsecond, true, "per-segment"},
		{"per-segment@10ms-tlp+rack", 10 * time.Millisecond, false, "per-segment"},
		{"rfc6298+tlp", time.Millisecond, true, "rfc6298"},
		{"captured@100ms", 100 * time.Millisecond, true, "captured"},
	} {
		c, err := ParseChoice(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		p, _, err := c.policy("linux", track.SYNUnknown)
		if err != nil || p.Tick != test.tick || p.TLP != test.tlp || c.name != test.name || p.Name != test.text {
			t.Errorf("%s: tick %v, TLP %v, %q, %v", test.text, p.Tick, p.TLP, c.name, err)
		}
	}
	c, err := ParseChoice("linux-jiffies-synlinear")
	if err != nil {
		t.Fatal(err)
	}
	if p, _, err := c.policy("linux", track.SYNLinear); err != nil || p.SynLinearTimeouts != 0 {
		t.Errorf("%s: %d linear timeouts of a SYN, %v, want none", c.Text, p.SynLinearTimeouts, err)
	}
	for _, text := range []string{"", "reno", "linux@", "linux@0s", "linux@1s", "linux@x", "-tlp", "linux+sack"} {
		if _, err := ParseChoice(text); err == nil {
			t.Errorf("ParseChoice(%q) did not fail", text)
		}
	}
}

// TestQueueBeforeCapture captures at the receiver, behind a queue that the sender fills. The
// timestamps show when packets left: the control repairs nearly all losses in the captured time.
func TestQueueBeforeCapture(t *testing.T) {
	passed, needed, queued := 0, 0, time.Duration(0)
	for seed := range uint64(12) {
		s := scenario{
			policy: "linux", rtt: 100 * time.Millisecond, rate: 1_000_000, loss: sim.Losses{sim.Bernoulli{P: 0.008}}, client: apps[0].client,
			server: apps[0].server, seed: 300 + seed, stamps: true, far: true,
		}
		conns, all, errs := recorded(t, s.capture(t))
		if len(all) != 1 || errs[0] != nil {
			t.Fatal(errs)
		}
		st := &Study{}
		r, err := st.Run("", conns[0], all[0])
		if err != nil {
			t.Fatal(err)
		}
		g := SummarizeGate([]*Result{r})
		passed, needed = passed+g.Passed, needed+g.Needed
		for _, x := range all[0].Paths[0].Delays {
			queued = max(queued, x.Delay)
		}
	}
	if needed < 10 || 10*passed < 9*needed || queued < 100*time.Millisecond {
		t.Errorf("%d of %d losses pass the gate, and the longest delay is %v", passed, needed, queued)
	}
}

// TestBegunBeforeTheCapture begins a capture in the middle of a connection. What its timers had
// measured is not known at first: a loss counts only 16 round trips later, and a policy is not
// judged by the others.
func TestBegunBeforeTheCapture(t *testing.T) {
	s := scenario{
		policy: "linux", rtt: 20 * time.Millisecond, loss: sim.Losses{sim.Bernoulli{P: 0.08}}, client: apps[1].client, server: apps[1].server, seed: 12,
	}
	packets := s.capture(t)
	whole, late := packets, packets[len(packets)/8:]
	for _, test := range []struct {
		packets []capture.Packet
		early   bool
	}{{whole, false}, {late, true}} {
		conns, all, errs := recorded(t, test.packets)
		if errs[0] != nil {
			t.Fatal(errs)
		}
		st := &Study{Choices: choices(t, "rfc6298")}
		r, err := st.Run("", conns[0], all[0])
		if err != nil {
			t.Fatal(err)
		}
		early, counts := 0, 0
		for i := range all[0].Losses {
			_, ok := r.Recovery(i, 0, ByRange)
			if l := &all[0].Losses[i]; l.Early {
				if early++; counts > 0 || ok {
					t.Errorf("packet %d is early, and %d losses before it count", l.DetectedPacket, counts)
				}
			}
			if ok {
				counts++
			}
		}
		if early > 0 != test.early || counts == 0 {
			t.Errorf("%d packets: %d losses are early and %d count", len(test.packets), early, counts)
		}
		if sum := st.Summarize([]*Result{r})[0]; sum.N != counts || sum.Early > early {
			t.Errorf("%d losses count, and %d do not for being early, want %d of %d", sum.N, sum.Early, counts, early)
		}
	}
}
