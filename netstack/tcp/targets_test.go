package tcp

import (
	"fmt"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// The effects of timers on TCP that are exact in the engine: two connections, one path.

// targetConfig is a configuration without delayed ACKs or limiting windows, which would blur the
// timers.
func targetConfig(p tcptimers.Policy) Config {
	p.DelAck = tcptimers.DelAckConfig{Every: 1}
	c := DefaultConfig(p)
	c.Congestion.InitialWindow = 64 * 1448
	c.Timestamps = false
	return c
}

// steady exchanges segments until SRTT is the RTT and RTTVAR has decayed.
func (p *pair) steady() {
	p.t.Helper()
	for range 200 {
		p.write(0, 1460)
		p.run(4 * p.delay)
	}
}

// firstResend drops the first transmissions of side 0 from byte n on, and returns when the first of
// them is retransmitted, relative to start.
func (p *pair) firstResend(drop func(out *Outgoing) bool) (first *time.Duration) {
	first = new(time.Duration)
	start := p.now
	p.drop = func(pkt *pairPacket) bool {
		if pkt.from != 0 || pkt.out.Len == 0 {
			return false
		}
		if pkt.out.Rexmit > 0 && *first == 0 {
			*first = p.now.Sub(start)
		}
		return pkt.out.Rexmit == 0 && drop(&pkt.out)
	}
	return first
}

func TestTailLossByPolicy(t *testing.T) {
	// k segments are sent back to back and the last j are lost. The ACKs of the others arrive after
	// an RTT.
	const rtt = 20 * time.Millisecond
	const k = 10
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	policies := []struct {
		name   string
		rexmit tcptimers.RexmitMode
		tlp    bool
	}{
		{"restart", tcptimers.RexmitRestart, false},
		{"rto-restart", tcptimers.RexmitRTORestart, false},
		{"per-segment", tcptimers.RexmitPerSegment, false},
		{"rack-tlp", tcptimers.RexmitRestart, true},
	}
	for _, floor := range []struct {
		name string
		min  time.Duration
	}{{"linux", ms(200)}, {"1s", ms(1000)}} {
		for _, policy := range policies {
			for _, j := range []int{1, 2, 3, 4, 7} {
				t.Run(fmt.Sprintf("%s/floor=%s/j=%d", policy.name, floor.name, j), func(t *testing.T) {
					pol := tcptimers.MustPolicy("linux")
					pol.Tick, pol.RTTTick = time.Microsecond, 0
					pol.Rexmit, pol.TLP, pol.RACK = policy.rexmit, policy.tlp, policy.tlp
					pol.FRTO = false
					rto := rtt + ms(200)
					if floor.name == "1s" {
						pol.Estimator, pol.Bounds.Min = tcptimers.EstimatorRFC6298, ms(1000)
						rto = ms(1000)
					}
					cfg := targetConfig(pol)
					cfg.Socket.NoDelay = true
					p := newPair(t, rtt/2, cfg, cfg)
					p.open()
					p.steady()
					start := p.now
					from := p.ends[0].conn.Acked() + (k-uint64(j))*1460
					first := p.firstResend(func(out *Outgoing) bool { return out.Offset >= from })
					p.write(0, k*1460)
					var done time.Duration
					for until := p.now.Add(10 * time.Second); p.step(until); {
						if c := &p.ends[0].conn; done == 0 && c.Acked() == from+uint64(j)*1460 {
							done = p.now.Sub(start)
						}
					}
					var want time.Duration
					switch {
					case policy.name == "restart", policy.name == "rto-restart" && j >= tcptimers.RRThresh:
						want = rtt + rto
					case policy.name != "rack-tlp":
						want = rto
					case j == 1: // RFC 8985 §7.2: "If FlightSize is one segment: PTO += TLP.max_ack_delay"
						want = min(rtt+2*rtt+ms(200), rtt+rto)
					default:
						want = 3 * rtt
					}
					if d := *first - want; d < -time.Microsecond || d > 50*time.Microsecond {
						t.Errorf("retransmitted after %v, want %v", *first, want)
					}
					rounds := 0
					for n := j; n > 0; n /= 2 {
						rounds++
					}
					if policy.tlp && j > 1 {
						// The SACK of the probe starts fast recovery. RFC 9937 allows one segment
						// for it, and then twice as many per RTT. Without its reduction bound it
						// would take two RTTs.
						rounds = 1
						for n := 1; n < j; n *= 2 {
							rounds++
						}
					}
					if d := done - *first - time.Duration(rounds)*rtt; d < -time.Microsecond || d > 50*time.Microsecond {
						t.Errorf("complete %v after that, want %v", done-*first, time.Duration(rounds)*rtt)
					}
				})
			}
		}
	}
}

func TestOneFlightOneTimeout(t *testing.T) {
	// A window of 32 segments is lost. With a timer per segment that is one congestion event: one
	// backoff, one ssthresh, and no more bytes in the first RTT than with one timer. No segment is
	// retransmitted within an RTO of its last transmission. RFC 6298 §5: "a segment is never
	// retransmitted too early, i.e., less than one RTO after the previous transmission of that
	// segment."
	for _, frto := range []bool{true, false} {
		type result struct {
			octets, timeouts, backoffs int
			ssthresh                   uint32
		}
		got := map[tcptimers.RexmitMode]result{}
		for _, mode := range []tcptimers.RexmitMode{tcptimers.RexmitRestart, tcptimers.RexmitPerSegment} {
			pol := tcptimers.MustPolicy("per-segment")
			pol.Rexmit, pol.RACK, pol.TLP, pol.FRTO = mode, false, false, frto
			cfg := targetConfig(pol)
			p := newPair(t, 50*time.Millisecond, cfg, cfg)
			p.open()
			p.steady()
			rto := p.ends[0].conn.snd.rtt.est.RTO()
			last := map[uint64]wheel.Time{}
			r := result{}
			outage := true
			var event wheel.Time
			p.drop = func(pkt *pairPacket) bool {
				if pkt.from != 0 || pkt.out.Len == 0 {
					return false
				}
				off := pkt.out.Offset
				if pkt.out.Rexmit > 0 {
					if event == 0 {
						event = p.now
						outage = false
					}
					if p.now.Sub(event) < 100*time.Millisecond {
						r.octets += int(pkt.out.Len)
					}
					if since := p.now.Sub(last[off]); mode == tcptimers.RexmitPerSegment && since < rto {
						t.Errorf("bytes at %d are retransmitted after %v, want an RTO of %v at least", off, since, rto)
					}
				}
				last[off] = p.now
				return outage
			}
			before := p.ends[0].out.Counters.TCPTimeouts
			p.write(0, 32*1460)
			for p.step(p.now.Add(time.Second)) && event == 0 {
			}
			p.run(90 * time.Millisecond)
			r.backoffs = p.ends[0].conn.snd.rtt.est.Backoffs()
			r.ssthresh = p.ends[0].conn.snd.cc.Ssthresh()
			p.run(10 * time.Second)
			r.timeouts = int(p.ends[0].out.Counters.TCPTimeouts - before)
			if p.ends[1].got != p.ends[0].conn.Acked() || p.ends[0].conn.snd.fl.sent.Len() > 0 {
				t.Fatalf("mode %v: not all has arrived", mode)
			}
			got[mode] = r
		}
		one, each := got[tcptimers.RexmitRestart], got[tcptimers.RexmitPerSegment]
		if each.timeouts != 1 || each.backoffs != 1 || each.ssthresh != one.ssthresh || each.octets > one.octets {
			t.Errorf("F-RTO %v: a timer per segment %+v, one timer %+v", frto, each, one)
		}
	}
}

func TestExpiryIsNeverEarly(t *testing.T) {
	// Engine timers expire at ticks, never early and less than a tick late. The first timeout of a
	// lost segment comes in [RTO, RTO + G) after its transmission, whatever the phase.
	for _, tick := range []time.Duration{time.Microsecond, time.Millisecond, 10 * time.Millisecond, 500 * time.Millisecond} {
		for i := range time.Duration(25) {
			pol := tcptimers.MustPolicy("per-segment")
			pol.Tick = tick
			pol.TLP = false
			cfg := targetConfig(pol)
			p := newPair(t, 10*time.Millisecond, cfg, cfg)
			p.open()
			p.steady()
			p.now = p.now.Add(i * tick / 25)
			rto := p.ends[0].conn.snd.rtt.est.RTO()
			first := p.firstResend(func(*Outgoing) bool { return true })
			p.write(0, 1460)
			p.run(20 * time.Second)
			if *first < rto || *first >= rto+tick {
				t.Errorf("tick %v, phase %v: retransmitted after %v, want %v and less than a tick more", tick, i*tick/25, *first, rto)
			}
		}
	}
}

func TestNoSpuriousTimeoutUnderDelayedACKs(t *testing.T) {
	// A peer that delays the ACK of a lone segment by 40 ms causes no retransmission, whatever the
	// RTT: that is what the variation floor of 50 ms is for. Delays toward 200 ms are learned.
	for _, rtt := range []time.Duration{100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
		for _, sack := range []bool{true, false} {
			a := DefaultConfig(tcptimers.MustPolicy("per-segment"))
			a.SACK = sack
			b := a
			b.Policy.DelAck = tcptimers.DelAckConfig{Every: 2, Delay: 40 * time.Millisecond, Min: 40 * time.Millisecond, Max: 40 * time.Millisecond}
			p := newPair(t, rtt/2, a, b)
			p.open()
			for i := range 300 {
				n := uint32(1000) // a lone segment, or a last odd one after full ones
				if i%3 == 0 {
					n += 1448 * uint32(i%5) * 2
				}
				p.write(0, n)
				p.run(500 * time.Millisecond)
			}
			if got := p.ends[0].conn.Info(p.now); got.TotalRetrans != 0 {
				t.Errorf("round trip of %v, SACK %v: %d retransmissions, %d probes, want none", rtt, sack, got.TotalRetrans, p.ends[0].out.Counters.TCPLossProbes)
			}
		}
	}
}
