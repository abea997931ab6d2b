package vegas

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

// TestOneOnOne runs the combinations of Table III: the order of its figures holds.
func TestOneOnOne(t *testing.T) {
	out := studytest.Run(t, OneOnOne, "study: oneonone\nseeds: 8\nrenos: []\n")
	for _, name := range []string{"rates", "both-vegas", "small-vegas"} {
		if c := studytest.Claim(t, out, name); c.Verdict == experiments.NotReproduced {
			t.Errorf("%s: %v, want at least the order of Table III", name, c.Measured)
		}
	}
}

// TestOneOnOneFalsifier takes Reno for Vegas.
func TestOneOnOneFalsifier(t *testing.T) {
	out := studytest.Run(t, OneOnOne, "study: oneonone\nseeds: 4\nrenos: []\nvegas: bsd control=newreno +reno -tlp "+
		"-rack -frto -sack -timestamps +timestamps\n")
	if c := studytest.Claim(t, out, "both-vegas"); c.Verdict == experiments.Reproduced {
		t.Errorf("two transfers of Reno under the name of Vegas retransmit %v", c.Measured)
	}
}

// TestOneOnOneWithin checks that the small transfer runs within the large one, and that a queue
// that holds both windows loses nothing.
func TestOneOnOneWithin(t *testing.T) {
	p := studytest.Own[oneOnOnePlan](t, OneOnOne)
	pairs := p.pairs()
	c, err := p.run(pairs[0], oneOnOneCell{Buffers: 1000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	small, large := c.Transfers[0], c.Transfers[1]
	if small.Retransmitted+large.Retransmitted+small.Timeouts+large.Timeouts != 0 {
		t.Errorf("%+v without losses, want none retransmitted", c.Transfers)
	}
	if least := float64(p.Small+p.Large) * 8 / float64(p.Rate); large.Took.Seconds() < least ||
		small.Took+p.Latest > large.Took {
		t.Errorf("%v and %v s, want the large one to take both transfers' %v s and more, and the small one to end "+
			"within it", small.Took.Seconds(), large.Took.Seconds(), least)
	}
	if large.Took > time.Minute || small.Took < time.Second {
		t.Errorf("%+v, want seconds", c.Transfers)
	}
}
