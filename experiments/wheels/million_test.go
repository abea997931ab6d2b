package wheels

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const millionSmall = "study: million\nconnections: 20000\nkeepalive: 10m\n" +
	"facilities: [scheme6 slots=4096, scheme6-eager slots=4096, scheme7 slots=64 levels=4, scheme3]\n" +
	"rotations: 2\nwatched: 200ms\nseeds: 1\n"

func TestMillion(t *testing.T) {
	out := studytest.Run(t, Million, millionSmall)
	studytest.Want(t, out, experiments.Reproduced)
	// 20,000 timers in 4096 slots, a thousand ticks a second.
	if got := studytest.Claim(t, out, "idle").Measured.Value; got != 20_000./4096*1000 {
		t.Errorf("%v visits a second, want n/M per tick", got)
	}
}

func TestMillionAPacketDelaysTimers(t *testing.T) {
	p := &millionPlan{
		Connections: 1000, Keepalive: time.Minute, Tick: time.Millisecond, Active: 10, Packets: 10_000,
		Watched: time.Second, RTO: 200 * time.Millisecond, DelAck: 40 * time.Millisecond,
	}
	f := millionFacility{Text: "scheme3", Scheme: "scheme3"}
	c, err := millionRun(p, &f, millionActive, 1)
	if err != nil {
		t.Fatal(err)
	}
	// Each packet delays a keepalive timer; half start a retransmission timer.
	if s := c.Counts.Starts; s < 10_000+5_000 || s > 10_000+10_000+c.Counts.Expiries || c.Calls != s+c.Counts.Stops {
		t.Errorf("10,000 packets: %+v, %d calls", c.Counts, c.Calls)
	}
}

// The study notices a wheel of half the slots in the place of another.
func TestMillionFalsifier(t *testing.T) {
	p := &millionPlan{
		Connections: 1000, Keepalive: time.Minute, Tick: time.Millisecond, Rotations: 2, Active: 10, Packets: 1000,
		Watched: time.Second, RTO: 200 * time.Millisecond, DelAck: 40 * time.Millisecond, Seeds: 1,
	}
	half := millionFacility{Text: "scheme6 slots=1024", Scheme: "scheme6", Slots: 512}
	const plan = "study: million\nconnections: 1000\nkeepalive: 1m\nfacilities: [scheme6 slots=1024]\nrotations: 2\n" +
		"active: 10\npackets: 1000\nwatched: 1s\nseeds: 1\n"
	_, out := studytest.RunAltered(t, Million, plan, func(c *millionCell) {
		var err error
		if *c, err = millionRun(p, &half, c.Mode, 1); err != nil {
			t.Fatal(err)
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "idle", "steady")
}

func TestMillionFacilityText(t *testing.T) {
	studytest.WantRefused(t, Million, map[string]string{
		"facilities: [scheme6]":                   "want slots= too",
		"facilities: [scheme9 slots=4]":           "unknown scheme",
		"facilities: [scheme6 slots=1000]":        "power of two",
		"facilities: [scheme7 slots=64 depth=3]":  "want slots=, levels= or lazy",
		"facilities: [runtime]":                   "no virtual time",
		"facilities: [scheme7 slots=64 levels=9]": "levels 9",
	})
}

func TestMillionClockRuns(t *testing.T) {
	out := studytest.Live(t, Million, "clock", millionSmall+"packets: 1000\n")
	if len(out.Tables) != 1 || len(out.Tables[0].Rows) != 5 {
		t.Errorf("tables %+v, want a row for each facility and the runtime", out.Tables)
	}
}
