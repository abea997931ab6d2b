package incast

import (
	"os"
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

// TestQueries checks the time of a query: one server fills the link, and 40 at once nearly always
// wait for the floor.
func TestQueries(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	ask := func(floor time.Duration, n, queries int) Cell {
		s := p.classic("classic", floor, "off")
		s.queries = queries
		c, err := run(p, s, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := ask(300*time.Millisecond, 1, 5)
	if mean := c.Took / 5; c.Timed != 0 || c.Dropped != 0 || mean < 8500*time.Microsecond ||
		mean > 8800*time.Microsecond {
		t.Errorf("one server: %+v, want no timeout and about 8.6 ms for each query", c)
	}
	for _, floor := range []time.Duration{300 * time.Millisecond, 10 * time.Millisecond} {
		c := ask(floor, 40, 20)
		if c.Timed < 18 || c.Least < floor || c.Took/20 > floor+12*time.Millisecond {
			t.Errorf("40 servers, floor %v: %+v, want a timeout in nearly each query, which takes little more than "+
				"the floor", floor, c)
		}
	}
}

var long = os.Getenv("TCPWHEEL_LONG") != ""

const small = "study: incast\nservers: [1, 16, 40]\nseeds: 2\nqueries: 4\nfewer: 4\nothers: []\n" +
	"receive_windows: [8688]\nbuffers: [200]\nservices: [1ms]\nvaried_seeds: 1\nrepairs: [\"+tlp\"]\n" +
	"repaired_servers: [16]\ndelack: \"off\"\nother_delacks: []\ngvisor_seeds: 1\n"

// TestFalsifier checks that the collapse is gone where the greatest floor is fine.
func TestFalsifier(t *testing.T) {
	if testing.Short() {
		t.Skip("results are the same under the race detector, which takes ten times as long")
	}
	one := strings.Replace(small, "seeds: 2", "seeds: 1", 1)
	out := studytest.Run(t, Study, one+"floors: [2ms, 1ms]\nfine: 1ms\n")
	studytest.Want(t, out, experiments.NotReproduced, "collapse")
	if long {
		out = studytest.Run(t, Study, strings.Replace(small, "seeds: 2", "seeds: 10",
			1)+"floors: [300ms, 1ms]\nfine: 1ms\n")
		studytest.Want(t, out, experiments.Reproduced, "least-time", "timed-out", "windows-fit", "gvisor")
	}
	// A port that holds everything loses nothing, and no query waits for the floor.
	out = studytest.Run(t, Study, one+"floors: [300ms, 1ms]\nfine: 1ms\nbuffer: 10000\n")
	studytest.Want(t, out, experiments.NotReproduced, "collapse")
	studytest.Want(t, out, experiments.Differs, "gvisor")
}

func TestPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Study, map[string]string{
		"fine: 7ms":               "fine: 7ms, want one of floors",
		"servers: [2, 40]":        "servers: [2 40], want numbers from 1",
		"delack: never":           `delack "never"`,
		"receive_windows: 100":    "receive_windows",
		"repairs: [tlp]":          `policy "tlp", want KEY=VALUE`,
		"repaired_servers: 5":     "repaired_servers: 5, want one of servers",
		"gvisor_floors: [1s, 1s]": `subjects: "gVisor's own TCP, floor=1s, no RACK" occurs twice`,
	})
}

// TestSubjects runs the engine in a gVisor stack as the servers: a query with a loss at the end
// takes the floor, as with the engine alone.
func TestSubjects(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	p.Subjects = []testbed.Subject{{Kind: testbed.Binding,
		Timers: testbed.MustTimers(p.Classic.Text + " floor=300ms delack=off")}}
	p.GVisorFloors, p.Warmup = nil, 0
	for _, s := range p.subjects() {
		if s.stack.Kind == "" {
			continue
		}
		s.queries = 4
		c, err := run(p, s, 40, 1)
		if err != nil || c.Queries != 4 || c.Timed < 3 || c.Least < 300*time.Millisecond {
			t.Errorf("%+v, %v, want queries that wait for the floor", c, err)
		}
		return
	}
	t.Error("the plan's subjects are not run")
}
