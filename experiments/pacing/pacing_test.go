package pacing

import (
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

// transfers runs the transfers of the quick plan over 100 Mbit/s and 10 ms.
func transfers(t *testing.T, paced bool, tick time.Duration) Cell {
	t.Helper()
	p := studytest.Own[Plan](t, Study)
	c := p.path(Cell{Kind: onPath, Paced: paced, Tick: tick, Rate: 100_000_000, RoundTrip: 10 * time.Millisecond, Seed: 1})
	n := p.segments(&c)
	c, err := p.transfers(c, n, p.Objects, c.Gap/4)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := float64(8 * payload * n * p.Objects); c.Bits != want || c.Sent != n*p.Objects+int(c.Retransmit) ||
		c.Took < 10*time.Millisecond*time.Duration(p.Objects) || c.Trains > c.Sent || c.Longest*c.Trains < c.Sent ||
		c.Alone > c.UpTo5 || c.QueueMost > c.Room || c.Dropped > c.Retransmit {
		t.Errorf("%+v: the counts contradict each other, or %v bits", c, want)
	}
	return c
}

// TestTransfers checks that a fine tick separates the packets that leave together without pacing,
// that a tick of the round trip does not, and that this saves losses.
func TestTransfers(t *testing.T) {
	fine, coarse, none := transfers(t, true, time.Microsecond), transfers(t, true, 50*time.Millisecond),
		transfers(t, false, time.Microsecond)
	share := func(c Cell) float64 { return float64(c.Alone) / float64(c.Sent) }
	if share(fine) < 0.95 || share(coarse) > 0.25 || share(none) > 0.25 {
		t.Errorf("alone: %.2f paced by 1 µs, %.2f by 50 ms, %.2f unpaced, want nearly all, and few", share(fine),
			share(coarse), share(none))
	}
	if fine.Dropped >= none.Dropped || fine.Took >= none.Took || fine.Expiries <= none.Expiries {
		t.Errorf("paced: %d dropped, %v, %d expiries; unpaced: %d, %v, %d; want fewer, less and more", fine.Dropped,
			fine.Took, fine.Expiries, none.Dropped, none.Took, none.Expiries)
	}
}

// TestQueues checks that all queues release the same packets, and that no retransmission timer
// expires.
func TestQueues(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	const flows = 500
	for _, queue := range []string{"one-wheel", "two-wheels", "hierarchy"} {
		w, err := p.newPacer(queue, flows)
		if err != nil {
			t.Fatal(err)
		}
		w.run(1_000_000_000, p.Tick)
		// A flow's next release counts from the tick of the one before.
		want := float64(p.Packets) * float64(w.gap) / float64(w.gap+p.Tick)
		records, wakes := w.work()
		if n := float64(w.packets); n < want || n > float64(p.Packets+flows) || w.timeouts > 0 || records == 0 ||
			wakes == 0 {
			t.Errorf("%s: %v packets, %d timeouts, %d records, %d wakes, want %v to %d packets and no timeout", queue, n,
				w.timeouts, records, wakes, want, p.Packets+flows)
		}
	}
}

func TestPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Study, map[string]string{
		"rto_tick: 1us\n": "rto_tick: 1µs, want at least release_tick, 10µs",
		"flows: [10]\npackets_per_second: 10000000\n": "flows: 10, each with a packet each 1µs, want at least",
		"transfer: 10000\n":                           "transfer: ",
		"queues: [two-wheels]\n":                      "queues: want one-wheel among them",
		"ticks: [1ms, 1us]\n":                         "ticks",
		"queues: [calendar]\n":                        "queues",
		"losses: [0, 0.1, 0.6]\n":                     "losses",
	})
}

// TestFalsifiers changes results so that claims fail.
func TestFalsifiers(t *testing.T) {
	alter := func(c *Cell) {
		switch {
		case c.Kind == ofQueue && c.Queue == oneWheel:
			c.Work *= 10 * uint64(c.Flows)
		case c.Kind == onPath && c.Paced && c.Tick == time.Microsecond:
			c.Alone = 0
		case c.Kind == onPath && c.Paced && c.Tick > time.Millisecond:
			c.Took /= 2
		case c.Kind == onPath:
			c.Took /= 10
		case c.Kind == ofTails && c.Tick > time.Millisecond:
			c.Took *= 2
		case c.Kind == ofGaps:
			c.Alone = 3 * c.Sent / 10
		case c.Kind == ofOld && c.Paced:
			c.Took /= 10
		}
	}
	_, out := studytest.RunAltered(t, Study, "study: pacing\nseeds: 1\n", alter)
	studytest.Want(t, out, experiments.NotReproduced, "worse", "sack", "no-pacing", "burst", "precise", "rto", "shared")
}

// TestElsewhere runs plans that leave claims without meaning.
func TestElsewhere(t *testing.T) {
	const few = "study: pacing\nseeds: 1\ntail_transfers: 2\ngap_bytes: 1000000\nrates: [100000000]\n"
	for text, want := range map[string]map[string]string{
		"ticks: [1us]\nqueues: [one-wheel]\nflows: [1000]\n": {"burst": "no such ticks", "precise": "no tick of 100µs",
			"no-gain": "no tick is as long", "shared": "one wheel only"},
		"losses: [0.01]\ntail_loss: 0\n": {"burst": "no path without losses", "rto": "nothing waited",
			"sack": "losses"},
	} {
		out := studytest.Run(t, Study, few+text)
		for name, reason := range want {
			c := studytest.Claim(t, out, name)
			if c.Verdict != experiments.NotApplicable || !strings.Contains(c.Why, reason) {
				t.Errorf("%s: %s is %q, %q, want it not applicable: %s", text, name, c.Verdict, c.Why, reason)
			}
		}
	}
}

// TestKernel reads the gaps of real senders, whose packets are all in trains.
func TestKernel(t *testing.T) {
	out := studytest.Live(t, Study, "kernel", "study: pacing\ngap_bytes: 300000\n")
	rows := out.Tables[0].Rows
	if len(rows)+len(out.Notes) != 5 || len(rows) < 4 {
		t.Fatalf("%d rows and %d notes, want 5 senders, or a note that this kernel has no fq", len(rows), len(out.Notes))
	}
	for _, row := range rows {
		if n, ok := row[1].(int); !ok || n < 300000/payload || row[4] == 0.0 || row[6] == 0.0 {
			t.Errorf("%v, want each packet, a train and a goodput", row)
		}
	}
}
