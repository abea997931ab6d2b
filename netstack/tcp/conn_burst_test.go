package tcp

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// TestBurstEqualsSendOne runs flows twice: segment by segment, and with sendBurst. All segments and
// running timers are equal, under loss and with any windows, writes and options.
func TestBurstEqualsSendOne(t *testing.T) {
	for seed := range int64(scaled(20, 60)) {
		run := func(plain bool) (log []string) {
			rng := rand.New(rand.NewSource(seed))
			cfg := DefaultConfig(tcptimers.MustPolicy([]string{"per-segment", "per-segment", "rfc6298", "linux", "bsd"}[rng.Intn(5)]))
			cfg.Timestamps, cfg.SACK, cfg.ECN = rng.Intn(4) > 0, rng.Intn(4) > 0, rng.Intn(2) > 0
			cfg.Pacing, cfg.Minshall = rng.Intn(8) == 0, rng.Intn(2) > 0
			cfg.MaxSegments = []int{10, 1 << 16}[rng.Intn(2)]
			cfg.RecvBuffer, cfg.RecvBufferMax = uint32(5000+rng.Intn(200_000)), 0
			cfg.Socket.NoDelay = rng.Intn(2) > 0
			p := newPair(t, time.Duration(1+rng.Intn(20))*time.Millisecond, cfg, cfg)
			p.ends[0].out.noBursts = plain
			loss := []float64{0, 0, 0.01, 0.1}[rng.Intn(4)]
			p.open()
			p.drop = func(k *pairPacket) bool {
				log = append(log, fmt.Sprintf("%v %d %+v %v", p.now, k.from, k.out, p.ends[0].timers))
				return rng.Float64() < loss
			}
			for range 8 {
				n := uint32(1 + rng.Intn(100_000))
				if rng.Intn(2) == 0 {
					n = uint32(1+rng.Intn(60)) * p.ends[0].conn.snd.mss
				}
				p.write(0, n)
				if rng.Intn(4) == 0 {
					p.write(1, uint32(1+rng.Intn(5000)))
				}
				p.run(time.Duration(rng.Intn(60)) * time.Millisecond)
			}
			p.shutdown(0)
			p.run(10 * time.Second)
			return append(log, fmt.Sprintf("%+v", p.ends[0].conn.Info(p.now)), fmt.Sprintf("%+v", p.ends[0].out.Counters))
		}
		got, want := run(false), run(true)
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("seed %d, packet %d:\n%s, want\n%s", seed, i, got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d packets, want %d", seed, len(got), len(want))
		}
	}
}

// TestBurstSplitsIntoItsSegments lets the owner take bursts. Each equals the segments sent without
// bursts.
func TestBurstSplitsIntoItsSegments(t *testing.T) {
	type segment struct {
		header Header
		offset uint64
		len    uint32
	}
	const most = 20_000
	run := func(train uint32) (segments []segment, timers []TimerOp, bursts int) {
		s := newBulkSender(t, train)
		rng := rand.New(rand.NewSource(1))
		take := func() {
			for _, out := range s.out.Segments {
				if out.MSS != 0 {
					bursts++
					if out.Len%out.MSS != 0 || out.Len <= out.MSS || out.Len > most {
						t.Fatalf("burst of %d bytes in segments of %d, want full ones and at most %d bytes", out.Len, out.MSS, most)
					}
				}
				for n := out.Len; n > 0; {
					k := n
					if out.MSS != 0 {
						k = out.MSS
					}
					segments = append(segments, segment{out.Header, out.Offset, k})
					out.Header.Seq, out.Offset, n = out.Header.Seq.Add(k), out.Offset+uint64(k), n-k
				}
			}
			timers = append(timers, s.out.Timers...)
			s.out.Reset()
		}
		for range 200 {
			s.now = s.now.Add(time.Millisecond)
			s.conn.Wrote(s.now, uint32(rng.Intn(50_000)), 0, &s.out)
			take()
			s.now = s.now.Add(time.Millisecond)
			s.peer.Ack, s.peer.Options.TSEcr = s.conn.snd.una.Add(s.conn.snd.nxt.Sub(s.conn.snd.una)/uint32(1+rng.Intn(3))), s.conn.snd.timestamp(s.now)
			s.conn.Input(s.now, &Inbound{Header: &s.peer}, &s.out)
			take()
			if err := s.conn.Check(); err != nil {
				t.Fatal(err)
			}
		}
		return segments, timers, bursts
	}
	got, timers, bursts := run(most)
	want, wantTimers, none := run(0)
	if bursts == 0 || none != 0 {
		t.Fatalf("%d bursts, and %d for an owner that takes none", bursts, none)
	}
	if !slices.Equal(got, want) {
		t.Error("the bursts differ from the segments sent one by one")
	}
	if !slices.Equal(timers, wantTimers) {
		t.Error("bursts start other timers")
	}
}
