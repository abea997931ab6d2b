package sockets_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
)

// A client and a server on two stacks in virtual time, over a link of 50 ms: everything happens at its very instant, and the program is
// written as for a kernel's sockets.
func ExampleTasks() {
	v := newVirtual(netstack.NewProtocol, sim.LinkConfig{Delay: 50 * time.Millisecond})
	defer v.close()
	say := func(format string, args ...any) {
		fmt.Printf("%-6v ", v.now())
		fmt.Printf(format+"\n", args...)
	}
	v.tasks.Go(func() {
		l, err := v.listen("10.0.0.2:80")
		if err != nil {
			say("%v", err)
			return
		}
		defer l.Close()
		c, _ := l.Accept()
		defer c.Close()
		say("server: accepted")
		v.tasks.Sleep(time.Second)
		io.WriteString(c, "hello")
	})
	v.tasks.Go(func() {
		c, err := v.dialer().DialTCP(context.Background(), port("10.0.0.2:80"))
		if err != nil {
			say("%v", err)
			return
		}
		defer c.Close()
		say("client: connected")
		c.SetReadDeadline(v.clock.Now().Add(700 * time.Millisecond))
		_, err = c.Read(make([]byte, 100))
		say("client: timeout %v", errors.Is(err, os.ErrDeadlineExceeded))
		c.SetReadDeadline(time.Time{})
		b, err := io.ReadAll(c)
		say("client: %q, %v", b, err)
	})
	v.clock.Run(10 * time.Second)
	// Output:
	// 100ms  client: connected
	// 150ms  server: accepted
	// 800ms  client: timeout true
	// 1.2s   client: "hello", <nil>
}
