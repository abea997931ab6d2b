package tcp

import (
	"math/rand"
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// pairAnyConfig is a random configuration: all combinations must work.
func pairAnyConfig(r *rand.Rand) Config {
	half := func() bool { return r.Intn(2) == 0 }
	names := tcptimers.PolicyNames()
	c := DefaultConfig(tcptimers.MustPolicy(names[r.Intn(len(names))]))
	p := &c.Policy
	p.RACK, p.TLP, p.FRTO = p.RACK != (r.Intn(3) == 0), p.TLP != (r.Intn(3) == 0), p.FRTO != (r.Intn(3) == 0)
	p.Jitter = []float64{0, 0, 0.5}[r.Intn(3)]
	c.SACK, c.Timestamps, c.ECN = r.Intn(3) > 0, half(), half()
	c.Control = []string{"newreno", "cubic", "vegas"}[r.Intn(3)]
	c.Pacing, c.VegasCheck = r.Intn(4) == 0, r.Intn(4) == 0
	c.Reno = r.Intn(2) == 0
	if r.Intn(4) == 0 {
		c.RecvBuffer, c.RecvBufferMax = 5000, 0
	}
	return c
}

// TestTransferEnds checks that a transfer ends under any configuration, loss, reordering and a
// falling MTU: either all data is acknowledged, or the connection fails. It does neither if timers
// expire forever and nothing is sent.
func TestTransferEnds(t *testing.T) {
	for seed := range int64(scaled(400, 1000)) {
		r := rand.New(rand.NewSource(seed))
		cfg := pairAnyConfig(r)
		p := newPair(t, 20*time.Millisecond, cfg, cfg)
		p.open()
		rate, late := []float64{0, 0.01, 0.03, 0.05}[r.Intn(4)], []float64{0, 0, 0.05, 0.3}[r.Intn(4)]
		shrink := r.Intn(3) == 0
		p.drop = func(pkt *pairPacket) bool {
			if r.Float64() < late {
				pkt.at = pkt.at.Add(time.Duration(r.Intn(15)) * time.Millisecond)
			}
			return r.Float64() < rate
		}
		const n = 150_000
		p.write(0, n/2)
		p.run(time.Duration(r.Intn(300)) * time.Millisecond)
		if shrink {
			p.do(0, func(c *Conn, o *Output) {
				c.ICMP(p.now, ICMPError{Kind: ICMPTooBig, Seq: c.snd.una, MTU: 1200}, o)
			})
		}
		p.write(0, n/2)
		c := &p.ends[0].conn
		for until := p.now.Add(1000 * time.Second); c.Acked() < n && c.State() != StateClosed && p.step(until); {
		}
		if c.Acked() < n && c.State() != StateClosed {
			t.Fatalf("seed %d, %s, SACK %v, RACK %v: %d of %d bytes are acknowledged after %v, in %v",
				seed, cfg.Policy.Name, cfg.SACK, cfg.Policy.RACK, c.Acked(), n, p.now, c.snd.ep.kind)
		}
	}
}
