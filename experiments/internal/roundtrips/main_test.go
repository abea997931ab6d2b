package main

import (
	"io"
	"testing"
	"time"

	"tcpwheel/pcaps/samples"
)

// TestCaptured reads a sample captured at its sender, the client. Its round trips are 20 ms and
// more, and each begins after the one before.
func TestCaptured(t *testing.T) {
	in, err := samples.Open("reorder/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	all, err := captured(string(text), "a", client)
	if err != nil || len(all) == 0 || len(all[0]) < 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, r := range all[0] {
		if rtt := time.Duration(r.rtt) * fineUnit; r.idle < 0 || rtt < 10*time.Millisecond || rtt > time.Second {
			t.Errorf("%+v: want a round trip of tens of milliseconds", r)
		}
	}
	if other, err := captured("no capture", "b", client); other != nil || err != nil {
		t.Errorf("%v, %v, want nothing", other, err)
	}
}

func TestAdd(t *testing.T) {
	s := series{unit: 100 * time.Microsecond}
	for _, text := range []string{".2029", "0.0000", "1.5"} {
		if err := s.add(0, text, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.trips) != 2 || s.trips[0] != (trip{0, 2029}) || s.trips[1].rtt != 15000 {
		t.Errorf("%v, want 202.9 ms and 1.5 s", s.trips)
	}
	if s.add(0, "x", time.Second) == nil {
		t.Error("x is a number")
	}
}
