package tcp

import (
	"net/netip"
	"slices"
	"testing"

	"tcpwheel/wheel"
)

func TestListenQueue(t *testing.T) {
	var q ListenQueue[string]
	counts := func(halfOpen, queued int) {
		t.Helper()
		if q.HalfOpen != halfOpen || q.Queued != queued {
			t.Fatalf("%d half-open, %d queued, want %d and %d", q.HalfOpen, q.Queued, halfOpen, queued)
		}
	}
	if c, ok := q.Accept(); ok {
		t.Fatalf("an empty queue gives %q", c)
	}
	q.Leave("a")
	for i, c := range []string{"a", "b", "c", "d", "e", "f"} {
		q.Open(c, wheel.Time(i))
	}
	counts(6, 0)
	q.Enqueue("c")
	q.Enqueue("a")
	q.Leave("e") // timed out
	counts(3, 2)
	if at, ok := q.Since("d"); !ok || at != 3 {
		t.Errorf("d is half-open: %t, since %d, want 3", ok, at)
	}
	if _, ok := q.Since("a"); ok {
		t.Error("a is half-open, and waits for Accept")
	}
	if c, ok := q.Accept(); !ok || c != "c" {
		t.Errorf("Accept gives %q, %t, want c, whose handshake was complete first", c, ok)
	}
	counts(3, 1)
	// The established ones come first, and the half-open ones stay until each has ended.
	if all := q.Drain(); !slices.Equal(all, []string{"a", "b", "d", "f"}) {
		t.Errorf("drained %q, want a b d f", all)
	}
	counts(3, 0)
}

// Close resets connections in the same order as a listener of the binding.
func TestListenerResetsEstablishedFirst(t *testing.T) {
	e := newTestEngine(t, nil)
	l := engineListen(t, e, ListenConfig{Backlog: 4})
	a, _ := e.Input(0, engineSYN(1, 1000))
	b, _, _ := engineHandshake(t, e, 0, 2, 1000)
	if l.Len() != 1 || l.backlog.HalfOpen != 1 {
		t.Fatalf("%d wait, %d half-open, want 1 and 1", l.Len(), l.backlog.HalfOpen)
	}
	e.Reset()
	l.Close(1)
	var reset []netip.AddrPort
	for _, p := range e.Packets() {
		if p.Header.Flags.Has(RST) {
			reset = append(reset, p.Dst)
		}
	}
	if want := []netip.AddrPort{b.Remote(), a.Remote()}; !slices.Equal(reset, want) {
		t.Errorf("reset %v, want %v", reset, want)
	}
	engineCheck(t, e)
}
