package truth

import (
	"context"
	"flag"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
)

var differences = flag.Bool("differences", false, "TestGate logs each retransmission of another kind")

// TestGate checks the promised accuracy on simulated connections, on a fifth of them by default:
// kinds right at the sender 99 %, at the receiver with timestamps 97 %; with DSACK, precision and
// recall of spurious retransmissions 99 %.
func TestGate(t *testing.T) {
	if testing.Short() {
		t.Skip("TestTrials has the same goroutines: runs without -short")
	}
	g := Gate{Seeds: 5, every: 5}
	if os.Getenv("TCPWHEEL_LONG") != "" {
		g.every = 1
	}
	if *differences {
		g.Note = func(format string, args ...any) { t.Logf(format, args...) }
	}
	got, n, err := g.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if n < 5*540/g.every {
		t.Errorf("%d connections, want more", n)
	}
	for side, want := range [Sides]float64{99, 98, 97} {
		s := got.Sum(func(c Class) bool { return c.Side == Side(side) && (c.Side != ReceiverSide || c.Timestamps) })
		if _, all := s.Episodes.Right(); all < 5*2000/g.every || s.Kinds() < want {
			t.Errorf("%v: %.2f %% of %d episodes are of the right kind, want %v %%", Side(side), s.Kinds(), all, want)
		}
		s = got.Sum(func(c Class) bool { return c.Side == Side(side) && c.SACK })
		if v := &s.Verdicts; v.Precision() < 99 || v.Recall() < 99 {
			t.Errorf("%v: spurious: precision %.2f %%, recall %.2f %%, want 99 %%", Side(side), v.Precision(), v.Recall())
		}
	}
	errors := slices.Sorted(slices.Values(got.Sum(func(c Class) bool { return c.Side == SenderSide }).Errors))
	if off := errors[len(errors)*95/100]; off != 0 {
		t.Errorf("at the sender D is off by %v at the 95th percentile, want 0s", off)
	}
}

// TestResultIsTheSameOnAnyProcessors expects the same result from any number of processors.
func TestResultIsTheSameOnAnyProcessors(t *testing.T) {
	one := batch{}
	g := Gate{Seeds: 1}
	some := g.scenarios()[:20]
	err := one.run(context.Background(), &g, 7, some)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	other := batch{}
	otherErr := other.run(context.Background(), &g, 7, some)
	if err != nil || otherErr != nil || len(one.sum) == 0 || !reflect.DeepEqual(one.sum, other.sum) {
		t.Errorf("%v, %v, and the sums differ", err, otherErr)
	}
}

// TestLabels runs tshark on the captures; its "fast" labels retransmissions caused by ACKs.
func TestLabels(t *testing.T) {
	tshark := FindTshark()
	if tshark == "" {
		t.Skip("no tshark")
	}
	g := Gate{Seeds: 1, Tshark: tshark}
	var some []Scenario
	for i := range uint64(4) {
		some = append(some, Scenario{
			Policy: tcptimers.MustPolicy("linux"), SACK: i%2 == 0, Timestamps: true, RTT: 40 * time.Millisecond, Rate: 20_000_000,
			Loss: sim.Losses{sim.Bernoulli{P: 0.06}}, App: apps[0], Seed: 5000 + i, Span: 5 * time.Minute,
		})
	}
	var b batch
	if err := b.run(context.Background(), &g, 0, some); err != nil {
		t.Fatal(err)
	}
	s := b.sum.Sum(func(c Class) bool { return c.Side == SenderSide })
	const fast = 0
	if n := s.Labels.Kinds[track.Fast][fast]; n < 20 || s.Labels.Kinds[track.RTO][fast] > n/10 {
		t.Errorf("%v, want fast to be fast", s.Labels.Kinds)
	}
	packets, ours := 0, 0
	for kind := range track.Kinds {
		for _, n := range s.Labels.Kinds[kind] {
			packets += n
		}
		for _, n := range s.Packets[kind] {
			ours += n
		}
	}
	if packets != ours {
		t.Errorf("tshark has %d retransmitted packets, want %d", packets, ours)
	}
	var text strings.Builder
	s.Write(&text)
	for line := range strings.Lines(text.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns, want 80: %s", len(line)-1, line)
		}
	}
	t.Log(text.String())
}

// TestWideTables prints tables below each other when they are too wide.
func TestWideTables(t *testing.T) {
	s := &Tally{}
	for k := range track.Kinds {
		for i := range s.Packets[k] {
			s.Packets[k][i] = 12345
		}
		for i := range s.Labels.Kinds[k] {
			s.Labels.Kinds[k][i] = 12345
		}
	}
	var text strings.Builder
	s.Write(&text)
	heads := 0
	for line := range strings.Lines(text.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns, want 80: %s", len(line)-1, line)
		}
		if strings.Contains(line, "found:") || strings.Contains(line, "tshark:") {
			heads++
		}
	}
	if heads != 4 { // of episodes, of packets twice, of verdicts
		t.Errorf("%d heads, want 4:\n%s", heads, &text)
	}
}

func TestGateErrors(t *testing.T) {
	if _, _, err := (&Gate{}).Run(context.Background()); err == nil {
		t.Error("no seeds: no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := (&Gate{Seeds: 1}).Run(ctx); err == nil {
		t.Error("cancelled: no error")
	}
}
