package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// screen returns the lines that a terminal shows after text was written to it.
func screen(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		var cells []rune
		at := 0
		for _, r := range line {
			if r == '\r' {
				at = 0
				continue
			}
			if at == len(cells) {
				cells = append(cells, ' ')
			}
			cells[at] = r
			at++
		}
		lines = append(lines, strings.TrimRight(string(cells), " "))
	}
	return lines
}

// TestStatusLine checks that a shorter line erases a longer one, that messages go above it, and
// that it is erased at the end.
func TestStatusLine(t *testing.T) {
	var out bytes.Buffer
	s := statusLine{w: &out}
	want := func(want ...string) {
		t.Helper()
		if got := screen(out.String()); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the terminal shows %q, want %q", got, want)
		}
	}
	s.print("ready")
	s.show("a long line")
	s.show("short")
	want("ready", "short")
	s.print("trouble")
	want("ready", "trouble", "")
	s.show(strings.Repeat("µ", 200)) // cut between characters, not in one
	want("ready", "trouble", strings.Repeat("µ", 79))
	s.stop()
	want("ready", "trouble", "")
}

func TestStatusLineIsKept(t *testing.T) {
	var out bytes.Buffer
	s := statusLine{w: &out}
	shown := make(chan time.Duration)
	s.begin(time.Millisecond, func(d time.Duration) string {
		select {
		case shown <- d:
		default:
		}
		return "x"
	})
	for range 3 {
		if d := <-shown; d <= 0 {
			t.Errorf("%v since the call before", d)
		}
	}
	s.stop()
	if got := screen(out.String()); len(got) != 1 || got[0] != "" || out.Len() == 0 {
		t.Errorf("%q is left of the line", got)
	}
}

func TestPerSecond(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B/s", 9: "9 B/s", 999: "999 B/s", 1000: "1 kB/s", 1250: "1.2 kB/s", 99_900: "100 kB/s",
		999_499: "999 kB/s", 999_500: "1 MB/s", 2_500_000_000: "2.5 GB/s", 1 << 62: "4611686 TB/s"} {
		if got := perSecond(n, time.Second); got != want {
			t.Errorf("%d bytes in a second are %s, want %s", n, got, want)
		}
	}
	if got := perSecond(1000, 500*time.Millisecond); got != "2 kB/s" {
		t.Errorf("1000 bytes in half a second are %s", got)
	}
}
