package virtual_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/virtual"
)

// TestRunReportsGoroutines: a task starts a goroutine that waits in its place, and something
// recovers from the panic that reports it, as net/http does. Run returns the reason.
func TestRunReportsGoroutines(t *testing.T) {
	n, err := virtual.New(virtual.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	l, err := n.Listen(0, 80)
	if err != nil {
		t.Fatal(err)
	}
	n.Tasks.Go(func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { recover() }()
			acceptsElsewhere(l)
		}()
		<-ended // at once
	})
	err = n.Run(time.Minute, nil)
	for _, want := range []string{"outside a task", "package testnet", "acceptsElsewhere"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run returns %v, want %q in it", err, want)
		}
	}
	l.Close()
}

func acceptsElsewhere(l net.Listener) { l.Accept() }

// TestRunReportsWaitingTasks: a task that waits for a connection that never comes.
func TestRunReportsWaitingTasks(t *testing.T) {
	n, err := virtual.New(virtual.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	l, err := n.Listen(0, 80)
	if err != nil {
		t.Fatal(err)
	}
	n.Tasks.Go(func() { l.Accept() })
	err = n.Run(time.Minute, nil)
	for _, want := range []string{"1 tasks wait", "sockets.(*Listener).Accept", "TestRunReportsWaitingTasks"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run returns %v, want %q in it", err, want)
		}
	}
	l.Close()
	if err := n.Run(time.Minute, nil); err != nil || n.Tasks.Unfinished() != 0 {
		t.Errorf("after Close: %v", err)
	}
}
