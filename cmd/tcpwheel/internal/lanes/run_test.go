package lanes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// ten is the time of a run without a terminal.
const ten = wheel.Time(10 * time.Second)

func newRun(t *testing.T, seed uint64, actions string, lanes ...string) *Run {
	t.Helper()
	list, err := ParseActions(actions)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRun(seed, lanes, DefaultConditions(), list)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func advance(t *testing.T, r *Run, to wheel.Time) []Result {
	t.Helper()
	if err := r.AdvanceTo(to); err != nil {
		t.Fatal(err)
	}
	return r.Results()
}

// TestLanesStayTogether runs 4.4BSD's timers next to a timer per segment for a minute: they lose
// several times as much time to the same losses, and requests begin in both at the same times.
func TestLanesStayTogether(t *testing.T) {
	r := newRun(t, 1, "", "bsd", "per-segment")
	all := advance(t, r, 6*ten)
	bsd, fine := all[0], all[1]
	if fine.Recoveries < 60 || bsd.Recoveries < 60 || bsd.TimeLost < 4*fine.TimeLost {
		t.Errorf("4.4BSD lost %.1f s in %d recoveries, fine timers %.1f s in %d", bsd.TimeLost, bsd.Recoveries, fine.TimeLost, fine.Recoveries)
	}
	for i := range webConns {
		if a, b := r.Lanes[0].asked[i], r.Lanes[1].asked[i]; a != b || a < 50 {
			t.Errorf("connection %d: %d and %d requests, want the same", i, a, b)
		}
	}
	if text := Verdict(all); !strings.HasPrefix(text, "Per-segment lost the least time") || !strings.Contains(text, "4.4BSD lost") ||
		!strings.Contains(text, "Spurious retransmissions: per-segment ") {
		t.Errorf("verdict: %s", text)
	}
}

// TestLossAtAnyAge loses the end of a response after 45 s: all lanes lose it at about the same time,
// and have repaired it some seconds later.
func TestLossAtAnyAge(t *testing.T) {
	for seed := range uint64(3) {
		r := newRun(t, seed, "45s:tail=1", "4.4bsd")
		advance(t, r, wheel.Time(50*time.Second))
		fine, bsd := r.losses[0].lanes[1], r.losses[0].lanes[0]
		if fine.Repaired == 0 || bsd.Repaired == 0 || max(fine.Lost, bsd.Lost)-min(fine.Lost, bsd.Lost) > seconds(300*time.Millisecond) {
			t.Errorf("seed %d: %+v, %+v", seed, bsd, fine)
		}
	}
}

// TestTheHeadlineWeighsResponses names the lane with the shortest median response, if that is not
// the one that lost the least time, and why.
func TestTheHeadlineWeighsResponses(t *testing.T) {
	all := []Result{
		{Label: "a", Lost: 9, Recoveries: 9, TimeLost: 1, ResponseP50: 0.2, Repairs: map[string]int{"the segment's timer": 7}},
		{Label: "b", Lost: 9, Recoveries: 9, TimeLost: 3, ResponseP50: 0.1, Repairs: map[string]int{"ACKs": 9}},
	}
	text := Verdict(all)
	for _, want := range []string{"A lost the least time", "3.0 times as much", "shortest under b: 100 ms, under a 200 ms", "timeouts repaired 7 losses of a, and 0 of b"} {
		if !strings.Contains(text, want) {
			t.Errorf("the verdict lacks %q: %s", want, text)
		}
	}
	all[0].ResponseP50 = 0.105
	if text := Verdict(all); strings.Contains(text, "But") {
		t.Errorf("a difference of 5 %% is a verdict: %s", text)
	}
}

// TestSameSeedSameResults compares two runs with the same seed and actions, one of them in small
// steps, and one with another seed.
func TestSameSeedSameResults(t *testing.T) {
	const actions = "1s:drop=3,2s:loss=5%,3s:delay=50ms,4s:burst=2,5s:rate=1Mbit"
	text := func(all []Result) string { return encoded(t, all) }
	lanes := []string{"per-segment", "bsd", gvisorLane}
	a := newRun(t, 7, actions, lanes...)
	b := newRun(t, 7, actions, lanes...)
	want := text(advance(t, a, ten))
	for b.Now() < ten {
		advance(t, b, min(ten, b.Now().Add(33*time.Millisecond)))
	}
	if got := text(b.Results()); got != want {
		t.Errorf("in small steps:\n%s\nwant\n%s", got, want)
	}
	again, err := a.Again(ten, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := text(advance(t, again, ten)); got != want {
		t.Errorf("again:\n%s\nwant\n%s", got, want)
	}
	if a.Actions() != again.Actions() || a.Actions() == "" {
		t.Errorf("actions %q and %q", a.Actions(), again.Actions())
	}
	if text(advance(t, newRun(t, 8, actions, lanes...), ten)) == want {
		t.Error("another seed gives the same results")
	}
}

// TestLanesMeetTheSameFates compares the fates of first transmissions that two lanes both sent.
func TestLanesMeetTheSameFates(t *testing.T) {
	r := newRun(t, 3, "", "per-segment", "linux", gvisorLane)
	type key struct {
		from  int
		conn  int
		start uint64
	}
	fates := make([]map[key]bool, len(r.Lanes))
	for i, l := range r.Lanes {
		fates[i] = map[key]bool{}
		l.onPacket = func(x *Transmission, p *virtual.Packet) {
			if x.End > x.Start && !x.Again && x.Lost != events.FateQueue {
				fates[i][key{x.From, x.Conn, x.Start}] = x.Lost != ""
			}
		}
	}
	advance(t, r, ten)
	same := 0
	for k, lost := range fates[0] {
		for i := range fates[1:] {
			if other, ok := fates[i+1][k]; ok {
				same++
				if other != lost {
					t.Errorf("%+v: lost %v in lane 0, %v in lane %d", k, lost, other, i+1)
				}
			}
		}
	}
	if same < 500 {
		t.Errorf("%d packets compared, want 500 or more", same)
	}
}

// TestDropByHand drops the next packet: each lane loses one more, and repairs it.
func TestDropByHand(t *testing.T) {
	r := newRun(t, 1, "0s:loss=0%")
	advance(t, r, wheel.Time(2*time.Second))
	if err := r.Do("drop", "1"); err != nil {
		t.Fatal(err)
	}
	for _, x := range advance(t, r, ten) {
		if x.Lost != 1 || x.Recoveries != 1 {
			t.Errorf("%s: %d lost, %d recoveries, want 1 of each", x.Lane, x.Lost, x.Recoveries)
		}
	}
	if r.Actions() != "0s:loss=0%,2s:drop=1" {
		t.Errorf("actions %q", r.Actions())
	}
}

// TestAllKindsOfTimersAreAtWork wants retransmission, delayed-ACK and keepalive timers in each
// lane.
func TestAllKindsOfTimersAreAtWork(t *testing.T) {
	r := newRun(t, 1, "", "per-segment", "linux", "bsd")
	kinds := make([]map[string]bool, len(r.Lanes))
	for i, l := range r.Lanes {
		kinds[i] = map[string]bool{}
		l.onTimer = func(ev netstack.TimerEvent) { kinds[i][ev.Kind.String()] = true }
	}
	advance(t, r, ten)
	for i, l := range r.Lanes {
		want := []string{"rexmit", "keepalive"}
		if l.Name != "bsd" { // its delayed ACKs leave with the heartbeat, without a timer
			want = append(want, "delack")
		}
		for _, kind := range want {
			if !kinds[i][kind] {
				t.Errorf("%s: no %s timer among %v", l.Name, kind, kinds[i])
			}
		}
	}
}

// TestBadInputIsRefused names what is wrong and what is accepted.
func TestBadInputIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"x": "want TIME:NAME=VALUE", "1s:drop": "want TIME:NAME=VALUE", "2s:drop=1,1s:drop=1": "rising time",
	} {
		if _, err := ParseActions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseActions(%q) = %v, want %q", text, err, want)
		}
	}
	r := newRun(t, 1, "", "per-segment")
	for _, c := range [][3]string{
		{"drop", "0", "1 to 100"}, {"loss", "0.9", "0 to 0.5"}, {"delay", "1h", "2s"}, {"rate", "1", "100kbit"}, {"burst", "99", "1 to 20"},
		{"color", "red", "no condition"}, {"tick", "1ms", "no condition"},
	} {
		if err := r.Do(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("Do(%s, %s) = %v, want %q", c[0], c[1], err, c[2])
		}
	}
	for _, lanes := range [][]string{{"tahoe"}, {"bsd", "bsd"}, slices.Repeat([]string{"bsd"}, MaxLanes+1)} {
		if r, err := NewRun(1, lanes, DefaultConditions(), nil); err == nil {
			r.Close()
			t.Errorf("lanes %v are accepted", lanes)
		}
	}
}
