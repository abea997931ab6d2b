package underloss

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tcpwheel/netstack/testnet"
)

// startNATS starts a server behind the port of the network's server.
func startNATS(t *testing.T, n *testnet.Net) {
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: false})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	go proxy(t, n.Listen(":4222"), s.InProcessConn)
}

// connectNATS connects a client. Without SkipHostLookup it would ask the machine's resolver for the
// name, and a bubble cannot wait for that.
func connectNATS(t *testing.T, n *testnet.Net, o ...nats.Option) *nats.Conn {
	c, err := nats.Connect("nats://server:4222", append(o, nats.SetCustomDialer(n), nats.SkipHostLookup(), nats.Timeout(10*time.Second))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// natsWork sends messages and requests.
func natsWork(t *testing.T, n *testnet.Net) {
	startNATS(t, n)
	a, b := connectNATS(t, n), connectNATS(t, n)
	got := make(chan string, 1000)
	if _, err := b.Subscribe("news", func(m *nats.Msg) { got <- string(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Subscribe("echo", func(m *nats.Msg) { m.Respond(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		if err := a.Publish("news", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 500 {
		if text := <-got; text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, text)
		}
	}
	for i := range 100 {
		want := fmt.Sprint("request ", i)
		m, err := a.Request("echo", []byte(want), 10*time.Second)
		if err != nil || string(m.Data) != want {
			t.Fatalf("%v, %v, want %q", m, err, want)
		}
	}
}

func TestNATS(t *testing.T) { inBubble(t, lossy, natsWork) }
