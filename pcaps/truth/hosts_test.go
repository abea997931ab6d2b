package truth

import (
	"slices"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
)

// quietHost returns what short connections over a quiet link show about the timers of their sender:
// 10 ms each way, 2 % loss, three small writes. Few of them have more than one expiry.
func quietHost(t *testing.T, policy tcptimers.Policy, burst uint32, conns int) *track.Host {
	t.Helper()
	var hosts track.Hosts
	for seed := range uint64(conns) {
		w := simulate(t, Scenario{
			Policy: policy, SACK: true, Timestamps: true, RTT: 20 * time.Millisecond, Rate: 100_000_000, Loss: sim.Losses{sim.Bernoulli{P: 0.02}},
			App: func() host.App {
				return &host.OnOff{Burst: burst, Pause: 50 * time.Millisecond, Bursts: 3, Finish: true}
			}, Seed: 7000 + seed, Span: time.Minute,
		})
		tr := track.New(track.Config{Done: hosts.Add})
		for i := range w.Packets[AtA] {
			tr.Add(&w.Packets[AtA][i])
		}
		tr.Close()
	}
	return hosts.Host(senderAddr)
}

// TestHostTimers recognises senders by all of their connections together, this project's own among
// them, where single connections do not tell.
func TestHostTimers(t *testing.T) {
	for _, name := range []string{"per-segment", "linux", "rfc6298", "bsd"} {
		for _, burst := range []uint32{500, 8000} {
			timers := quietHost(t, tcptimers.MustPolicy(name), burst, 200).Timers()
			if !slices.Contains(timers.Stacks, name) || len(timers.Stacks) > 1 && name != "rfc6298" {
				t.Errorf("%s, writes of %d bytes: %s", name, burst, timers.String())
			}
		}
	}
}

// TestHostTimersOfAStranger fits parameters where no stack explains the gaps, and has no answer for
// few of them. It never falls back to a stack.
func TestHostTimersOfAStranger(t *testing.T) {
	stranger := tcptimers.MustPolicy("rfc6298")
	stranger.Bounds = tcptimers.Bounds{Initial: 2 * time.Second, Min: 620 * time.Millisecond, Max: time.Minute}
	timers := quietHost(t, stranger, 500, 300).Timers()
	f := timers.Fitted
	if len(timers.Stacks) > 0 || f == nil {
		t.Fatalf("%s, want fitted parameters", timers.String())
	}
	if f.Floor.Low < 0.6 || f.Floor.High > 0.65 || f.Initial.Median < 1.99 || f.Initial.Median > 2.01 || f.Granularity.High > 0.02 {
		t.Errorf("%s, want a floor of 0.62 s, 2 s for SYNs and a fine clock", timers.String())
	}
	if p, ok := timers.Policy(); !ok || p.Bounds.Min < 600*time.Millisecond || p.Bounds.Min > 650*time.Millisecond {
		t.Errorf("policy with floor %v, %v", p.Bounds.Min, ok)
	}
	if few := quietHost(t, stranger, 500, 12).Timers(); len(few.Stacks) > 0 || few.Fitted != nil || few.Gaps > 4 {
		t.Errorf("%s, want unknown", few.String())
	}
}
