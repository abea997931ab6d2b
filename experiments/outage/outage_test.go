package outage

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

func small() *Plan {
	return &Plan{
		RTT: 100 * time.Millisecond, Flights: []int{1, 8}, Spans: []time.Duration{0, 100 * time.Millisecond},
		Parts:   []int{0, 50},
		Outages: []time.Duration{0, 3 * time.Second},
		Timers:  testbed.MustTimers("per-segment@exact -tlp -rack delack=off control=newreno -timestamps"),
		Warm:    40, Story: 8, Seeds: 2,
	}
}

func TestOutage(t *testing.T) {
	p := small()
	out := judged(t, p, studytest.Cells(t, cells(p)))
	studytest.Check(t, out)
	studytest.Want(t, out, experiments.Reproduced)
}

// TestOneEvent sends eight segments back to back; four arrive. A timer per segment
// retransmits the fifth after an RTO of 150 ms, and one timer 150 ms after the ACKs of 100 ms. Each
// then sends 1, 2 and the last.
func TestOneEvent(t *testing.T) {
	p := small()
	c := Cell{Flight: 8, Part: 50, Seed: 1}
	x := Case{SACK: true}
	for _, test := range []struct {
		side  int
		first time.Duration
	}{{0, 250 * time.Millisecond}, {1, 150 * time.Millisecond}} {
		got, rto, err := lose(p, &c, &x, sides[test.side])
		if err != nil {
			t.Fatal(err)
		}
		if rto != 150*time.Millisecond || got.First != test.first || got.Timeouts != 1 || got.Backoffs != 1 ||
			got.Bytes != mss ||
			got.Complete != test.first+3*p.RTT {
			t.Errorf("%v: RTO %v, %+v; want one segment after %v, and the last ACK three round trips later",
				sides[test.side], rto, got, test.first)
		}
	}
}

// TestFalsifier makes each timer of the flight an event of its own.
func TestFalsifier(t *testing.T) {
	p := small()
	all := studytest.Cells(t, cells(p))
	for i := range all {
		for j := range all[i].Cases {
			e := &all[i].Cases[j].Each
			e.Timeouts, e.Backoffs, e.Bytes, e.Ssthresh, e.Spare = e.Timeouts*8, 8, 8*mss, 2*mss-1, -1
		}
	}
	out := judged(t, p, all)
	studytest.Want(t, out, experiments.NotReproduced)
}

func judged(t *testing.T, p *Plan, cells []Cell) *experiments.Outcome {
	t.Helper()
	return studytest.Judge(t, declared.Judge[Plan, row](files, "."), p, rows(p, cells))
}
