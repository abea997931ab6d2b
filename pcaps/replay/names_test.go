package replay

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
)

// everyChoice returns each policy that ParseChoice takes, alone, with each tick and with each
// switch on and off.
func everyChoice(t *testing.T) (all []Choice) {
	suffixes := []string{"", "@exact", "@10ms", "@500ms"}
	for _, s := range tcptimers.Switches() {
		suffixes = append(suffixes, "+"+s, "-"+s)
	}
	for _, name := range PolicyNames() {
		taken := 0
		for _, suffix := range suffixes {
			// Some combinations are not a policy, which is an error and no panic.
			if c, err := ParseChoice(name + suffix); err == nil {
				all = append(all, c)
				taken++
			}
		}
		if taken < 6 {
			t.Errorf("policy %s takes only %d of the suffixes %s", name, taken, strings.Join(suffixes, " "))
		}
	}
	return all
}

// lossyConn returns a captured connection that lost its SYN, a segment in the middle and the
// last one.
func lossyConn(t *testing.T) (*track.Conn, *CapturedConn) {
	t.Helper()
	s := scenario{
		policy: "linux", rtt: 20 * time.Millisecond, loss: sim.Losses{sim.PacketNumbers{1, 6, 14, 15}}, client: apps[1].client, server: apps[1].server, seed: 3,
	}
	conns, all, errs := recorded(t, s.capture(t))
	if errs[0] != nil || len(all[0].Losses) < 2 {
		t.Fatalf("error %v, connection %v: want two losses at least", errs[0], all[0])
	}
	return conns[0], all[0]
}

// TestEveryPolicyReplays: every policy and profile that a user can name is replayed, with any
// suffix, and again to the same nanosecond. Some draw random numbers (tcptimers.Policy.Jitter).
func TestEveryPolicyReplays(t *testing.T) {
	conn, script := lossyConn(t)
	st := &Study{Choices: everyChoice(t)}
	var runs [2]*Result
	for i := range runs {
		var err error
		if runs[i], err = st.Run("", conn, script); err != nil {
			t.Fatal(err)
		}
	}
	for i := range st.Choices {
		p := &runs[0].Policies[i]
		if !reflect.DeepEqual(p, &runs[1].Policies[i]) {
			t.Errorf("%s: two replays differ", st.Choices[i].Text)
		}
		if p.Unknown {
			continue
		}
		for loss := range script.Losses {
			if !p.Recoveries[ByRange][loss].Repaired {
				t.Errorf("%s: loss %d is not repaired", st.Choices[i].Text, loss)
			}
		}
		if !p.Whole.Complete {
			t.Errorf("%s: the connection is not complete at the end", st.Choices[i].Text)
		}
	}
}

// TestEveryFittedStackReplays: the policy captured is replayed whatever stack explains the captured
// timers.
func TestEveryFittedStackReplays(t *testing.T) {
	conn, script := lossyConn(t)
	st := &Study{Choices: choices(t, "captured", "captured@10ms", "captured-tlp")}
	for _, model := range track.ModelNames() {
		r := NewResult("", conn, script)
		r.Model = model
		if err := st.RunAgain(r); err != nil {
			t.Errorf("%s: %v", model, err)
			continue
		}
		for i := range st.Choices {
			if p := &r.Policies[i]; p.Unknown || !p.Recoveries[ByRange][0].Repaired {
				t.Errorf("%s as %s: unknown %v, recoveries %+v", st.Choices[i].Text, model, p.Unknown, p.Recoveries[ByRange])
			}
		}
	}
}

// TestJitterDiffersByLoss: the random part of a timeout is drawn for each loss, and it is
// within what the policy says.
func TestJitterDiffersByLoss(t *testing.T) {
	p := tcptimers.MustPolicy("rfc6298")
	exact, jittered := NewChoice("exact", p), p
	jittered.Jitter = 0.5
	st := &Study{Choices: []Choice{exact, NewChoice("jitter", jittered)}}
	conn, script := lossyConn(t)
	r, err := st.Run("", conn, script)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[time.Duration]bool{}
	for i := range script.Losses {
		without, with := &r.Policies[0].Recoveries[ByRange][i], &r.Policies[1].Recoveries[ByRange][i]
		late := with.D - without.D
		if late < 0 || late > without.D/2+jittered.Tick {
			t.Errorf("loss %d: retransmitted after %v, and %v with jitter", i, without.D, with.D)
		}
		if late > 0 {
			seen[late] = true
		}
	}
	if len(seen) < 2 {
		t.Errorf("jitter delayed %d losses by different times, want 2 at least", len(seen))
	}
}

// TestPanicIsOfOneConnection: a bug that one connection meets is its error, with the stack, and the
// others are replayed.
func TestPanicIsOfOneConnection(t *testing.T) {
	conn, script := lossyConn(t)
	st := &Study{Choices: choices(t, "linux")}
	broken := NewResult("", conn, script)
	ends := [2]Endpoint{{MSS: 1000}, {MSS: 1000}}
	broken.Captured = &CapturedConn{Ends: ends, Losses: []Loss{{Flow: 7, Sent: 1}}} // no such flow
	results := []*Result{NewResult("", conn, script), broken, NewResult("", conn, script)}
	if err := st.RunAll(context.Background(), results, func() {}); err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		var p *track.PanicError
		switch {
		case i == 1 && (!errors.As(r.Err, &p) || !strings.Contains(string(p.Stack), "replay.")):
			t.Errorf("the broken one: error %v, want a panic with its stack", r.Err)
		case i != 1 && (r.Err != nil || !r.Control[0].Repaired):
			t.Errorf("result %d: error %v, control %+v", i, r.Err, r.Control)
		}
	}
}
