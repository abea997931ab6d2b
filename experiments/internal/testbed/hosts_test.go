package testbed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

func TestTimers(t *testing.T) {
	tm := MustTimers("rfc6298@10ms floor=1s rtt-tick=500ms phase=own rexmit=rto-restart delack=off jitter=0.5 " +
		"control=newreno -tlp -rack +frto -sack -timestamps +vegas-check")
	p := tm.Policy
	cfg := tm.Config()
	got := fmt.Sprint(p.Tick, p.Bounds.Min, p.RTTTick, p.Phase, p.Rexmit, p.DelAck.Every, p.Jitter, p.TLP, p.RACK, p.FRTO,
		cfg.Control, cfg.SACK, cfg.Timestamps, cfg.VegasCheck)
	if want := "10ms 1s 500ms own rto-restart 1 0.5 false false truenewrenofalse false true"; got != want {
		t.Errorf("timers are %s, want %s", got, want)
	}
	if got := MustTimers("linux -synlinear").Policy; got.SynLinearTimeouts != 0 ||
		MustTimers("linux").Policy.SynLinearTimeouts != 4 {
		t.Errorf("policy %+v, want no linear timeouts of SYNs, and four without the switch", got)
	}
	if got := MustTimers("linux@exact delack=40ms").Policy; got.Tick != Exact || got.DelAck.Delay != 40*time.Millisecond ||
		got.DelAck.Every != 2 {
		t.Errorf("policy %+v", got)
	}
	vegas := MustTimers("bsd estimator=tahoe control=vegas alpha=1 beta=3")
	if c := vegas.Config().Congestion; c.Alpha != 1 || c.Beta != 3 || c.Gamma != 0 ||
		vegas.Policy.Estimator != tcptimers.EstimatorTahoe {
		t.Errorf("thresholds %d, %d, %d and estimator %v, want 1, 3, 0 and tahoe", c.Alpha, c.Beta, c.Gamma,
			vegas.Policy.Estimator)
	}
	for text, want := range map[string]string{
		"bsd alpha=1 beta=3": `tcp: policy "bsd alpha=1 beta=3": alpha, beta or gamma with control=cubic, ` +
			`want control=vegas`,
		"bsd control=vegas alpha=3 beta=1": `tcp: policy "bsd control=vegas alpha=3 beta=1": congestion: Alpha 3, Beta 1, `,
		"bsd control=vegas beta=16385": `tcp: policy "bsd control=vegas beta=16385": beta "16385", want a whole number, ` +
			`at most 16384`,
		"bsd estimator=reno": `tcptimers: policy "bsd estimator=reno": estimator "reno", ` +
			`want one of rfc6298, linux, bsd, tahoe`,

		"":                 `tcptimers: unknown policy "", want one of per-segment, `,
		"reno":             `tcptimers: unknown policy "reno", want one of per-segment, `,
		"linux@1s":         `tcptimers: policy "linux@1s": tick "1s", want exact, or a duration such as 20ms, 1us to 500ms`,
		"linux floor=-1s":  `tcptimers: policy "linux floor=-1s": floor "-1s", want a duration such as 20ms, 1ns to 24h`,
		"linux phase=full": `tcptimers: policy "linux phase=full": phase "full", want one of shared, own, countdown, jiffies`,
		"linux delack=never": `tcptimers: policy "linux delack=never": delack "never", ` +
			`want off, a delay such as 40ms, or heartbeat:200ms`,
		"linux control=bbr": `tcp: policy "linux control=bbr": control "bbr", want one of newreno, cubic, vegas`,
		"linux speed=3":     `tcp: policy "linux speed=3": setting "speed", want one of ack-evidence, `,
		"linux +magic":      `tcp: policy "+magic", want KEY=VALUE, or + or - with one of synlinear, `,
		"linux tlp":         `tcp: policy "tlp", want KEY=VALUE, or + or - with one of synlinear, `,
		"linux jitter=NaN": `tcptimers: policy "linux jitter=NaN": jitter "NaN", want a probability such as 0.02 or 2%, 0 ` +
			`to 1`,
	} {
		if _, err := ParseTimers(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ParseTimers(%q): %v, want %s", text, err, want)
		}
	}
	var zero Timers
	if err := zero.UnmarshalText([]byte("bsd")); err != nil || zero.String() != "bsd" {
		t.Errorf("UnmarshalText: %v, %v", zero, err)
	}
}

// transfer sends bytes from the client to the server over a lossy link, and returns the
// retransmissions.
func transfer(t *testing.T, timers string, bytes uint64, loss sim.Loss) (resends []Retransmission, done wheel.Time) {
	t.Helper()
	tm := MustTimers(timers)
	link := sim.LinkConfig{Delay: 10 * time.Millisecond}
	lossy := link
	lossy.Loss = sim.Losses{loss}
	p, err := NewPair(PairPlan{Seed: 7, Client: tm.Config(), Server: tm.Config(), Up: lossy, Down: link, Trace: true,
		Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Server.Listen(80, tcp.ListenConfig{Backlog: 1}, func() host.App {
		return host.Apps{&host.Sink{},
			&host.Closer{}}
	}); err != nil {
		t.Fatal(err)
	}
	ended := host.AppFunc(func(now wheel.Time, s *host.Session, ev tcp.Events) {
		if ev&tcp.EventClosed != 0 && s.Err() == nil {
			done = now
		}
	})
	if _, err := p.Client.Dial(p.Server, 80, nil, host.Apps{&host.Bulk{Bytes: bytes, Finish: true}, ended}); err != nil {
		t.Fatal(err)
	}
	p.Run(wheel.Time(2 * time.Minute))
	for _, err := range p.World.Faults() {
		t.Error(err)
	}
	return p.Records[0].Retransmissions, done
}

func TestRecordDistinguishesTimersFromACKs(t *testing.T) {
	first := &StreamLoss{Rule: func(_ wheel.Time, start, _ uint64, attempt uint32) bool {
		return start == 0 &&
			attempt == 1
	}}
	resends, _ := transfer(t, "rfc6298 floor=1s -tlp -rack delack=off", 100, first)
	if len(resends) != 1 || !resends[0].Timed || resends[0].Timer != tcptimers.Rexmit || resends[0].Attempt != 2 ||
		resends[0].Wait() != time.Second {
		t.Errorf("a lone segment that was lost: %+v, want one timeout after 1s", resends)
	}
	resends, _ = transfer(t, "rfc6298 floor=1s -tlp -rack delack=off", 8*1448, first)
	if len(resends) != 1 || resends[0].Timed || resends[0].Wait() >= 100*time.Millisecond {
		t.Errorf("the first of eight that was lost: %+v, want a fast retransmission", resends)
	}
}

func TestLossesAreCommonToPolicies(t *testing.T) {
	// The losses of first transmissions do not depend on the timers.
	lost := func(timers string) string {
		f := &StreamLoss{P: 0.1, Burst: 2896}
		var places []string
		dropper := f.Start(sim.LinkKey(7, "client-server"))
		probe := &StreamLoss{Rule: func(now wheel.Time, start, end uint64, attempt uint32) bool {
			hit := dropper.Lost(now, 1, &sim.Packet{Start: start, End: end, Attempt: attempt})
			if hit && attempt == 1 {
				places = append(places, fmt.Sprint(start))
			}
			return hit
		}}
		_, done := transfer(t, timers, 200*1448, probe)
		if done == 0 {
			t.Errorf("%s: the transfer has not ended", timers)
		}
		return strings.Join(places, " ")
	}
	a, b := lost("linux"), lost("bsd")
	if a != b || len(strings.Fields(a)) < 5 {
		t.Errorf("lost under linux: %s\nunder bsd: %s", a, b)
	}
}

func TestUniform(t *testing.T) {
	sum := 0.0
	for i := range uint64(10000) {
		u := Uniform(1, i)
		if u < 0 || u >= 1 {
			t.Fatalf("draw %v", u)
		}
		sum += u
	}
	if mean := sum / 10000; mean < 0.49 || mean > 0.51 {
		t.Errorf("mean of uniform draws %v", mean)
	}
	if Key(1, 2, 3) == Key(1, 3, 2) || Key(1) == Key(2) {
		t.Error("different keys are equal")
	}
}

// TestTraceAgreesWithWheelCounts compares the traced timer operations with the wheel's own counts.
func TestTraceAgreesWithWheelCounts(t *testing.T) {
	tm := MustTimers("per-segment")
	var armed, stopped, expired uint64
	count := tracerFunc(func(ev *tcp.TraceEvent) {
		switch ev.Kind {
		case tcp.TraceArmed:
			armed++
		case tcp.TraceStopped:
			stopped++
		case tcp.TraceExpired:
			expired++
		}
	})
	link := sim.LinkConfig{Delay: 10 * time.Millisecond}
	p, err := NewPair(PairPlan{Seed: 1, Client: tm.Config(), Server: tm.Config(), Up: link, Down: link, Count: true,
		Trace: true, Tracers: [2]tcp.Tracer{count}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Server.Listen(80, tcp.ListenConfig{Backlog: 1}, func() host.App { return &host.Sink{} }); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Client.Dial(p.Server, 80, nil, &host.Bulk{Bytes: 100 * 1448}); err != nil {
		t.Fatal(err)
	}
	p.Run(wheel.Time(time.Minute))
	w := p.Client.Engine().Wheel()
	if armed == 0 || w.Starts != armed || w.Stops != stopped || w.Expiries != expired {
		t.Errorf("traced %d starts, %d stops, %d expiries; the wheel counts %+v", armed, stopped, expired, w)
	}
	if p.Records[0].Sent != 0 {
		t.Errorf("the record of an engine with a tracer is filled")
	}
}

type tracerFunc func(ev *tcp.TraceEvent)

func (f tracerFunc) Trace(ev *tcp.TraceEvent) { f(ev) }
