package congestion

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"tcpwheel/wheel"
)

func TestNewRejects(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"bbr", Config{MSS: mss}, `unknown control "bbr", want one of newreno, cubic, vegas`},
		{"cubic", Config{}, "MSS 0 bytes, want 1..65535"},
		{"cubic", Config{MSS: 65536}, "MSS 65536 bytes, want 1..65535"},
		{"cubic", Config{MSS: mss, MaxWindow: 1999}, "MaxWindow 1999 bytes, want 2000..1073741824"},
		{"cubic", Config{MSS: mss, SlowStart: 4}, "SlowStart 4, want 0..3"},
		{"cubic", Config{MSS: mss, Reduce: 3}, "Reduce 3, want 0..2"},
		{"vegas", Config{MSS: mss, Alpha: 3, Beta: 2, Gamma: 1}, "Alpha 3, Beta 2, Gamma 1 segments"},
	} {
		if _, err := New(test.name, test.cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("New(%q, %+v) = %v, want %q", test.name, test.cfg, err, test.want)
		}
	}
}

// TestAbsurdInputs passes absurd inputs in any order: the window stays within bounds, ssthresh
// above its floor, and nothing panics.
func TestAbsurdInputs(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		for seed := range uint64(80) {
			r := rand.New(rand.NewPCG(seed, 1))
			cfg := Config{
				MSS: 1 + uint32(r.IntN(65535)), Paced: r.IntN(2) == 0, SlowStart: SlowStart(r.IntN(4)), Reduce: Reduce(r.IntN(3)),
				LimitBurst: r.IntN(2) == 0, Validate: r.IntN(2) == 0, SYNLost: r.IntN(4) == 0,
			}
			h := newControlTest(t, name, cfg)
			m := cfg.MSS
			for range 500 {
				now := wheel.Time(r.Int64() >> r.IntN(64))
				if r.IntN(2) == 0 {
					now = -now
				}
				span := func() time.Duration { return time.Duration(r.Uint64() >> r.IntN(64)) }
				before := h.c.Cwnd()
				switch r.IntN(10) {
				case 0:
					h.c.OnCongestion(now, absurd(r), Cause(r.IntN(2)))
				case 1:
					h.c.OnTimeout(now, absurd(r), r.IntN(2) == 0)
				case 2:
					h.c.OnRecovered(now, absurd(r))
				case 3:
					h.c.Undo(now, absurd(r), absurd(r))
					if h.c.Cwnd() < before {
						t.Fatalf("seed %d: Undo lowers the window from %d to %d", seed, before, h.c.Cwnd())
					}
				case 4:
					h.c.OnApplicationLimited(now)
				case 5:
					h.c.OnIdle(now, span(), span())
				case 6:
					m = 1 + uint32(r.IntN(65535))
					h.c.SetMSS(m)
				default:
					a := Ack{
						Acked: absurd(r), Delivered: absurd(r), Flight: absurd(r), Una: r.Uint32(), Nxt: r.Uint32(),
						RTT: span(), SRTT: span(), Limited: r.IntN(3) > 0, ECE: r.IntN(4) == 0,
					}
					h.c.OnAck(now, a)
					if after := h.c.Cwnd(); after > before && (!a.Limited || a.ECE || after-before > max(min(a.Acked, a.Flight), m)) {
						t.Fatalf("seed %d: window grows from %d to %d by %+v", seed, before, after, a)
					}
				}
				if w := h.c.Cwnd(); w < min(m, before) || w < 1 || w > maxWindow {
					t.Fatalf("seed %d: window of %d bytes, MSS %d", seed, w, m)
				}
				if h.c.Ssthresh() < 2*m && h.c.Ssthresh() < 2 {
					t.Fatalf("seed %d: ssthresh %d, MSS %d", seed, h.c.Ssthresh(), m)
				}
				if s := h.c.State(); s.Cwnd != h.c.Cwnd() || s.Name != name || s.SlowStart != h.c.InSlowStart() || s.K < 0 {
					t.Fatalf("seed %d: state %+v", seed, s)
				}
			}
		}
	})
}

// TestReduce: with 40 segments in flight of a window of 100, cubic reduces cwnd and the others the
// flight, unless Config says otherwise.
func TestReduce(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  Config
		want uint32
	}{
		{"cubic", Config{}, 70 * mss},
		{"cubic", Config{Validate: true}, 28 * mss},
		{"cubic", Config{Reduce: ReduceFlight}, 28 * mss},
		{"newreno", Config{}, 20 * mss},
		{"newreno", Config{Reduce: ReduceCwnd}, 50 * mss},
	} {
		h := newControlTest(t, test.name, test.cfg)
		h.c.Raise(100 * mss)
		h.c.OnCongestion(0, 40*mss, FastRetransmit)
		if got := h.c.Ssthresh(); got != test.want {
			t.Errorf("%s, %+v: ssthresh %d, want %d", test.name, test.cfg, got, test.want)
		}
	}
}

// TestInitialWindow: RFC 6928 §2: "min (10*MSS, max (2*MSS, 14600))".
func TestInitialWindow(t *testing.T) {
	for _, test := range []struct{ mss, want uint32 }{{64, 640}, {1460, 14600}, {1461, 14600}, {7300, 14600}, {9000, 18000}} {
		if got := initialWindow(test.mss); got != test.want {
			t.Errorf("InitialWindow(%d) = %d, want %d", test.mss, got, test.want)
		}
	}
	forAll(t, func(t *testing.T, name string) {
		newControlTest(t, name, Config{}).want(10*mss, math.MaxUint32)
		// RFC 5681 §3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after
		// a correctly transmitted SYN MUST be one segment consisting of at most SMSS bytes."
		newControlTest(t, name, Config{SYNLost: true}).want(mss, math.MaxUint32)
		h := newControlTest(t, name, Config{})
		h.c.SetMSS(500)
		h.want(5000, math.MaxUint32)
	})
}

func TestMSSShrinks(t *testing.T) {
	// RFC 5681 §3.1: "cwnd SHOULD be reduced by the ratio of the old segment size to the new
	// segment size."
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Reduce: ReduceFlight})
		h.congested(20)
		h.c.SetMSS(250)
		h.want(5000, 20*mss)
		h.c.SetMSS(8000)
		h.want(8000, 20*mss)
		defer func() {
			if recover() == nil {
				t.Error("SetMSS(0) does not panic")
			}
		}()
		h.c.SetMSS(0)
	})
}

func TestTimeoutChainIsOneEvent(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Reduce: ReduceFlight})
		h.congested(20)
		// RFC 5681 §3.1: "ssthresh = max (FlightSize / 2, 2*SMSS)", and of CUBIC RFC 9438 §4.8
		// takes β_cubic.
		want := uint32(10 * mss)
		if name == "cubic" {
			want = 14 * mss
		}
		h.c.OnTimeout(h.now, 20*mss, true)
		// RFC 5681 §3.1: "cwnd MUST be set to no more than the loss window, LW, which equals 1
		// full-sized segment (regardless of the value of IW)."
		h.want(mss, want)
		// RFC 5681 §3.1: "when a TCP sender detects segment loss using the retransmission timer and
		// the given segment has already been retransmitted by way of the retransmission timer at
		// least once, the value of ssthresh is held constant."
		h.c.OnTimeout(h.now, mss, false)
		h.c.OnTimeout(h.now, mss, false)
		h.want(mss, want)
	})
}

func TestSsthreshFloor(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Reduce: ReduceFlight})
		h.c.OnCongestion(0, mss, FastRetransmit)
		h.want(2*mss, 2*mss)
		h.c.OnTimeout(0, 0, true)
		h.want(mss, 2*mss)
	})
}

func TestRestartAfterIdle(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Reduce: ReduceFlight})
		h.congested(30)
		h.c.OnIdle(h.now, time.Second, time.Second)
		h.want(30*mss, 30*mss)
		// RFC 5681 §4.1: "a TCP SHOULD set cwnd to no more than RW before beginning transmission if
		// the TCP has not sent data in an interval exceeding the retransmission timeout."
		h.c.OnIdle(h.now, time.Second+1, time.Second)
		h.want(10*mss, 30*mss)
		h.c.OnTimeout(h.now, 4*mss, true)
		h.c.OnIdle(h.now, time.Hour, time.Second)
		if h.c.Cwnd() != mss { // RW is min(IW, cwnd)
			t.Errorf("idleness grew the window to %d", h.c.Cwnd())
		}
	})
}

func TestNoGrowthUnlessLimited(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		for _, a := range []Ack{
			{Acked: mss, Flight: 5 * mss, Una: 1000, Nxt: 2000, RTT: time.Millisecond},
			// RFC 3168 §6.1.2: no increase in response to an ACK with ECN-Echo.
			{Acked: mss, Flight: 50 * mss, Una: 1000, Nxt: 2000, RTT: time.Millisecond, Limited: true, ECE: true},
		} {
			for _, out := range []bool{false, true} {
				h := newControlTest(t, name, Config{Reduce: ReduceFlight})
				if out {
					h.congested(20)
				}
				before := h.c.Cwnd()
				for i := range uint32(200) {
					a.Una, a.Nxt = h.una+i*mss, h.una+(i+2)*mss
					h.c.OnAck(h.now.Add(time.Duration(i)*time.Millisecond), a)
				}
				if h.c.Cwnd() != before {
					t.Errorf("window grows from %d to %d by %+v", before, h.c.Cwnd(), a)
				}
			}
		}
	})
}

// TestUndoTimeout checks the Eifel response.
func TestUndoTimeout(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Reduce: ReduceFlight})
		h.congested(40)
		h.c.OnTimeout(h.now, 30*mss, true)
		h.c.OnTimeout(h.now, 30*mss, false) // one event with the first
		// RFC 4015 §3.1 (0): pipe_prev is the larger of FlightSize and ssthresh before the event,
		// and RFC 4015 §3.4 sets ssthresh to it, and cwnd to FlightSize + min(bytes_acked, IW).
		if !h.c.Undo(h.now, 12*mss, 3*mss) {
			t.Fatal("nothing to undo")
		}
		h.want(15*mss, 40*mss)
		if h.c.Undo(h.now, 90*mss, 90*mss) {
			t.Error("undone twice")
		}
		h.want(15*mss, 40*mss)

		h.c.OnTimeout(h.now, 15*mss, true)
		h.c.Undo(h.now, math.MaxUint32, math.MaxUint32) // no more than there was
		h.want(15*mss, 40*mss)
	})
}

func TestUndoBeforeThreshold(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Reduce: ReduceFlight})
		h.c.OnTimeout(0, 10*mss, true)
		h.c.Undo(0, 8*mss, mss)
		h.want(9*mss, math.MaxUint32)
	})
}

func TestAllocationAndSize(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 10
	}
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Validate: true, MaxWindow: 1 << 20})
		if n := testing.AllocsPerRun(runs, func() {
			h.round()
			h.c.OnCongestion(h.now, h.c.Cwnd(), FastRetransmit)
			h.c.OnRecovered(h.now, 0)
			h.c.Undo(h.now, 0, 0)
			_ = h.c.State()
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
	if n := unsafe.Sizeof(cubic{}) + unsafe.Sizeof(hystartPlusPlus{}); n > 256 {
		t.Errorf("cubic takes %d bytes, want 256 at most", n)
	}
}

// TestRaise checks that Raise never lowers the window and respects its bound.
func TestRaise(t *testing.T) {
	for _, name := range Names() {
		c, err := New(name, Config{MSS: 1000, MaxWindow: 50_000})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ to, want uint32 }{{1, 10_000}, {20_500, 20_500}, {3000, 20_500}, {math.MaxUint32, 50_000}} {
			if c.Raise(step.to); c.Cwnd() != step.want {
				t.Errorf("%s: Raise(%d) has made it %d, want %d", name, step.to, c.Cwnd(), step.want)
			}
		}
	}
}
