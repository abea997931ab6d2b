package virtual_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/virtual"
)

// exceptions reads testdata/scenarios.txt: scenarios that the binding cannot pass, with the
// reasons.
func exceptions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/scenarios.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if reason == "" || all[name] != "" {
			t.Errorf("testdata/scenarios.txt: %q, want a scenario that is listed once, with a reason", line)
		}
		all[name] = reason
	}
	return all
}

// TestScenariosOnTheBinding runs the scenarios of the engine on the binding, with its sockets. Only
// those in testdata/scenarios.txt may fail, and they must.
func TestScenariosOnTheBinding(t *testing.T) {
	files, err := filepath.Glob("../tcp/testdata/*.pkt")
	if err != nil {
		t.Fatal(err)
	}
	listed := exceptions(t)
	if n := len(files) - len(listed); n < 400 {
		t.Errorf("%d scenarios run on the binding, want 400 at least", n)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pkt")
		reason := listed[name]
		delete(listed, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = script.RunSource(file, src, script.Config{Host: virtual.NewScriptHost})
			switch {
			case err != nil && reason == "":
				t.Error(err)
			case err == nil && reason != "":
				t.Errorf("it passes: take it off testdata/scenarios.txt, where the reason is %q", reason)
			}
		})
	}
	for name := range listed {
		t.Errorf("testdata/scenarios.txt lists %s, which is no scenario", name)
	}
}
