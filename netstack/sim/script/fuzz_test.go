package script

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse parses any input. Parse never panics and returns a script or faults with places. A
// script does not outgrow the input. Parse reads what String writes.
func FuzzParse(f *testing.F) {
	seed(f, "testdata/run/*.pkt")
	for _, bad := range badScripts {
		f.Add([]byte(bad.src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Parse("fuzz.pkt", src)
		if err != nil {
			checkErrors(t, err, string(src))
			return
		}
		if len(s.Events) > len(src) {
			t.Errorf("%d bytes give %d events", len(src), len(s.Events))
		}
		checkRoundTrip(t, s)
	})
}

// seed adds the files of a pattern to the seeds.
func seed(f *testing.F, pattern string) {
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
}

// checkErrors checks that err is a list of one to ten faults, each with a message and a place in
// src.
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

// FuzzRun runs randomly changed scripts. Engine and runner never panic. A script runs, fails at a
// place, or is refused.
func FuzzRun(f *testing.F) {
	seed(f, "testdata/run/*.pkt")
	seed(f, "../../tcp/testdata/*.pkt")
	f.Fuzz(func(t *testing.T, src []byte) {
		_, err := RunSource("fuzz.pkt", src, Config{})
		if failure, ok := errors.AsType[*Failure](err); ok && failure.Pos.Line > 0 {
			return
		}
		if faults, ok := errors.AsType[ErrorList](err); err != nil && (!ok || len(faults) == 0) {
			t.Errorf("err = %v of type %T, want a *Failure with its place, or a ErrorList", err, err)
		}
	})
}
