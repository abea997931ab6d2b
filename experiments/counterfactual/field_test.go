package counterfactual

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/plan"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
	"tcpwheel/wheel"
)

// TestField reads one sample from a directory, next to a file that is no capture. Its lost tail
// waits for a timer.
func TestField(t *testing.T) {
	dir := t.TempDir()
	f, err := samples.Open("tail-one/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	to, err := os.Create(filepath.Join(dir, "tail.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "study: field\ncaptures: " + dir + "\n"
	cells, out := studytest.RunAltered[fieldCell](t, Field, text, nil)
	if len(cells) != 1 || cells[0].File != "tail.pcapng" || cells[0].All != 1 || len(cells[0].Losses) != 2 {
		t.Fatalf("%+v, want one capture of a connection with two losses", cells)
	}
	studytest.Want(t, out, experiments.Reproduced, "lost", "waited")

	t.Log("# more waiting than time lost is a fault")
	_, out = studytest.RunAltered(t, Field, text, func(c *fieldCell) { c.Kinds[0].Waited += c.Kinds[0].Lost * 2 })
	studytest.Want(t, out, experiments.NotReproduced, "lost")
}

func TestFieldWithoutCaptures(t *testing.T) {
	f, err := plan.Parse("p", []byte("study: field\ncaptures: /nowhere\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := Field.OpenPlan(f, true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = experiments.Run(t.Context(), []*experiments.Job{j}, nil, 1, nil)
	if err == nil || !strings.Contains(err.Error(), "captures: ") || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// TestFieldOfPublicCaptures compares what the study says of public captures with a run over the
// first three sets of them: a later one does not move the numbers.
func TestFieldOfPublicCaptures(t *testing.T) {
	public, err := filepath.Abs("../../../shared/captures")
	if _, missing := os.Stat(public); err != nil || missing != nil {
		t.Skip("the public captures are not here: ", errors.Join(err, missing))
	}
	folder := t.TempDir()
	for _, set := range []string{".", "second", "third"} {
		names, err := filepath.Glob(filepath.Join(public, set, "*.*"))
		if err != nil || len(names) == 0 || os.MkdirAll(filepath.Join(folder, set), 0o777) != nil {
			t.Fatal(set, len(names), err)
		}
		for _, name := range names {
			bytes, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, set, filepath.Base(name)), bytes, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	_, out := studytest.RunAltered[fieldCell](t, Field, "study: field\ncaptures: "+folder+"\n", nil)
	if !strings.HasPrefix(out.Notes[0], publicLosses) {
		t.Errorf("the losses are %q, want %q", out.Notes[0], publicLosses)
	}
	if saves := studytest.Claim(t, out, "saves").Measured.Text; saves != publicSaves {
		t.Errorf("a timer per segment saves %q, want %q", saves, publicSaves)
	}
}

// TestResentPackets tells a tool that sends recorded packets from a TCP that retransmits.
func TestResentPackets(t *testing.T) {
	a, b := netip.MustParseAddrPort("192.0.2.1:1000"), netip.MustParseAddrPort("192.0.2.2:80")
	packet := func(at time.Duration, id, stamp uint32) *capture.Packet {
		p := &capture.Packet{Time: wheel.Time(at), Src: a, Dst: b, Len: 100, ID: id, HasID: true}
		p.Header.Options.HasTimestamps, p.Header.Options.TSVal = stamp > 0, stamp
		return p
	}
	for name, c := range map[string]struct {
		packets []*capture.Packet
		tool    bool
	}{
		"the same packet": {[]*capture.Packet{packet(0, 7, 50), packet(3*time.Second, 7, 50)}, true},
		"no timestamps":   {[]*capture.Packet{packet(0, 7, 0), packet(3*time.Second, 7, 0)}, true},
		"a new stamp":     {[]*capture.Packet{packet(0, 7, 50), packet(3*time.Second, 7, 53)}, false},
		"a new number":    {[]*capture.Packet{packet(0, 7, 50), packet(3*time.Second, 8, 53)}, false},
		"a copy":          {[]*capture.Packet{packet(0, 7, 50), packet(time.Millisecond, 7, 50)}, false},
		"no number":       {[]*capture.Packet{packet(0, 0, 0), packet(3*time.Second, 0, 0)}, false},
	} {
		r := newResentPackets()
		for _, p := range c.packets {
			r.see(p)
		}
		if got := r.by[[2]netip.AddrPort{a, b}]; got != c.tool {
			t.Errorf("%s: a tool %v, want %v", name, got, c.tool)
		}
	}
}
