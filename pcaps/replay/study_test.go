package replay

import (
	"errors"
	"math"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
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
		conns, all, errs := scripts(t, s.capture(t))
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

// TestValidationTellsTimersApart is V2 and V3 in the simulator: a capture of Linux's timers is told from one of timers that differ only
// in what the floor of 200 ms is on, and from those of 4.4BSD.
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

// TestSummaries: the captured timers save nothing, coarser ones less than nothing, and the sums are those of the parts.
func TestSummaries(t *testing.T) {
	st := &Study{Choices: choices(t, "linux", "rfc6298", "per-segment@500ms")}
	results := study(t, st, true)
	c := CapturedSummary(results)
	same, slow := Summarize(results, 0), Summarize(results, 1)
	if c.N == 0 || c.Median <= 0 || c.P95 < c.Median || c.P99 < c.P95 || c.Stall <= 0 {
		t.Fatalf("captured: %+v", c)
	}
	if off := math.Abs(same.Saved[ByRange].Seconds()) / same.Of[ByRange].Seconds(); off > 0.01 {
		t.Errorf("Linux's timers save %.1f %% against themselves", 100*off)
	}
	if slow.Saved[ByRange] >= 0 || slow.P95 <= c.P95 {
		t.Errorf("a floor of 1 s saves %v, with a p95 of %v where %v was captured", slow.Saved[ByRange], slow.P95, c.P95)
	}
	if rows := Longest(results, 3); len(rows) != 3 {
		t.Errorf("%d of the longest 3", len(rows))
	}
}

// TestImputedFatesAreCountedAndRefused: of transmissions that the capture does not have, nothing is known, and beyond a share there is no
// verdict.
func TestImputedFatesAreCountedAndRefused(t *testing.T) {
	s := scenario{policy: "bsd", rtt: identityRTTs[2], loss: sim.Losses{sim.Bernoulli{P: 0.05}}, client: apps[2].client, server: apps[2].server, seed: 5}
	conns, all, errs := scripts(t, s.capture(t))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	// A peer that puts ACKs off by 200 ms, and a timeout far below that: most of what is sent again was never captured.
	c := choices(t, "datacenter")
	st := &Study{Choices: c}
	all[0].Ends[1].ACKs = tcptimers.DelAckConfig{Every: 2, Delay: 500 * time.Millisecond, Min: 500 * time.Millisecond, Max: 500 * time.Millisecond}
	for i := range all[0].Ends[1].Answers {
		all[0].Ends[1].Answers[i].After = 500 * time.Millisecond
	}
	r, err := st.Run("", conns[0], all[0])
	if err != nil {
		t.Fatal(err)
	}
	o := r.Outcomes[0][ByRange]
	if !r.Refused(0) || o.Imputed == 0 || o.Share() <= MostImputed {
		t.Errorf("%d of %d fates are filled in, refused: %v", o.Imputed, o.Deliveries, r.Refused(0))
	}
	if sum := Summarize([]*Result{r}, 0); sum.N != 0 || sum.Refused != 1 {
		t.Errorf("summary %+v, want no losses and one refusal", sum)
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
	_, all, errs := scripts(t, one)
	var refusal *Refusal
	if all[0] != nil || !errors.As(errs[0], &refusal) || refusal.Reason == "" {
		t.Errorf("one direction: script %v, error %v", all[0], errs[0])
	}
}

// TestCapturedSYNs: the captured timers, and Linux's for those who compare, send SYNs again as in the capture, where it tells how, and as Linux does today where it does not.
func TestCapturedSYNs(t *testing.T) {
	const rtt = 20 * time.Millisecond
	for _, test := range []struct {
		older bool
		lost  sim.PacketNumbers
		syns  track.SYNTimeouts
		want  [4]time.Duration // from the SYN to the SYN-ACK, less the round trip, under each choice
	}{
		{false, sim.PacketNumbers{1, 2, 3}, track.SYNLinear, [4]time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second, 7 * time.Second}},
		{true, sim.PacketNumbers{1, 2, 3}, track.SYNDoubling, [4]time.Duration{7 * time.Second, 7 * time.Second, 3 * time.Second, 7 * time.Second}},
		{true, sim.PacketNumbers{1}, track.SYNUnknown, [4]time.Duration{time.Second, time.Second, time.Second, time.Second}},
	} {
		st := &Study{Choices: choices(t, "captured", "linux-jiffies", "linux", "linux-synlinear")}
		s := scenario{policy: "linux", older: test.older, rtt: rtt, loss: sim.Losses{test.lost}, client: apps[1].client, server: apps[1].server, seed: 5}
		conns, all, errs := scripts(t, s.capture(t))
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
			// Linux's own wheel makes the captured ones late, by a sixteenth at most.
			if took := r.Outcomes[choice][ByRange].Recoveries[0].TRec - rtt; took < want || took > want+want/16 {
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
		p, err := c.policy("linux", track.SYNUnknown)
		if err != nil || p.Tick != test.tick || p.TLP != test.tlp || c.name != test.name || p.Name != test.text {
			t.Errorf("%s: tick %v, TLP %v, %q, %v", test.text, p.Tick, p.TLP, c.name, err)
		}
	}
	c, err := ParseChoice("linux-jiffies-synlinear")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.policy("linux", track.SYNLinear); err != nil || p.SynLinearTimeouts != 0 {
		t.Errorf("%s: %d linear timeouts of a SYN, %v, want none", c.Text, p.SynLinearTimeouts, err)
	}
	for _, text := range []string{"", "reno", "linux@", "linux@0s", "linux@1s", "linux@x", "-tlp", "linux+sack"} {
		if _, err := ParseChoice(text); err == nil {
			t.Errorf("ParseChoice(%q) did not fail", text)
		}
	}
}
