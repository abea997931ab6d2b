package testbed

import (
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
)

func askAll(t *testing.T, f FanIn, port sim.Limit) ([]Query, error) {
	t.Helper()
	tm := MustTimers("rfc6298@exact floor=300ms control=newreno delack=off")
	link := sim.LinkConfig{Rate: 1e9, Delay: 25 * time.Microsecond}
	to := link
	to.Queue = port
	s, err := NewStar(StarPlan{Seed: 1, Client: tm.Config(), Server: tm.Config(), Servers: 4, Access: link, Port: to,
		Back: link})
	if err != nil {
		t.Fatal(err)
	}
	return f.Run(s)
}

func TestFanIn(t *testing.T) {
	f := FanIn{Seed: 1, Request: 100, Response: 14480, Queries: 3, Warmup: 1, Think: time.Second, Limit: time.Minute}
	queries, err := askAll(t, f, sim.Limit{})
	if err != nil || len(queries) != 3 {
		t.Fatalf("queries %v, %v, want 3", queries, err)
	}
	for _, q := range queries {
		// 4 answers of 10 packets of 1500 bytes take 480 µs.
		if q.Timeouts != 0 || q.Took < 480*time.Microsecond || q.Took > time.Millisecond {
			t.Errorf("query %+v without losses, want 480 µs to 1 ms", q)
		}
	}
	// A port with a queue of one packet drops tails, which only a timer can repair.
	queries, err = askAll(t, f, sim.Limit{Packets: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queries {
		if q.Timeouts == 0 || q.Took < 300*time.Millisecond {
			t.Errorf("query %+v through a queue of one packet, want timeouts and at least 300 ms", q)
		}
	}
	f.Limit = 100 * time.Millisecond
	if _, err := askAll(t, f, sim.Limit{Packets: 1}); err == nil || !strings.Contains(err.Error(), "of 3 queries in") {
		t.Errorf("Run past its limit: %v, want an error", err)
	}
}
