package script

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRun runs scripts that were changed at random: the engine and the runner never panic, and a script either runs, fails at
// a place of it, or says what cannot be run.
func FuzzRun(f *testing.F) {
	for _, dir := range []string{"testdata/run/*.pkt", "../../tcp/testdata/*.pkt"} {
		files, _ := filepath.Glob(dir)
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
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
