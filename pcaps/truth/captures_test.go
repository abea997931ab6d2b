package truth

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tcpwheel/pcaps/capture"
)

// TestPublicGate: on public captures the oracle repairs nearly all losses as they were repaired,
// wherever the capture was made. It lists the others; docs/notes/captures.md has the cause of each.
func TestPublicGate(t *testing.T) {
	if testing.Short() {
		t.Skip("TestTrials has the same goroutines: runs without -short")
	}
	const dir = "../../../shared/captures"
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	var r Replays
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || slices.Contains([]string{".md", ".tsv"}, filepath.Ext(name)) {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		var malformed *capture.Error
		if err := r.AddCapture(f, name); err != nil && !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for side, want := range [Sides]float64{SenderSide: 95, OnTheWay: 95, ReceiverSide: 90} {
		s := &r.Sides[side]
		if s.Needed < 50 || s.Share().Percent < want {
			t.Errorf("captured at %v, %d of %d losses pass the gate, want %v %%", Side(side), s.Passed, s.Needed, want)
		}
		for _, m := range s.Missed {
			t.Logf("%v: %+v", Side(side), m)
		}
	}
}
