package frontier

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/pcaps/samples"
	"tcpwheel/wheel"
)

// TestFlights groups round trips: a segment that leaves before the first ACK of a flight belongs to
// it.
func TestFlights(t *testing.T) {
	const ms = time.Millisecond
	var rounds []round
	for _, s := range []struct{ sent, rtt time.Duration }{{0, 20 * ms}, {5 * ms, 30 * ms}, {20 * ms, 10 * ms},
		{40 * ms, 10 * ms}} {
		rounds = addSample(rounds, wheel.Time(s.sent), s.rtt)
	}
	if len(rounds) != 3 || len(rounds[0].rtts) != 2 || rounds[1].sent != wheel.Time(20*ms) {
		t.Errorf("%+v, want flights of two, one and one segments", rounds)
	}
}

// TestCaptured runs the estimators over a sample, whose round trips are 20 ms and more.
func TestCaptured(t *testing.T) {
	if testing.Short() {
		t.Skip("its cells run as in TestClaims: runs without -short")
	}
	in, err := samples.Open("reorder/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "a.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadFrom(in); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := roundTrips(f.Name())
	if err != nil || len(all) == 0 || all[0][0].rtts[0] < 10*time.Millisecond || all[0][0].rtts[0] > time.Second {
		t.Fatalf("%d directions, %v, want one whose round trips are tens of milliseconds", len(all), err)
	}
	out := studytest.Run(t, Study, small+"captures: "+dir+"\n")
	if c := studytest.Claim(t, out, "captured-order-next"); c.Measured.Text == "" {
		t.Errorf("%+v", c)
	}
}
