package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// TestNotesAreGolden comments on a lost tail, a burst, and a lost retransmission, and reads the
// comments back from the copy.
func TestNotesAreGolden(t *testing.T) {
	b := captured(t, 1, 200_000, lossy)
	n := NewNotes()
	read(t, b, nil, n)
	name := filepath.Join(t.TempDir(), "lossy.pcapng")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := capture.Annotate(&out, name, n.Comment); err != nil {
		t.Fatal(err)
	}
	r, err := capture.NewReader(&out, "copy")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got strings.Builder
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Comments() {
			fmt.Fprintf(&got, "%d: %s\n", p.Number, c)
		}
	}
	golden(t, "notes.golden", got.String())
}

// TestNotesKeepToTheFilter leaves episodes out that are not wanted.
func TestNotesKeepToTheFilter(t *testing.T) {
	b := captured(t, 1, 200_000, lossy)
	n := NewNotes()
	tracker := track.New(track.Config{Event: n.Event, Done: func(c *track.Conn) { n.Add(c, func(*track.Episode) bool { return false }) }})
	r, err := capture.NewReader(bytes.NewReader(b), "test")
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := r.Next()
		if err != nil {
			break
		}
		tracker.Add(p)
	}
	tracker.Close()
	for i, text := range n.all {
		t.Errorf("packet %d: %s", i, text)
	}
}

// TestNotesAreBounded cuts what is said of one packet.
func TestNotesAreBounded(t *testing.T) {
	n := NewNotes()
	for i := range 1000 {
		n.note(1, strings.Repeat("x", 50)+fmt.Sprint(i))
	}
	if len(n.Comment(1)) > longestNote || n.Missed() == 0 {
		t.Errorf("%d bytes, %d left out", len(n.Comment(1)), n.Missed())
	}
}
