package script

import (
	"os"
	"strings"
	"testing"
)

// FuzzParse holds Parse to its word on any input: no panic, either a script or faults with their places, and a tree and a text
// that do not outgrow the input. What it accepts comes back from Format.
func FuzzParse(f *testing.F) {
	for _, name := range scripts(f) {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, bad := range badScripts {
		f.Add([]byte(bad.src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Parse("fuzz.pkt", src)
		if err != nil {
			checkErrors(t, err, string(src))
			return
		}
		// Each item and each setting takes two octets at least; the longest addition is the command of a setting.
		if n := len(Format(s)); len(s.Items) > len(src) || n > 16*len(src)+16 {
			t.Errorf("%d octets give %d items and %d octets of text", len(src), len(s.Items), n)
		}
		checkRoundTrip(t, s)
	})
}

// checkErrors checks that err is a list of one to ten faults, each with a message and a place inside src.
func checkErrors(t testing.TB, err error, src string) {
	t.Helper()
	list, ok := err.(ErrorList)
	if !ok || len(list) < 1 || len(list) > maxErrors {
		t.Fatalf("Parse returns %T with %d faults, want an ErrorList with 1..%d", err, len(list), maxErrors)
	}
	lines := strings.Split(src, "\n")
	for _, e := range list {
		if e.Msg == "" || e.Pos.Line < 1 || e.Pos.Line > len(lines) ||
			e.Pos.Column < 1 || e.Pos.Column > len(lines[e.Pos.Line-1])+1 {
			t.Errorf("fault %q has no message, or a place outside the %d lines", e, len(lines))
		}
	}
}
