package tcp

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestTimeWaitIsTheConnection gives the same random segments to a connection in TIME-WAIT and to
// one that is resumed from a TimeWait for each of them. They must answer, restart the timer, end
// and accept new incarnations alike.
func TestTimeWaitIsTheConnection(t *testing.T) {
	const ms = wheel.Time(time.Millisecond)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newTimeWaitTest(t, seed%2 == 0, func(c *EngineConfig) { c.Conn.SACK = seed%4 < 2 })
		c, now := &w.s.conn, w.e.now
		local, remote := w.s.Local(), w.s.Remote()
		left := c.TimeWait()
		var out [2]Output
		out[0].Counters, out[1].Counters = w.e.out.Counters, w.e.out.Counters
		for range 50 {
			now += wheel.Time(rng.Int64N(int64(400 * ms)))
			h := Header{
				Flags:  []Flags{ACK, ACK, FIN | ACK, RST, RST | ACK, SYN, SYN | ACK, PSH | ACK}[rng.IntN(8)],
				Seq:    w.clientNxt + Seq(rng.IntN(5)-3),
				Ack:    c.snd.nxt + Seq(rng.IntN(4)-2),
				Window: uint16(rng.IntN(1 << 16)),
			}
			if rng.IntN(4) == 0 {
				h.Seq += Seq(rng.IntN(1<<17)) - 1<<16
			}
			if h.Flags.Has(RST) && rng.IntN(4) != 0 {
				h.Seq = w.clientNxt + Seq(rng.IntN(3)+1) // most do not reset
			}
			if h.Options.HasTimestamps = rng.IntN(4) != 0; h.Options.HasTimestamps {
				h.Options.TSVal = 1002 + uint32(rng.IntN(6)) - 2
			}
			var data uint32
			if rng.IntN(3) == 0 {
				data = uint32(rng.IntN(5))
			}
			var resumed Conn
			left.Resume(&resumed, w.e.secret.TimestampOffset(local, remote), 0)
			was := c.TimeWait()
			at, ok := was.MayDialAgain(now)
			if at2, ok2 := left.MayDialAgain(now); at2 != at || ok2 != ok {
				t.Fatalf("seed %d: resumed, it may be dialed again: %v after %d, want %v after %d", seed, ok2, at2, ok, at)
			}
			at, ok = was.Reopens(&h)
			if at2, ok2 := left.Reopens(&h); at2 != at || ok2 != ok {
				t.Fatalf("seed %d: resumed, %+v reopens: %v after %d, want %v after %d", seed, h, ok2, at2, ok, at)
			}
			for i, c := range []*Conn{c, &resumed} {
				c.Input(now, &Inbound{Header: &h, Len: data}, &out[i])
				if err := c.Check(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			if !slices.Equal(out[0].Segments, out[1].Segments) || !slices.Equal(out[0].Timers, out[1].Timers) || out[0].Events != out[1].Events {
				t.Fatalf("seed %d: resumed, %+v gives\n%+v %v %v, want\n%+v %v %v", seed, h,
					out[1].Segments, out[1].Timers, out[1].Events, out[0].Segments, out[0].Timers, out[0].Events)
			}
			if c.state == StateClosed {
				break
			}
			out[0].Reset()
			out[1].Reset()
			left = resumed.TimeWait()
		}
		if out[0].Counters != out[1].Counters {
			t.Errorf("seed %d: resumed, it counts\n%+v, want\n%+v", seed, out[1].Counters, out[0].Counters)
		}
	}
}
