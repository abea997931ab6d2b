package tcptimers_test

import (
	"fmt"
	"math/rand"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

func ExamplePolicy() {
	p := tcptimers.MustPolicy("per-segment")
	e := p.NewEstimator()
	w, err := p.NewWheel(wheel.Default, 0, false)
	if err != nil {
		panic(err)
	}

	sent, acked := wheel.Time(0), wheel.Time(20*time.Millisecond)
	e.Sample(tcptimers.Sample{RTT: p.Measure(sent, acked), Round: true})

	t := w.New(1)
	w.Schedule(t, p.RexmitDeadline(acked, e.RTO(), tcptimers.Flight{Sent: acked}))
	w.Advance(wheel.Time(time.Second), 0, func(t wheel.Timer) { fmt.Println("retransmit at", w.Now()) })
	// Output: retransmit at 90ms
}

func ExampleNewPolicy() {
	for _, name := range tcptimers.Names() {
		p, err := tcptimers.NewPolicy(name)
		if err != nil {
			panic(err)
		}
		e := p.NewEstimator()
		e.Sample(tcptimers.Sample{RTT: p.Measure(0, wheel.Time(10*time.Millisecond))})
		fmt.Printf("%-13s %-11s tick %-5v RTO %v\n", name, p.Rexmit, p.Tick, e.RTO())
	}
	// Output:
	// per-segment   per-segment tick 1ms   RTO 60ms
	// rfc6298       restart     tick 1ms   RTO 1s
	// rfc7765       rto-restart tick 1ms   RTO 1s
	// bsd           restart     tick 500ms RTO 1.5s
	// linux         restart     tick 4ms   RTO 210ms
	// internet      per-segment tick 1ms   RTO 60ms
	// datacenter    per-segment tick 10µs  RTO 30ms
	// linux-jiffies restart     tick 4ms   RTO 212ms
	// lwip          restart     tick 500ms RTO 2.5s
}

func ExampleParsePolicy() {
	for _, text := range []string{"linux", "per-segment@10ms", "datacenter@exact", "moon"} {
		p, err := tcptimers.ParsePolicy(text)
		fmt.Println(p.Rexmit, p.Tick, err != nil)
	}
	// Output:
	// restart 4ms false
	// per-segment 10ms false
	// per-segment 1µs false
	// per-segment 0s true
}

// The phases of a tick: a timer of 1.2 s that is started at 0.3 s.
func ExamplePhase() {
	p := tcptimers.MustPolicy("bsd")
	for _, p.Phase = range []tcptimers.Phase{tcptimers.PhaseShared, tcptimers.PhaseOwn, tcptimers.PhaseCountdown, tcptimers.PhaseJiffies} {
		at := p.Deadline(wheel.Time(300*time.Millisecond), 1200*time.Millisecond)
		fmt.Println(p.Phase, at)
	}
	// Output:
	// shared 1.5s
	// own 1.8s
	// countdown 1.5s
	// jiffies 2s
}

func ExampleEstimator() {
	e := tcptimers.NewRFC6298(tcptimers.StandardConfig{})
	fmt.Println("at first", e.RTO())
	e.Sample(tcptimers.Sample{RTT: 600 * time.Millisecond})
	fmt.Println("RTT 600ms", e.RTO())
	e.Backoff()
	fmt.Println("expired ", e.RTO())
	// Output:
	// at first 1s
	// RTT 600ms 1.8s
	// expired  3.6s
}

func ExampleBounds() {
	e := tcptimers.NewLinux(tcptimers.Bounds{Min: 5 * time.Millisecond})
	e.Sample(tcptimers.Sample{RTT: time.Millisecond})
	fmt.Println(e.RTO())
	// Output: 6ms
}

func ExampleDelAckConfig() {
	p := tcptimers.MustPolicy("bsd")
	fmt.Println(p.DelAckDeadline(wheel.Time(130*time.Millisecond), 0))
	p.DelAck = tcptimers.DelAckConfig{Every: 2, Delay: 40 * time.Millisecond, Max: 200 * time.Millisecond}
	p.Phase, p.Tick = tcptimers.PhaseShared, time.Millisecond
	fmt.Println(p.DelAckDeadline(wheel.Time(130*time.Millisecond), p.DelAck.Delay))
	// Output:
	// 200ms
	// 170ms
}

// An RTO restart subtracts the age of the earliest segment, here 100 ms.
func ExampleFlight() {
	now := wheel.Time(100 * time.Millisecond)
	f := tcptimers.Flight{Earliest: 0, Segments: 2}
	for _, name := range []string{"rfc6298", "rfc7765"} {
		p := tcptimers.MustPolicy(name)
		fmt.Println(name, p.RexmitDeadline(now, time.Second, f))
	}
	// Output:
	// rfc6298 1.1s
	// rfc7765 1s
}

func ExamplePolicy_Randomize() {
	p := tcptimers.MustPolicy("per-segment")
	p.Jitter = 0.5
	rto := p.Randomize(time.Second, rand.New(rand.NewSource(1)))
	fmt.Println(rto >= time.Second && rto < 1500*time.Millisecond)
	// Output: true
}

func ExampleKind() {
	fmt.Println(tcptimers.Rexmit, tcptimers.DelAck, tcptimers.Keepalive)
	// Output: rexmit delack keepalive
}

// With ten samples per round trip, each counts for a tenth.
func ExampleSample() {
	e := tcptimers.NewRFC6298(tcptimers.StandardConfig{})
	e.Sample(tcptimers.Sample{RTT: 100 * time.Millisecond})
	e.Sample(tcptimers.Sample{RTT: 180 * time.Millisecond, Expected: 10})
	fmt.Println(e.SRTT(), e.RTTVar())
	// Output: 101ms 50.75ms
}

// A floor on the variation keeps the RTO that far above a steady round-trip time. A floor on the
// RTO does not.
func ExampleStandardConfig() {
	bounds := tcptimers.Bounds{Min: 50 * time.Millisecond}
	for _, floor := range []time.Duration{0, 50 * time.Millisecond} {
		e := tcptimers.NewRFC6298(tcptimers.StandardConfig{Bounds: bounds, VarMin: floor})
		for range 1000 {
			e.Sample(tcptimers.Sample{RTT: 80 * time.Millisecond})
		}
		fmt.Println(e.RTO().Round(time.Millisecond))
	}
	// Output:
	// 80ms
	// 130ms
}

func ExampleEstimatorKind() {
	p := tcptimers.MustPolicy("per-segment")
	p.Estimator = tcptimers.EstimatorLinux
	fmt.Println(p.Estimator, p.NewEstimator().RTO())
	// Output: linux 1s
}

func ExampleRexmitMode() {
	for _, name := range tcptimers.PolicyNames() {
		fmt.Println(name, tcptimers.MustPolicy(name).Rexmit)
	}
	// Output:
	// per-segment per-segment
	// rfc6298 restart
	// rfc7765 rto-restart
	// bsd restart
	// linux restart
}
