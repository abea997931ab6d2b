package virtual_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/tcp"
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

// TestHostsShowTheSameInfo runs each scenario on both hosts, and compares what they show of their
// connections between the steps, at times when nothing happens.
func TestHostsShowTheSameInfo(t *testing.T) {
	files, err := filepath.Glob("../tcp/testdata/*.pkt")
	if err != nil {
		t.Fatal(err)
	}
	listed := exceptions(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pkt")
		if listed[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, got := samples(t, file, src, nil), samples(t, file, src, virtual.NewScriptHost)
			for i := range min(len(want), len(got)) {
				if diff := sampleDiff(&want[i], &got[i]); diff != "" {
					t.Errorf("%v, at %v: the binding differs from the engine: %s", want[i].Event, want[i].Elapsed, diff)
				}
			}
			if len(want) != len(got) {
				t.Errorf("%d samples on the binding, %d on the engine", len(got), len(want))
			}
		})
	}
}

// samples returns the samples of a run.
func samples(t *testing.T, file string, src []byte, host func(script.HostConfig) (script.Host, error)) (all []script.Sample) {
	t.Helper()
	cfg := script.Config{Host: host, Watch: func(s script.Sample) { all = append(all, s) }}
	if _, err := script.RunSource(file, src, cfg); err != nil {
		t.Error(err)
	}
	return all
}

// sampleDiff lists the fields that differ between two samples, "" if none.
func sampleDiff(want, got *script.Sample) string {
	var diff []string
	differ := func(name string, got, want any) {
		diff = append(diff, fmt.Sprintf("%s %v, want %v", name, got, want))
	}
	if want.Elapsed != got.Elapsed {
		differ("time", got.Elapsed, want.Elapsed)
	}
	if len(want.Info) != len(got.Info) {
		differ("connections", len(got.Info), len(want.Info))
		return strings.Join(diff, "; ")
	}
	for n := range want.Info {
		w, g := reflect.ValueOf(want.Info[n]), reflect.ValueOf(got.Info[n])
		for _, f := range reflect.VisibleFields(w.Type()) {
			if f.Anonymous || closedTimeWait(&got.Info[n]) && (f.Name == "SegsIn" || f.Name == "SegsOut") {
				continue
			}
			if w, g := w.FieldByIndex(f.Index), g.FieldByIndex(f.Index); w.Interface() != g.Interface() {
				differ(f.Name, g, w)
			}
		}
	}
	return strings.Join(diff, "; ")
}

// closedTimeWait reports whether the connection may go on as a record without counts, which
// docs/differences.md says.
func closedTimeWait(i *tcp.Info) bool {
	return i.State == tcp.StateTimeWait || i.State == tcp.StateClosed
}
