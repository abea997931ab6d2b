package tail

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// TestPageAndCapture writes the page and the capture of a measurement twice: with the same bytes.
// The capture has a comment on each lost segment and on each retransmission of a timer, and the
// tracker finds the times in it that the result has.
func TestPageAndCapture(t *testing.T) {
	measure := func() (results []Result, page, packets []byte) {
		t.Helper()
		var out, file bytes.Buffer
		c := Config{RTT: 10 * time.Millisecond, Count: 3, Segments: []int{1, 10}, Virtual: true,
			Senders: []string{Ours("per-segment@10ms"), Ours("bsd")}}
		var err error
		if c.Capture, err = NewCapture(&file); err != nil {
			t.Fatal(err)
		}
		if results, err = Run(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Capture.Err(); err != nil {
			t.Fatal(err)
		}
		if err := WritePage(&out, results, "tcpwheel tail <x>"); err != nil {
			t.Fatal(err)
		}
		return results, out.Bytes(), file.Bytes()
	}
	results, page, packets := measure()
	if _, page2, packets2 := measure(); !bytes.Equal(page, page2) || !bytes.Equal(packets, packets2) {
		t.Error("a second measurement gives another page or capture")
	}
	for _, want := range []string{"Lone segment lost", "Last of 10 segments lost", "tcpwheel tail &lt;x&gt;",
		"times as long", "<svg", "ours bsd"} {
		if n := strings.Count(string(page), want); n == 0 {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(string(packets), "lost"); n != 12 {
		t.Errorf("%d comments on losses, want 12", n)
	}
	r, err := capture.NewReader(bytes.NewReader(packets), "tail")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var longest, want time.Duration
	tracker := track.New(track.Config{Done: func(c *track.Conn) {
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				longest = max(longest, e.D)
			}
		}
	}})
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tracker.Add(p)
	}
	tracker.Close()
	for _, r := range results {
		want = max(want, r.Waits[len(r.Waits)-1])
	}
	if longest != want {
		t.Errorf("the tracker finds a longest wait of %v, want %v", longest, want)
	}
}
